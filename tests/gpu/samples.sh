#!/usr/bin/env bash
# tests/gpu/samples.sh BUILD_DIR SOURCE_FOLDER [OUT_DIR]: NVIDIA's public samples under the tool, on a machine with an
# NVIDIA GPU. SOURCE_FOLDER is outside of this repository and holds cuda-samples and nvbandwidth, checked out from
# github.com/NVIDIA (tried with the tags v13.0 and v0.8); nothing in it is changed. Their unchanged sources are built in
# a temporary folder, each program runs bare and under `pincheck run`, and both are compared (samples.py). Results go to
# OUT_DIR/samples.json (default: tests/gpu/<device>).
#
# nvcc is $NVCC or that of /usr/local/cuda; the GPU's architecture is $CUDA_ARCH ("90") or found by nvcc. nvbandwidth
# needs Boost's program_options (BOOST_ROOT is respected) and nvml.h (CPATH is), and is skipped without.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# -lt 2 || $1 == -h || $1 == --help ]]; then
    sed -n '2,/^set /{/^#/s/^#\( \|$\)//p}' "${BASH_SOURCE[0]}"
    exit 2
fi
build=$1
source=$(cd "$2" && pwd)
out=${3:-}
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
arch=${CUDA_ARCH:-native}
[[ $arch == native ]] && nvcc_arch=native || nvcc_arch=sm_$arch
work=$(mktemp -d "${TMPDIR:-/tmp}/pincheck-samples.XXXXXX")
trap 'rm -rf "$work"' EXIT

# In the background, since nvcc takes a while: the program, or why there is none.
build_sample() {  # NAME RUNTIME
    local file=$source/cuda-samples/Samples/0_Introduction/$1/$1.cu
    if [[ ! -e $file ]]; then
        echo "$file is missing" >"$work/$1-$2.skipped"
    elif ! "$nvcc" -std=c++17 -O2 -g -lineinfo -arch="$nvcc_arch" -cudart "$2" \
        -I "$source/cuda-samples/Common" -o "$work/$1-$2" "$file" >"$work/$1-$2.log" 2>&1; then
        echo "does not build: $(tail -n 3 "$work/$1-$2.log" | tr '\n' ' ')" >"$work/$1-$2.skipped"
    fi
}

# The driver brings its libraries under their run-time names only: a name to link with.
link_name() {  # LIBRARY
    local path
    path=$(ldconfig -p | sed -n "s/.*$1.so.1 .*x86-64.* => //p" | head -n 1)
    for folder in ${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH//:/ }} /usr/local/nvidia/lib64; do
        [[ -n $path || ! -e $folder/$1.so.1 ]] || path=$folder/$1.so.1
    done
    mkdir -p "$work/lib"
    [[ -z $path ]] || ln -s "$path" "$work/lib/$1.so"
}

build_nvbandwidth() {
    local why=$work/nvbandwidth-static.skipped
    if [[ ! -e $source/nvbandwidth/CMakeLists.txt ]]; then
        echo "$source/nvbandwidth is missing" >"$why"
        return
    fi
    if ! g++ -std=c++17 -x c++ ${BOOST_ROOT:+-I"$BOOST_ROOT/include" -L"$BOOST_ROOT/lib"} -o /dev/null - \
        -lboost_program_options >/dev/null 2>&1 <<<"#include <boost/program_options.hpp>
            int main() { boost::program_options::options_description(\"\"); }"; then
        echo "no Boost program_options (package libboost-program-options-dev, or BOOST_ROOT)" >"$why"
        return
    fi
    if ! g++ -E -x c++ -I"$toolkit/include" - >/dev/null 2>&1 <<<'#include <nvml.h>'; then
        echo "no nvml.h (package cuda-nvml-dev, or its folder in CPATH)" >"$why"
        return
    fi
    link_name libnvidia-ml
    link_name libcuda
    if ! {
        cmake -S "$source/nvbandwidth" -B "$work/nvbandwidth" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
            ${BOOST_ROOT:+-DBoost_NO_BOOST_CMAKE=ON} \
            -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES="$arch" &&
            LIBRARY_PATH=${LIBRARY_PATH:+$LIBRARY_PATH:}$work/lib:$toolkit/lib64/stubs \
                cmake --build "$work/nvbandwidth" -j "$(nproc)"
    } >"$work/nvbandwidth.log" 2>&1; then
        echo "does not build: $(grep -i error "$work/nvbandwidth.log" | head -n 3 | tr '\n' ' ')" >"$why"
        return
    fi
    mv "$work/nvbandwidth/nvbandwidth" "$work/nvbandwidth-static"
}

for name in asyncAPI simpleStreams simpleMultiCopy simpleZeroCopy; do
    for runtime in static shared; do
        build_sample "$name" "$runtime" &
    done
done
build_nvbandwidth
wait
python3 "$here/samples.py" "$build" "$work" ${out:+"$out"}
