#!/bin/bash
# Runs files of tests in node, some at a time, the longest first: tests/node.sh AT_ONCE SECONDS FILE...
# A file that fails runs once more, alone. If it passes then, `flaky: FILE` stands in the output, with what it said before and after:
# that is a defect of the test.
set -euo pipefail
at_once=$1 seconds=$2
shift 2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
for file in "$@"; do mkdir -p "$logs/$(dirname "$file")"; done

# shellcheck disable=SC2016 # for the shell that runs it
find "$@" -printf '%s %p\0' | sort -znr | cut -zd' ' -f2- | xargs -0 -P "$at_once" -I {} bash -c '
    if timeout "$1" node --test --test-force-exit "$2" >"$3/$2.log" 2>&1; then
        echo "passed: $2 ($(grep -c "^ *ok " "$3/$2.log" || true) tests in $SECONDS s)"
    else
        touch "$3/$2.failed"
    fi' - "$seconds" {} "$logs"

failed=0
for file in "$@"; do
    [ -e "$logs/$file.failed" ] || continue
    printf -- '-- %s, first run\n' "$file"
    cat "$logs/$file.log"
    if timeout "$seconds" node --test --test-force-exit "$file" >"$logs/$file.again" 2>&1; then
        echo "flaky: $file"
    else
        echo "failed: $file"
        failed=1
    fi
    printf -- '-- %s, second run\n' "$file"
    cat "$logs/$file.again"
done
exit $failed
