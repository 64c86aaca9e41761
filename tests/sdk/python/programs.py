"""What the server API promises to a team's programs, kept to the unmodified Python library for them, `cent`.

Usage: programs.py TIDINGS_BINARY, with the packages of requirements.txt.
"""

import asyncio
import sys

from cent import (
    AsyncClient,
    BatchRequest,
    BroadcastRequest,
    CentApiResponseError,
    CentUnauthorizedError,
    ChannelsRequest,
    Disconnect,
    DisconnectRequest,
    HistoryRequest,
    InfoRequest,
    PresenceRequest,
    PresenceStatsRequest,
    PublishRequest,
    StreamPosition,
    SubscribeRequest,
    UnsubscribeRequest,
)
from harbour import Connection, Harbour
from server import until

KEY = "a-key-for-the-tests"


async def refused(code, call):
    try:
        answer = await call
    except CentApiResponseError as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"answered, where {code} was expected: {answer}")


class Hears(Connection):
    """What a client hears of the server's own accord."""

    def __init__(self):
        super().__init__()
        self.heard, self.subscribed, self.unsubscribed = [], [], []

    async def on_subscribed(self, context):
        self.subscribed.append(context.channel)

    async def on_unsubscribed(self, context):
        self.unsubscribed.append(context.channel)

    async def on_publication(self, context):
        self.heard.append(context.pub.data)


async def programs_push_and_the_client_hears(place, program):
    client = await place.client()
    client.events = heard = Hears()
    start = await program.publish(PublishRequest(channel=place.quay, data={"build": 1}))
    again = [await program.publish(PublishRequest(channel=place.quay, data=2, idempotency_key="k")) for _ in "12"]
    assert again[0] == again[1] and again[0].offset > start.offset and again[0].epoch == start.epoch

    since = StreamPosition(offset=start.offset, epoch=start.epoch)
    await program.subscribe(SubscribeRequest(user=place.ada, channel=place.quay, recover_since=since))
    await until(lambda: f"heard {heard.heard}", lambda: heard.heard == [2])
    assert heard.subscribed == [place.quay]

    answer = await program.broadcast(BroadcastRequest(channels=[place.quay, "nowhere", place.pier], data={"all": True}))
    assert [response.error and response.error.code for response in answer.responses] == [None, 102, None]
    await until(lambda: f"heard {heard.heard}", lambda: heard.heard == [2, {"all": True}])

    requests = [PublishRequest(channel=place.quay, data="one"), InfoRequest()]
    for parallel in (False, True):
        replies = (await program.batch(BatchRequest(requests=requests, parallel=parallel))).replies
        assert replies[0].offset > again[0].offset and replies[1].nodes[0].num_clients == 1

    there = (await program.presence(PresenceRequest(channel=place.quay))).presence
    assert there.keys() == {client.client_id} and there[client.client_id].user == place.ada
    stats = await program.presence_stats(PresenceStatsRequest(channel=place.quay))
    assert (stats.num_clients, stats.num_users) == (1, 1)
    channels = (await program.channels(ChannelsRequest(pattern=f"{place.quay[:8]}*"))).channels
    assert channels[place.quay].num_clients == 1
    history = await program.history(HistoryRequest(channel=place.quay, limit=2, since=since))
    assert [publication.data for publication in history.publications] == [2, {"all": True}]

    await program.unsubscribe(UnsubscribeRequest(user=place.ada, channel=place.quay))
    await until(lambda: "still subscribed", lambda: heard.unsubscribed == [place.quay])
    await program.disconnect(DisconnectRequest(user=place.ada, disconnect=Disconnect(code=4501, reason="enough")))
    await heard.sees("disconnected", 4501)


async def what_is_wrong_is_refused(place, program):
    await refused(102, program.publish(PublishRequest(channel="nowhere", data=1)))
    await refused(103, program.subscribe(SubscribeRequest(user="nobody", channel=place.quay)))
    await refused(107, program.disconnect(DisconnectRequest(user="")))
    stranger = AsyncClient(f"http://127.0.0.1:{place.server.port}/api", "another-key")
    try:
        await stranger.info(InfoRequest())
    except CentUnauthorizedError:
        pass
    else:
        raise AssertionError("answered without the key")
    finally:
        await stranger.close()


async def main(binary):
    for scenario in (programs_push_and_the_client_hears, what_is_wrong_is_refused):
        async with asyncio.timeout(60), Harbour(binary, False, "--push-api-key", KEY) as place:
            program = AsyncClient(f"http://127.0.0.1:{place.server.port}/api", KEY)
            try:
                await scenario(place, program)
            finally:
                await program.close()
        print(f"ok: the Python server library: {scenario.__name__.replace('_', ' ')}", flush=True)


asyncio.run(main(*sys.argv[1:]))
