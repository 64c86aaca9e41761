"""Programs that post to Slack, Mattermost or Discord post here once they have a webhook's address: Slack's own library, one for
Discord, and Apprise.

Usage: hooks.py TIDINGS_BINARY, with the packages of requirements.txt.
"""

import asyncio
import os
import sys
import tempfile
from unittest import mock

import apprise
import requests
from discord_webhook import DiscordEmbed, DiscordWebhook
from server import Server
from slack_sdk.webhook import WebhookClient

MARKED = {"text": "*Deployed* <https://ci.example/7|build 7> for <!channel>"}
IN_BLOCKS = {
    "text": "The tide",
    "blocks": [
        {"type": "header", "text": {"type": "plain_text", "text": "Tide table"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "High *water* at ~noon~ one"}},
        {"type": "divider"},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "by the gauge"}]},
    ],
}
ATTACHED = {
    "text": "Builds",
    "attachments": [
        {
            "color": "#d00000",
            "title": "Build 8",
            "title_link": "https://ci.example/8",
            "text": "failed",
            "fields": [{"title": "Branch", "value": "main", "short": True}],
        }
    ],
}
APPRISE_TARGETS = [
    "slack://keeper@T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#quay",
    "discord://keeper@4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js?format=markdown",
]
# Who says it, the status, the text, and the number of mentions.
EXPECTED = [
    ("tools", "success", "**Deployed** [build 7](https://ci.example/7) for @channel", 1),
    ("tools", "success", "Tide table\nHigh **water** at ~~noon~~ one\nby the gauge", 0),
    ("tools", "error", "Builds\n[Build 8](https://ci.example/8)\nfailed\nBranch: main", 0),
    ("Apprise", "success", "Backup\n**done** in 3 min", 0),
    ("keeper", "error", "Backup\n**half** done\nApprise", 0),
    ("keeper", "error", "[Apprise](https://github.com/caronc/apprise)\n**Backup**\n**half** done", 0),
    ("tide", "error", "The tide\n**Flood**\nabove the quay", 0),
]


def leading_to(feed):
    """Apprise's targets for Slack and Discord have the hosts of these in them: what goes there comes here."""
    request = requests.Session.request

    def led(session, method, url, **options):
        is_fixed = url.startswith(("https://hooks.slack.com/", "https://discord.com/"))
        return request(session, method, feed if is_fixed else url, **options)

    return mock.patch.object(requests.Session, "request", led)


def send(port, slug):
    feed = f"http://127.0.0.1:{port}/api/v1/webhooks/feed/{slug}"
    slack = WebhookClient(feed)
    for body in MARKED, IN_BLOCKS, ATTACHED:
        answer = slack.send_dict(body)
        assert (answer.status_code, answer.body) == (200, "ok"), answer.body
    mattermost = apprise.Apprise()
    assert mattermost.add(f"mmost://Apprise@127.0.0.1:{port}/{slug}")
    assert mattermost.notify(title="Backup", body="**done** in 3 min")
    for target in APPRISE_TARGETS:
        program = apprise.Apprise()
        assert program.add(target)
        with leading_to(feed):
            assert program.notify(title="Backup", body="**half** done", notify_type="failure"), target
    discord = DiscordWebhook(feed, content="The tide", username="tide")
    discord.add_embed(DiscordEmbed(title="Flood", description="above the quay", color="d00000"))
    answer = discord.execute()
    assert answer.status_code == 200, answer.text
    return discord.id


async def main(binary):
    os.environ["no_proxy"] = "*"  # whatever proxy the environment names is none of the test's
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, folder)
        await server.launch()
        bearer, _ = await server.person("ada")
        organisation = await server.call("POST", "/organisations", bearer, {"name": "Harbour"})
        quay = await server.call("POST", "/channels", bearer, {"name": "quay", "organisation_id": organisation["id"]})
        hook = await server.call("POST", f"/webhooks/{quay['id']}", bearer, {"webhook_name": "tools"})
        try:
            sent = await asyncio.to_thread(send, server.port, hook["webhook_slug"])
            posts = await server.call("GET", f"/threads/channels/{quay['id']}", bearer)
            found = [(post["username"], post["status"], post["content"], len(post["mentions"])) for post in reversed(posts)]
            assert found == EXPECTED, found
            assert sent == posts[0]["thread_id"], (sent, posts[0])
        finally:
            await server.kill()
    print("ok: libraries for Slack and Discord, and Apprise, post through a webhook", flush=True)


async def limited(binary):
    async with asyncio.timeout(60):
        await main(binary)


asyncio.run(limited(*sys.argv[1:]))
