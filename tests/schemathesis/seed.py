"""Makes one of everything through the API, and writes schemathesis' configuration with the identifiers:
otherwise nearly every call would end at "not found". What an operation destroys is of its own."""
import base64
import json
import os
import sys
import urllib.request

API = os.environ["API"]
TOKEN = SELF = None


def call(method, path, body=None):
    headers = {"Content-Type": "application/json"}
    if TOKEN:
        headers["Authorization"] = "Bearer " + TOKEN
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def upload(name, content, organisation):
    head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    data = (head + content + "\r\n--b--\r\n").encode()
    headers = {"Content-Type": "multipart/form-data; boundary=b", "Authorization": "Bearer " + TOKEN}
    request = urllib.request.Request(API + f"/files/upload-files?organisation_id={organisation}", data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["data"][0]["id"]


def set_face(organisation, bot):
    path = f"/organisations/{organisation}/bots/{bot}/avatar"
    picture = base64.b64decode("R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=")
    request = urllib.request.Request(API + path, picture, {"Authorization": "Bearer " + TOKEN, "Content-Type": "image/gif"}, method="PUT")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["data"]["avatar_url"]


def log_in(email, password):
    return call("POST", "/auth/login", {"email": email, "password": password})["data"]


def user(name):
    email, password = f"{name}@example.org", "quiet harbour at dawn"
    call("POST", "/auth/register", {"email": email, "password": password, "username": name})
    return log_in(email, password)["user"]["id"]


def world(name, others):
    made = call("POST", "/organisations", {"name": name})["data"]
    organisation = made["id"]
    for other in others:
        call("POST", f"/organisations/{organisation}/users", {"user_id": other, "role_Id": "member"})
    body = {"organisation_id": organisation, "name": "engines", "userIds": others}
    channel = call("POST", "/channels", body)["data"]["id"]
    file = upload("engine.txt", "A drawing of the engine", organisation)
    message = {"content": "The engine has arrived", "files": [file]}
    message = call("POST", f"/channels/{channel}/messages", message)["data"]["id"]
    webhook = call("POST", f"/webhooks/{channel}", {"webhook_name": "builds", "webhook_url": "https://ci.example/", "events": ["message.created", "action.clicked"]})["data"]
    question = {"message": "Start it?", "actions": [{"label": "Start"}]}
    call("POST", f"/webhooks/feed/{webhook['webhook_slug']}", question)
    asked = call("GET", f"/channels/{channel}/messages?limit=1")["messages"][0]
    invited = {"org_id": organisation, "emails": [f"{organisation}@example.org"]}
    invitation = call("POST", "/invite", invited)["data"]["invitations"][0]["id"]
    link = call("POST", f"/organisations/{organisation}/join-links", {})["data"]["id"]
    role = call("POST", f"/organisations/{organisation}/roles", {"name": "reviewer"})["data"]["id"]
    bot = call("POST", f"/organisations/{organisation}/bots", {"name": "Build"})["data"]["id"]
    face = set_face(organisation, bot).rsplit("/", 1)[1]
    command = {"name": "deploy", "url": "https://ci.example/"}
    command = call("POST", f"/organisations/{organisation}/commands", command)["data"]["id"]
    reminder = call("POST", "/reminders", {"text": name, "due_at": "2100-01-01T00:00:00Z"})["data"]["id"]
    token = call("POST", f"/users/{SELF}/tokens", {"name": name, "scopes": ["read"]})["data"]["id"]
    return {
        "bot": bot, "command": command, "reminder": reminder, "answer": "unknown", "token": token, "organisation": organisation, "org_slug": made["organisation_slug"], "channel": channel, "channel_name": "engines", "message": message,
        "webhook": webhook["id"], "slug": webhook["webhook_slug"], "invitation": invitation, "role": str(role),
        "face": face, "file": file, "file_name": "engine.txt", "join_link": link, "asked": asked["id"], "action": asked["actions"][0]["id"],
    }


def public(name):
    category = call("POST", "/blog_categories", {"name": name})["data"]["id"]
    unused = call("POST", "/blog_categories", {"name": name + " again"})["data"]["id"]
    call("POST", "/blogs", {"content": f"# {name}", "category_id": category})
    return {"blog": call("GET", "/blogs")["data"][0]["id"], "category": unused}


def kind(method, template, at):
    """What a segment of a path names: the segment before it tells."""
    before, segment = template[at - 1], template[at]
    if template[at + 1 : at + 2] == ["tokens"]:
        return "self"
    if segment == "{webhook_id}" or before == "history":
        return "webhook"
    if before == "messages" and "actions" in template:
        return "asked"
    if segment == "{file_name}":
        return "file_name"
    if segment == "{channel_id}":
        return "channel"
    if before == "threads":
        return "message" if segment == "{thread_id}" or (method != "POST" and segment == "{id}") else "channel"
    return {
        "slug": "org_slug", "switch-org": "org_slug", "organisations": "organisation", "channels": "channel", "name": "channel_name", "messages": "message", "message": "message", "thread": "message",
        "users": "user", "roles": "role", "reactions": "emoji", "invite": "invitation", "join-links": "join_link", "bots": "bot", "commands": "command", "reminders": "reminder", "answers": "answer", "actions": "action", "feed": "slug", "tokens": "token",
        "files": "file", "faces": "face", "file": "file", "webhooks": "channel", "blogs": "blog", "blog_categories": "category",
    }[before]


def destroys(method, path):
    """Operations after which others would find nothing."""
    return (
        method == "DELETE" or path.endswith(("/owner", "/leave", "/archive", "/archive-channel"))
        or (method in ("PUT", "PATCH") and "/users/{" in path) or path.endswith("/change-status")
    )


def main(target):
    global TOKEN, SELF
    email, password = os.environ["EMAIL"], os.environ["PASSWORD"]
    others = [user("grace"), user("joan")]
    session = log_in(email, password)
    TOKEN, SELF = session["access_token"], session["user"]["id"]
    kept = {**world("kept", others), **public("Kept"), "user": others[0], "self": SELF, "emoji": "tada"}
    lines = []
    for path, methods in call("GET", "/openapi.json")["paths"].items():
        template = path.split("/")
        named = [at for at, segment in enumerate(template) if segment.startswith("{")]
        for method in methods if named else []:
            things = kept
            if destroys(method.upper(), path):
                name = f"Doomed {len(lines)}"
                things = {**kept, **world(name, others), **public(name)}
            values = {"path." + template[at][1:-1]: things[kind(method.upper(), template, at)] for at in named}
            lines += ["[[operations]]", f"include-name = {json.dumps(method.upper() + ' ' + path)}", "[operations.parameters]"]
            lines += [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in values.items()] + [""]
    with open(target, "w") as file:
        file.write("\n".join(lines))


main(sys.argv[1])
