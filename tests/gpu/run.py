#!/usr/bin/env python3
"""Runs the copying programs under the tool and compares what it recorded with what CUPTI counted in the same run.

  run.py BUILD_DIR [OUT_DIR] [--only NAME,NAME] [--simulated] [--timeout SECONDS]

BUILD_DIR is a build folder or a bundle of one (bundle.sh). Each program runs twice: under libpincheck.so with CUPTI
counting, and plain, for its output and status. Compared are executed copies by direction (one that was captured into a
graph counts when the graph is launched, with CUPTI and with the simulated device) and memsets. A framework that is not
installed is skipped with the reason.
OUT_DIR (default: tests/gpu/<device>) gets one JSON file a program, and environment.json. Nothing is fetched from a
network. A program that runs longer than --timeout (default: 40 seconds) fails, and the others still run. --simulated takes
the simulated device's own counts in place of CUPTI's, to try this script without a GPU. Exit status 1 when a comparison
fails."""

import argparse
import json
import os
import re
import sys
import tempfile
import time

from runner import HERE, Runner, environment, slug

SKIPPED = 77
# What they print differs from run to run.
NOT_COMPARED = ("pytorch", "cupy")


def programs(build, simulated, runtime):
    here = os.path.join(build, "programs")
    static = "copies_runtime_static" if simulated else "copies_runtime_static_nvidia"

    def path(name):
        return os.path.join(here, name)

    table = {
        "runtime_shared": [path("copies_runtime_shared")],
        "runtime_shared_per_thread": [path("copies_runtime_shared_per_thread")],
        "runtime_static": [path(static)],
        "runtime_static_per_thread": [path(static + "_per_thread")],
        "driver_linked": [path("copies_driver_linked")],
        "driver_linked_per_thread": [path("copies_driver_linked_per_thread")],
        "driver_dlsym": [path("copies_driver_dlsym")],
        "driver_lookup_v2": [path("copies_driver_lookup_v2")],
        "driver_lookup_v1": [path("copies_driver_lookup_v1")],
        "plugin_local": [path("plugin_host"), path("libcopies_plugin.so")],
        "wrapper_library": [path("copies_wrapped")],
        "ctypes_runtime": [sys.executable, path("copies_ctypes.py"), "runtime", runtime],
        "ctypes_driver": [sys.executable, path("copies_ctypes.py"), "driver"],
    }
    for name in ("graph_copies", "every_copy_runtime", "every_copy_driver"):
        table[name] = [path(name)]
    # A driver may carry out the copies of a batch as one, and CUPTI then counts one (measured: H200): batches of one.
    table["every_copy_driver"].append("one")
    if not simulated:
        table["thrust"] = [path("thrust_copies")]
        for framework in ("torch", "cupy", "jax", "numba"):
            name = "pytorch" if framework == "torch" else framework
            table[name] = [sys.executable, os.path.join(HERE, framework + "_copies.py")]
    return table


def run_one(runner, name, command):
    result = {"program": name, "command": [os.path.basename(part) for part in command]}
    if not os.path.exists(command[0]):
        result["verdict"] = "skipped: not built"
        return result
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as hooked_folder, \
            tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as plain_folder:
        hooked = result["hooked"] = runner.execute(command, hooked_folder, True)
        if hooked["status"] == SKIPPED:
            result["verdict"] = "skipped: " + hooked["stdout"].strip().removeprefix("SKIP: ")
            return result
        reference = result["reference"] = runner.reference(hooked_folder)
        recorded = result["recorded"] = runner.recorded(hooked_folder, hooked["stdout"])
        plain = result["plain"] = runner.execute(command, plain_folder, False)
    problems = []
    if hooked["status"] != plain["status"]:
        problems.append(f"status {hooked['status']}, plain {plain['status']}")
    if hooked["stdout"] != plain["stdout"] and name not in NOT_COMPARED:
        problems.append("stdout differs")
    if plain["status"] != 0:
        problems.append(f"the program itself fails: {plain['status']}")
    problems += runner.differences(recorded, reference)
    if recorded.get("reports", 0) > 0:
        result["recorded_sums"] = runner.sums(recorded)
    result["verdict"] = "; ".join(problems) or "same"
    return result


