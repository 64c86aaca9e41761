"""Clients: HTTP by hand, and the processes of the `speed` bench, which send prepared bytes faster than Python could."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Client processes that share the sockets of a row, if those are more than one person's.
PROCESSES = 4
# Sockets of one person: Tidings allows no more.
EACH = 100
# Characters of a message.
TEXT = 120
WORDS = "anchor bell buoy cargo chart crane crew deck east fog harbour keel light mast noon pier pilot quay rope rudder".split()


@cache
def speed():
    """The executable of the `speed` bench: $SPEED, or the release build that was made last."""
    built = [path for path in (ROOT / "target").glob("**/release/deps/speed-*") if os.access(path, os.X_OK)]
    path = os.environ.get("SPEED") or max(built, key=lambda path: path.stat().st_mtime, default=None)
    return path or sys.exit("no clients: build them with `cargo bench --bench speed --no-run`, or set SPEED to their path")


def text(n):
    """A message. The mark at its beginning lets the clients count it."""
    return ("~" + " ".join(random.Random(n).choices(WORDS, k=TEXT // 3)))[:TEXT]


def timed():
    """A message with the time when it is sent, which the clients read."""
    return f"~sent:{time.time_ns()} ".ljust(TEXT, "x")


def request(method, path, headers=None, body=None):
    """The bytes of a request: a dictionary is sent as JSON."""
    if isinstance(body, dict):
        headers, body = {"Content-Type": "application/json"} | (headers or {}), json.dumps(body, separators=(",", ":"))
    fields = {"Host": "bench"} | (headers or {}) | ({} if body is None else {"Content-Length": len(body.encode())})
    return f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + f"\r\n{body or ''}"


class Connection:
    """An HTTP connection that is kept."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def send(self, request):
        self.socket.sendall(request.encode())

    def answer(self):
        """The body of the next answer, which must be one of success."""
        status, fields = self.file.readline(), {}
        while line := self.file.readline().strip():
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip()
        if fields.get(b"transfer-encoding") == b"chunked":
            body = b"".join(iter(self.chunk, b""))
        else:
            body = self.file.read(int(fields.get(b"content-length", 0)))
        assert status.split()[1:2] and status.split()[1].startswith(b"2"), (status, body)
        return body

    def chunk(self):
        chunk = self.file.read(int(self.file.readline(), 16))
        self.file.readline()
        return chunk

    def ask(self, request):
        """The JSON of an answer, or its text."""
        self.send(request)
        body = self.answer()
        try:
            return json.loads(body)
        except ValueError:
            return body.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()


class Client:
    """A process of the `speed` bench in one of its roles, which ends when its input does."""

    def __init__(self, role, plan):
        self.process = subprocess.Popen([speed(), role], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.id = self.process.pid
        self.tell(json.dumps(plan))

    def tell(self, word):
        self.process.stdin.write(f"{word}\n")

    def line(self):
        line = self.process.stdout.readline()
        assert line, "a client ended early"
        return line.strip()

    def json(self):
        return json.loads(self.line())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def loader(port, requests, connections):
    """A client whose connections send one request after the other, once it is told to go or to count."""
    plan = {"address": f"127.0.0.1:{port}", "requests": requests, "connections": connections, "pause": 0, "once": False}
    client = Client("requests", plan)
    assert client.line() == "ready"
    return client


class Listeners:
    """Client processes whose sockets listen to the channel of a peer."""

    def __init__(self, peer, sockets, timed=False):
        commands = peer.commands[: sockets // EACH or 1]
        share = -(-len(commands) // PROCESSES)
        parts = [commands[n : n + share] for n in range(0, len(commands), share)]
        plan = {"address": f"127.0.0.1:{peer.port}", "each": sockets // len(commands), "timed": timed}
        self.clients = [Client("sockets", plan | {"from": f"127.1.{n}.1", "greetings": part}) for n, part in enumerate(parts)]
        for client in self.clients:
            assert '"connect"' in client.line(), "a socket was refused"

    def ids(self):
        return [client.id for client in self.clients]

    def await_all(self):
        """Waits until each socket has the next message."""
        for client in self.clients:
            assert client.line() == "all"

    def ask_all(self, word):
        """What each process answers to a word."""
        for client in self.clients:
            client.tell(word)
        return [client.json() for client in self.clients]

    def drop(self):
        """Cuts all sockets off."""
        for client in self.clients:
            client.tell("drop")
        for client in self.clients:
            assert client.line() == "dropped"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.__exit__()
