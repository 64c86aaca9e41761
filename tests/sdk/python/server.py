"""The real server: launched, asked, ended, killed; and a line to it that can be cut."""

import asyncio
import json
import signal
import socket
import time
import urllib.error
import urllib.request
from contextlib import suppress

# Whatever proxy the environment names is none of the test's.
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))


async def until(what, probe, limit=20):
    """Waits until `probe` is true; fails with what `what` says after `limit` seconds."""
    end = time.monotonic() + limit
    while not probe():
        assert time.monotonic() < end, f"still waiting: {what()}"
        await asyncio.sleep(0.02)


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


class Server:
    def __init__(self, binary, folder, *flags):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.arguments = [binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", f"{folder}/data"]
        self.arguments += ["--rate-limit", "off", "--log", "error", *flags]
        self.process = None

    async def launch(self):
        """Starts it, and waits until it says where it is."""
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(*self.arguments, env={}, stdout=pipe)
        async with asyncio.timeout(20):
            while b"http" not in (line := await self.process.stdout.readline()):
                assert line, f"the server ended: {await self.process.wait()}"

    async def end(self, name):
        """Sends the signal, and returns the exit code."""
        self.process.send_signal(name)
        return await asyncio.wait_for(self.process.wait(), 10)

    async def stop(self):
        assert await self.end(signal.SIGTERM) == 0

    async def kill(self):
        assert await self.end(signal.SIGKILL) == -signal.SIGKILL

    async def call(self, method, path, bearer=None, body=None):
        """The `data` of the answer; `Refused` when there is none."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}/api/v1{path}"
        request = urllib.request.Request(url, data, headers, method=method)

        def ask():
            try:
                with HTTP.open(request, timeout=10) as answer:
                    return json.load(answer).get("data")
            except urllib.error.HTTPError as error:
                raise Refused(error.code, error.read().decode()) from error

        return await asyncio.to_thread(ask)

    async def connection_token(self, bearer):
        return (await self.call("GET", "/token/connection", bearer))["token"]

    async def subscription_token(self, bearer, channel):
        return (await self.call("POST", "/token/subscription", bearer, {"channel": channel}))["token"]

    async def person(self, name):
        """The bearer and the id of a new account."""
        account = {"email": f"{name}@example.org", "password": "quiet harbour at dawn"}
        await self.call("POST", "/auth/register", body=account)
        session = await self.call("POST", "/auth/login", body=account)
        return session["access_token"], session["user"]["id"]


class Line:
    """What a client loses when its network goes away."""

    def __init__(self, server):
        self.server = server
        self.opened = True
        self.clients = set()

    async def lay(self):
        self.listener = await asyncio.start_server(self.carry, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]
        return self

    async def carry(self, reader, writer):
        if not self.opened:
            return writer.close()
        self.clients.add(writer)
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            await asyncio.gather(self.copy(reader, far_writer), self.copy(far_reader, writer))
        self.clients.discard(writer)
        writer.close()

    @staticmethod
    async def copy(reader, writer):
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    def close(self):
        """Lets nobody in any more; who is connected stays."""
        self.opened = False

    def cut(self):
        """Drops everybody without a word, and lets nobody in."""
        self.close()
        for client in self.clients:
            client.close()

    def mend(self):
        self.opened = True
