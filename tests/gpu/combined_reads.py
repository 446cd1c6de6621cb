#!/usr/bin/env python3
"""Reads by the host from write-combined memory: each half of tests/programs/combined_reads.cu at races=trap, held against who
must be caught and in how many samples. A half that only stores and uploads must be silent, and pay for few faults.

  combined_reads.py BUILD_DIR OUT_FILE [--simulated] [--timeout SECONDS] [--only NAME,NAME]

BUILD_DIR is a build folder or a bundle of one (bundle.sh). Takes userfaultfd: root, or /dev/userfaultfd. What each half's
memory allows a sample (the count of faults beside it) is printed too. Exit status 1 when one differs."""

import argparse
import json
import os
import re
import sys
import tempfile

from runner import Runner, environment

READERS = ("checksum", "copy_out", "read_one", "save")
# Half -> reader, "in CALL" where it is a system call's: samples that caught it. None: as many as there are, or none, but
# nobody else.
HALVES = {
    "written_only": {},
    "written_only_large": {},
    "written_anywhere": {},
    "written_across": {},
    "written_by_a_call": {},
    "read_back": {"checksum": 3},
    "copied_out": {"copy_out": 3},
    "read_by_a_call": {"save in write": 3},
    "read_after_upload": {"read_one": 2},
    "small": {},
    "read_in_progress": {},
    "write_in_progress": {"save in write": 1},
    "many_threads": {"read_one": None},
    "release_while_armed": {},
    "fork_while_armed": {},
    "early_result": {"read_one": 3},
    "late_result": {"read_one": 3},
    "read_by_the_driver": {},
    "io_uring": {},
}
# Of no page is the allocation the only one; a ring could read past the C library.
NOT_SAMPLED = ("small", "io_uring")
MOST_FAULTS = 24  # of a sample: ReadSample::kMostFaults
SAMPLES = re.compile(r"(\d+) of (\d+); (\d+) samples, (\d+)")


def caught(data):
    """Reader -> samples."""
    sites = {site["id"]: site for site in data["sites"]}
    found = {}
    for read in data["reads"]:
        functions = [re.sub(r"\(anonymous namespace\)::|[(<].*", "", line["function"].replace("(anonymous namespace)::", ""))
                     for frame in sites[read["site"]]["stack"] for line in frame["lines"]]
        who = next((name for name in functions if name in READERS), "?" + "/".join(functions[:3]))
        who += f" in {read['call']}" if read["call"] else ""
        found[who] = found.get(who, 0) + read["samples"]
    return found


def check_half(runner, pincheck, program, half, expected):
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        report = f"{folder}/report.pcr"
        variables = {"LD_PRELOAD": runner.preload("trap"),
                     "PINCHECK_OPTIONS": f"output={report}:threshold=999999:races=trap:cupti=off"}
        if runner.simulated:
            variables["SIMCUDA_KERNELS"] = os.path.join(runner.build, "programs", "held_calls_kernels.so")
        done = runner.run([program, half], folder, variables)
        bare = runner.run([program, half], folder, {name: value for name, value in variables.items()
                                                    if name.startswith("SIMCUDA")}) if done["status"] != 0 else done
        exported = runner.run([pincheck, "export", "--format=json", report], folder, {})
    # A device's driver may not give such memory to a fork's child.
    same_without = done["status"] != 0 and (bare["status"], bare["stderr"]) == (done["status"], done["stderr"])
    problems = [] if done["status"] == 0 or same_without else [f"status {done['status']} {done['stderr'].strip()}"]
    result = {"half": half, "caught": {}, "allocations": 0, "sampled": 0, "samples": 0, "faults": 0}
    if exported["status"] != 0:
        problems.append(exported["stderr"].strip())
        return dict(result, verdict="; ".join(problems))
    data = json.loads(exported["stdout"])
    result["caught"] = caught(data)
    for record in (record for process in data["processes"] for record in process["coverage"]):
        if record["kind"] == "sampled-reads":
            figures = [int(figure) for figure in SAMPLES.match(record["text"]).groups()]
            result.update(zip(("sampled", "allocations", "samples", "faults"), figures))
    for who in sorted(set(result["caught"]) | set(expected)):
        count, wanted = result["caught"].get(who, 0), expected.get(who, 0)
        if wanted is not None and count != wanted:
            problems.append(f"{who}: in {count} samples, expected {wanted}")
    if half in NOT_SAMPLED:
        if result["samples"] != 0 and not done["stdout"].startswith("no "):
            problems.append(f"{result['samples']} samples, expected none")
    elif result["sampled"] == 0:
        problems.append("no sample was taken")
    if result["faults"] > result["samples"] * MOST_FAULTS:
        problems.append(f"{result['faults']} faults in {result['samples']} samples")
    return dict(result, verdict="; ".join(problems) or "right", fails_without_the_tool=same_without)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--only", help="halves, by name")
    parser.add_argument("--timeout", type=float, default=60)
    arguments = parser.parse_args()
    with open("/proc/self/status", encoding="utf-8") as status:
        filtered = re.search(r"^Seccomp:\s*2", status.read(), re.MULTILINE) is not None
    if filtered or not (os.geteuid() == 0 or os.access("/dev/userfaultfd", os.R_OK | os.W_OK)):
        print("skipped: " + ("a seccomp filter is in force" if filtered else
                             "userfaultfd takes root, or /dev/userfaultfd"))
        return
    runner = Runner(arguments.build, arguments.simulated, arguments.timeout)
    pincheck = runner.pincheck()
    only = arguments.only.split(",") if arguments.only else list(HALVES)
    results = []
    for runtime in ("", "_static" if runner.simulated else "_static_nvidia"):
        program = os.path.join(runner.build, "programs", "combined_reads" + runtime)
        if not os.path.exists(program):
            print(f"combined_reads{runtime} skipped: not built")
            continue
        for half, expected in ((half, expected) for half, expected in HALVES.items() if half in only):
            results.append({"program": os.path.basename(program), **check_half(runner, pincheck, program, half, expected)})
            last = results[-1]
            print(f"{last['program']:<29} {half:<20} {last['samples']:>3} samples {last['faults']:>4} faults  {last['verdict']}"
                  + (", and fails without the tool" if last.get("fails_without_the_tool") else ""), flush=True)
    right = sum(result["verdict"] == "right" for result in results)
    print(f"{right} of {len(results)} halves right")
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"environment": environment(), "halves": results}, file, indent=1)
        file.write("\n")
    sys.exit(right != len(results) or not results)


if __name__ == "__main__":
    main()
