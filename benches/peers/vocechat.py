import os
import time

from clients import request
from peer import EMAIL, NEWEST, PASSWORD, Peer

CONFIGURATION = """
[system]
data_dir = "data"
token_expiry_seconds = 86400
[network]
bind = "127.0.0.1:{port}"
"""


class VoceChat(Peer):
    name, does, answers = "VoceChat", {"posts", "reads"}, "/api/admin/system/version"
    raised = "none: it has no rate limits"
    promise = "an embedded store that is synced twice a second: an answered message may be lost, also with the process alone"

    def configure(self):
        (self.folder / "config.toml").write_text(CONFIGURATION.format(port=self.port))

    def environment(self):
        return os.environ | {"RUST_LOG": "error"}

    def arguments(self):
        return ["config.toml"]

    def end(self, process):
        time.sleep(1)  # It ends at once when it is told to, with what it has not yet written.
        super().end(process)

    def prepare(self, people):
        self.call("/api/admin/system/create_admin", {"email": EMAIL, "name": "ada", "password": PASSWORD, "gender": 0})
        credential = {"type": "password", "email": EMAIL, "password": PASSWORD}
        page = {"Referer": f"http://localhost:{self.port}/"}  # its own client sends this, and a log-in without it is refused
        answer = self.call("/api/token/login", {"credential": credential}, page)
        self.headers = {"X-API-Key": answer["token"]}
        group = self.call("/api/group", {"name": "general", "members": [], "is_public": False})["gid"]
        self.group = f"/api/group/{group}"

    def post(self, text):
        return request("POST", f"{self.group}/send", self.headers | {"Content-Type": "text/plain"}, text)

    def newest(self):
        return request("GET", f"{self.group}/history?limit={NEWEST}", self.headers)

    def account(self):
        return request("GET", "/api/user/me", self.headers)

    def stored(self):
        return len(self.call(f"{self.group}/history?limit={10**9}"))
