"""Logs in for schemathesis: a session that a test has ended is replaced by a new one."""
import json
import os
import urllib.request

import schemathesis


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
