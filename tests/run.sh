#!/usr/bin/env bash
# Everything from a clean clone: installs what is missing, configures, builds, runs the tests.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/run.sh [--preset release|debug|asan] [--all] [--no-install] [-- CTEST ARGUMENTS]
       tests/run.sh --install-only [--no-install]

  --preset NAME   CMake preset to build and test (default: release), in build/NAME
  --all           the long tests too (ctest label "long")
  --no-install    install nothing; only say what is missing
  --install-only  install what a build needs, and stop: no build, no tests, and nothing that only the tests need
  -- ...          passed on to ctest, for example: -- -R Copies -V

Needs no GPU: the tests run on a simulated device. Needs a CUDA Toolkit (12 or newer) for its headers and nvcc.
TEXT
}

preset=release
all=0
install=1
install_only=0
ctest_arguments=()
while [[ $# -gt 0 ]]; do
    case "$1" in
        --preset)
            [[ $# -ge 2 ]] || { usage >&2; exit 2; }
            preset=$2
            shift 2
            ;;
        --preset=*) preset=${1#*=}; shift ;;
        --all) all=1; shift ;;
        --no-install) install=0; shift ;;
        --install-only) install_only=1; shift ;;
        -h | --help) usage; exit 0 ;;
        --) shift; ctest_arguments=("$@"); break ;;
        *) echo "run.sh: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
    esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# package, and a command or file by which its presence is known
needed=(
    "cmake:cmake" "ninja-build:ninja" "g++:g++" "python3:python3"
    "libunwind-dev:/usr/include/libunwind.h" "libfmt-dev:/usr/include/fmt/format.h"
    "libgtest-dev:/usr/include/gtest/gtest.h" "libdw-dev:/usr/include/elfutils/libdwfl.h"
    "libcli11-dev:/usr/include/CLI/CLI.hpp" "libtomlplusplus-dev:/usr/include/toml++/toml.h" "nlohmann-json3-dev:/usr/include/nlohmann/json.hpp"
    "libbenchmark-dev:/usr/include/benchmark/benchmark.h"
)
[[ $install_only -eq 1 ]] || needed+=("musl-tools:musl-gcc" "git:git" "valgrind:valgrind" "binutils:readelf"
    "python3-pytest:/usr/lib/python3/dist-packages/pytest" "python3-yaml:/usr/lib/python3/dist-packages/yaml")

present() {
    case "$1" in
        /*) [[ -e $1 || -n $(compgen -G "/usr/include/*-linux-gnu/${1#/usr/include/}") ]] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

missing=()
for entry in "${needed[@]}"; do
    present "${entry#*:}" || missing+=("${entry%%:*}")
done

updated=0
apt_install() {
    if [[ $updated -eq 0 ]]; then
        apt-get update
        updated=1
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}
can_install() { [[ $install -eq 1 && $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; }

if [[ ${#missing[@]} -gt 0 ]]; then
    if can_install; then
        apt_install "${missing[@]}"
    else
        echo "run.sh: missing: ${missing[*]}" >&2
        echo "Install them, on Debian and Ubuntu: sudo apt-get install ${missing[*]}" >&2
        exit 2
    fi
fi

# The CUDA Toolkit, in the order in which CMakeLists.txt looks for it. Prints its version, 12.4 as 12040.
toolkit_version() {
    local home include version
    for home in "${CUDA_HOME:-}" /usr/local/cuda /usr/lib/nvidia-cuda-toolkit /usr; do
        [[ -n $home && -x $home/bin/nvcc ]] || continue
        for include in "$home/include" "$home/targets/x86_64-linux/include" /usr/include; do
            [[ -e $include/cuda.h && -e $include/cuda_runtime_api.h ]] || continue
            version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$include/cuda.h" | head -n 1)
            if [[ -n $version && $version -ge 12000 ]]; then
                echo "$version"
                return 0
            fi
        done
    done
    return 1
}

if ! toolkit_version >/dev/null; then
    if can_install; then
        [[ $updated -eq 1 ]] || apt-get update
        updated=1
        candidate=$(apt-cache policy nvidia-cuda-toolkit 2>/dev/null | sed -n 's/^ *Candidate: *//p')
        if [[ ${candidate%%.*} =~ ^[0-9]+$ && ${candidate%%.*} -ge 12 ]]; then
            apt_install nvidia-cuda-toolkit
        fi
    fi
    if ! toolkit_version >/dev/null; then
        cat >&2 <<'TEXT'
run.sh: no CUDA Toolkit 12 or newer found (looked in $CUDA_HOME, /usr/local/cuda, Debian's nvidia-cuda-toolkit).
No GPU and no driver are needed, only headers, nvcc and the runtime library. Install one of:
  Debian 13, Ubuntu 24.04 and newer:  apt-get install nvidia-cuda-toolkit   (contrib / multiverse must be enabled)
  elsewhere: NVIDIA's network repository, then:  apt-get install cuda-toolkit-13-0
and set CUDA_HOME when it is not in /usr/local/cuda. To build the tool without tests: cmake -DPINCHECK_TESTS=OFF
TEXT
        exit 2
    fi
fi

[[ $install_only -eq 0 ]] || exit 0

jobs=$(nproc)
cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$jobs"

labels=()
[[ $all -eq 1 ]] || labels=(-LE long)
# Timings of bench run alone; everything else side by side.
exec ctest --preset "$preset" --parallel "$jobs" "${labels[@]}" ${ctest_arguments[@]+"${ctest_arguments[@]}"}
