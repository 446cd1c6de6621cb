#!/usr/bin/env bash
# Runs a command and holds its exit status and what it prints (both streams) against what is expected.
#
# usage: expect.sh STATUS [REGEX]... -- COMMAND [ARGUMENT]...
#
# Every extended regular expression must match in some line. One that begins with "! " must match in none.
set -uo pipefail

status=$1
shift
expected=()
while [[ $# -gt 0 && $1 != -- ]]; do
    expected+=("$1")
    shift
done
shift

printed=$("$@" 2>&1)
got=$?
echo "$printed"
wrong=0
if [[ $got -ne $status ]]; then
    echo "expect.sh: exit status $got instead of $status" >&2
    wrong=1
fi
for regex in "${expected[@]}"; do
    if [[ $regex == "! "* ]]; then
        if grep -qE -e "${regex#! }" <<<"$printed"; then
            echo "expect.sh: printed, and should not be: ${regex#! }" >&2
            wrong=1
        fi
    elif ! grep -qE -e "$regex" <<<"$printed"; then
        echo "expect.sh: not printed: $regex" >&2
        wrong=1
    fi
done
exit $wrong
