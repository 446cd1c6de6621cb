#!/usr/bin/env python3
"""Buffers used again before their copy is complete: each half of tests/programs/races*.cu, held against
what it must be told of: rule, how often, and both parties. A half that must be silent is held to that.

  races.py BUILD_DIR OUT_FILE [--simulated] [--programs NAME,NAME] [--levels NAME,NAME] [--only NAME,NAME] [--repeat N]
           [--jobs N] [--random-speed] [--timeout SECONDS]

BUILD_DIR is a build folder or a bundle of one (bundle.sh). Programs that are not built are skipped; of the static runtimes
the simulated device takes the stand-in's, a GPU NVIDIA's. --repeat: so many runs of each half, all of which must be right.
--jobs: so many halves side by side. --random-speed: of the simulated device, drawn anew for every run; verdicts may not depend
on it. On a GPU, and where PyTorch is installed, the loop of torch_races.py follows (races_torch.py; alone with --only
torch, its times alone with --only torch-costs).
Exit status 1 when one differs."""

import argparse
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from races_torch import torch_part
from runner import Runner, environment

# The functions of the programs that a race may name.
PARTIES = {"upload", "next_upload", "download", "next_download", "download_rows", "copy_batch", "clear", "clear_rows", "release", "capture",
           "launch_graph", "wait_for", "wait_for_event",
           # At level trap, where the access itself is named.
           "await", "read_result", "store", "fill_all", "are_equal", "save", "grow", "read_file", "helper", "B1", "B2", "B3",
           "D2", "written_result", "event_before_copy", "B4"}
with open("/proc/self/status", encoding="utf-8") as status_file:
    IS_FILTERED = re.search(r"^Seccomp:\s*2", status_file.read(), re.MULTILINE) is not None
# Of these a level may find nothing where the kernel does not help.
NEEDS_KERNEL = {"written_result"}

UPLOADED = "source-overwritten-in-flight"
READ = "destination-read-in-flight"
WRITTEN = "destination-overwritten-in-flight"
NEVER = "result-never-awaited"
STAGED = "relies-on-staging"
UNORDERED = "unordered-copies 1x download -> clear, on-device"


