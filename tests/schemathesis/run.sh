#!/bin/bash
# Runs schemathesis over the OpenAPI document against the running server, with a seed: once with
# identifiers of its own making, and beside that, on another server, once with those of records that
# exist, so that calls get somewhere.
# All checks: hooks.py has the refusals that no schema can announce.
# Usage: [SEED=…] [EXAMPLES=…] run.sh TIDINGS_BINARY, with schemathesis of requirements.txt in the PATH.
set -euo pipefail
tidings=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'pkill -P $$ || true; wait; rm -rf "$scratch"' EXIT

export EMAIL=root@example.org PASSWORD="quiet harbour at dawn"
export SCHEMATHESIS_HOOKS=hooks
export PYTHONPATH=$here
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY

# Starts a server with a folder of its own and sets API to its address.
serve() {
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export API=http://127.0.0.1:$port/api/v1
    mkdir "$scratch/$1"
    "$tidings" user create --data-dir "$scratch/$1/data" --email "$EMAIL" --username root --password "$PASSWORD" --role superadmin
    "$tidings" serve --data-dir "$scratch/$1/data" --listen "127.0.0.1:$port" --rate-limit off \
        --mail-url "file://$scratch/$1/mail" >"$scratch/$1/log" 2>&1 &
    for _ in $(seq 100); do
        curl -sf "http://127.0.0.1:$port/health" >/dev/null && return
        sleep 0.1
    done
}

run() {
    local folder=$scratch/$1
    shift
    (cd "$folder" && schemathesis "$@" run "$API/openapi.json" --url "$API" --seed "${SEED:-20260101}" --max-examples "${EXAMPLES:-30}" \
        --checks all --phases examples,coverage,fuzzing,stateful --suppress-health-check all --no-color \
        --warnings off --request-timeout 20) >"$folder/said" 2>&1 || {
        cat "$folder/said"
        tail -n 40 "$folder/log"
        return 1
    }
}

serve unknown
run unknown &
unknown=$!
serve seeded
python3 "$here/seed.py" "$scratch/seeded.toml"
run seeded --config-file "$scratch/seeded.toml"
wait $unknown
tail -n 30 "$scratch/unknown/said" "$scratch/seeded/said"
if grep -n ERROR "$scratch"/*/log; then
    echo "the server logged errors" >&2
    exit 1
fi
