#!/bin/sh
# Fails unless the given ELF program is static: no interpreter and no shared library asked for.
set -eu
[ $# -eq 1 ] || { echo "usage: static.sh FILE" >&2; exit 2; }
[ -f "$1" ] || { echo "static.sh: no such file: $1" >&2; exit 2; }
headers=$(readelf -lW "$1" 2>/dev/null) || { echo "static.sh: $1 is no ELF program" >&2; exit 1; }
dynamic=$(readelf -dW "$1")
printf '%s\n' "$headers" | grep -q LOAD || { echo "static.sh: $1 has no loadable segment" >&2; exit 1; }
if printf '%s\n' "$headers" | grep -q INTERP; then
    echo "static.sh: $1 asks for an interpreter" >&2
    exit 1
fi
if printf '%s\n' "$dynamic" | grep -q '(NEEDED)'; then
    echo "static.sh: $1 asks for shared libraries" >&2
    exit 1
fi
echo "$1 is static, $(wc -c <"$1") bytes"
