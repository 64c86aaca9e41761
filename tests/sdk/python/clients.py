"""What the push endpoint promises to a client, kept to the unmodified Python SDK, in JSON and in Protobuf.

Usage: clients.py TIDINGS_BINARY [PART OF A SCENARIO'S NAME], with the packages of requirements.txt.
"""

import asyncio
import base64
import json
import sys
import time
import traceback

from centrifuge import ReplyError, StreamPosition

from harbour import Harbour, Listener
from server import Refused, until


async def refused(code, call):
    """The call must fail with that code of the protocol."""
    try:
        answer = await call
    except ReplyError as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"answered, where {code} was expected: {answer}")


async def hears_what_is_posted_until_it_unsubscribes(harbour):
    async with harbour() as place:
        client = await place.client()
        subscription, quay = await place.listen(client, place.quay)
        _, pier = await place.listen(client, place.pier)
        texts = await place.say(place.quay, "The Fram arrives at six.", "Fog after eight.")
        await quay.hears(texts)

        await subscription.unsubscribe()
        await refused(103, client.presence(place.quay))
        await place.say(place.quay, "Not heard.")
        await pier.hears(await place.say(place.pier, "A marker."))
        assert quay.texts == texts


async def sees_who_is_there_who_comes_and_who_goes(harbour):
    async with harbour() as place:
        one, two = await place.client(), await place.client()
        subscription, seen = await place.listen(one, place.quay, join_leave=True)
        await place.listen(two, place.quay)
        await until(lambda: f"seen coming: {seen.came}", lambda: any(info.client == two.client_id for info in seen.came))

        there = (await subscription.presence()).clients
        assert there.keys() == {one.client_id, two.client_id}
        assert {info.user for info in [*there.values(), *seen.came]} == {place.ada}
        stats = await subscription.presence_stats()
        assert (stats.num_clients, stats.num_users) == (2, 1)

        await two.disconnect()
        await until(lambda: "nobody seen going", lambda: seen.went)
        assert [info.client for info in seen.went] == [two.client_id]
        stats = await subscription.presence_stats()
        assert (stats.num_clients, stats.num_users) == (1, 1)


async def reads_what_was_said_before_it_came(harbour):
    async with harbour() as place:
        subscription, listener = await place.listen(await place.client(), place.quay)
        position = listener.subscribed[0].stream_position
        texts = await place.say(place.quay, "one", "two", "three")
        everything = await subscription.history(limit=10, since=position)
        assert place.contents(everything) == texts
        offsets = [publication.offset for publication in everything.publications]
        assert position.offset < offsets[0] < offsets[1] < offsets[2] <= everything.offset
        assert everything.epoch == position.epoch

        rest = await subscription.history(limit=1, since=StreamPosition(offsets[0], position.epoch))
        assert place.contents(rest) == ["two"]
        assert place.contents(await subscription.history(limit=2, reverse=True)) == ["three", "two"]
        assert (await subscription.history()).publications == []
        await refused(112, subscription.history(limit=1, since=StreamPosition(1, "another")))


async def renews_its_tokens_as_they_expire_and_loses_nothing_by_it(harbour):
    async with harbour("--push-token-seconds", "2", "--push-ping-seconds", "1") as place:
        asked = {"connection": 0, "subscription": 0}

        async def connection_token():
            asked["connection"] += 1
            return await place.server.connection_token(place.bearer)

        async def subscription_token(channel):
            asked["subscription"] += 1
            return await place.server.subscription_token(place.bearer, channel)

        old = await place.server.connection_token(place.bearer)
        older = await place.server.subscription_token(place.bearer, place.quay)
        # A token is still good in the second that it names.
        claims = json.loads(base64.urlsafe_b64decode(older.split(".")[1] + "=="))
        await until(lambda: "the tokens do not expire", lambda: time.time() >= claims["exp"] + 1)

        # Both are refused with 109, and the SDK asks for better ones.
        client = await place.client(token=old, get_token=connection_token)
        _, listener = await place.listen(client, place.quay, token=older, get_token=subscription_token)
        assert asked == {"connection": 1, "subscription": 1}
        client.events.events.clear()
        listener.events.clear()
        # The answer to one renewal says when the next is due.
        await until(lambda: f"{asked} {client.events.events} {listener.events}", lambda: min(asked.values()) >= 3)
        await listener.hears(await place.say(place.quay, "still here"))
        assert client.events.events == listener.events == []


