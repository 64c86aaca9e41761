"""The Model Context Protocol endpoint, as the official SDK for Python meets it: by the handshake alone, and after it has asked for a
newer version.

Usage: mcp_client.py TIDINGS_BINARY, with the packages of requirements.txt.
"""

import asyncio
import json
import os
import sys
import tempfile

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from server import Server


async def converse(client, mode):
    async def call(name, **arguments):
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result
        return json.loads(result.content[0].text)

    assert (client.server_info.name, client.protocol_version) == ("tidings", "2025-11-25")
    assert len((await client.list_tools()).tools) == 8
    channels = (await call("list_channels"))["channels"]
    assert [channel["name"] for channel in channels] == ["general"]
    text = f"The Fram arrives at six, {mode}."
    posted = await call("post_message", channel="general", text=text)
    assert (await call("react", message=posted["id"], emoji="⚓"))["reactions"] == "⚓ 1"
    assert (await call("read_messages", channel=channels[0]["id"]))["messages"][-1]["text"] == text
    async with asyncio.timeout(20):
        while text not in [row["text"] for row in (await call("search_messages", query="Fram"))["messages"]]:
            await asyncio.sleep(0.05)
    refused = await client.call_tool("read_messages", {"channel": "none"})
    assert refused.is_error and refused.content[0].text.startswith("Channel not found")


async def main(binary):
    os.environ["no_proxy"] = "*"  # whatever proxy the environment names is none of the test's
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, folder)
        await server.launch()
        bearer, _ = await server.person("ada")
        await server.call("POST", "/organisations", bearer, {"name": "Harbour"})
        for mode in ("legacy", "auto"):
            http = create_mcp_http_client(headers={"Authorization": f"Bearer {bearer}"})
            async with asyncio.timeout(60), http:
                transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http)
                async with Client(transport, mode=mode) as client:
                    await converse(client, mode)
            print(f"ok: the Python client of the Model Context Protocol, {mode}", flush=True)
        await server.stop()


asyncio.run(main(*sys.argv[1:]))
