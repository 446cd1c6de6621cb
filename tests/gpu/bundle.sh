#!/usr/bin/env bash
# tests/gpu/bundle.sh BUILD_DIR FOLDER: copies what tests/gpu/run.sh needs of a build folder, libunwind included, so that
# it can be carried to a machine with a GPU and without this project's build dependencies. Use FOLDER as BUILD_DIR there.
set -euo pipefail
if [[ $# -ne 2 ]]; then
    sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
fi
build=$1
folder=$2
mkdir -p "$folder"/{bin,lib,programs,gpu}
cp "$build/lib/libpincheck.so" "$folder/lib/"
[[ ! -e $build/bin/pincheck-conformance ]] || cp "$build/bin/pincheck-conformance" "$folder/bin/"
cp "$build"/programs/* "$folder/programs/"
rm -f "$folder"/programs/{endings_*,probe_*,libprobe_*}
cp "$build/gpu/report_facts" "$folder/gpu/"
[[ ! -e $build/gpu/libcupti_count.so ]] || cp "$build/gpu/libcupti_count.so" "$folder/gpu/"
# The library looks for libunwind in its own folder first.
for name in libunwind.so.8 liblzma.so.5; do
    path=$(ldconfig -p | sed -n "s/.*$name .*x86-64.* => //p" | head -n 1)
    if [[ -n $path ]]; then
        cp -L "$path" "$folder/lib/"
    fi
done
du -sh "$folder"
