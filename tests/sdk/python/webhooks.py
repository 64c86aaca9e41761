"""What a webhook delivers is taken by examples/receiver.py and by the unmodified Python library in it, which refuses all
that was changed.

Usage: webhooks.py TIDINGS_BINARY, with the packages of requirements.txt.
"""

import asyncio
import socket
import sys
import tempfile
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from server import HTTP, Server, until
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/receiver.py"


class Printed(list):
    """The lines that a program prints."""

    async def follow(self, pipe):
        while line := await pipe.readline():
            self.append(line.decode().rstrip("\n"))


def forged(url, **headers):
    signed = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,eA=="}
    request = urllib.request.Request(url, b'{"type":"forged"}', signed | headers)
    try:
        return HTTP.open(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code


class Kept(BaseHTTPRequestHandler):
    """Keeps what it receives as it came."""

    received = []

    def do_POST(self):
        self.received.append((self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def bent(data):
    """What differs from it in one byte."""
    return [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]


def check_signature(secret, body, headers):
    """The library takes it, and nothing of which a byte of id, time or body was changed."""
    webhook = Webhook(secret)
    assert webhook.verify(body, headers)["data"]["content"] == "The Fram arrives at six."
    changed = [(other, headers) for other in bent(body)]
    for name in "webhook-id", "webhook-timestamp":
        changed += [(body, headers | {name: other.decode()}) for other in bent(headers[name].encode())]
    for other_body, other_headers in changed:
        try:
            webhook.verify(other_body, other_headers, json_parse=False)
        except (WebhookVerificationError, ValueError):
            continue
        raise AssertionError(f"it takes {other_body} with {other_headers}")


async def main(binary):
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        server = Server(binary, folder, "--allow-private-webhooks", "127.0.0.0/8")
        await server.launch()
        ada, _ = await server.person("ada")
        organisation = await server.call("POST", "/organisations", ada, {"name": "Harbour"})
        quay = await server.call("POST", "/channels", ada, {"name": "quay", "organisation_id": organisation["id"]})
        hook = {"webhook_name": "out", "webhook_url": f"http://{address}/"}
        secret = (await server.call("POST", f"/webhooks/{quay['id']}", ada, hook))["webhook_secret"]
        keeper = HTTPServer(("127.0.0.1", 0), Kept)
        Thread(target=keeper.serve_forever, daemon=True).start()
        hook = {"webhook_name": "kept", "webhook_url": f"http://127.0.0.1:{keeper.server_port}/"}
        kept_secret = (await server.call("POST", f"/webhooks/{quay['id']}", ada, hook))["webhook_secret"]

        arguments = [sys.executable, str(EXAMPLE), address, secret]
        receiver = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
        printed = Printed()
        following = asyncio.create_task(printed.follow(receiver.stdout))
        try:
            await until(lambda: "it does not listen", lambda: printed == [f"receiving on http://{address}"])
            assert await asyncio.to_thread(forged, f"http://{address}/") == 401
            for length in "-1", str(2**20 + 1):  # of the first it would read without end
                assert await asyncio.to_thread(forged, f"http://{address}/", **{"Content-Length": length}) == 413
            await server.call("POST", f"/channels/{quay['id']}/messages", ada, {"content": "The Fram arrives at six."})
            await until(lambda: f"printed {printed}", lambda: printed[1:] == ["ada: The Fram arrives at six."])
            await until(lambda: "nothing is delivered", lambda: Kept.received)
            check_signature(kept_secret, *Kept.received[0])
        finally:
            receiver.kill()
            await receiver.wait()
            await following
            await server.kill()
    print("ok: examples/receiver.py and the Python library take what a webhook delivers, and nothing changed", flush=True)


async def limited(binary):
    async with asyncio.timeout(60):
        await main(binary)


asyncio.run(limited(*sys.argv[1:]))
