"""What an answer of success promises, found by looking: does the program sync before it, and is a post there after `kill -9`?"""

import shutil
import subprocess

from clients import Connection, text

# `sync_file_range` is not among them: it neither writes the file's metadata nor flushes the disk's cache.
SYNCS = "fsync,fdatasync,msync,sync,syncfs"
# Posts that are made one after the other.
POSTS = 100


def synced(peer):
    """How many system calls that sync a file the server makes for each of many posts, one after the other."""
    if not shutil.which("strace"):
        return "unknown without `strace`"
    with peer.running() as process:
        post(peer, 1)
        trace = peer.folder / "trace"
        command = ["strace", "-f", "-p", str(process), "-e", f"trace={SYNCS}", "-o", trace]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert "attached" in strace.stderr.readline(), "strace may not attach to the server"
            post(peer, POSTS)
            strace.terminate()
            strace.stderr.read()
    calls = sum("(" in line and "resumed>" not in line for line in trace.read_text().splitlines())
    return f"{calls / POSTS:.2f}"


def survived(peer):
    """How many posts are there after `kill -9` that were answered just before it."""
    process, _ = peer.begin()
    before = peer.count()
    post(peer, POSTS)
    process.kill()
    process.wait()
    with peer.running():
        return f"{max(0, peer.count() - before)} of {POSTS}"


def post(peer, posts):
    with Connection(peer.port) as poster:
        for n in range(posts):
            poster.send(peer.post(text(n)))
            poster.answer()
