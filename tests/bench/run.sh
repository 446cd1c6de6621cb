#!/usr/bin/env bash
# The full figures: tests/bench/run.sh [BUILD FOLDER] [hook_cost.py arguments]. About two minutes on two cores.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../build/release}
[[ $# -gt 0 ]] && shift
exec python3 "$here/hook_cost.py" "$build" "$@"
