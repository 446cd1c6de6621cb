#!/usr/bin/env bash
# From a clean clone to a first report: installs what is missing, builds what the demonstration needs, and runs the wrong
# version of samples/async_copy.cu under pincheck, on the GPU if there is one and on the simulated device if not.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: samples/demo.sh [--no-install]

  --no-install   install nothing; only say what is missing

Builds into build/release. Needs no GPU; needs a CUDA Toolkit (12 or newer) for its headers and nvcc.
TEXT
}

install=1
while [[ $# -gt 0 ]]; do
    case "$1" in
        --no-install) install=0; shift ;;
        -h | --help) usage; exit 0 ;;
        *) echo "demo.sh: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
    esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
build=$root/build/release

# ---- What is needed (a part of what tests/run.sh installs)

# package, and a command or header by which its presence is known
needed=(
    "cmake:cmake" "ninja-build:ninja" "g++:g++" "python3:python3" "libunwind-dev:libunwind.h" "libfmt-dev:fmt/format.h"
    "libgtest-dev:gtest/gtest.h" "libdw-dev:elfutils/libdwfl.h" "libcli11-dev:CLI/CLI.hpp"
    "nlohmann-json3-dev:nlohmann/json.hpp" "libbenchmark-dev:benchmark/benchmark.h"
)

present() {
    case "$1" in
        *.h | *.hpp) [[ -e /usr/include/$1 || -n $(compgen -G "/usr/include/*-linux-gnu/$1") ]] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

toolkit() {
    local home include version
    for home in "${CUDA_HOME:-}" /usr/local/cuda /usr/lib/nvidia-cuda-toolkit /usr; do
        [[ -n $home && -x $home/bin/nvcc ]] || continue
        for include in "$home/include" "$home/targets/x86_64-linux/include" /usr/include; do
            [[ -e $include/cuda.h && -e $include/cuda_runtime_api.h ]] || continue
            version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$include/cuda.h" | head -n 1)
            [[ -n $version && $version -ge 12000 ]] && return 0
        done
    done
    return 1
}

missing=()
for entry in "${needed[@]}"; do
    present "${entry#*:}" || missing+=("${entry%%:*}")
done
can_install() { [[ $install -eq 1 && $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; }
if [[ ${#missing[@]} -gt 0 ]]; then
    if ! can_install; then
        echo "demo.sh: missing: ${missing[*]}" >&2
        echo "Install them, on Debian and Ubuntu: sudo apt-get install ${missing[*]}" >&2
        exit 2
    fi
    echo "Installing ${missing[*]} ..."
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
if ! toolkit && can_install; then
    apt-get update -qq
    candidate=$(apt-cache policy nvidia-cuda-toolkit 2>/dev/null | sed -n 's/^ *Candidate: *//p')
    if [[ ${candidate%%.*} =~ ^[0-9]+$ && ${candidate%%.*} -ge 12 ]]; then
        echo "Installing nvidia-cuda-toolkit ..."
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nvidia-cuda-toolkit
    fi
fi
if ! toolkit; then
    cat >&2 <<'TEXT'
demo.sh: no CUDA Toolkit 12 or newer found (looked in $CUDA_HOME, /usr/local/cuda, Debian's nvidia-cuda-toolkit).
No GPU and no driver are needed, only headers, nvcc and the runtime library. Install one of:
  Debian 13, Ubuntu 24.04 and newer:  apt-get install nvidia-cuda-toolkit   (contrib / multiverse must be enabled)
  elsewhere: NVIDIA's network repository, then:  apt-get install cuda-toolkit-13-0
and set CUDA_HOME when it is not in /usr/local/cuda.
TEXT
    exit 2
fi

# ---- Build

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

targets=(pincheck pincheck-preload samples/async_copy)
[[ -n $gpu ]] || targets+=(simcuda_driver simcuda_runtime samples_kernels)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# On a terminal the progress is shown; elsewhere only what went wrong.
quietly() {
    if [[ -t 1 ]]; then
        "$@"
    elif ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        echo "demo.sh: failed: $*" >&2
        exit 1
    fi
}
echo "Building into build/release; the first time this takes a few minutes ..."
quietly cmake --preset release
quietly cmake --build --preset release --parallel "$(nproc)" --target "${targets[@]}"

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
