"""What a webhook delivers is taken by examples/receiver.py, and by the unmodified Python library in it.

Usage: webhooks.py TIDINGS_BINARY, with the packages of requirements.txt.
"""

import asyncio
import socket
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from server import HTTP, Server, until

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
        finally:
            receiver.kill()
            await receiver.wait()
            await following
            await server.kill()
    print("ok: examples/receiver.py and the Python library take what a webhook delivers", flush=True)


async def limited(binary):
    async with asyncio.timeout(60):
        await main(binary)


asyncio.run(limited(*sys.argv[1:]))
