#!/usr/bin/env bash
# tests/gpu/bundle.sh BUILD_DIR FOLDER: copies what tests/gpu/run.sh and samples.sh need of a build folder, libunwind and
# libdw included, so that it can be carried to a machine with a GPU and without this project's build dependencies. Use
# FOLDER as BUILD_DIR there.
set -euo pipefail
if [[ $# -ne 2 ]]; then
    sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
fi
build=$1
folder=$2
mkdir -p "$folder"/{bin,lib/analyzer,programs,gpu}
cp "$build/lib/libpincheck.so" "$build/lib/libpincheck-trap.so" "$folder/lib/"
# Without debug information they are a fraction of the size.
for name in bin/pincheck bin/pincheck-conformance gpu/report_facts; do
    [[ ! -e $build/$name ]] || strip --strip-debug -o "$folder/$name" "$build/$name"
done
cp "$build"/programs/* "$folder/programs/"
# For the simulated device, or not for run.sh.
rm -f "$folder"/programs/{endings_*,probe_*,libprobe_*,libcudart.so*,libcopies_plugin_static.so} \
    "$folder"/programs/{copies_runtime_static,copies_runtime_static_per_thread,same_calls_runtime_static,stream_waits_static} \
    "$folder"/programs/{combined_reads,ordering_matrix,races{,_more,_pageable,_reuse,_times,_trap,_watch}}_static
mkdir -p "$folder/bench"
cp "$build/bench/device_cost" "$folder/bench/"
[[ ! -e $build/gpu/libcupti_count.so ]] || cp "$build/gpu/libcupti_count.so" "$folder/gpu/"
copy_library() {  # NAME FOLDER
    local path
    path=$(ldconfig -p | sed -n "s/.*$1 .*x86-64.* => //p" | head -n 1)
    [[ -z $path ]] || cp -L "$path" "$2/"
}
# The library looks for libunwind in its own folder first; the analyzer's libraries are for machines without libdw.
for name in libunwind.so.8 liblzma.so.5; do
    copy_library "$name" "$folder/lib"
done
for name in libdw.so.1 libelf.so.1 libz.so.1 liblzma.so.5 libbz2.so.1.0 libzstd.so.1; do
    copy_library "$name" "$folder/lib/analyzer"
done
du -sh "$folder"
