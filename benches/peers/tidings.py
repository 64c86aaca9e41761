from clients import request
from peer import EMAIL, PASSWORD, Peer


class Tidings(Peer):
    name, does, answers = "Tidings", {"posts", "reads", "push"}, "/health"
    raised = "`--rate-limit off`, 20,000 connections of an address"
    promise = "SQLite with its log synced before the answer; pushed after the commit; recovered from the database"

    def arguments(self):
        return ["serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", "data", "--rate-limit", "off", "--log", "error",
                "--connections-per-address", "20000", "--push-token-seconds", "86400"]

    def prepare(self, people):
        api = "/api/v1"
        account = {"email": EMAIL, "password": PASSWORD}
        self.call(f"{api}/auth/register", account)
        self.headers = session(self.call(f"{api}/auth/login", account))
        organisation = self.call(f"{api}/organisations", {"name": "Harbour"})["data"]["id"]
        [channel] = [channel["channels_id"] for channel in self.call(f"{api}/channels")["channels"]]
        self.channel = f"{api}/channels/{channel}"
        if people:
            link = self.call(f"{api}/organisations/{organisation}/join-links", {"uses": people})["data"]["token"]
        for n in range(people):
            person = session(self.call(f"{api}/join", {"token": link, "email": f"{n}@example.org", "password": PASSWORD}, {}))
            token = self.call(f"{api}/token/connection", headers=person)["data"]["token"]
            sub = self.call(f"{api}/token/subscription", {"channel": channel}, person)["data"]["token"]
            self.commands.append({"id": 1, "connect": {"token": token, "subs": {channel: {"token": sub}}}})

    def post(self, text):
        return request("POST", f"{self.channel}/messages", self.headers, {"content": text})

    def newest(self):
        return request("GET", f"{self.channel}/messages", self.headers)

    def account(self):
        return request("GET", "/api/v1/users/me", self.headers)

    def stored(self):
        return self.call(f"{self.channel}?users=0")["data"]["message_count"]


def session(answer):
    """The header of requests in the session that an answer begins."""
    return {"Authorization": f"Bearer {answer['data']['access_token']}"}
