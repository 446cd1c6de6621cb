#!/usr/bin/env python3
"""Why calls held the host: the programs of tests/programs/held_calls.cu, each half, on a real device, held against what the
tests over the simulated device assert.

  causes.py BUILD_DIR OUT_FILE [--simulated] [--timeout SECONDS]

BUILD_DIR is a build folder or a bundle of one (bundle.sh). A half says "inside" before a call that its gate holds, and
gets the line that opens the gate KEPT_INSIDE later: long enough for any call to have begun; what is asserted is the cause,
never how long it took. A half must have the causes that stand beside it, at that function, and none of those that it must
not have. Costs (pinning, module-loading) may appear anywhere on a real device; the simulated one page-locks too fast to be asked. Exit status 1 when one differs."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

from runner import Runner, environment

KEPT_INSIDE = 0.05  # seconds
WAITS = ("staging", "earlier-work", "device-wide", "queue-full", "legacy-stream", "managed", "idle-sync", "host-to-host",
         "lock", "requested", "synchronous-copy")

# Half -> (function pattern, cause, fewest calls) that must be there, and causes that must not.
HALVES = {
    "staging": ([("cudaMemcpyAsync", "staging", 2)], ("earlier-work", "queue-full", "device-wide", "lock")),
    "staging_pinned": ([], ("staging", "earlier-work", "queue-full", "lock")),
    "earlier_work_download": ([("cudaMemcpyAsync", "earlier-work", 1)], ("device-wide", "queue-full", "lock")),
    "earlier_work_upload": ([("cudaMemcpyAsync", "earlier-work", 1)], ("device-wide", "queue-full", "lock")),
    "small_upload_behind_work": ([], ("earlier-work", "device-wide", "queue-full", "lock")),
    "staging_full": ([("cudaMemcpyAsync", "earlier-work", 1)], ("device-wide", "queue-full", "lock")),
    "A4": ([("cudaMemcpyAsync", "earlier-work", 8)], ("device-wide", "queue-full")),
    "S2": ([], ("earlier-work", "device-wide", "queue-full", "lock")),
    "E1": ([("cudaFreeHost", "device-wide", 1), ("cudaFree", "device-wide", 1),
            ("cudaHostUnregister", "device-wide", 1)], ("earlier-work", "queue-full", "lock")),
    "releases_idle": ([], ("device-wide", "earlier-work", "queue-full", "lock")),
    "Q1": ([("cuda?LaunchKernel.*", "queue-full", 1)], ("earlier-work", "device-wide", "lock")),
    "queue_not_full": ([], ("queue-full", "earlier-work", "device-wide", "lock")),
    "Q2": ([("cuda?LaunchKernel.*", "module-loading", 1)], ("queue-full", "earlier-work", "device-wide", "lock")),
    "E3_legacy": ([("cudaMemcpyAsync", "legacy-stream", 1)], ("device-wide", "queue-full", "lock")),
    "legacy_non_blocking": ([], ("legacy-stream", "earlier-work", "device-wide", "queue-full", "lock")),
    "legacy_wait": ([("cudaStreamSynchronize", "legacy-stream", 1)], ("device-wide", "queue-full", "lock")),
    "managed": ([("cudaMemcpyAsync", "managed", 1)], ("device-wide", "queue-full", "lock")),
    "synchronous_copy": ([("cudaMemcpy", "synchronous-copy", 1)], ("device-wide", "queue-full", "lock")),
    "E4": ([("cudaMemcpy", "host-to-host", 1)], ("device-wide", "queue-full", "lock")),
    "E3_idle": ([("cudaStreamSynchronize", "idle-sync", 100)], ("earlier-work", "device-wide", "queue-full", "lock")),
    "requested_wait": ([("cudaStreamSynchronize", "requested", 1)], ("idle-sync", "device-wide", "queue-full", "lock")),
    "needed_waits": ([], ("idle-sync", "device-wide", "queue-full", "lock")),
    "lock_pages": ([("cudaMallocHost", "pinning", 1), ("cudaHostRegister", "pinning", 1)], WAITS),
    "allocate_managed": ([], WAITS),
    "beside_release": ([("cudaMemcpyAsync", "lock", 1)], ("earlier-work", "queue-full")),
    "beside_wait": ([], ("lock", "earlier-work", "queue-full", "device-wide")),
}


def run_half(runner, program, half, folder):
    environment_of_run = dict(os.environ, LD_LIBRARY_PATH=runner.libraries, LD_PRELOAD=runner.tool,
                              PINCHECK_OPTIONS=f"output={folder}/{half}.pcr")
    if runner.simulated:
        environment_of_run["SIMCUDA_KERNELS"] = os.path.join(runner.build, "programs", "held_calls_kernels.so")
        environment_of_run["SIMCUDA_LOAD_US"] = "2000"
        if half == "beside_release":
            environment_of_run["SIMCUDA_DRIVER_LOCK"] = "1"
    process = subprocess.Popen([program, half], env=environment_of_run, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, cwd=folder)
    killer = threading.Timer(runner.timeout, process.kill)
    killer.start()
    said = []
    try:
        for line in process.stdout:
            said.append(line.strip())
            if said[-1] == "inside":
                time.sleep(KEPT_INSIDE)
                process.stdin.write("\n")
                process.stdin.flush()
    except BrokenPipeError:
        pass
    status = process.wait()
    killer.cancel()
    return status, said


def waits_of(pincheck, runner, report):
    """Function, cause, evidence and calls of each wait slot, from `pincheck dump`."""
    done = runner.run([pincheck, "dump", report], "/", {})
    waits = []
    for line in done["stdout"].splitlines():
        match = re.match(r"wait: site=\d+:(\S+) .*cause=(\S+) evidence=(\S+) calls=(\d+) ns=(\d+)", line)
        if match:
            function, cause, evidence, calls, ns = match.groups()
            waits.append({"function": function, "cause": cause, "evidence": evidence, "calls": int(calls), "ns": int(ns)})
    return waits


def problems_of(status, waits, required, forbidden):
    problems = [] if status == 0 else [f"status {status}"]
    for function, cause, calls in required:
        found = sum(wait["calls"] for wait in waits
                    if wait["cause"] == cause and re.fullmatch(function, wait["function"]))
        if found < calls:
            problems.append(f"{cause} at {function}: {found} calls, expected {calls} or more")
    for wait in waits:
        if wait["cause"] in forbidden:
            problems.append(f"{wait['cause']} at {wait['function']}: must not be")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--timeout", type=float, default=20)
    arguments = parser.parse_args()
    runner = Runner(arguments.build, arguments.simulated, arguments.timeout)
    pincheck = runner.pincheck()
    program = os.path.join(runner.build, "programs", "held_calls")
    results = []
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        for half, (required, forbidden) in HALVES.items():
            status, said = run_half(runner, program, half, folder)
            waits = waits_of(pincheck, runner, f"{folder}/{half}.pcr")
            if runner.simulated and half == "lock_pages":
                required = []
            problems = problems_of(status, waits, required, forbidden)
            results.append({"half": half, "verdict": "; ".join(problems) or "right", "said": said, "waits": waits})
            print(f"{half:<26} {results[-1]['verdict']}", flush=True)
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"environment": environment(), "halves": results}, file, indent=1)
        file.write("\n")
    sys.exit(any(result["verdict"] != "right" for result in results))


if __name__ == "__main__":
    main()
