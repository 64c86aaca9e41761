import subprocess
from urllib.parse import urlencode

from clients import request
from peer import EMAIL, NEWEST, PASSWORD, Peer

RECORDS = "/api/collections/{}/records"
SIGNED_IN = '@request.auth.id != ""'


class PocketBase(Peer):
    name, does, answers = "PocketBase", {"posts", "reads"}, "/api/health"
    raised = "its rate limits are off by default; its log of requests was turned off"
    promise = "SQLite in WAL mode without a sync for each commit: an answered record may be lost with the machine's power"

    def arguments(self):
        return ["serve", "--http", f"127.0.0.1:{self.port}", *self.places()]

    def places(self):
        return ["--dir", "data", "--dev=false"]  # it would log every statement if its binary were in a temporary folder

    def configure(self):
        command = [self.binary, "superuser", "upsert", EMAIL, PASSWORD, *self.places()]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def prepare(self, people):
        self.headers, _ = self.log_in("_superusers")
        self.ask(request("PATCH", "/api/settings", self.headers, {"logs": {"maxDays": 0}, "rateLimits": {"enabled": False}}))
        channels = self.collection("channels", [{"name": "name", "type": "text"}])
        self.collection(
            "messages",
            [
                {"name": "channel", "type": "relation", "collectionId": channels, "maxSelect": 1, "required": True},
                {"name": "author", "type": "relation", "collectionId": "_pb_users_auth_", "maxSelect": 1, "required": True},
                {"name": "content", "type": "text", "required": True},
                {"name": "created", "type": "autodate", "onCreate": True},
            ],
            createRule="author = @request.auth.id",
            indexes=["create index newest on messages (channel, created)"],
        )
        self.channel = self.call(RECORDS.format("channels"), {"name": "general"})["id"]
        self.call(RECORDS.format("users"), {"email": EMAIL, "password": PASSWORD, "passwordConfirm": PASSWORD})
        self.headers, self.user = self.log_in("users")

    def log_in(self, collection):
        answer = self.call(f"/api/collections/{collection}/auth-with-password", {"identity": EMAIL, "password": PASSWORD}, {})
        return {"Authorization": answer["token"]}, answer["record"]["id"]

    def collection(self, name, fields, **more):
        body = {"name": name, "type": "base", "fields": fields, "listRule": SIGNED_IN, "viewRule": SIGNED_IN}
        return self.call("/api/collections", body | more)["id"]

    def post(self, text):
        body = {"channel": self.channel, "author": self.user, "content": text}
        return request("POST", RECORDS.format("messages"), self.headers, body)

    def newest(self):
        asked = {"perPage": NEWEST, "sort": "-created", "skipTotal": 1, "filter": f"channel='{self.channel}'"}
        return request("GET", f"{RECORDS.format('messages')}?{urlencode(asked)}", self.headers)

    def account(self):
        return request("GET", f"{RECORDS.format('users')}/{self.user}", self.headers)

    def stored(self):
        return self.call(f"{RECORDS.format('messages')}?perPage=1")["totalItems"]
