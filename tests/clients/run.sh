#!/bin/bash
# Generates a TypeScript and a Python client from the OpenAPI document, checks examples/client.ts and examples/client.py
# strictly against them, and runs both programs against the server. Then runs the bots of examples/.
# Usage: run.sh TIDINGS_BINARY BOT_IN_RUST, after `npm ci` in this folder, with the packages of requirements.txt in the PATH.
set -euo pipefail
tidings=$(realpath "$1")
bot=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
examples=$(realpath "$here/../../examples")
scratch=$(mktemp -d)
trap '[ -z "${server:-}" ] || kill "$server"; rm -rf "$scratch"' EXIT
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
cd "$scratch"

mkfifo said
"$tidings" serve --data-dir data --listen 127.0.0.1:0 --log error >said &
server=$!
exec 3<said
base=$(grep -om 1 'http://[0-9.:]*' <&3)

"$tidings" openapi >openapi.json
cp "$here/package.json" "$examples"/{client,bot}.{ts,py} .
ln -s "$here/node_modules" node_modules

"$here/node_modules/.bin/openapi-typescript" openapi.json -o tidings.d.ts
"$here/node_modules/.bin/tsc" --strict --target es2022 --module nodenext client.ts bot.ts

openapi-python-client generate --path openapi.json --meta none --fail-on-warning
# The generator's own tidings_client/client.py is not clean, so that what it makes of the document is named instead.
mypy --strict --follow-imports silent --follow-untyped-imports -p tidings_client.api -p tidings_client.models -m client

cat >expected <<'END'
logged in as ada
heard from ada: The Fram arrives at six.
heard from ada: Who takes her in?
heard from ada: Fog is expected after eight.
page: Fog is expected after eight. | Who takes her in?
page: The Fram arrives at six.
END
check() {
    # Each run has an account with a name of its own.
    timeout 60 "$@" "$base" | sed -E 's/ada-[-0-9a-f]{36}(@example\.org)?/ada/' >printed
    diff expected printed
    echo "ok: $* signs up, posts, hears it live and pages through it"
}
check node client.js
check python3 client.py

timeout 120 node "$here/bots.mjs" "$base" "node bot.js" "python3 bot.py" "$bot"