def write(out, result):
    with open(os.path.join(out, result["program"] + ".json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


def conformance(runner, out):
    program = os.path.join(runner.build, "bin", "pincheck-conformance")
    if not os.path.exists(program):
        return "not built"
    result = {"program": "conformance"}
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        for hooked in (False, True):
            name = "hooked" if hooked else "plain"
            # It waits for many timers. Some of its tests are clients of CUPTI, beside which nobody else may count.
            result[name] = runner.execute([program, "--gtest_brief=1"], folder, hooked, 2 * runner.timeout,
                                          counted=False)
            said = f"{name} {result[name]['status']}"
            result["verdict"] = f"{result['verdict']}, {said}" if "verdict" in result else said
            write(out, result)
    return result["verdict"]


# The programs, and how many of a runtime's calls can come first in the process.
SAME_CALLS = {"same_calls_runtime_shared": 17, "same_calls_runtime_static": 17, "same_calls_driver_linked": 0,
              "same_calls_driver_dlsym": 0, "same_calls_driver_lookup": 0}
FIRSTS_ON_A_GPU = 3  # each is two processes that make a context; the simulated device has all of them


def without_first_errno(stdout):
    """The call that initialises the driver leaves the errno of some system call of it (2 on an H200's host), although it
    succeeds. Under the tool CUPTI's set-up has initialised it by then, and errno stays as it was."""
    stdout = re.sub(r"\A(.* -> 0) errno \d+", r"\1 errno -", stdout)
    return re.sub(r"^(cuInit\(0\) -> 0) errno \d+", r"\1 errno -", stdout, count=1, flags=re.MULTILINE)


def same_calls(runner, out):
    """Each call's results with and without the tool (tests/programs/same_calls.h); for the runtime also with each of its
    first calls before everything else, a few of them on a GPU. Byte for byte, but for without_first_errno(). What is done is
    written at once."""
    result = {"program": "same_calls", "verdict": "not finished", "not_run": [], "runs": []}
    rows = result["runs"]
    for name, firsts in SAME_CALLS.items():
        if name.endswith("_static") and not runner.simulated:
            name += "_nvidia"
        program = os.path.join(runner.build, "programs", name)
        if not os.path.exists(program):
            result["not_run"].append(f"{name}: not built")
            continue
        kept = firsts if runner.simulated else min(firsts, FIRSTS_ON_A_GPU)
        if kept < firsts:
            result["not_run"].append(f"{name}: first calls {kept} to {firsts - 1}")
        for first in [None] + list(range(kept)):
            command = [program] + ([] if first is None else [str(first)])
            with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
                plain = runner.execute(command, folder, False)
                # One that does not end by itself would not end under the tool either.
                hooked = plain if plain["status"] == "timeout" else runner.execute(command, folder, True, counted=False)
            for run in (plain, hooked):
                run["stdout"] = without_first_errno(run["stdout"])
            row = {"program": name, "first": first, "lines": len(plain["stdout"].splitlines()),
                   "seconds": [plain["seconds"], hooked["seconds"]]}
            if plain["status"] != 0:
                row["problem"] = f"the program itself fails: {plain['status']}"
            elif any(plain[key] != hooked[key] for key in ("status", "stdout", "stderr")):
                pairs = zip(plain["stdout"].splitlines() + [f"status {plain['status']}", plain["stderr"]],
                            hooked["stdout"].splitlines() + [f"status {hooked['status']}", hooked["stderr"]])
                row["problem"] = next(([a, b] for a, b in pairs if a != b), "differs in length")
            if first is None:
                row["stdout"] = plain["stdout"]
            rows.append(row)
            write(out, result)
            if plain["status"] == "timeout":
                result["not_run"] += [f"{name}: first calls"] if kept else []
                break
    bad = [row for row in rows if "problem" in row]
    result["verdict"] = "same" if not bad else "; ".join(
        f"{row['program']} {row['first']}: {row['problem']}" for row in bad)
    write(out, result)
    return result["verdict"]


def say(name, begin, verdict):
    print(f"{name:28} {time.monotonic() - begin:6.1f} s  {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--timeout", type=float, default=40)
    arguments = parser.parse_args()
    runner = Runner(arguments.build, arguments.simulated, arguments.timeout)
    facts = environment()
    facts["simulated"] = arguments.simulated
    out = os.path.abspath(arguments.out or os.path.join(HERE, "simulated" if arguments.simulated else slug(facts["gpu"])))
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "environment.json"), "w", encoding="utf-8") as file:
        json.dump(facts, file, indent=1)
    wanted = [name for name in arguments.only.split(",") if name]
    failures = 0
    for name, command in programs(runner.build, arguments.simulated, runner.runtime_library()).items():
        if wanted and name not in wanted:
            continue
        begin = time.monotonic()
        result = run_one(runner, name, command)
        write(out, result)
        good = result["verdict"] == "same" or result["verdict"].startswith("skipped")
        failures += 0 if good else 1
        say(name, begin, result["verdict"])
    if not wanted or "same_calls" in wanted:
        begin = time.monotonic()
        verdict = same_calls(runner, out)
        failures += 0 if verdict == "same" else 1
        say("same_calls", begin, verdict)
    if not arguments.simulated and (not wanted or "conformance" in wanted):
        begin = time.monotonic()
        verdict = conformance(runner, out)
        failures += 0 if verdict == "plain 0, hooked 0" else 1
        say("conformance", begin, verdict)
    print(f"{failures} of the programs differ" if failures else "all agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
