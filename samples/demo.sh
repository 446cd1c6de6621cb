#!/usr/bin/env bash
# From a clean clone to a first report: installs what is missing, builds what the demonstration needs, and runs the wrong
# version of samples/async_copy.cu under pincheck, on the GPU if there is one and on the simulated device if not.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: samples/demo.sh [--no-install] [--build-dir DIR]

  --no-install      install nothing; only say what is missing
  --build-dir DIR   use what is built there; install and build nothing

Builds into build/release otherwise. Needs no GPU; needs a CUDA Toolkit (12 or newer) for its headers and nvcc.
TEXT
}

install_options=(--install-only)
build=""
while [[ $# -gt 0 ]]; do
    case "$1" in
        --no-install) install_options+=(--no-install); shift ;;
        --build-dir)
            [[ $# -ge 2 ]] || { usage >&2; exit 2; }
            build=$(cd "$2" && pwd) || exit 2
            shift 2
            ;;
        -h | --help) usage; exit 0 ;;
        *) echo "demo.sh: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
    esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# On a terminal the progress is shown; elsewhere only what went wrong.
quietly() {
    if [[ -t 1 ]]; then
        "$@"
    else
        "$@" >"$log" 2>&1 || { local status=$?; cat "$log" >&2; echo "demo.sh: failed: $*" >&2; exit "$status"; }
    fi
}

# ---- What is needed

build_here=0
if [[ -z $build ]]; then
    build_here=1
    build=$PWD/build/release
    echo "Installing what a build needs, where it is missing ..."
    quietly tests/run.sh "${install_options[@]}"
fi

# ---- Which device

gpu=$(python3 - <<'PYTHON'
import ctypes
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    count, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0:
        print(name.value.decode() if cuda.cuDeviceGetName(name, 128, 0) == 0 else "unnamed")
except OSError:
    pass
PYTHON
)
# In a shell that is set up for the simulated device.
[[ $gpu != simcuda ]] || gpu=""

# ---- Build

if [[ $build_here -eq 1 ]]; then
    targets=(pincheck pincheck-preload samples/async_copy)
    [[ -n $gpu ]] || targets+=(simcuda samples_kernels)
    echo "Building into build/release; the first time this takes a few minutes ..."
    quietly cmake --preset release
    quietly cmake --build --preset release --parallel "$(nproc)" --target "${targets[@]}"
fi

# ---- Run

if [[ -n $gpu ]]; then
    echo "Running on the GPU of this machine: $gpu."
    setting=""
else
    echo "No GPU found: running on the simulated device (tests/simcuda). What is reported is the same; times are this CPU's."
    export LD_LIBRARY_PATH=$build/simcuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export SIMCUDA_KERNELS=$build/samples/kernels.so
    setting="LD_LIBRARY_PATH=$build/simcuda SIMCUDA_KERNELS=$build/samples/kernels.so "
fi

report=$build/demo-report
rm -rf "$report"
cd "$build/samples"
echo
echo "\$ pincheck run -- async_copy --pageable"
"$build/bin/pincheck" run --output "$report" -- ./async_copy --pageable 2>&1
cat <<TEXT

What to do next:
  one finding in full      $build/bin/pincheck show 1 $report
  why it matters           $build/bin/pincheck explain pageable-async-copy
  the right version        ${setting}$build/bin/pincheck run --check -- $build/samples/async_copy
  your own program         $build/bin/pincheck run -- PROGRAM ARGUMENTS
TEXT
