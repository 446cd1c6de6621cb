#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: tests/gpu/run.sh BUILD_DIR [OUT_DIR] [run.py options]. BUILD_DIR may have been built
# elsewhere (see bundle.sh). Prints the verdicts and the table; raw JSON goes to OUT_DIR.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# -lt 1 || $1 == -h || $1 == --help ]]; then
    sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
fi
build=$1
shift
out=
if [[ $# -gt 0 && $1 != -* ]]; then
    out=$1
    shift
fi
if [[ -z $out ]]; then
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
    slug=$(tr '[:upper:]' '[:lower:]' <<<"${gpu:-none}" | sed 's/nvidia//; s/[^a-z0-9][^a-z0-9]*/-/g; s/^-//; s/-$//')
    out=$here/${slug:-none}
fi
status=0
python3 "$here/run.py" "$build" "$out" "$@" || status=$?
# With options only a part was asked for.
if [[ $# -eq 0 ]]; then
    python3 "$here/gates.py" "$build" "$out/gates.json" || status=$?
fi
python3 "$here/table.py" "$out"
exit "$status"
