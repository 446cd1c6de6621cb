#!/usr/bin/env python3
"""The tool as CUPTI's client on a device: copying programs with cupti=copies, full and off, and plain.

  device_times.py BUILD_DIR [OUT_FILE] [--only NAME,NAME] [--simulated]

Asserted: every run ends as the plain one does, with the same output; each copy and memset that was executed has its device
time, matched with its call, and none is said to have gone past the hooks. Printed for information: seconds, the device
memory that CUPTI takes, what the reports say. Exit status 1 when an assertion fails."""

import argparse
import glob
import json
import os
import sys
import tempfile

from runner import Runner

# The driver makes one copy of a batch's (measured: H200), and memsets may become kernels: counts of these programs are
# printed, not asserted.
PROGRAMS = {
    "copies_runtime_shared": True, "copies_runtime_static_nvidia": True, "copies_driver_linked": True,
    "copies_driver_dlsym": True, "copies_driver_lookup_v2": True, "graph_copies": False, "every_copy_driver": False,
    "every_copy_runtime": False,
}
MEMORY = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
device = ctypes.c_uint64()
data = (ctypes.c_char * 4096)()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(4096)) == 0
for _ in range(20000):
    assert cuda.cuMemcpyHtoD_v2(device, data, ctypes.c_size_t(4096)) == 0
assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
print(free.value)
"""


def told(runner, pincheck, folder):
    """Of all reports: copies and memsets executed, with times, and lines about device times."""
    result = {"executed": 0, "timed": 0, "lines": []}
    for path in sorted(glob.glob(os.path.join(folder, "*.pcr"))):
        dump = runner.run([pincheck, "dump", path], "/", {})["stdout"].splitlines()
        export = json.loads(runner.run([pincheck, "export", "--format=json", path], "/", {})["stdout"])
        for site in export["sites"]:
            if site["kind"] in ("copy", "fill") and "captured" not in site["flags"] and site["bytes_max"] > 0:
                result["executed"] += site["calls"] - site["failed"]
        for line in dump:
            if line.startswith("transfer: "):
                result["timed"] += int(dict(word.split("=", 1) for word in line.split() if "=" in word)["copies"])
            elif line.startswith("loss: ") or (line.startswith("coverage: ") and "device-times" in line):
                result["lines"].append(line)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--timeout", type=int, default=60)
    arguments = parser.parse_args()
    runner = Runner(arguments.build, arguments.simulated, arguments.timeout)
    pincheck = runner.pincheck()
    commands = {name: [os.path.join(runner.build, "programs", name)] for name in PROGRAMS}
    commands["memory"] = [sys.executable, "-c", MEMORY]
    results, failed = {}, False
    for name, command in commands.items():
        if arguments.only and name not in arguments.only.split(","):
            continue
        if arguments.simulated and name.endswith("_nvidia"):
            continue
        if not os.path.exists(command[0]):
            print(f"{name}: not built")
            continue
        problems, row = [], {}
        for mode in ("plain", "off", "copies", "full"):
            with tempfile.TemporaryDirectory(prefix="pincheck-times-") as folder:
                variables = {} if mode == "plain" else {
                    "LD_PRELOAD": runner.tool, "PINCHECK_OPTIONS": f"cupti={mode}:output={folder}/%p.pcr"}
                run = row[mode] = runner.run(command, folder, variables)
                if mode != "plain":
                    run["told"] = told(runner, pincheck, folder)
            if run["status"] != row["plain"]["status"]:
                problems.append(f"{mode}: status {run['status']}, plain {row['plain']['status']}")
            if name != "memory" and run["stdout"] != row["plain"]["stdout"]:
                problems.append(f"{mode}: stdout differs")
            if mode in ("copies", "full"):
                counts = run["told"]
                if PROGRAMS.get(name) and counts["executed"] != counts["timed"]:
                    problems.append(f"{mode}: {counts['timed']} of {counts['executed']} copies have times")
                problems += [f"{mode}: {line}" for line in counts["lines"] if "unseen-copies" in line]
        row["verdict"] = "; ".join(problems) or "same"
        failed = failed or bool(problems)
        results[name] = row
        seconds = ", ".join(f"{mode} {row[mode]['seconds']} s" for mode in row if mode != "verdict")
        print(f"{name}: {row['verdict']}; {seconds}; {row['copies'].get('told')}")
        if name == "memory" and row["plain"]["status"] == 0:
            free = {mode: int(row[mode]["stdout"]) for mode in ("off", "copies", "full") if row[mode]["status"] == 0}
            print(f"  CUPTI takes {({mode: free['off'] - free[mode] for mode in free})} bytes of the device")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
