"""Signs up, listens to a channel, posts and pages through it, with a client generated from the OpenAPI document:

    pip install openapi-python-client centrifuge-python
    openapi-python-client generate --url http://127.0.0.1:8080/api/v1/openapi.json --meta none
    python3 client.py http://127.0.0.1:8080
"""

import asyncio
import sys
import uuid
from collections.abc import Awaitable
from typing import TypeVar

from centrifuge import Client as Push, PublicationContext, SubscriptionEventHandler
from tidings_client import AuthenticatedClient, Client, models
from tidings_client.api.accounts import log_in, register
from tidings_client.api.channels import create_channel
from tidings_client.api.messages import create_message, list_messages
from tidings_client.api.organisations import create_organisation
from tidings_client.api.realtime import create_connection_token, create_subscription_token

T = TypeVar("T")


async def answer(request: Awaitable[T | models.Failure | None]) -> T:
    """The body of an answer. A refusal raises an error with the server's own words."""
    body = await request
    if body is None or isinstance(body, models.Failure):
        raise RuntimeError(body.message if body else "the server refused")
    return body


class Listener(SubscriptionEventHandler):
    def __init__(self) -> None:
        self.heard = asyncio.Queue[str]()

    async def on_publication(self, ctx: PublicationContext) -> None:
        if "notification_type" not in ctx.pub.data:  # otherwise a change of something older, such as a reaction
            self.heard.put_nowait(f"{ctx.pub.data['username']}: {ctx.pub.data['content']}")


async def main(base: str = "http://127.0.0.1:8080") -> None:
    # 1. An account of its own for each run, and a session, which all later requests name.
    email, password = f"ada-{uuid.uuid4()}@example.org", "quiet harbour at dawn"
    async with Client(f"{base}/api/v1") as guest:
        await answer(register.asyncio(client=guest, body=models.NewAccount(email, password)))
        session = (await answer(log_in.asyncio(client=guest, body=models.Credentials(email, password)))).data
    print("logged in as", session.user.email)

    async with AuthenticatedClient(f"{base}/api/v1", session.access_token) as api:
        # 2. An organisation, and a channel in it.
        org = (await answer(create_organisation.asyncio(client=api, body=models.NewOrganisation("Harbour")))).data
        channel = (await answer(create_channel.asyncio(client=api, body=models.NewChannel("pilots", org.id)))).data

        # 3. Live push. The SDK reconnects by itself, asks for new tokens, and receives what it missed meanwhile.
        async def to_connect() -> str:
            return (await answer(create_connection_token.asyncio(client=api))).data.token

        async def to_subscribe(name: str) -> str:
            body = models.NamedSubscription(channel=name)
            return (await answer(create_subscription_token.asyncio(client=api, body=body))).data.token

        push = Push(f"ws{base.removeprefix('http')}/connection/websocket", get_token=to_connect)
        listener = Listener()
        subscription = push.new_subscription(str(channel.id), listener, get_token=to_subscribe)
        await subscription.subscribe()
        await push.connect()
        await subscription.ready()

        # 4. Posts, heard as they are made, and read again in pages of two, newest first.
        for text in ("The Fram arrives at six.", "Who takes her in?", "Fog is expected after eight."):
            await answer(create_message.asyncio(channel.id, client=api, body=models.NewMessage(text)))
            print("heard from", await listener.heard.get())
        page = (await answer(list_messages.asyncio(channel.id, client=api, limit=2))).messages
        while page:
            print("page:", " | ".join(message.content for message in page))
            page = (await answer(list_messages.asyncio(channel.id, client=api, limit=2, before=page[-1].id))).messages
        await push.disconnect()


asyncio.run(main(*sys.argv[1:]))
