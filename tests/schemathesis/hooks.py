"""Logs in for schemathesis: a session that a test has ended is replaced by a new one. Tells it which valid requests are
refused all the same, because of what the server holds or because no schema can say it."""
import json
import os
import re
import urllib.request

import schemathesis
from schemathesis import checks

# Words of a refusal, and why the schema does not rule it out.
REFUSED_BY_STATE = {
    r"already exists|exists already|is taken": "the name, the address or the id is taken",
    r"token is invalid|has expired|has already been (used|accepted)|no longer valid": "no mail with this token was sent",
    r"join link is invalid|request is invalid or has ended|code is wrong|Too many wrong codes": "no such link or code was made",
    r"You have an account: ": "names and a password go only without a session",
    r"around goes without|exclude each other": "of two parameters or fields, just one may be given",
    r"must be the domain of e-mail addresses": "the form of a domain is more than a pattern can say",
    r"already a member|not a member": "the user is, or is not, in the channel or the organisation",
    r"no such|is already verified|has no pending invitation": "the body names a record that is not there",
    r"one of the most common ones|must not be the e-mail address|is the old password": "the password is easy to guess",
    r"a link gives at most": "a role has more rights than a link may give",
    r"is reserved|must not be a UUID": "a few names have a meaning of their own",
    r"besides the caller": "the body names only the caller",
    r"can't be the owner|is in use|is inactive": "the record is in a state that rules the change out",
    r"pages end after": "page and limit together lead too deep",
    r"must be a picture": "what a picture is made of is more than a schema can say",
    r"at most \d+ (channels|roles|webhooks|direct|different|pinned|organisations|tokens|bots|commands|reminders)": "a quota is used up",
    r"more than \d+ events": "the span of time has too many events",
    r"the organisation has a command": "the name is taken",
    r"The program failed": "nobody answers at the command's address",
    r"actions: only bots with an address|takes no clicks": "people post no buttons, and nobody is there to get the click",
    r"has no webhook_url": "the webhook delivers nothing",
    r"url: |must not lead to this server|is not an address: ": "the host is not valid, or not to be reached",
    r"is no right|in \"PermissionList\"|name all rights like": "the keys of a map, which the document can only describe",
    r"permission_list or in permissions, not in both|permission_list is required|thread_id is required": "of two fields, just one is needed",
    r"must be a UUID, not \"[\w-]+\"": "a value of one answer is tried as another's id; a format is no assertion in JSON Schema",
    r"without invisible characters|must not contain invisible": "which characters are invisible is a table of Unicode",
    r"the file [0-9a-f-]+ (is|stands|was)": "a file that the body names is not there, or not to be had",
    r"content must not be empty": "a message without files needs a text",
    r"at most 10 files": "a message is refused with `files` and `media` that are too many together",
    r"at_mentions contradicts notify_about": "no schema says which values of two fields go together",
    r"failed to read headers": "the name of a part has a control character, which its header can't have",
    r"parts of the form must have the name": "other parts of a form are not taken, which its schema can't say",
    r"organisation_id is required": "the caller works in no organisation",
    r"since must be before until|of the last 30 days|must be a time to come": "times belong together, and with the clock",
}


@schemathesis.auth(refresh_interval=2)
class LogIn:
    def get(self, case, context):
        body = json.dumps({"email": os.environ["EMAIL"], "password": os.environ["PASSWORD"]}).encode()
        request = urllib.request.Request(
            os.environ["API"] + "/auth/login", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["data"]

    def set(self, case, data, context):
        case.headers = case.headers or {}
        if case.path.startswith("/realtime/"):
            case.headers["X-Notification-Token"] = data["notification_token"]
        else:
            case.headers["Authorization"] = "Bearer " + data["access_token"]


checks.load_all_checks()
accepts_what_the_schema_allows = checks.CHECKS.get_one("positive_data_acceptance")
has_what_was_made = checks.CHECKS.get_one("ensure_resource_availability")
refuses_what_the_schema_forbids = checks.CHECKS.get_one("negative_data_rejection")
answers_documented_statuses = checks.CHECKS.get_one("status_code_conformance")


@checks.CHECKS.register  # in place of the one of this name
def positive_data_acceptance(ctx, response, case):
    if response.status_code in (400, 422):
        message = json.loads(response.content).get("message", "")
        if any(re.search(words, message) for words in REFUSED_BY_STATE):
            return None
    return accepts_what_the_schema_allows(ctx, response, case)


@checks.CHECKS.register
def ensure_resource_availability(ctx, response, case):
    # What was just made, as /organisations/…, is there; a user, role or other record that the request names need not be.
    made = case.path.split("/")[1].removesuffix("s")
    if response.status_code == 404 and case.method in ("POST", "PUT", "PATCH", "DELETE"):
        message = json.loads(response.content).get("message", "")
        if not message.lower().startswith(made):
            return None
    return has_what_was_made(ctx, response, case)


# A query of over some 16 KiB is refused with the head of the request, before there is an operation.
def is_past_the_head(response):
    return response.status_code == 431 and len(response.request.url) > 15 << 10


@checks.CHECKS.register
def negative_data_rejection(ctx, response, case):
    # In a form every value is a text, and every text is a file.
    is_form = case.path == "/files/upload-files" and response.status_code == 200
    return None if is_past_the_head(response) or is_form else refuses_what_the_schema_forbids(ctx, response, case)


@checks.CHECKS.register
def status_code_conformance(ctx, response, case):
    return None if is_past_the_head(response) else answers_documented_statuses(ctx, response, case)
