#!/bin/sh
# A tour of the API: two people meet, form an organisation and talk in a channel, and a program joins in.
#
#   examples/tour.sh [BASE_URL]          default: http://127.0.0.1:8080
#
# Needs a POSIX shell and curl. It makes new accounts each time, so it can be run again.
#
# For programs that want to listen in: set TOUR_WAIT to a path. Once the channel exists,
# the script writes ORG_ID, CHANNEL_ID, the two people's ids and their tokens to
# "$TOUR_WAIT.ready" and posts nothing before the file "$TOUR_WAIT.go" appears
# (it waits 30 seconds at most).
set -eu

base=${1:-http://127.0.0.1:8080}
base=${base%/}
api=$base/api/v1

umask 077
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step() {
    printf '\n* %s\n' "$1"
}

fail() {
    printf 'tour.sh: %s\n' "$1" >&2
    exit 1
}

# call METHOD PATH TOKEN [BODY]: one request; the answer's body is left in $answer.
call() {
    set -- "$1" "$2" "$3" "${4:-}"
    printf '    %-4s /api/v1%s' "$1" "$2"
    {
        [ -z "$3" ] || printf 'header = "Authorization: Bearer %s"\n' "$3"
    } >"$scratch/headers"
    if [ -n "$4" ]; then
        printf '%s' "$4" >"$scratch/body"
        code=$(curl -sS --max-time 20 -K "$scratch/headers" -X "$1" -H 'Content-Type: application/json' \
            --data-binary "@$scratch/body" -o "$scratch/answer" -w '%{http_code}' "$api$2") ||
            fail "no answer from $base; is the server running?"
    else
        code=$(curl -sS --max-time 20 -K "$scratch/headers" -X "$1" \
            -o "$scratch/answer" -w '%{http_code}' "$api$2") ||
            fail "no answer from $base; is the server running?"
    fi
    answer=$(cat "$scratch/answer")
    printf ' -> %s\n' "$code"
    case $code in
        2??) ;;
        *) fail "unexpected answer: $answer" ;;
    esac
}

# field NAME: the first string of that name in the answer; for ids and tokens, which need no unescaping.
field() {
    value=$(printf '%s\n' "$answer" | tr ',{}[]' '[\n*]' | sed -n "s/^[[:space:]]*\"$1\"[[:space:]]*:[[:space:]]*\"\([^\"]*\)\".*/\1/p" | sed -n 1p)
    [ -n "$value" ] || fail "no \"$1\" in: $answer"
    printf '%s\n' "$value"
}

# contents: the text of every message in the answer, one a line.
contents() {
    printf '%s\n' "$answer" | sed 's/"content"[[:space:]]*:/\
&/g' | sed -n 's/^"content"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/      "\1"/p'
}

suffix=$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
password="quiet harbour at dawn $suffix"

step "Two people sign up"
for name in ada grace; do
    call POST /auth/register "" "{\"email\":\"$name-$suffix@example.org\",\"password\":\"$password\",\"username\":\"$name-$suffix\",\"first_name\":\"$name\"}"
done

step "Both log in"
call POST /auth/login "" "{\"email\":\"ada-$suffix@example.org\",\"password\":\"$password\"}"
ada_token=$(field access_token)
ada_id=$(field id)
call POST /auth/login "" "{\"email\":\"grace-$suffix@example.org\",\"password\":\"$password\"}"
grace_token=$(field access_token)
grace_id=$(field id)
printf '    ada is %s\n    grace is %s\n' "$ada_id" "$grace_id"

step "Ada makes an organisation"
call POST /organisations "$ada_token" "{\"name\":\"Harbour $suffix\",\"description\":\"Boats and tides\",\"type\":\"shipping\",\"country\":\"Norway\"}"
org_id=$(field id)
printf '    the organisation is %s\n' "$org_id"

step "Ada invites Grace, who accepts"
call POST /invite "$ada_token" "{\"org_id\":\"$org_id\",\"emails\":[\"grace-$suffix@example.org\"],\"role\":\"member\"}"
invite_token=$(field invite_token)
call POST /invite/verify "$grace_token" "{\"token\":\"$invite_token\"}"

step "Ada makes a channel with Grace in it"
call POST /channels "$ada_token" "{\"name\":\"pilots-$suffix\",\"description\":\"Who brings which ship in\",\"organisation_id\":\"$org_id\",\"userIds\":[\"$grace_id\"]}"
channel_id=$(field id)
printf '    the channel is %s\n' "$channel_id"

if [ -n "${TOUR_WAIT:-}" ]; then
    cat >"$TOUR_WAIT.part" <<EOF
ORG_ID=$org_id
CHANNEL_ID=$channel_id
ADA_ID=$ada_id
ADA_TOKEN=$ada_token
GRACE_ID=$grace_id
GRACE_TOKEN=$grace_token
GRACE_EMAIL=grace-$suffix@example.org
PASSWORD=$password
EOF
    mv "$TOUR_WAIT.part" "$TOUR_WAIT.ready"
    step "Waiting for whoever listens in"
    seconds=0
    while [ ! -e "$TOUR_WAIT.go" ]; do
        [ "$seconds" -lt 30 ] || fail "no $TOUR_WAIT.go after 30 seconds"
        sleep 1
        seconds=$((seconds + 1))
    done
fi

step "Ada posts two messages"
call POST "/channels/$channel_id/messages" "$ada_token" '{"content":"The Fram arrives at six. Who takes her in?"}'
thread_id=$(field id)
call POST "/channels/$channel_id/messages" "$ada_token" '{"content":"Fog is expected after eight."}'

step "Grace answers the first one in its thread"
call POST "/channels/$channel_id/messages" "$grace_token" "{\"content\":\"I do.\",\"thread_id\":\"$thread_id\"}"

step "Ada makes a webhook, and a program posts through its address, without a token"
call POST "/webhooks/$channel_id" "$ada_token" '{"webhook_name":"weather"}'
webhook_slug=$(field webhook_slug)
call POST "/webhooks/feed/$webhook_slug" "" '{"message":"Visibility 200 metres."}'

step "Grace reads the channel, newest first"
call GET "/channels/$channel_id/messages" "$grace_token"
contents

step "Grace lists its threads, the newest post first, each with its replies"
call GET "/threads/channels/$channel_id" "$grace_token"
contents

cat <<EOF

Done. Look around as Grace (this account is only for the tour):
  e-mail    grace-$suffix@example.org
  password  $password
  $base/docs has every endpoint, to read and to try.
EOF