async def recovers(harbour, away, code):
    """A listener over a line that `away` takes from it; what was said meanwhile arrives, once."""
    async with harbour() as place:
        line = await place.line()
        client = await place.client(port=line.port)
        _, listener = await place.listen(client, place.quay)
        texts = await place.say(place.quay, "before")
        await listener.hears(texts)

        client.events.events.clear()
        texts += await away(place, line)
        await client.events.sees("connecting", code)
        line.mend()
        await until(lambda: "not subscribed again", lambda: len(listener.subscribed) == 2)
        assert listener.subscribed[1].was_recovering and listener.subscribed[1].recovered
        await listener.hears(texts + await place.say(place.quay, "after"))
        assert len(client.events.events) == len(listener.subscribed) - 1, client.events.events


async def recovers_what_it_missed_while_it_was_cut_off(harbour):
    async def away(place, line):
        line.cut()
        return await place.say(place.quay, *map(str, range(20)))

    await recovers(harbour, away, 1)


def restarted(how):
    """The server ends and is launched again while the client is away; both sides of that are recovered."""

    async def away(place, line):
        line.close()
        texts = await place.say(place.quay, "1", "2", "3")
        await getattr(place.server, how)()
        await place.server.launch()
        return texts + await place.say(place.quay, "4", "5", "6")

    return away


async def recovers_over_a_restart(harbour):
    await recovers(harbour, restarted("stop"), 3001)


async def recovers_over_kill_9(harbour):
    await recovers(harbour, restarted("kill"), 1)


async def is_kept_out_of_a_foreign_channel(harbour):
    async with harbour() as place:
        eve, _ = await place.server.person("eve")
        try:
            await place.server.subscription_token(eve, place.quay)
        except Refused as error:
            assert error.status == 403
        else:
            raise AssertionError("a token for a foreign channel")

        client = await place.client(bearer=eve)
        for token in ("", "x.y.z", eve):
            seen = Listener(place.read)
            subscription = client.new_subscription(place.quay, seen, token=token)
            await subscription.subscribe()
            await seen.sees("unsubscribed", 103)
            client.remove_subscription(subscription)

        own = await place.post("/organisations", {"name": "Reef"}, bearer=eve)
        token = await place.server.subscription_token(eve, own["id"])
        await client.new_subscription(place.quay, token=token).subscribe()
        await client.events.sees("disconnected", 3500)


async def is_disconnected_for_good_when_its_user_logs_out(harbour):
    async with harbour() as place:
        client = await place.client()
        await place.listen(client, place.quay)
        await place.server.call("POST", "/auth/logout", place.bearer)
        await client.events.sees("disconnected", 3503)


SCENARIOS = [
    hears_what_is_posted_until_it_unsubscribes,
    sees_who_is_there_who_comes_and_who_goes,
    reads_what_was_said_before_it_came,
    renews_its_tokens_as_they_expire_and_loses_nothing_by_it,
    recovers_what_it_missed_while_it_was_cut_off,
    recovers_over_a_restart,
    recovers_over_kill_9,
    is_kept_out_of_a_foreign_channel,
    is_disconnected_for_good_when_its_user_logs_out,
]


async def main(binary, part=""):
    failed = 0
    for encoding in ("JSON", "Protobuf"):
        for scenario in SCENARIOS:
            name = f"the Python SDK, in {encoding}, {scenario.__name__.replace('_', ' ')}"
            if part not in name:
                continue
            started = time.monotonic()
            try:
                # SDKs reconnect for ever: without a limit, a fault would look like a test that never ends.
                async with asyncio.timeout(60):
                    await scenario(lambda *flags: Harbour(binary, encoding == "Protobuf", *flags))
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"FAILED: {name}", flush=True)
            else:
                print(f"ok: {name} ({time.monotonic() - started:.1f} s)", flush=True)
    return failed


sys.exit(asyncio.run(main(*sys.argv[1:])) > 0)
