"""Makes a server of 100,000 accounts, 1,000 organisations and 1,000,000 messages, and times the administrator's commands on it.

    python3 benches/large.py BINARY [FOLDER]

The rows are written straight into the database, as writing them by requests would take an hour. The folder is kept if it is
named.
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

ACCOUNTS, ORGANISATIONS, MESSAGES = 100_000, 1_000, 1_000_000

ROWS = f"""
begin;
create temp table k as with recursive k(k) as (select 0 union all select k + 1 from k where k < {MESSAGES} - 1) select k from k;
insert into users (id, email, username, is_verified, created_at, updated_at)
  select id('a', k), 'u' || k || '@example.org', 'u' || k, 1, 1, 1 from k where k < {ACCOUNTS};
insert into organisations (id, name, slug, owner_id, channels_count, created_at, updated_at)
  select id('b', k), 'Organisation ' || k, 'organisation-' || k, id('a', k), 1, 1, 1 from k where k < {ORGANISATIONS};
insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
  select id('b', k % {ORGANISATIONS}), id('a', k), 4, 1, 1 from k where k < {ACCOUNTS};
insert into channels (id, organisation_id, name, is_default, owner_id, created_by, user_count, message_count, thread_count,
    last_thread, last_n, created_at, updated_at)
  select id('c', k), id('b', k), 'general', 1, id('a', k), id('a', k), {ACCOUNTS // ORGANISATIONS}, {MESSAGES // ORGANISATIONS},
    {MESSAGES // ORGANISATIONS}, {MESSAGES - ORGANISATIONS + 1} + k, {MESSAGES - ORGANISATIONS + 1} + k, 1, 1
  from k where k < {ORGANISATIONS};
insert into channel_members (channel_id, user_id, username, created_at)
  select id('c', k % {ORGANISATIONS}), id('a', k), 'u' || k, 1 from k where k < {ACCOUNTS};
insert into messages (n, id, channel_id, user_id, username, content, active_n, created_at, updated_at)
  select k + 1, id('d', k), id('c', k % {ORGANISATIONS}), id('a', k % {ACCOUNTS}), 'u' || (k % {ACCOUNTS}),
    'Message ' || k || ': the ferry leaves the harbour at six, and comes back when the fog has gone.', k + 1, 1, 1 from k;
commit;
"""


def make(binary, folder):
    subprocess.run([binary, "migrate", "up", "--data-dir", folder], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([binary, "user", "create", "--email", "root@example.org", "--password", "quiet harbour at dawn", "--role",
                    "superadmin", "--data-dir", folder], check=True, stdout=subprocess.DEVNULL)
    database = sqlite3.connect(f"{folder}/tidings.db")
    database.create_function("id", 2, lambda kind, k: bytes.fromhex(f"01900000000070008{kind}{k:014x}"), deterministic=True)
    database.executescript(ROWS)
    database.close()


def start(binary, folder):
    """Starts a server, and returns it with the seconds until it was healthy."""
    began = time.monotonic()
    server = subprocess.Popen([binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", folder, "--log", "error"],
                              stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if "API" in line:
            return server, time.monotonic() - began, line.split()[-1].removesuffix("/api/v1")
    sys.exit("the server did not start")


def timed(label, *command):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{label:42} {time.monotonic() - began:7.2f} s  {'ok' if done.returncode == 0 else done.stderr.strip()}", flush=True)
    return done.stdout


def main(binary, folder):
    binary = os.path.abspath(binary)
    if not os.path.exists(f"{folder}/tidings.db"):
        make(binary, folder)
    os.chmod(folder, 0o700)
    print(f"{sum(file.stat().st_size for file in pathlib.Path(folder).iterdir() if file.is_file()) >> 20} MiB")
    server, took, url = start(binary, folder)
    print(f"{'start, until it serves':42} {took:7.2f} s", flush=True)
    at = ["--data-dir", folder]
    try:
        organisation = ["--organisation", "organisation-7"]
        for command in [["user", "list"], ["user", "list", "--limit", "100"], ["user", "list", "--search", "u99999"],
                        ["user", "show", "--email", "u7@example.org"], ["user", "sessions", "--email", "u7@example.org"],
                        ["org", "list"], ["org", "show", "organisation-7"],
                        ["channel", "list", *organisation], ["invite", "list", *organisation], ["webhook", "list"], ["mail", "list"],
                        ["contact", "list"]]:
            timed(" ".join(command), binary, *command, *at)
        behind = 1
        while behind:  # the search index fills in the background after such a start
            time.sleep(5)
            found = json.loads(subprocess.run([binary, "doctor", "--json", "--base-url", url, *at], capture_output=True, text=True).stdout)
            behind = int(next(row["finding"].split()[0] for row in found if row["check"] == "search index"))
        timed("doctor", binary, "doctor", "--base-url", url, *at)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(folder))) as backups:
            timed("backup", binary, "backup", backups, *at)
            timed("backup --verify", binary, "backup", f"{backups}/second.tar.zst", "--verify", *at)
            timed("org export", binary, "org", "export", "organisation-7", f"{backups}/export.tar.zst", *at)
            timed("restore", binary, "restore", f"{backups}/second.tar.zst", "--to", f"{backups}/restored")
    finally:
        server.terminate()
        server.wait()
    server, took, _ = start(binary, folder)
    print(f"{'start again':42} {took:7.2f} s")
    server.terminate()
    server.wait()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as place:
            main(sys.argv[1], f"{place}/data")
