"""Measures what answers and publications take on the wire, and the server's time for each, plain and compressed.

    python3 benches/bytes.py BINARY [BINARY …]

Several binaries take turns. A row is one connection that asks again and again; the figures are the medians of the rounds. It prints
the rows of the table in docs/performance.md.
"""

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import zlib

ROUNDS, REQUESTS, CHANNELS, MESSAGES = 3, 1500, 202, 120
WORDS = (
    "anchor bell buoy cargo chart crane crew deck deep east fog harbour keel light lock mast noon pier pilot quay rope rudder sand "
    "ship storm tide tug wind"
).split()
TEXT = "The harbour pilot says that the ship comes in at four o'clock, and wants two tugs at the north pier, please."


class Server:
    """A server in which one person has made channels and messages."""

    def __init__(self, binary, folder):
        command = [binary, "serve", "--data-dir", folder, "--listen", "127.0.0.1:0", "--rate-limit", "off", "--log", "error"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stdout if line.split()[:1] == ["API"])
        self.port, self.token = urllib.parse.urlsplit(line.split()[1]).port, None
        account = {"email": "ada@example.org", "password": "quiet harbour at dawn", "username": "ada"}
        self.call("/auth/register", account)
        self.token = self.call("/auth/login", account)["data"]["access_token"]
        organisation = self.call("/organisations", {"name": "Harbour"})["data"]["id"]
        chance = random.Random(7)
        for n in range(CHANNELS - 1):  # beside the first one
            description = " ".join(chance.choices(WORDS, k=8))
            self.call("/channels", {"name": f"{chance.choice(WORDS)}-{n}", "organisation_id": organisation, "description": description})
        self.channel = self.call("/channels")["channels"][0]["channels_id"]
        for _ in range(MESSAGES):
            self.call(f"/channels/{self.channel}/messages", {"content": " ".join(chance.choices(WORDS, k=chance.randint(4, 30)))})
        newest = self.call(f"/channels/{self.channel}/messages")["messages"]
        messages = f"/api/v1/channels/{self.channel}/messages"
        self.paths = {
            "front page, compressed once": "/",
            "newest 50 messages, kept": messages,
            "50 older messages": f"{messages}?before={newest[0]['thread_id']}",
            f"own channels, {CHANNELS}": "/api/v1/channels",
            "first screen (`GET /start`)": "/api/v1/start",
        }

    def call(self, path, body=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1{path}", data, headers)) as answer:
            return json.load(answer)

    def microseconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") * 1e6

    def measure(self, path, encoding):
        """The bytes of an answer, and the server's microseconds for it."""
        accept = f"Accept-Encoding: {encoding}\r\n" if encoding else ""
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n{accept}\r\n".encode()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            for n in range(REQUESTS + 20):
                if n == 20:
                    began = self.microseconds()
                connection.sendall(head)
                size = answered(connection)
        return size, (self.microseconds() - began) / REQUESTS

    def publication(self):
        """The frame of a message, as a subscriber's socket gets it."""
        connect = {
            "token": self.call("/token/connection")["data"]["token"],
            "subs": {self.channel: {"token": self.call("/token/subscription", {"channel": self.channel})["data"]["token"]}},
        }
        query = urllib.parse.urlencode({"cf_connect": json.dumps(connect)})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/connection/uni_sse?{query}") as events:
            events.readline()  # it is connected
            self.call(f"/channels/{self.channel}/messages", {"content": TEXT})
            event = next(line for line in events if b'"pub"' in line)
        return b'{"push":' + event.removeprefix(b"data:").strip() + b"}"


def answered(connection):
    """The bytes of the next answer, of a known length or in chunks."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(1 << 20)
    head, _ = text.split(b"\r\n\r\n", 1)
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    is_whole = (lambda: len(text) >= len(head) + 4 + int(lengths[0])) if lengths else (lambda: text.endswith(b"0\r\n\r\n"))
    while not is_whole():
        text += connection.recv(1 << 20)
    return len(text)


def deflated(frame, level):
    """The bytes of a frame in permessage-deflate without context takeover (RFC 7692, section 7.2.1)."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return len(packer.compress(frame) + packer.flush(zlib.Z_SYNC_FLUSH)) - 4


def main(binaries):
    with tempfile.TemporaryDirectory() as folder:
        servers = {binary: Server(binary, f"{folder}/{n}") for n, binary in enumerate(binaries)}
        try:
            for name in next(iter(servers.values())).paths:
                runs = {(binary, encoding): [] for binary in servers for encoding in ("", "gzip", "zstd")}
                for _ in range(ROUNDS):
                    for (binary, encoding), found in runs.items():
                        found.append(servers[binary].measure(servers[binary].paths[name], encoding))
                for binary in servers:
                    found = [runs[binary, encoding] for encoding in ("", "gzip", "zstd")]
                    cells = [f"{run[0][0]:,} bytes, {statistics.median(cpu for _, cpu in run):,.0f} µs" for run in found]
                    print(f"| {name} | {' | '.join(cells)} |", *([binary] if len(servers) > 1 else []), flush=True)
            frame = next(iter(servers.values())).publication()
            print(f"publication: {len(frame)} bytes, deflated {deflated(frame, 1)} at level 1, {deflated(frame, 6)} at level 6")
        finally:
            for server in servers.values():
                server.process.terminate()
                server.process.wait()


main(sys.argv[1:])
