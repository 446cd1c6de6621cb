#!/usr/bin/env python3
"""What a hook adds to a call: nanoseconds and instructions, against the budgets of the design.

Runs hook_cost over a do-nothing driver (the bench folder's libcuda.so.1), so that the figures are the hooks' alone, and
interleaves runs with and without the preload library, so that both see the same machine. Nanoseconds are differences of
medians, by the clock or, with more threads than cores, of the time on a core; instructions come from callgrind, as
differences of two run lengths with the library minus without it (clock reads through the vDSO run as system calls there
and are not counted).

What is counted holds the driver's own answer to the pointer query (about 50 instructions in the stub), and for the static
runtime the walk over its frames.

Prints a table; with --json FILE also the raw figures; with --check exits 1 when a call costs more instructions than its
ceiling (instruction counts repeat exactly, times on a shared machine do not). A ceiling above the budget is a debt: it
keeps the cost from growing until it is paid."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

CASES = {
    # name: (what, budget in ns, budget in instructions, ceiling in instructions)
    # Ceilings are 2 % above what was measured. About 110 instructions of a copy are those of races=order: what the call
    # hands on, finding the same copy of before, and taking over its two ranges in flight.
    "shared": ("cudaMemcpyAsync, pinned, shared runtime", 150, 500, 798),
    "static": ("cudaMemcpyAsync, pinned, static runtime", 150, 500, 866),
    "sync": ("cudaStreamSynchronize", 150, 500, 588),
    "launch": ("cuLaunchKernel, nothing held", 30, None, 218),
    "mixed": ("tiny launches and copies by turns", 90, None, 540),
    "one_stream": ("cuLaunchKernel, one stream for all threads", None, None, None),
}


class Bench:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.folder = os.path.join(self.build, "bench")
        self.library = os.path.join(self.build, "lib", "libpincheck.so")
        self.program = os.path.join(self.folder, "hook_cost")
        for path in (self.library, self.program):
            if not os.path.exists(path):
                sys.exit(f"hook_cost.py: {path} is missing: build first")
        self.reports = tempfile.TemporaryDirectory(prefix="pincheck-bench-")

    def environment(self, hooked):
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self.folder, "TMPDIR": self.reports.name}
        if hooked:
            environment["LD_PRELOAD"] = self.library
            # Under callgrind every call takes long enough to count as held; what is asked is the path of those that do
            # not.
            # Watched copies have a budget of their own, of the program's time.
            environment["PINCHECK_OPTIONS"] = "threshold=999999:races=order"
        return environment

    def run(self, hooked, command):
        done = subprocess.run(command, env=self.environment(hooked), cwd=self.reports.name, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"hook_cost.py: {' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def nanoseconds(self, hooked, case, calls, threads):
        """By the clock, and on a core."""
        done = self.run(hooked, [self.program, case, str(calls), str(threads)])
        return [float(word) for word in done.stdout.split()]

    def instructions(self, hooked, case, calls):
        done = self.run(hooked, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect=*run_{case}*", self.program, case,
                                 str(calls), "1"])
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def measure_time(bench, case, rounds, calls, threads):
    plain, hooked = [], []
    # Threads that outnumber the cores wait for one another; what is asked then is a call's own time on a core.
    on_core = threads > len(os.sched_getaffinity(0))
    for number in range(rounds):
        # Alternate who goes first: the second run finds a warmer machine.
        for with_tool in ((False, True) if number % 2 == 0 else (True, False)):
            (hooked if with_tool else plain).append(
                bench.nanoseconds(with_tool, case, calls, threads)[1 if on_core else 0])
    return {
        "case": case, "threads": threads, "rounds": rounds, "calls": calls,
        "plain_ns": statistics.median(plain), "hooked_ns": statistics.median(hooked),
        "added_ns": statistics.median(hooked) - statistics.median(plain),
        "plain_all": plain, "hooked_all": hooked,
    }


def measure_instructions(bench, case, calls):
    per_call = {}
    for with_tool in (False, True):
        short, long = (bench.instructions(with_tool, case, count) for count in (calls, 3 * calls))
        per_call[with_tool] = (long - short) / (2 * calls)
    return {"case": case, "plain": per_call[False], "hooked": per_call[True],
            "added": per_call[True] - per_call[False]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--calls", type=int, default=300000)
    parser.add_argument("--threads", default="", help="thread counts, e.g. 1,2,4 (default: 1 and the machine's cores)")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--no-instructions", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    bench = Bench(arguments.build)
    cases = arguments.cases.split(",")
    cores = len(os.sched_getaffinity(0))
    counts = [int(n) for n in arguments.threads.split(",")] if arguments.threads else sorted({1, cores})
    result = {"cores": cores, "time": [], "instructions": []}
    over = []

    if not arguments.no_time:
        print(f"{'nanoseconds a call':44} {'threads':>7} {'plain':>8} {'hooked':>8} {'added':>8} {'budget':>7}")
        for case in cases:
            for threads in counts:
                row = measure_time(bench, case, arguments.rounds, arguments.calls, threads)
                result["time"].append(row)
                what, budget, _, _ = CASES[case]
                print(f"{what:44} {threads:7} {row['plain_ns']:8.1f} {row['hooked_ns']:8.1f} {row['added_ns']:8.1f} "
                      f"{budget if budget is not None else '-':>7}"
                      f"{'  over' if budget is not None and row['added_ns'] > budget else ''}")
    if not arguments.no_instructions:
        print(f"{'instructions a call (callgrind)':44} {'':7} {'plain':>8} {'hooked':>8} {'added':>8} {'budget':>7}")
        for case in (case for case in cases if CASES[case][3] is not None):
            row = measure_instructions(bench, case, 2000)
            result["instructions"].append(row)
            what, _, budget, ceiling = CASES[case]
            exceeded = budget is not None and row["added"] > budget
            if row["added"] > ceiling:
                over.append(f"{what} ({ceiling})")
            print(f"{what:44} {'':7} {row['plain']:8.1f} {row['hooked']:8.1f} {row['added']:8.1f} "
                  f"{budget if budget is not None else '-':>7}{'  over' if exceeded else ''}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    if arguments.check and over:
        sys.exit("hook_cost.py: over the ceiling: " + ", ".join(over))


if __name__ == "__main__":
    main()
