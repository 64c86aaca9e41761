"""Backs a server up every ten seconds for a minute, under 500 posts a second, and restores each backup: is it sound, is every
message in it that was answered before it began, and how long did posts take meanwhile?

    python3 benches/backups.py BINARY
"""

import http.client
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

RATE, SECONDS, EVERY, LANES = 500, 60, 10, 16
PASSWORD = "quiet harbour at dawn"


def call(connection, method, path, body=None, token=None):
    head = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    connection.request(method, f"/api/v1{path}", json.dumps(body) if body is not None else None, head)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {text}")
    return json.loads(text)


def post(lane, address, token, channel, began, answered, took):
    """Posts at a fixed rate, whatever the answers take; a post that starts late counts from when it should have started."""
    connection = http.client.HTTPConnection(address)
    for n in range(RATE * SECONDS // LANES):
        due = began + (n * LANES + lane) / RATE
        time.sleep(max(0, due - time.monotonic()))
        content = f"{lane}-{n}"
        call(connection, "POST", f"/channels/{channel}/messages", {"content": content}, token)
        took.append((due, time.monotonic() - due))
        answered.append(content)


def percentile(values, share):
    return sorted(values)[int(len(values) * share)] * 1000 if values else float("nan")


def main(binary, folder):
    binary, data = os.path.abspath(binary), f"{folder}/data"
    server = subprocess.Popen([binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--log", "error", "--rate-limit", "off"],
                              stdout=subprocess.PIPE, text=True)
    address = next(line.split()[-1].split("/")[2] for line in server.stdout if "API" in line)
    connection = http.client.HTTPConnection(address)
    call(connection, "POST", "/auth/register", {"email": "ada@example.org", "password": PASSWORD})
    token = call(connection, "POST", "/auth/login", {"email": "ada@example.org", "password": PASSWORD})["data"]["access_token"]
    organisation = call(connection, "POST", "/organisations", {"name": "Harbour"}, token)["data"]["id"]
    channel = call(connection, "POST", "/channels", {"name": "load", "organisation_id": organisation}, token)["data"]["id"]
    answered, took, backups, began = [], [], [], time.monotonic()
    lanes = [threading.Thread(target=post, args=(lane, address, token, channel, began, answered, took)) for lane in range(LANES)]
    for lane in lanes:
        lane.start()
    for n in range(SECONDS // EVERY):
        time.sleep(max(0, began + (n + 0.5) * EVERY - time.monotonic()))
        before, started = list(answered), time.monotonic()
        subprocess.run([binary, "backup", f"{folder}/{n}.tar.zst", "--data-dir", data], check=True, stdout=subprocess.DEVNULL)
        backups.append((started, time.monotonic()))
        subprocess.run([binary, "restore", f"{folder}/{n}.tar.zst", "--to", f"{folder}/{n}"], check=True, stdout=subprocess.DEVNULL)
        restored = sqlite3.connect(f"{folder}/{n}/tidings.db")
        [(integrity,)] = restored.execute("pragma integrity_check(1)").fetchall() if sqlite3.sqlite_version_info >= (3, 43) else [("by restore",)]
        there = {content for (content,) in restored.execute("select content from messages")}
        lost = sum(content not in there for content in before)
        print(f"backup {n + 1}: {backups[-1][1] - started:.2f} s, {len(there)} messages, lost {lost} of {len(before)}, integrity: {integrity}", flush=True)
    for lane in lanes:
        lane.join()
    during = [seconds for due, seconds in took if any(start <= due <= end for start, end in backups)]
    others = [seconds for due, seconds in took if not any(start <= due <= end for start, end in backups)]
    for label, values in [("during backups", during), ("otherwise", others)]:
        print(f"posts {label}: {len(values)}, p50 {percentile(values, 0.5):.2f} ms, p99 {percentile(values, 0.99):.2f} ms")
    server.terminate()
    server.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as place:
        main(sys.argv[1], place)