def ordering_matrix():
    """The halves of ordering_matrix.cu, as the table beside it has them."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "ordering_matrix.md")
    halves = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.split(" | ")]
            if len(cells) == 6 and cells[1].endswith(("_racy", "_ordered")):
                order, watch = [[] if cell == "silent" else cell.split("; ") for cell in cells[3:5]]
                halves[cells[1]] = {"order": order, "watch": order if watch == ["the same"] else watch}
    return halves


# Program -> levels that it is run at, and half -> what is told: rule, how often, copy -> other party, the wait that came too
# late, flags. No level but `watch` and `trap` sees what the host writes: where more are run, a half may have a list for each.
# None: not run here.
PROGRAMS = {
    "ordering_matrix": (("order", "watch"), ordering_matrix()),
    "races": (("order", "watch"), {
        "R1": [f"{NEVER} 4x download -> download"],
        "R1_waited": [],
        "R1_queried": [],
        "R1_exit": [f"{NEVER} 1x download -> nobody, at-exit"],
        "R1_released": [f"{NEVER} 1x download -> release, released"],
        "released_upload": ["released-in-flight 1x upload -> release, released"],
        "released_after_wait": [],
        "E2": [f"{NEVER} 1x download -> nobody, at-exit"],
        "S1": ["unordered-copies 1x download -> clear, on-device"],
        "S1_ordered": [],
        "S1_legacy": [],
        "S1_pool": [],
        "overwritten_source": [f"{UPLOADED} 1x upload -> download"],
        "overwritten_source_ordered": [],
        "read_too_early": ["destination-read-in-flight 1x download -> upload"],
        "through_the_host": [],
        "L1": [],
        "L2": [],
        "L4": [f"{NEVER} 1x download -> nobody, presumed, at-exit", f"{NEVER} 3x download -> download, presumed"],
        "L5": [],
        "L6": [],
        "S2": ["staged-too-early 1x upload -> nobody"],
        "S2_pinned": [],
        "S2_other_memory": [],
        "M1": ["relies-on-staging 1x download -> next_download", "relies-on-staging 1x next_download -> nobody, at-exit"],
        "M1_pinned": [f"{NEVER} 1x download -> next_download", f"{NEVER} 1x next_download -> nobody, at-exit"],
        "A7": ["relies-on-staging 4x upload -> upload"],
        "A7_waited": [],
        "D4": ["graph-buffer-gone 2x capture -> launch_graph"],
        "D4_alive": [],
    }),
    "races_more": (("order", "watch"), {
        "D1": ["relies-on-staging 2x copy_batch -> nobody"],
        "D1_during_call": [],
        "S3": ["unordered-copies 2x copy_batch -> nobody, presumed, on-device"],
        "S3_filled": ["unordered-copies 2x clear -> copy_batch, on-device"],
        "S3_copied": ["unordered-copies 2x upload -> copy_batch, on-device"],
        "S3_in_order": [],
        "S3_waited": [],
        "D5": [],
        "D5_left": [],
        "L3": [],
        "G4": [],
        "G4_result": [f"{NEVER} 2x download -> download, presumed"],
        # A system call and a store into memory in flight.
        "K10": {"order": [], "watch": [f"{UPLOADED} 2x upload -> nobody, wait wait_for"]},
        "pitched_neighbours": [],
        "pitched_same_rows": ["unordered-copies 1x download_rows -> download_rows"],
        "two_threads": [],
        "synchronous_beside_others": [],
        "per_thread_and_legacy": [],
        "per_thread_of_two": ["unordered-copies 1x download -> clear, on-device"],
    }),
    "races_reuse": (("order", "watch"), {
        "event_before": [UNORDERED],
        "event_after": [],
        "event_never_recorded": [UNORDERED],
        "event_made_again": [UNORDERED],
        "awaited_event_before": [f"{NEVER} 1x download -> next_download, early-event"],
        "awaited_event_after": [],
        "stream_made_again": [UNORDERED],
        "stream_made_again_after_wait": [],
        "graph_again": [],
        "graphs_in_two_streams": ["unordered-copies 1x clear -> upload, on-device"],
        "pool_reuse": [],
        "freed_and_made_again": [],
        "after_reset": [],
        "after_release": [],
        "forked": [],
        "failed": [],
    }),
    "races_watch": (("watch", "trap"), {
        "B1": {"watch": [f"{UPLOADED} 3x upload -> nobody, wait wait_for_event"],
               "trap": [f"{UPLOADED} 3x upload -> helper, wait wait_for_event"]},
        "B1_waited": [],
        "B2": {"watch": [f"{UPLOADED} 2x upload -> nobody, wait wait_for"],
               "trap": [f"{UPLOADED} 2x upload -> B2, wait wait_for"]},
        "B2_waited": [],
        "B3_10": {"watch": [f"{UPLOADED} 1x upload -> nobody, wait wait_for"],
                  "trap": [f"{UPLOADED} 1x upload -> B3, wait wait_for"]},
        "B3_10000": {"watch": [f"{UPLOADED} 1x upload -> nobody, wait wait_for"],
                     "trap": [f"{UPLOADED} 1x upload -> B3, wait wait_for"]},
        "B4": {"watch": [f"{UPLOADED} 1x upload -> nobody, wait wait_for"],
               "trap": [f"{UPLOADED} 1x upload -> B4, wait wait_for, in-system-call"]},
        "B4_waited": [],
        "D2": {"watch": [f"{UPLOADED} 1x upload -> nobody, wait wait_for"],
               "trap": [f"{UPLOADED} 1x upload -> D2, wait wait_for"]},
        "D2_waited": [],
        "written_result": {"watch": [f"{WRITTEN} 1x download -> nobody, wait wait_for"],
                           "trap": [f"{WRITTEN} 1x download -> written_result, wait wait_for"]},
        "written_result_waited": [],
        # The first one's wait.
        "event_before_copy": {"watch": [f"{UPLOADED} 6x upload -> nobody, wait wait_for_event, early-event"],
                              "trap": [f"{UPLOADED} 6x upload -> event_before_copy, wait wait_for_event, early-event"]},
        "L1": [],
        "L2": [],
        "L5": [],
        "L6": [],
        "other_thread_waits": [],
        "K10": [],
    }),
    # Beside the rule: how far the device was, by its own times (cupti=copies).
    "races_times": (("order", "watch"), {
        "copy_corrupting": [f"{UPLOADED} 1x upload -> download, corrupting"],
        "copy_latent": [f"{UPLOADED} 1x upload -> download, latent"],
        "host_corrupting": {"watch": [f"{UPLOADED} 1x upload -> nobody, wait wait_for, corrupting"]},
        "host_latent": {"watch": [f"{UPLOADED} 1x next_upload -> nobody, wait wait_for",
                                  f"{UPLOADED} 1x upload -> nobody, wait wait_for, latent"]},
    }),
    "races_pageable": (("watch,pageable",), {
        "A7": [f"{STAGED} 3x upload -> upload", f"{STAGED} 3x upload -> nobody, wait wait_for"],
        "A7_waited": [],
        "one_byte": [f"{STAGED} 1x upload -> nobody, wait wait_for"],
        "one_byte_waited": [],
        "small": [f"{STAGED} 1x upload -> nobody, wait wait_for"],
        "small_waited": [],
        "neighbours": [],
        "unmapped": [f"{STAGED} 1x upload -> nobody, released"],
        "moved": [f"{STAGED} 1x upload -> nobody, released"],
        "on_the_stack": [],
        "registered_meanwhile": [f"{UPLOADED} 1x upload -> nobody, wait wait_for"],
        "registered_meanwhile_waited": [],
        "fork_while_watched": [],
        "many_threads": [],
    }),
    "races_trap": (("trap",), {
        "C1": [f"{READ} 2x download -> read_result, wait await"],
        "C1_waited": [],
        "C2": [],
        "corrupting": [f"{READ} 1x download -> read_result, wait await"],
        "C3": [f"{READ} 1x download -> save, wait await, in-system-call"],
        "C3_waited": [],
        "C4": [f"{READ} 2x download -> are_equal, wait await"],
        "C4_waited": [],
        "D3": [f"{READ} 1x download -> grow", f"{NEVER} 1x download -> release, released"],
        "D3_waited": [],
        "E2": [f"{READ} 1x download -> read_result, wait await"],
        "E2_waited": [],
        "B4": [f"{UPLOADED} 1x upload -> read_file, wait await, in-system-call"],
        "B4_past_the_library": [f"{UPLOADED} 1x upload -> nobody, wait await, in-system-call"],
        "all_of_it": [f"{UPLOADED} 1x upload -> fill_all, wait await"],
        "neighbours": [],
        "behind_a_neighbour": [f"{UPLOADED} 1x upload -> nobody, wait await"],
        "many_threads": [f"{WRITTEN} 20x download -> store, wait await", f"{UPLOADED} 20x upload -> store, wait await"],
        "no_signals": [f"{UPLOADED} 1x upload -> store, wait await"],
        "own_handler_before": [f"{READ} 1x download -> read_result, wait await"],
        "own_handler_later": [f"{READ} 1x download -> read_result, wait await"],
        "own_death": None,
        "own_protection": [],
        "fork_while_armed": [],
        "unmapped": ["released-in-flight 1x download -> nobody, released"],
    }),
}


def halves_of(program, variables):
    """The names that the program prints when it is asked for none."""
    done = subprocess.run([program], env=dict(os.environ, **variables), capture_output=True, text=True, check=False)
    return [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]


def parties_of(data):
    names = {0: "nobody"}
    for site in data["sites"]:
        functions = [re.sub(r"\(anonymous namespace\)::|[(<].*", "", line["function"].replace("(anonymous namespace)::", ""))
                     for frame in site["stack"] for line in frame["lines"]]
        names[site["id"]] = next((name for name in functions if name in PARTIES), "?" + "/".join(functions[:3]))
    return names


def told(pincheck, runner, folder, runs, level):
    """What the reports in the folder say, merged: lines as in PROGRAMS, and whether the kernel helped to watch."""
    done = runner.run([pincheck, "export", "--format=json", folder], folder, {})
    if done["status"] != 0:
        return None, False, done["stderr"]
    data = json.loads(done["stdout"])
    # A fork's child that calls CUDA has a report of its own.
    processes = [process for process in data["processes"] if not process["after_cuda_fork"]]
    if len(processes) != runs:
        return None, False, f"{len(processes)} reports of {runs} runs"
    names = parties_of(data)
    sums = {}
    for race in data["races"]:
        flags = [flag for flag in race["flags"] if flag != "by-checksum"]
        wait = f", wait {names[race['wait_site']]}" if race["wait_site"] else ""
        outcomes = [name for name in ("corrupting", "latent") if race[name] != 0]
        text = "".join([f"{names[race['copy_site']]} -> {names[race['other_site']]}", wait,
                        *(", " + word for word in flags + outcomes)])
        key = (race["rule"], text)
        sums[key] = sums.get(key, 0) + race["count"]
    lines = sorted(f"{rule} {count // runs if count % runs == 0 else count / runs}x {text}"
                   for (rule, text), count in sums.items())
    # Each process must have each of them.
    missed = [race for race in data["races"] if race["processes"] != runs]
    helped = all({"kind": "races", "text": level} in process["coverage"] for process in processes)
    return lines, helped, f"not in every run: {len(missed)} of {len(data['races'])}" if missed else ""


def random_speed():
    """Of the simulated device: from as fast as the machine copies to 40 MB/s, with kernels of up to a millisecond."""
    return {"SIMCUDA_H2D_GBPS": random.choice(["0", f"{10 ** random.uniform(-1.4, 2):.3f}"]),
            "SIMCUDA_D2H_GBPS": random.choice(["0", f"{10 ** random.uniform(-1.4, 2):.3f}"]),
            "SIMCUDA_KERNEL_US": str(random.choice([0, random.randrange(1000)])),
            "SIMCUDA_COPY_ENGINES": str(random.choice([1, 2, 3]))}


def expected_of(entry, program, level):
    if isinstance(entry, dict):
        return entry.get(level, [])
    return [] if program in ("races_watch", "races_trap") and level == "order" else entry  # that level sees none of it


def check_half(runner, pincheck, path, half, level, arguments, expected, expected_at_order):
    # A busy machine loses single times of the device, which the report then says.
    timed = "races_times" in path and not arguments.random_speed
    if not timed:
        expected, expected_at_order = ([re.sub(", (corrupting|latent)$", "", line) for line in lines]
                                       for lines in (expected, expected_at_order))
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        not_here = []
        cupti = "copies" if timed else "off"

        def run_once(number):
            variables = {"LD_PRELOAD": runner.preload(level),
                         "PINCHECK_OPTIONS": f"output={folder}/{number}.pcr:races={level}:sample=count:cupti={cupti}:verbosity=1"}
            if runner.simulated:
                variables["SIMCUDA_DEVICES"] = "2"
                variables["SIMCUDA_KERNELS"] = os.path.join(runner.build, "programs", "held_calls_kernels.so")
            variables.update(random_speed() if arguments.random_speed else {})
            done = runner.run([path, half], folder, variables)
            not_here.append(done["stdout"].startswith("no "))  # batches, second device
            return "" if done["status"] == 0 else (f"run {number}: status {done['status']} {done['stderr'].strip()} "
                                                   f"{json.dumps(variables)}")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if arguments.repeat > 1 else 1) as pool:
            problems = [problem for problem in pool.map(run_once, range(arguments.repeat)) if problem]
        lines, helped, complaint = told(pincheck, runner, folder, arguments.repeat, level)
    if complaint:
        problems.append(complaint)
    if IS_FILTERED:  # nothing is watched, and no pageable source is looked at
        expected = [] if half == "S2" else expected_at_order
    if half == "D4" and path.endswith("_static_nvidia"):
        expected = []  # the runtime's own frames lie where the local array was
    if (half in NEEDS_KERNEL and level.startswith("watch") and not helped) or any(not_here):
        expected = []
    if level == "trap" and not helped:
        problems.append("nothing is trapped, or not all")
    if lines is not None and lines != sorted(expected):
        problems.append(f"told {lines}, expected {sorted(expected)}")
    return {"half": half, "level": level, "verdict": "; ".join(problems[:5]) or "right", "told": lines, "kernel_helps": helped}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--only", help="halves, by name")
    parser.add_argument("--programs", help="programs, by name")
    parser.add_argument("--levels", help="levels, by name")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--random-speed", action="store_true")
    parser.add_argument("--torch-rounds", type=int, default=5, help="rounds of PyTorch's loop that are timed")
    parser.add_argument("--torch-levels", default="order,watch,trap", help="at which it is timed")
    parser.add_argument("--timeout", type=float, default=60)
    arguments = parser.parse_args()
    runner = Runner(arguments.build, arguments.simulated, arguments.timeout)
    pincheck = runner.pincheck()
    only = arguments.only.split(",") if arguments.only else None
    results = []
    tasks = []  # program, half, level and what check_half() takes beside them
    wanted_levels = re.findall("watch,pageable|[a-z]+", arguments.levels) if arguments.levels else ["order", "watch", "watch,pageable", "trap"]
    can_trap = os.geteuid() == 0 or os.access("/dev/userfaultfd", os.R_OK | os.W_OK)
    if not can_trap:
        print("level trap                   skipped: userfaultfd takes root, or /dev/userfaultfd")
    chosen = arguments.programs.split(",") if arguments.programs else [
        name + runtime for name in PROGRAMS for runtime in ("", "_static" if runner.simulated else "_static_nvidia")]
    for name, (levels, table) in PROGRAMS.items():
        for runtime in ("", "_static" if runner.simulated else "_static_nvidia"):
            if name + runtime not in chosen:
                continue
            path = os.path.join(runner.build, "programs", name + runtime)
            if not os.path.exists(path):
                print(f"{name + runtime:<28} skipped: not built", flush=True)
                continue
            halves = halves_of(path, {"LD_LIBRARY_PATH": runner.libraries})
            if sorted(halves) != sorted(table):
                odd = ", ".join(sorted(set(halves) ^ set(table)))
                results.append({"program": name + runtime, "half": "", "verdict": f"not in both program and table: {odd}"})
                print(f"{name + runtime:<28} {results[-1]['verdict']}", flush=True)
            for half in [half for half in table if half in halves and (not only or half in only)]:
                for level in levels if table[half] is not None else ():
                    if (level == "trap" and (IS_FILTERED or not can_trap)) or level not in wanted_levels:
                        continue
                    expected = [expected_of(table[half], name, of_level) for of_level in (level, "order")]
                    tasks.append((name + runtime, path, half, level, expected))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        done = pool.map(lambda task: check_half(runner, pincheck, *task[1:4], arguments, *task[4]), tasks)
        for (program, _, half, level, _), result in zip(tasks, done):
            results.append({"program": program, **result})
            print(f"{program:<28} {half:<28} {level:<6} {result['verdict']}", flush=True)
    wants_torch = bool({"torch", "torch-costs"} & set(only)) if only else not arguments.programs
    torch = {}
    if wants_torch and not runner.simulated:
        torch = torch_part(runner, pincheck, arguments.torch_rounds, [f"races={level}" for level in arguments.torch_levels.split(",")],
                           only == ["torch-costs"])
    wrong = [result for result in results if result["verdict"] != "right"]
    print(f"{len(results) - len(wrong)} of {len(results)} halves right, {arguments.repeat} runs each")
    for result in wrong:
        print(f"wrong: {result['program']} {result['half']} {result.get('level', '')} {result['verdict']}")
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"environment": environment(), "repeat": arguments.repeat, "halves": results, "torch": torch}, file, indent=1)
        file.write("\n")
    sys.exit(bool(wrong) or not results and not torch or torch.get("verdict", "right") not in ("right", "skipped"))


if __name__ == "__main__":
    main()
