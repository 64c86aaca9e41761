"""Compares Tidings with Centrifugo, PocketBase and VoceChat on the same work, and prints Markdown.

    TIDINGS=… CENTRIFUGO=… POCKETBASE=… VOCECHAT=… python3 benches/peers/compare.py [--quick] [--rounds N] [ROW …]

The variables are paths of the binaries. TIDINGS defaults to target/release/tidings; a program without a variable is left out.
SPEED is the executable of the `speed` bench, whose client processes make the load; without it, the newest release build is used
(`cargo bench --bench speed --no-run`). A ROW is the beginning of a row's name.

In each round the programs take turns, each with a server that is started anew and runs alone. A run beside other work that took
more than a tenth of the machine is made again, up to three times. The comparison ends with an error if a request is not answered
with success, a post is not stored, or a push does not arrive.
"""

import argparse
import os
import statistics
import sys
from contextlib import ExitStack, closing
from datetime import date

import machine
import promises
from centrifugo import Centrifugo
from clients import ROOT, TEXT, speed
from peer import SEEDED, version
from pocketbase import PocketBase
from tidings import Tidings
from vocechat import VoceChat
from work import FOREIGN, FULL, QUICK, rows

KINDS = [Tidings, Centrifugo, PocketBase, VoceChat]
# A run beside more than this percentage of foreign work is made again.
MOST_FOREIGN = 10
LEGEND = f"""
Latencies are those of a request, or from a post to its arrival at each listener. µs are the server's CPU for each post, answer,
delivery or returning socket; posts include the server's work after the last answer. MiB are resident after the first answer.
Messages have {TEXT} characters. The channel begins with {SEEDED:,} of them, and has one member besides its listeners. With posts in
flight, the next one goes out when all listeners have an earlier one. A foreign share is the part of the machine that other
programs took meanwhile.

Centrifugo has no accounts and no stored messages: its posts are publications through its HTTP API, of as many bytes as Tidings
pushes. PocketBase and VoceChat push by server-sent events, which these clients do not speak. PocketBase checks that the reader
is signed in and that the author is the caller; Tidings and VoceChat check the membership of the channel.
"""


def found():
    """The programs whose binaries are there, each with its path."""
    for kind in KINDS:
        variable = kind.name.upper()
        default = ROOT / "target/release/tidings" if kind is Tidings else None
        path = os.environ.get(variable, default)
        if path and os.access(path, os.X_OK):
            yield kind, os.path.abspath(path)
        else:
            say(f"{kind.name} is left out: {variable} is {path or 'not set'}, expected the path of its binary")


def measured(row, peer, sizes):
    """The run with the least foreign work."""
    runs = []
    while len(runs) < sizes.tries:
        if row.starts:
            runs.append(row.measure(peer, None, sizes))
        else:
            with peer.running() as process:
                runs.append(row.measure(peer, process, sizes))
        if runs[-1].get(FOREIGN, 0) <= MOST_FOREIGN:
            break
    return min(runs, key=lambda run: run.get(FOREIGN, 0))


def compared(row, programs, sizes, rounds):
    """A cell for each program: the medians of its rounds."""
    able = [(kind, binary) for kind, binary in programs if row.needs in kind.does or not row.needs]
    with ExitStack() as stack:
        peers = [stack.enter_context(closing(kind(binary, row.people))) for kind, binary in able]
        runs = {kind: [] for kind, _ in able}
        for turn in range(rounds):
            for n in range(len(peers)):
                peer = peers[(turn + n) % len(peers)]  # none is always the first
                runs[type(peer)].append(measured(row, peer, sizes))
                say(f"{row.name}, {peer.name}: {cell(runs[type(peer)][-1:])}")
    return [cell(runs.get(kind)) for kind, _ in programs]


def cell(runs):
    medians = {key: statistics.median(run[key] for run in runs) for key in runs[0]} if runs else {}
    shown = [key.format(number(value)) for key, value in medians.items() if key != FOREIGN or value > MOST_FOREIGN]
    return ", ".join(shown) or "–"


def number(value):
    """Three digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def looked(programs):
    """The rows of what each program promises."""
    with ExitStack() as stack:
        peers = [stack.enter_context(closing(kind(binary))) for kind, binary in programs]
        yield "syncs to the disk for each lone post", [promises.synced(peer) for peer in peers]
        yield "answered posts that are there after `kill -9`", [promises.survived(peer) for peer in peers]
        yield "what it keeps", [peer.promise for peer in peers]
        yield "limits that were raised", [peer.raised for peer in peers]


def table(first, programs, lines):
    print(f"\n| {' | '.join([first, *(kind.name for kind, _ in programs)])} |\n|{'---|' * (len(programs) + 1)}", flush=True)
    for name, cells in lines:
        print(f"| {' | '.join([name, *cells])} |", flush=True)


def say(line):
    print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="beginnings of the names of rows; all without one")
    parser.add_argument("--rounds", type=int, default=3, help="the table has their medians (default: 3)")
    parser.add_argument("--quick", action="store_true", help="small sizes and one round, to see that everything works")
    options = parser.parse_args()
    sizes, rounds = (QUICK, 1) if options.quick else (FULL, options.rounds)
    speed()
    programs = list(found()) or sys.exit("no program to compare")
    chosen = [row for row in rows(machine.raise_file_limit()) if not options.rows or row.name.startswith(tuple(options.rows))]
    versions = ", ".join(f"{kind.name} {version(kind, binary)}" for kind, binary in programs)
    print(f"{versions}. {date.today():%d %B %Y}, {machine.description()}. Medians of {rounds} round{'s' * (rounds > 1)}.")
    table("Work", programs, ((row.name, compared(row, programs, sizes, rounds)) for row in chosen))
    print(LEGEND)
    table("Promise", programs, looked(programs))


main()
