#!/bin/bash
# The life of a server on an empty root: nothing is there but the given binary, the installer, coreutils and a shell. Install, the
# first administrator by the link, the first message, a backup, its restoration elsewhere, an upgrade of the given data folder of
# the first release (tests/migrations makes it), uninstall. Runs as root, because it changes roots.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: root.sh BINARY FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$root"' EXIT

fail() {
    echo "root.sh: $1" >&2
    exit 1
}

# A program with the libraries that it asks for.
put() {
    local program file
    program=$(type -P "$1") || fail "there is no $1"
    mkdir -p "$root/bin"
    cp -L "$program" "$root/bin/${2:-$1}"
    for file in $(ldd "$program" | grep -o '/[^ ]*'); do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
}
put dash sh
for program in cat chmod chown cp dirname id ls mkdir mv rm; do put $program; done
mkdir -p "$root/etc" "$root/tmp" "$root/dev"
cp -a /dev/null /dev/random /dev/urandom "$root/dev/" # every machine and every container has these
printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
cp "$1" "$root/tidings"
cp "$here/../install.sh" "$root/install.sh"

in_root=(env -i PATH=/usr/local/bin:/bin "$(type -P chroot)" "$root")

# Starts a server in the root on a data folder, and sets $server and $url.
start() {
    "${in_root[@]}" tidings serve --data-dir "$1" --listen 127.0.0.1:0 --rate-limit off --log warn >"$root/said" 2>"$root/log" &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's|^ *API  *\(http://[^/]*\)/.*|\1|p' "$root/said")
        if [ -n "$url" ] && curl -sf "$url/health" >/dev/null; then return; fi
        sleep 0.05
    done
    cat "$root/said" "$root/log"
    fail "the server on $1 did not start"
}

stop() {
    kill "$server"
    wait "$server" || fail "the server did not end well"
    server=
}

# A call of the API, whose answer must have the given status: call STATUS METHOD PATH [BODY]
call() {
    local status
    status=$(curl -s -o "$root/answer" -w '%{http_code}' -X "$2" "$url$3" -H "Authorization: Bearer ${token:-}" \
        ${4:+-H 'Content-Type: application/json' -d "$4"})
    [ "$status" = "$1" ] || { cat "$root/answer"; fail "$2 $3 answered $status instead of $1"; }
}

# A value of the last answer: value 'expression of the variable a'
value() {
    python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$root/answer" "$1"
}

log_in() {
    token=
    call 200 POST /api/v1/auth/login '{"email": "ada@example.org", "password": "quiet harbour at dawn"}'
    token=$(value 'a["data"]["access_token"]')
}

echo "install"
"${in_root[@]}" sh /install.sh --binary /tidings --service --data /var/lib/chat
"${in_root[@]}" tidings version
for file in bin/tidings lib/systemd/system/tidings.service share/man/man1/tidings-backup.1 share/bash-completion/completions/tidings; do
    [ -s "$root/usr/local/$file" ] || fail "the installer wrote no $file"
done
"${in_root[@]}" tidings config check

echo "the first administrator, by the link"
start /data
link=$(sed -n 's|^ *\(http.*/setup?token=.*\)$|\1|p' "$root/said")
[ -n "$link" ] || fail "the start printed no link"
curl -sf -o /dev/null "$link" || fail "the link's page is not there"
call 201 POST /setup/administrator "{\"token\": \"${link##*=}\", \"email\": \"ada@example.org\", \"first_name\": \"Ada\",
    \"last_name\": \"Lovelace\", \"password\": \"quiet harbour at dawn\", \"organisation\": \"Harbour\"}"

echo "the first message"
log_in
call 200 GET /api/v1/channels
channel=$(value 'a["channels"][0]["channels_id"]')
call 201 POST "/api/v1/channels/$channel/messages" '{"content": "Good morning"}'

echo "backup, beside the running server"
"${in_root[@]}" tidings backup /one.tar.zst --data-dir /data --verify
stop

echo "restore elsewhere"
"${in_root[@]}" tidings restore /one.tar.zst --to /elsewhere
start /elsewhere
log_in
call 200 GET "/api/v1/channels/$channel/messages"
[ "$(value 'a["messages"][0]["content"]')" = "Good morning" ] || fail "the message was not restored"
"${in_root[@]}" tidings doctor --data-dir /elsewhere --base-url "$url"
stop

echo "upgrade from the first released schema"
cp -r "$2" "$root/old"
chmod 0700 "$root/old"
start /old
[ "$("${in_root[@]}" ls /old/backups)" ] || fail "no backup was made before the migration"
kept=$("${in_root[@]}" tidings user list --data-dir /old)
case $kept in
    *ada@example.org*) ;;
    *) fail "an account is lost: $kept" ;;
esac
stop
"${in_root[@]}" tidings restore "/old/backups/$("${in_root[@]}" ls /old/backups)" --dry-run

echo "install over it, with a backup of the folder that the unit names"
mkdir -p "$root/var/lib"
cp -r "$root/data" "$root/var/lib/chat"
"${in_root[@]}" sh /install.sh --binary /tidings
[ "$("${in_root[@]}" ls /var/lib/chat/backups)" ] || fail "no backup was made before the upgrade"

echo "uninstall"
"${in_root[@]}" sh /install.sh --uninstall
left=$(find "$root/usr" ! -type d)
[ -z "$left" ] || fail "these are left: $left"
[[ -f "$root/etc/tidings.env" && -f "$root/var/lib/chat/tidings.db" ]] || fail "data or settings are gone"
echo "done"
