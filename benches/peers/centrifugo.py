import base64
import hashlib
import hmac
import json
import time

from clients import request
from peer import Peer

SECRET = KEY = "of-the-comparison"
CHANNEL = "harbour"
# Bytes of a publication's data: its frame is then as long as the one that Tidings pushes for the same text.
DATA = 1140
# Publications that the channel keeps, and how long.
KEPT, SECONDS = 1000, 300


class Centrifugo(Peer):
    name, does, answers, version_argument = "Centrifugo", {"posts", "push"}, "/health", "version"
    raised = "none had to be: it limits neither the connections nor the publications by default"
    promise = f"memory engine: the channel keeps its last {KEPT:,} publications for {SECONDS} s, until the process ends"

    def configure(self):
        (self.folder / "config.json").write_text(json.dumps({
            "http_server": {"address": "127.0.0.1", "port": self.port},
            "http_api": {"key": KEY, "error_mode": "transport"},  # an error has a status of its own
            "client": {"token": {"hmac_secret_key": SECRET}},
            "channel": {"without_namespace": {"history_size": KEPT, "history_ttl": f"{SECONDS}s", "force_recovery": True}},
            "health": {"enabled": True}, "log": {"level": "error"}, "usage_stats": {"disabled": True},
        }))
        self.headers = {"X-API-Key": KEY}

    def arguments(self):
        return ["--config", "config.json"]

    def prepare(self, people):
        self.commands = [{"id": 1, "connect": {"token": token(n), "subs": {CHANNEL: {}}}} for n in range(people)]

    def post(self, text):
        data = {"content": text, "message": text, "rest": ""}
        data["rest"] = "x" * (DATA - len(json.dumps(data, separators=(",", ":"))))
        return request("POST", "/api/publish", self.headers, {"channel": CHANNEL, "data": data})

    def stored(self):
        return self.call("/api/history", {"channel": CHANNEL})["result"]["offset"]


def token(n):
    """A connection token (JWT, HS256) of a person whom the server subscribes to the channel."""
    claims = {"sub": f"person-{n}", "exp": int(time.time()) + 86400, "channels": [CHANNEL]}
    parts = b".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return (parts + b"." + encoded(hmac.digest(SECRET.encode(), parts, hashlib.sha256))).decode()


def encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=")
