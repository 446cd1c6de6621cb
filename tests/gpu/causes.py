#!/usr/bin/env python3
"""Why calls held the host: the programs of tests/programs/held_calls.cu, each half, on a real device, held against what the
tests over the simulated device assert.

  causes.py BUILD_DIR OUT_FILE [--simulated] [--timeout SECONDS] [--only NAME,NAME]

BUILD_DIR is a build folder or a bundle of one (bundle.sh). A half says "inside" before a call that its gate holds, and
gets the line that opens the gate KEPT_INSIDE later: long enough for any call to have begun; what is asserted is the cause,
never how long it took. A half must have the causes that stand beside it, at that function, and none of those that it must
not have. Costs (pinning, module-loading) may appear anywhere on a real device; the simulated one page-locks too fast to be
asked. Of stream_waits.cu every wait whose name begins with idle_ must be idle-sync, and no other one. With cupti=full, waits
for a kernel must name one. Exit status 1 when one differs."""

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
KNOWN_BY_CALL = ("lock", "pinning")  # the others by the order of work
PRESUMED = ("staging_full", "small_upload_behind_work", "S2")  # whether there was room is concluded from how long it took

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
    "Q1": ([("cu(da)?LaunchKernel.*", "queue-full", 1)], ("earlier-work", "device-wide", "lock")),
    "queue_not_full": ([], ("queue-full", "earlier-work", "device-wide", "lock")),
    "Q2": ([("cu(da)?LaunchKernel.*", "module-loading", 1)], ("queue-full", "earlier-work", "device-wide", "lock")),
    "E3_legacy": ([("cudaMemcpyAsync", "legacy-stream", 1)], ("device-wide", "queue-full", "lock")),
    "legacy_non_blocking": ([], ("legacy-stream", "earlier-work", "device-wide", "queue-full", "lock")),
    "legacy_wait": ([("cudaStreamSynchronize", "legacy-stream", 1)], ("device-wide", "queue-full", "lock")),
    "managed": ([("cudaMemcpyAsync", "managed", 1)], ("device-wide", "queue-full", "lock")),
    "synchronous_copy": ([("cudaMemcpy", "synchronous-copy", 1)], ("device-wide", "queue-full", "lock")),
    "E4": ([("cudaMemcpy", "host-to-host", 1)], ("device-wide", "queue-full", "lock")),
    "E3_idle": ([("cudaStreamSynchronize", "idle-sync", 100)], ("earlier-work", "device-wide", "queue-full", "lock")),
    "requested_wait": ([("cudaStreamSynchronize", "requested", 1)], ("idle-sync", "device-wide", "queue-full", "lock")),
    "needed_waits": ([], ("idle-sync", "device-wide", "queue-full", "lock")),
    # A small cudaMallocHost is cut from memory that is page-locked already.
    "lock_pages": ([("cudaHostRegister", "pinning", 1)], WAITS),
    "allocate_managed": ([], WAITS),
    "beside_release": ([("cudaMemcpyAsync", "lock", 1)], ("earlier-work", "queue-full")),
    "beside_wait": ([], ("lock", "earlier-work", "queue-full", "device-wide")),
}
# Halves whose calls wait for a kernel, and the cause: with cupti=full it is named.
KERNELS = {"earlier_work_download": "earlier-work", "A4": "earlier-work", "E1": "device-wide", "requested_wait": "requested",
           "legacy_wait": "legacy-stream"}
# NVIDIA's static runtime refuses the simulated device.
STREAM_WAITS = {True: ("stream_waits", "stream_waits_static"), False: ("stream_waits", "stream_waits_static_nvidia")}


def run_half(runner, program, half, folder, options=""):
    environment_of_run = dict(os.environ, LD_LIBRARY_PATH=runner.libraries, LD_PRELOAD=runner.tool,
                              PINCHECK_OPTIONS=f"output={folder}/{half}.pcr{options}")
    if runner.simulated:
        environment_of_run["SIMCUDA_KERNELS"] = os.path.join(runner.build, "programs", "held_calls_kernels.so")
        environment_of_run["SIMCUDA_LOAD_US"] = "2000"
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
    """Function, cause, evidence and calls of each wait, and the functions of the program that it was in."""
    done = runner.run([pincheck, "export", "--format=json", report], "/", {})
    waits = []
    if done["status"] != 0:  # the program's own status says why
        return waits
    for site in json.loads(done["stdout"])["sites"]:
        frames = [frame["text"] for frame in site["stack"]]
        for wait in site["waits"]:
            waits.append({"function": site["api"], "cause": wait["cause"], "evidence": wait["evidence"],
                          "calls": wait["calls"], "ns": wait["ns"], "kernel": wait["kernel"], "in": frames[:6]})
    return waits


