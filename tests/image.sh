#!/bin/bash
# Assembles what examples/Dockerfile puts into its image, with the given binary, and runs it there as the image's user: there is no
# container engine where this runs. Runs as root, because it changes roots.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: image.sh BINARY" >&2; exit 2; }
examples=$(cd "$(dirname "$0")/../examples" && pwd)
image=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$image"' EXIT

fail() {
    echo "image.sh: $1" >&2
    exit 1
}

# The last stage of the Dockerfile, an instruction a line.
stage=$(sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$examples/Dockerfile" | sed '1,/^FROM scratch$/d')
of() {
    printf '%s\n' "$stage" | sed -n "s/^$1 //p"
}
list() { # ["a", "b"] -> a b
    printf '%s' "$1" | tr -d '[],"'
}
user=$(of USER)
read -ra env <<<"$(of ENV)"
read -ra entry <<<"$(list "$(of ENTRYPOINT)")"
read -ra serve <<<"$(list "$(of CMD)")"
read -ra healthcheck <<<"$(list "$(of HEALTHCHECK | sed 's/.*CMD //')")"
[ "$(of COPY | wc -l)" = 2 ] || fail "this script knows of two COPY lines"
cp "$1" "$image/tidings"
chmod 0755 "$image"
grep -q "mkdir -m 0700 /data" "$examples/Dockerfile" || fail "the data folder is not private"
mkdir -m 0700 "$image/data"
mkdir "$image/dev"
cp -a /dev/null /dev/random /dev/urandom "$image/dev/" # a container engine adds them
chown "$user" "$image/data"

run=(env -i "${env[@]}" TIDINGS_LISTEN=127.0.0.1:18080 "$(type -P chroot)" --userspec="$user" "$image")
"${run[@]}" "${entry[@]}" "${serve[@]}" >"$image/said" &
server=$!
for n in $(seq 100); do
    "${run[@]}" "${healthcheck[@]}" >/dev/null 2>&1 && break
    [ "$n" -lt 100 ] || fail "the server in the image is not healthy"
    sleep 0.1
done
"${run[@]}" "${entry[@]}" backup /data --verify
"${run[@]}" "${entry[@]}" doctor --json >"$image/found" || { cat "$image/found"; fail "the doctor finds something bad"; }
[ "$(stat -c %u:%g "$image/data/tidings.db")" = "$user" ] || fail "the database is not the user's"
kill "$server"
wait "$server" || fail "the server did not end well"
server=
"${run[@]}" "${healthcheck[@]}" 2>/dev/null && fail "a server that has ended counts as healthy"
echo "done"
