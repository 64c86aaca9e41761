"""Receives what a webhook delivers, verifies it, and prints it:

    pip install standardwebhooks
    python3 examples/receiver.py 127.0.0.1:9000 whsec_…

The webhook's `webhook_url` leads here; its `webhook_secret` was shown when it was made. An address like this one is
reached only when the server was started with `--allow-private-webhooks 127.0.0.0/8`.
"""

import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

LARGEST = 1 << 20


class Receiver(BaseHTTPRequestHandler):
    webhook = None
    # Events that came before: each comes at least once, always under the same id. A real receiver keeps these where it
    # keeps what it makes of the events, and for as long as events are sent again.
    seen = set()

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if not 0 <= length <= LARGEST:
            return self.answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        body = self.rfile.read(length)
        # Over the body as it came: read and written anew, it would have other bytes. A time that is more than five
        # minutes away is refused, too, so that nobody can send a delivery again later.
        try:
            self.webhook.verify(body, dict(self.headers), json_parse=False)
        except (WebhookVerificationError, ValueError) as error:
            print(f"refused: {error}", file=sys.stderr)
            return self.answer(HTTPStatus.UNAUTHORIZED)
        if (event_id := self.headers["webhook-id"]) not in self.seen:
            self.seen.add(event_id)
            show(json.loads(body))
        self.answer(HTTPStatus.NO_CONTENT)  # any other status than 2xx, and it comes again

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


def show(event):
    data = event["data"]
    if event["type"] == "message.created":
        print(f"{data['username']}: {data['content']}", flush=True)
    else:
        print(f"{event['type']}: {json.dumps(data)}", flush=True)


def main(address, secret):
    Receiver.webhook = Webhook(secret)
    host, port = address.rsplit(":", 1)
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    print(f"receiving on http://{address}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: receiver.py ADDRESS:PORT SECRET")
    main(*sys.argv[1:])