def problems_of(half, status, waits, required, forbidden):
    problems = [] if status == 0 else [f"status {status}"]
    for function, cause, calls in required:
        found = sum(wait["calls"] for wait in waits
                    if wait["cause"] == cause and re.fullmatch(function, wait["function"]) and
                    (wait["evidence"] == "order" or cause in KNOWN_BY_CALL or half in PRESUMED))
        if found < calls:
            problems.append(f"{cause} at {function}: {found} calls, expected {calls} or more")
    for wait in waits:
        if wait["cause"] in forbidden and (wait["evidence"] == "order" or half not in PRESUMED):
            problems.append(f"{wait['cause']} at {wait['function']}: must not be")
    return problems


def check_stream_waits(runner, pincheck, name, folder):
    """What is known to be complete: see tests/programs/stream_waits.cu."""
    report = f"{folder}/{name}.pcr"
    done = runner.run([os.path.join(runner.build, "programs", name)], folder,
                      {"LD_PRELOAD": runner.tool, "PINCHECK_OPTIONS": f"output={report}:threshold=999999"})
    waits = waits_of(pincheck, runner, report)
    names = done["stdout"].split()
    problems = [] if done["status"] == 0 and names else [f"status {done['status']}, {len(names)} waits"]
    for wanted in names:
        idle = sum(wait["calls"] for wait in waits if wait["cause"] == "idle-sync" and
                   any(re.search(rf"\b{wanted}\b", frame) for frame in wait["in"]))
        if idle != (1 if wanted.startswith("idle_") else 0):
            problems.append(f"{wanted}: {idle} idle waits")
    return {"half": name, "verdict": "; ".join(problems) or "right", "said": names, "waits": waits}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--only", help="halves, by name")
    arguments = parser.parse_args()
    runner = Runner(arguments.build, arguments.simulated, arguments.timeout)
    pincheck = runner.pincheck()
    program = os.path.join(runner.build, "programs", "held_calls")
    only = arguments.only.split(",") if arguments.only else None
    results = []
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        for half, (required, forbidden) in HALVES.items():
            if only and half not in only:
                continue
            status, said = run_half(runner, program, half, folder)
            waits = waits_of(pincheck, runner, f"{folder}/{half}.pcr")
            if runner.simulated and half == "lock_pages":
                required = []
            problems = problems_of(half, status, waits, required, forbidden)
            results.append({"half": half, "verdict": "; ".join(problems) or "right", "said": said, "waits": waits})
            print(f"{half:<33} {results[-1]['verdict']}", flush=True)
        for half, cause in KERNELS.items():
            if only and half not in only:
                continue
            os.unlink(f"{folder}/{half}.pcr")
            status, said = run_half(runner, program, half, folder, ":cupti=full")
            waits = waits_of(pincheck, runner, f"{folder}/{half}.pcr")
            of_cause = [wait for wait in waits if wait["cause"] == cause]
            unnamed = [wait["function"] for wait in of_cause if not wait["kernel"]]
            problems = [f"status {status}"] if status else []
            problems += [f"no kernel named at {', '.join(unnamed)}"] if unnamed or not of_cause else []
            results.append({"half": f"{half} cupti=full", "verdict": "; ".join(problems) or "right", "said": said,
                            "waits": waits})
            print(f"{half + ' cupti=full':<33} {results[-1]['verdict']}", flush=True)
        for name in STREAM_WAITS[runner.simulated]:
            if (not only or name in only) and os.path.exists(os.path.join(runner.build, "programs", name)):
                results.append(check_stream_waits(runner, pincheck, name, folder))
                print(f"{name:<33} {results[-1]['verdict']}", flush=True)
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"environment": environment(), "halves": results}, file, indent=1)
        file.write("\n")
    sys.exit(any(result["verdict"] != "right" for result in results))


if __name__ == "__main__":
    main()
