"""A bot that answers whoever mentions it together with the word "status":

    pip install centrifuge-python
    TIDINGS_TOKEN=tdg_... python3 bot.py http://127.0.0.1:8080

See docs/bots.md for the token, which needs the scopes read and post.
"""

import asyncio
import json
import os
import sys
from urllib.request import Request, urlopen

from centrifuge import Client, ClientEventHandler, ServerPublicationContext

BASE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
HEADERS = {"Authorization": f"Bearer {os.environ['TIDINGS_TOKEN']}", "Content-Type": "application/json"}


async def call(path: str, body: dict | None = None) -> dict:
    """Sends a request as the bot, and returns the data of its answer. A refusal raises an error."""

    def send() -> dict:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{BASE}/api/v1{path}", data, HEADERS), timeout=30) as answer:
            return json.load(answer)["data"]

    return await asyncio.to_thread(send)


class Bot(ClientEventHandler):
    async def on_publication(self, ctx: ServerPublicationContext) -> None:
        event = ctx.pub.data
        if event.get("notification_type") != "channel_mention":
            return
        message = event["data"]
        # Bots that answer bots would never end.
        if message["user_type"] == "user" and "status" in message["content"].lower():
            answer = {"content": "All engines are running.", "thread_id": message["thread_id"]}
            await call(f"/channels/{message['channel_id']}/messages", answer)


async def main() -> None:
    async def to_connect() -> str:
        return (await call("/token/connection?streams=own"))["token"]

    # Before the SDK, which would try again and again with a wrong token.
    name = (await call("/users/me"))["username"]
    # The SDK reconnects by itself, asks for a new token, and receives what it missed meanwhile.
    client = Client(f"ws{BASE.removeprefix('http')}/connection/websocket", events=Bot(), get_token=to_connect)
    await client.connect()
    await client.ready()
    print("listening as", name, flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
