"""The work that is compared. Each row measures one running server, and returns its figures by the way in which they are printed."""

import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Callable

from clients import Connection, Listeners, loader, text, timed
from machine import Watch, cpu, resident, settle
from peer import NEWEST, SEEDED

# Messages that each socket of a storm misses.
MISSED = 50
# Seconds between two paced posts.
PACE = 0.1
# How many different messages are posted.
TEXTS = 256
LATENCIES = ("p50 {} ms", "p99 {} ms")
FOREIGN = "{} % foreign"


@dataclass(frozen=True)
class Row:
    name: str
    # What a peer must do for it.
    needs: str
    # Measures a peer whose server has this process number, in the sizes of a full or a quick run.
    measure: Callable
    people: int = 0
    # Whether the measurement starts the server itself.
    starts: bool = False


@dataclass(frozen=True)
class Sizes:
    warm_up: float
    seconds: float
    # Posts to 100 listeners in a closed loop, and paced ones.
    posts: int
    paced: int
    # Seconds that sockets are idle; each is pinged once in a full run.
    idle: float
    # How often a run is made, at most, for one beside little foreign work.
    tries: int


FULL, QUICK = Sizes(0.5, 3, 2000, 50, 30, 3), Sizes(0.1, 0.5, 100, 5, 1, 1)


def various(peer):
    """Requests that post different messages."""
    return [peer.post(text(n)) for n in range(TEXTS)]


def loaded(unit, requests, connections, writes=False):
    """Connections that send one request after the other. What the server does after the last answer belongs to its CPU, too."""

    def measure(peer, process, sizes):
        before = peer.count() if writes else 0
        with loader(peer.port, requests(peer), connections) as client:
            began = cpu(process)
            client.tell("go")
            time.sleep(sizes.warm_up)
            counted = Watch(process, [client.id])
            client.tell("count")
            time.sleep(sizes.seconds)
            seconds, server, foreign = counted.spent()
            client.tell("stop")
            done = client.json()
        assert done["refused"] == 0 and done["answers"] > 0, done
        each = server / done["answers"]
        if writes:
            assert peer.count() - before == done["all"], f"{peer.count() - before} of {done['all']} posts are stored"
            settle(process)
            each = (cpu(process) - began) / done["all"]
        rate = {f"{{}} {unit}": done["answers"] / seconds} if unit else {}
        return rate | dict(zip(LATENCIES, (done["p50"], done["p99"]))) | {"{} µs": each * 1e6, FOREIGN: foreign}

    return measure


def drive(peer, listeners, posts, in_flight):
    """Posts in a closed loop: the next one goes out when all sockets have an earlier one."""
    message, waiting = peer.post(text(0)), deque()
    with ExitStack() as stack:
        lanes = [stack.enter_context(Connection(peer.port)) for _ in range(in_flight)]
        for n in range(posts + in_flight):
            if n >= in_flight:
                waiting.popleft().answer()
                listeners.await_all()
            if n < posts:
                waiting.append(lanes[n % in_flight])
                waiting[-1].send(message)


def closed(sockets, in_flight):
    def measure(peer, process, sizes):
        with Listeners(peer, sockets) as listeners:
            drive(peer, listeners, 20, in_flight)
            watch = Watch(process, listeners.ids())
            drive(peer, listeners, sizes.posts, in_flight)
            seconds, server, foreign = watch.spent()
        deliveries = sizes.posts * sockets
        return {"{} deliveries/s": deliveries / seconds, "{} µs": server / deliveries * 1e6, FOREIGN: foreign}

    return measure


def paced(sockets):
    def measure(peer, process, sizes):
        with Listeners(peer, sockets, timed=True) as listeners, Connection(peer.port) as poster:
            for posts in (5, sizes.paced):  # the first few are not counted
                watch, began = Watch(process, listeners.ids()), time.perf_counter()
                for n in range(posts):
                    time.sleep(max(0, began + n * PACE - time.perf_counter()))
                    poster.send(peer.post(timed()))
                    poster.answer()
                    listeners.await_all()
                _, server, foreign = watch.spent()
                took = sorted(microseconds for part in listeners.ask_all("times") for microseconds in part)
                assert len(took) == posts * sockets, f"{len(took)} of {posts * sockets} pushes arrived"
        p50, p99 = (took[int(len(took) * share)] / 1000 for share in (0.5, 0.99))
        return dict(zip(LATENCIES, (p50, p99))) | {"{} µs": server / len(took) * 1e6, FOREIGN: foreign}

    return measure


def storm(sockets):
    """All sockets lose their connection, miss messages, and come back at once; timed until the last one has everything."""

    def measure(peer, process, sizes):
        with Listeners(peer, sockets) as listeners, Connection(peer.port) as poster:
            drive(peer, listeners, 1, 1)
            listeners.drop()
            for n in range(MISSED):
                poster.send(peer.post(text(n)))
                poster.answer()
            settle(process)
            watch = Watch(process, listeners.ids())
            recovered = listeners.ask_all(f"recover {MISSED}")
            _, server, foreign = watch.spent()
        for name, expected in (("messages", sockets * MISSED), ("unrecovered", 0), ("failures", 0)):
            found = sum(one[name] for one in recovered)
            assert found == expected, f"{found} {name}, expected {expected}"
        return {"{} s": max(one["seconds"] for one in recovered), "{} µs": server / sockets * 1e6, FOREIGN: foreign}

    return measure


def idle(sockets):
    def measure(peer, process, sizes):
        before = resident(process)
        with Listeners(peer, sockets):
            time.sleep(sizes.idle)
            return {"{} KiB each": (resident(process) - before) / sockets}

    return measure


def started(peer, _, sizes):
    process, seconds = peer.begin()
    try:
        return {"{} ms": seconds * 1000, "{} MiB": resident(process.pid) / 1024}
    finally:
        peer.end(process)


def rows(files):
    """All rows, on a machine where a process may open so many files."""
    idlers = min(10_000, (files - 1000) // 100 * 100)
    return [
        Row("posts, 32 connections", "posts", loaded("posts/s", various, 32, writes=True)),
        Row("a lone post", "posts", loaded("", various, 1, writes=True)),
        Row(f"newest {NEWEST} messages, 32 connections", "reads", loaded("answers/s", lambda peer: [peer.newest()], 32)),
        Row("own account, 32 connections", "reads", loaded("answers/s", lambda peer: [peer.account()], 32)),
        Row("100 listeners, 10 posts a second", "push", paced(100), people=1),
        Row("100 listeners, 1 post in flight", "push", closed(100, 1), people=1),
        Row("100 listeners, 8 posts in flight", "push", closed(100, 8), people=1),
        Row("1,000 listeners, 10 posts a second", "push", paced(1000), people=10),
        Row(f"1,000 sockets back at once, {MISSED} messages missed", "push", storm(1000), people=10),
        Row(f"{idlers:,} idle sockets", "push", idle(idlers), people=idlers // 100),
        Row(f"start to the first answer, {SEEDED:,} messages", "", started, starts=True),
    ]
