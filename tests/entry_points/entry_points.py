#!/usr/bin/env python3
"""Holds the list of intercepted functions against the installed CUDA headers, and writes the table of entry points.

  entry_points.py --headers DIR            check: exit 1 when a function that the tool should know is neither in
                                           report/cuda_api.def nor in not_listed.txt, when a line of not_listed.txt
                                           matches nothing, or when report/entry_points.md is not up to date
  entry_points.py --headers DIR --write    write report/entry_points.md
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "report/cuda_api.def"
TABLE = ROOT / "report/entry_points.md"
NOT_LISTED = pathlib.Path(__file__).with_name("not_listed.txt")

# What the tool should know: whatever moves or sets memory, page-locks it, orders streams, or puts copies into graphs.
KINDS = [
    ("copy", r"cu(da)?(Memcpy|Memset|MemPrefetch|MemDiscard)\w*"),
    ("host memory", r"cu(da)?(MemHost|Host|MallocHost|FreeHost|MemAllocHost|MemFreeHost|MallocManaged|MemAllocManaged)\w*"),
    ("memory", r"cu(da)?(MemFree|Free)"),
    ("stream", r"cu(da)?Stream[A-Z]\w*"),
    ("event", r"cu(da)?Event[A-Z]\w*"),
    ("graph", r"cu(da)?Graph\w*(Memcpy|Memset|HostNode|AddNode|NodeSetParams|SetEnabled|Instantiate|ExecUpdate|Launch|"
              r"ExecDestroy|ChildGraph)\w*"),
]

# Shapes of functions that are hooked for the order of work alone.
ORDER = ("stream_create", "stream_destroy", "stream_query", "event_create", "event_destroy", "event_query", "event_elapsed",
         "event_export", "event_import", "graph_add_record", "graph_set_record", "graph_exec_set_record", "launch_host",
         "add_callback", "wait_value", "write_value", "batch_values", "external_", "context_destroy", "device_reset",
         "device_release", "pool_alloc")

MEANING = {
    "copy": "copies", "fill": "memory that is set", "prefetch": "prefetched ranges", "allocate": "page-locked and managed ranges",
    "release": "their release", "wait": "waits of the host", "capture": "stream captures", "graph": "what graphs copy, and their launches",
    "held": "where it holds the host", "look-up": "look-ups of functions",
    "order": "what orders work in streams, and what tells that it is complete",
}


def meaning_of(shape):
    if shape.startswith("lookup"):
        return "look-up"
    if shape.startswith(ORDER):
        return "order"
    if shape.startswith("capture"):
        return "capture"
    if shape.startswith(("graph_", "runtime_graph", "runtime_add")):
        return "graph"
    if shape.startswith(("driver_set", "runtime_set")):
        return "fill"
    if shape.startswith("prefetch"):
        return "prefetch"
    if shape in ("device_free", "device_free_v1", "runtime_free", "free_host", "host_unregister"):
        return "release"
    if shape in ("host_alloc", "malloc_host", "malloc_host_v1", "host_register", "managed_alloc", "runtime_managed"):
        return "allocate"
    if shape.endswith("_sync"):
        return "wait"
    if shape in ("launch", "launch_cooperative", "launch_ex", "event_record", "event_record_flags", "wait_event",
                 "module_load", "module_load_ex", "library_load"):
        return "held"
    return "copy"


def read_list():
    """Base name -> (side, meaning, [symbols])."""
    result = {}
    for line in LIST.read_text().splitlines():
        row = re.match(r"PINCHECK_API\((.*)\)$", line)
        if row:
            symbol, side, shape, lookup, _since, _variant = [part.strip() for part in row.group(1).split(",")]
            entry = result.setdefault(lookup, (side, meaning_of(shape), []))
            entry[2].append(symbol)
    return result


def declared_functions(headers):
    text = "".join((headers / name).read_text(errors="replace") for name in ("cuda.h", "cuda_runtime_api.h"))
    # cuda.h repeats 32-bit prototypes of CUDA 2 under the plain names; base names are what counts.
    names = set(re.findall(r"(?:CUDAAPI|CUDARTAPI)\s+(cu\w+)\s*\(", text))
    names |= set(re.findall(r"CUDART_CB\s+(cuda\w+)\s*\(", text))
    return {re.sub(r"(_v\d+)?(_pt[ds][sz])?$", "", name) for name in names}


def kind_of(name):
    for kind, pattern in KINDS:
        if re.fullmatch(pattern, name):
            return kind
    return None


def read_not_listed():
    """[(pattern, reason)]"""
    rows = []
    for line in NOT_LISTED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(": ")
            if not reason.strip():
                sys.exit(f"entry_points.py: not_listed.txt: '{line}' has no reason")
            rows.append((pattern.strip(), reason.strip()))
    return rows


def variants_of(base, symbols):
    variants = [symbol[len(base):] or "plain" for symbol in symbols]
    return ", ".join(f"`{variant}`" if variant != "plain" else "plain" for variant in variants)


def table(listed, not_listed):
    lines = [
        "# Entry points",
        "",
        "Every function that pincheck intercepts, by the name that the CUDA headers and `cuGetProcAddress` know it by. The",
        "table is made from [cuda_api.def](cuda_api.def) by `tests/entry_points/entry_points.py --write`; a test keeps it up",
        "to date and fails when the installed headers declare a function of these kinds that is neither here nor below.",
        "",
    ]
    for side, title in (("runtime", "CUDA runtime"), ("driver", "CUDA driver")):
        lines += [f"## {title}", "", "| function | recorded | variants |", "|---|---|---|"]
        for base, (of_side, meaning, symbols) in listed.items():
            if of_side == side:
                lines.append(f"| `{base}` | {MEANING[meaning]} | {variants_of(base, symbols)} |")
        lines.append("")
    lines += ["## Not intercepted", "", "| functions | why |", "|---|---|"]
    lines += ["| `" + pattern.replace("|", "\\|") + f"` | {reason} |" for pattern, reason in not_listed]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=pathlib.Path, required=True, help="folder of cuda.h and cuda_runtime_api.h")
    parser.add_argument("--write", action="store_true", help="write report/entry_points.md")
    arguments = parser.parse_args()

    listed = read_list()
    not_listed = read_not_listed()
    if arguments.write:
        TABLE.write_text(table(listed, not_listed))
        return 0

    failures = []
    declared = declared_functions(arguments.headers)
    if len(declared) < 500:
        failures.append(f"only {len(declared)} functions found in the headers of {arguments.headers}")
    used = set()
    for name in sorted(declared):
        if kind_of(name) is None or name in listed:
            continue
        reasons = [pattern for pattern, _ in not_listed if re.fullmatch(pattern, name)]
        used.update(reasons)
        if not reasons:
            failures.append(f"{name} ({kind_of(name)}): neither in cuda_api.def nor in not_listed.txt")
    for pattern, _ in not_listed:
        # Older headers lack newer functions.
        if pattern not in used and not any(re.fullmatch(pattern, name) for name in declared):
            print(f"note: {pattern} of not_listed.txt matches nothing in these headers")
        elif pattern not in used:
            failures.append(f"not_listed.txt: {pattern} matches only functions that are listed, or of other kinds")
    if not TABLE.exists() or TABLE.read_text() != table(listed, not_listed):
        failures.append("report/entry_points.md is not up to date: run this script with --write")
    for failure in failures:
        print(failure)
    print(f"{len(listed)} functions listed, {sum(kind_of(name) is not None for name in declared)} of these kinds declared, "
          f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
