"""The unmodified Python client of tus uploads a file in pieces, and goes on with it after a kill.

Usage: uploads.py TIDINGS_BINARY, with the packages of requirements.txt.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
import urllib.request
from pathlib import Path

from server import HTTP, Server
from tusclient.client import TusClient

PIECE = 1 << 20


def opened(server, bearer, file):
    address = f"http://127.0.0.1:{server.port}/api/v1/files/{file}/any"
    with HTTP.open(urllib.request.Request(address, headers={"Authorization": f"Bearer {bearer}"}), timeout=10) as answer:
        return answer.read()


async def main(binary):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, folder)
        await server.launch()
        bearer, _ = await server.person("ada")
        await server.call("POST", "/organisations", bearer, {"name": "Harbour"})
        content = os.urandom(4 * PIECE + 5)
        path = Path(folder) / "log of the Fram.bin"
        path.write_bytes(content)
        client = TusClient(f"http://127.0.0.1:{server.port}/api/v1/files/uploads", headers={"Authorization": f"Bearer {bearer}"})
        upload = client.uploader(str(path), chunk_size=PIECE, metadata={"filename": path.name})
        await asyncio.to_thread(upload.upload, stop_at=2 * PIECE)
        assert upload.offset == 2 * PIECE, upload.offset

        await server.kill()
        await server.launch()
        upload = client.uploader(str(path), url=upload.url, chunk_size=PIECE)
        assert upload.offset == 2 * PIECE, upload.offset
        await asyncio.to_thread(upload.upload)
        kept = await asyncio.to_thread(opened, server, bearer, upload.url.rsplit("/", 1)[1])
        assert hashlib.sha256(kept).digest() == hashlib.sha256(content).digest()
        await server.stop()
    print("ok  an upload in pieces goes on after a kill")


asyncio.run(main(*sys.argv[1:]))
