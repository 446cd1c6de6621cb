#!/usr/bin/env python3
"""What watching a program costs on a real device, beside Nsight Systems in the same run.

  device_cost.py BUILD_DIR [--rounds N] [--program-rounds N] [--json FILE] [--check]

Runs device_cost (small pinned copies, empty kernels) bare, under the tool with cupti=off, copies and full, and under
`nsys profile -t cuda` where that is installed, in turns, so that all see the same machine; each round starts with
another one. Prints, per copy and per launch, the median of the runs' means, what it adds to the bare program's run of
the same round (median of these differences, and their standard error) and that as a share of what Nsight Systems adds;
and the device memory in use above the bare program's. Two processes on one machine differ by 100 ns and more in a launch:
what is within two standard errors of its budget is not called over. Device times are taken in every window of 250 ms at first
and then in as many as cost 2 % of the time: a run is some seconds long, and the mean of all its calls counts.

Budgets: cupti=off adds to a copy less than half of what Nsight Systems does, cupti=copies not more than it, and the hooks
add 30 ns to a launch. --check: exit status 1 when one is exceeded."""

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

LAUNCH_BUDGET_NS = 30
TOOL_MODES = ("off", "copies", "full")


def find_nsys():
    found = shutil.which("nsys")
    candidates = sorted(glob.glob("/opt/nvidia/nsight-systems*/*/bin/nsys") +
                        glob.glob("/opt/nvidia/nsight-systems*/bin/nsys") +
                        glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys") +
                        glob.glob("/usr/local/cuda*/bin/nsys") + glob.glob("/usr/local/bin/nsys"))
    return found or (candidates[-1] if candidates else None)


def modes_of(build, folder, nsys):
    """Name of a mode -> what goes before the program, variables."""
    library = os.path.join(build, "lib", "libpincheck.so")
    modes = {"bare": ([], {})}
    for mode in TOOL_MODES:
        modes[f"cupti={mode}"] = ([], {"LD_PRELOAD": library,
                                       "PINCHECK_OPTIONS": f"output={folder}/%p.pcr:cupti={mode}"})
    if nsys:
        modes["nsys"] = ([nsys, "profile", "-t", "cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true",
                          "-o", os.path.join(folder, "trace")], {})
    return modes


def run(program, rounds, mode, folder):
    before, variables = mode
    done = subprocess.run([*before, program, str(rounds)], cwd=folder, env=dict(os.environ, **variables),
                          capture_output=True, text=True, check=False)
    # Nsight Systems prints around the program's line.
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and all(word.replace(".", "", 1).isdigit() for word in words):
            return float(words[0]), float(words[1]), int(words[2])
    sys.exit(f"device_cost.py: {' '.join([*before, program])}: status {done.returncode}\n{done.stdout}{done.stderr}")


def standard_error(values):
    """Of the median, for values that are distributed normally."""
    if len(values) < 2:
        return 0.0
    return 1.2533 * statistics.stdev(values) / len(values) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--program-rounds", type=int, default=600)
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    program = os.path.join(build, "bench", "device_cost")
    if not os.path.exists(program):
        sys.exit(f"device_cost.py: {program} is missing: build first")
    nsys = find_nsys()
    results = {}
    with tempfile.TemporaryDirectory(prefix="pincheck-bench-") as folder:
        modes = modes_of(build, folder, nsys)
        names = list(modes)
        for number in range(arguments.rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                results.setdefault(name, []).append(run(program, arguments.program_rounds, modes[name], folder))
    middle = {name: [statistics.median(row[i] for row in rows) for i in range(3)] for name, rows in results.items()}
    differences = {name: [[row[i] - bare[i] for row, bare in zip(rows, results["bare"])] for i in range(3)]
                   for name, rows in results.items()}
    added = {name: [statistics.median(values) for values in columns] for name, columns in differences.items()}
    error = {name: [standard_error(values) for values in columns] for name, columns in differences.items()}
    if not nsys:
        print("Nsight Systems is not installed: no ratios to it.")

    print(f"{'':14} {'copy':>9} {'added':>14} {'to nsys':>8}   {'launch':>9} {'added':>14} {'to nsys':>8}   "
          f"{'device memory added':>19}")
    for name, row in middle.items():
        cells = f"{name:14}"
        for i in range(2):
            ratio = f"{added[name][i] / added['nsys'][i]:8.2f}" if nsys and added["nsys"][i] > 0 else f"{'-':>8}"
            cells += f" {row[i]:6.0f} ns {added[name][i]:5.0f} ± {error[name][i]:3.0f} ns {ratio}  "
        print(f"{cells} {added[name][2] / 2**20:15.1f} MiB")

    def exceeds(name, i, budget):
        return added[name][i] - 2 * error[name][i] > budget

    over = []
    if nsys and exceeds("cupti=off", 0, added["nsys"][0] / 2):
        over.append("cupti=off adds more than half of what Nsight Systems adds to a copy")
    if nsys and exceeds("cupti=copies", 0, added["nsys"][0]):
        over.append("cupti=copies adds more than Nsight Systems to a copy")
    if exceeds("cupti=off", 1, LAUNCH_BUDGET_NS):
        over.append(f"cupti=off adds more than {LAUNCH_BUDGET_NS} ns to a launch")
    for sentence in over:
        print("over budget: " + sentence)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"medians": middle, "added": added, "standard_error": error, "runs": results, "over": over}, file, indent=1)
            file.write("\n")
    if arguments.check and over:
        sys.exit(1)


if __name__ == "__main__":
    main()
