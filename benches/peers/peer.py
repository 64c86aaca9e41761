"""A program that is compared: how it is started and stopped, and what each of them must know."""

import json
import re
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from clients import Connection, request, text

# An account of each program.
EMAIL, PASSWORD = "ada@example.org", "quiet harbour at dawn"
# Messages of a channel before a row is measured, and those that a reader gets of them.
SEEDED, NEWEST = 1000, 50


class Peer:
    """One of the programs, with a folder of its own and a channel that one person posts to.

    A subclass gives the `arguments` that make it serve at its port, a path that it `answers` once it is up, and what it `does`:
    posts, reads, push. Its `prepare` makes the accounts and the channel on the running server; `post`, `newest` and `account` are
    requests; `stored` counts the messages of the channel; `commands` has a connect command for each listener.
    """

    name = does = answers = raised = promise = ""
    version_argument = "--version"

    def __init__(self, binary, people=0):
        """Makes the channel, with messages and so many people who may listen to it."""
        self.binary, self.commands, self.headers = binary, [], {}
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.configure()
        with self.running():
            with Connection(self.port) as self.connection:
                self.prepare(people)
                for n in range(SEEDED):
                    self.ask(self.post(text(n)))
                if "reads" in self.does:
                    assert json.dumps(self.ask(self.newest())).count('"content": "~') == NEWEST, "another number of newest messages"

    def configure(self):
        """What has to be done before the first start."""

    def begin(self):
        """Starts the server; returns its process and the seconds until its first answer."""
        began = time.perf_counter()
        with open(self.folder / "log", "ab") as log:
            command = [self.binary, *self.arguments()]
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment(), stdout=log, stderr=log)
        try:
            while process.poll() is None:
                try:
                    with Connection(self.port) as connection:
                        connection.ask(request("GET", self.answers))
                    return process, time.perf_counter() - began
                except ConnectionRefusedError:
                    time.sleep(0.001)
            raise RuntimeError(f"{self.name} ended: {(self.folder / 'log').read_text(errors='replace')}")
        except BaseException:
            process.kill()
            raise

    def environment(self):
        return None

    def end(self, process):
        process.terminate()
        process.wait()

    @contextmanager
    def running(self):
        """A running server's process number."""
        process, _ = self.begin()
        try:
            yield process.pid
        finally:
            self.end(process)

    def ask(self, request):
        return self.connection.ask(request)

    def call(self, path, body=None, headers=None):
        """The answer to a GET, or to a POST if there is a body."""
        return self.ask(request("GET" if body is None else "POST", path, self.headers if headers is None else headers, body))

    def count(self):
        """How many messages the running server has in the channel."""
        with Connection(self.port) as self.connection:
            return self.stored()

    def close(self):
        self.scratch.cleanup()


def version(kind, binary):
    """What a binary says of itself or, if its build left that out, what the Go toolchain wrote into it."""
    said = subprocess.run([binary, kind.version_argument], capture_output=True, text=True).stdout
    found = re.search(r"\d+\.\d+\.\d+[\w.-]*", said)
    if found and found[0] != "0.0.0":
        return found[0]
    built = re.search(rb"\nmod\t\S+\tv(\d[^\t]*)", Path(binary).read_bytes())
    return built[1].decode() if built else "of unknown version"
