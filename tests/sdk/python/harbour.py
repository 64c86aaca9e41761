"""A server with Ada, who has an organisation with two channels; and what to do there with the Python SDK."""

import asyncio
import json
import tempfile

from centrifuge import Client, ClientEventHandler, SubscriptionEventHandler

from server import Line, Server, until


class Connection(ClientEventHandler):
    """What happens to a client, as (what, code)."""

    def __init__(self):
        self.events = []

    async def on_connecting(self, context):
        self.events.append(("connecting", context.code))

    async def on_disconnected(self, context):
        self.events.append(("disconnected", context.code))

    async def sees(self, *event):
        await until(lambda: f"{event}, saw {self.events}", lambda: event in self.events)


class Listener(SubscriptionEventHandler):
    """What a subscription hears and sees."""

    def __init__(self, read):
        self.read = read
        self.texts, self.events, self.subscribed, self.came, self.went = [], [], [], [], []

    async def on_subscribing(self, context):
        self.events.append(("subscribing", context.code))

    async def on_subscribed(self, context):
        self.subscribed.append(context)

    async def on_unsubscribed(self, context):
        self.events.append(("unsubscribed", context.code))

    async def on_publication(self, context):
        self.texts.append(self.read(context.pub.data)["content"])

    async def on_join(self, context):
        self.came.append(context.info)

    async def on_leave(self, context):
        self.went.append(context.info)

    async def sees(self, *event):
        await until(lambda: f"{event}, saw {self.events}", lambda: event in self.events)

    async def hears(self, texts):
        """Waits for the last of the texts; nothing else may have come, nothing twice, nothing out of order."""
        await until(lambda: f"heard only {self.texts}", lambda: texts[-1] in self.texts)
        assert self.texts == texts, self.texts


class Harbour:
    def __init__(self, binary, protobuf, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(binary, self.folder.name, *flags)
        self.protobuf = protobuf
        self.clients = []

    async def __aenter__(self):
        await self.server.launch()
        self.bearer, self.ada = await self.server.person("ada")
        organisation = await self.post("/organisations", {"name": "Harbour"})
        names = [{"name": name, "organisation_id": organisation["id"]} for name in ("quay", "pier")]
        self.quay, self.pier = [channel["id"] for channel in [await self.post("/channels", name) for name in names]]
        return self

    async def __aexit__(self, *_):
        for client in self.clients:
            await client.disconnect()
        if self.server.process.returncode is None:
            self.server.process.kill()
            await self.server.process.wait()
        self.folder.cleanup()

    def read(self, data):
        """Payloads are objects in JSON, and bytes in Protobuf."""
        assert isinstance(data, bytes if self.protobuf else dict), data
        return json.loads(data) if self.protobuf else data

    async def post(self, path, body, bearer=None):
        return await self.server.call("POST", path, bearer or self.bearer, body)

    async def say(self, channel, *texts):
        """Posts the texts one after the other, and returns them."""
        for text in texts:
            await self.post(f"/channels/{channel}/messages", {"content": text})
        return list(texts)

    def contents(self, history):
        return [self.read(publication.data)["content"] for publication in history.publications]

    async def client(self, port=None, bearer=None, **options):
        """A client that comes back soon, since every test waits for it."""
        url = f"ws://127.0.0.1:{port or self.server.port}/connection/websocket"
        options.setdefault("get_token", lambda: self.server.connection_token(bearer or self.bearer))
        soon = {"min_reconnect_delay": 0.01, "max_reconnect_delay": 0.1}
        client = Client(url, Connection(), use_protobuf=self.protobuf, proxy=None, **soon, **options)
        self.clients.append(client)
        await client.connect()
        await client.ready()
        return client

    async def listen(self, client, channel, **options):
        """A subscription that is live, and what it hears."""
        options.setdefault("get_token", lambda name: self.server.subscription_token(self.bearer, name))
        listener = Listener(self.read)
        subscription = client.new_subscription(channel, listener, min_resubscribe_delay=0.01, **options)
        await subscription.subscribe()
        await until(lambda: f"not subscribed: {listener.events}", lambda: listener.subscribed)
        assert listener.subscribed[0].recoverable and listener.subscribed[0].positioned
        return subscription, listener

    async def line(self):
        return await Line(self.server).lay()
