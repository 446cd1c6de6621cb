#!/usr/bin/env python3
"""The tool's times of samples/call_share held against the program's own clock, and the share that its calls took.

  call_share.py BUILD_DIR [OUT_FILE] [--sample NAME] [--max BYTES] [--simulated]

For each direction, kind of memory and size: the sum of the time in the calls as the program measured it and as the report
has it; and the time to completion, where CUPTI gave it. Asserted: sums of calls that took more than 100 us each agree
within 5 %; at the largest size, pageable calls take at least 80 % of the time to completion and pinned ones less than
10 %, by both. The table is printed. Exit status 1 when an assertion fails. Times of the simulated device are those of a
busy machine: there the table is printed, and asserted is only that the calls are all there."""

import argparse
import json
import os
import sys
import tempfile

from runner import Runner

LONG_US = 100
AGREE = 0.05


def rows_of(text):
    """What the program printed, by direction, memory and bytes."""
    rows = {}
    for line in text.splitlines():
        words = line.replace("%", " ").replace("GB/s", " ").split()
        if len(words) == 9 and words[0] in ("H2D", "D2H"):
            numbers = [float(word) for word in words[3:]]
            rows[words[0], words[1], int(words[2])] = dict(
                zip(("call_us", "complete_us", "share_percent", "gb_s", "call_sum_us", "complete_sum_us"), numbers))
    return rows


def recorded(capture):
    """The same of the report: sums by direction, memory and bytes of the asynchronous copies."""
    rows = {}
    for site in capture["sites"]:
        if site["kind"] != "copy" or "async" not in site["flags"]:
            continue
        direction = {"host-to-device": "H2D", "device-to-host": "D2H"}[site["direction"]]
        host = site["source" if direction == "H2D" else "destination"]["class"]
        for size in site["sizes"]:
            row = rows.setdefault((direction, host, size["bytes_max"]), {"calls": 0, "call_sum_us": 0})
            row["calls"] += size["calls"]
            row["call_sum_us"] += size["host_ns"] / 1e3
            for transfer in site["transfers"]:
                if transfer["from_bytes"] == size["from_bytes"]:
                    row["timed"] = transfer["calls"]
                    row["complete_sum_us"] = transfer["completion_ns"] / 1e3
                    row["share_percent"] = 100 * (transfer["call_share"] or 0)
    return rows


def compare(printed, seen, simulated):
    problems = []
    largest = max(bytes for _, _, bytes in printed)
    calls = 12
    for key, own in printed.items():
        name = f"{key[0]} {key[1]} {key[2]}"
        tool = seen.get(key)
        if tool is None or tool["calls"] != calls:
            problems.append(f"{name}: the report has {tool and tool['calls']} calls of {calls}")
            continue
        own["off_percent"] = 100 * (tool["call_sum_us"] / own["call_sum_us"] - 1)
        if simulated:
            continue
        if own["call_sum_us"] / calls > LONG_US and abs(own["off_percent"]) > 100 * AGREE:
            problems.append(f"{name}: {own['off_percent']:.1f} % off the program's clock")
        if tool.get("timed") == calls and own["complete_sum_us"] / calls > LONG_US:
            own["complete_off_percent"] = 100 * (tool["complete_sum_us"] / own["complete_sum_us"] - 1)
            if abs(own["complete_off_percent"]) > 100 * AGREE:
                problems.append(f"{name}: completion {own['complete_off_percent']:.1f} % off the program's clock")
        if key[2] == largest:
            shares = [own["share_percent"]] + [tool["share_percent"]] * ("share_percent" in tool)
            for share in shares:
                if share < 80 if key[1] == "pageable" else share >= 10:
                    problems.append(f"{name}: the calls took {share:.1f} % of the time to completion")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--sample", default="call_share")
    parser.add_argument("--max", default="64M")
    parser.add_argument("--simulated", action="store_true")
    arguments = parser.parse_args()
    runner = Runner(arguments.build, arguments.simulated, 120)
    pincheck = runner.pincheck()
    sample = os.path.join(runner.build, "samples", arguments.sample)
    with tempfile.TemporaryDirectory(prefix="pincheck-share-") as folder:
        run = runner.execute([sample, "--max", arguments.max, "--sums"], folder, True, counted=False)
        if run["status"] != 0:
            sys.exit(f"{sample}: status {run['status']}: {run['stderr']}")
        export = runner.run([pincheck, "export", "--format=json", folder], folder, {})
    if export["status"] != 0:
        sys.exit(f"pincheck export: {export['stderr']}")
    capture = json.loads(export["stdout"])
    printed, seen = rows_of(run["stdout"]), recorded(capture)
    problems = compare(printed, seen, arguments.simulated) if printed else ["the program printed no rows"]
    print(f"{'':4} {'memory':9} {'bytes':>10} {'call us':>10} {'report':>10} {'off':>7} {'complete':>10} {'report':>10} "
          f"{'share':>7} {'report':>7}")
    results = []
    for key, own in printed.items():
        tool = seen.get(key, {})
        number = lambda row, name, divide=1: f"{row[name] / divide:.1f}" if name in row else "-"
        print(f"{key[0]:4} {key[1]:9} {key[2]:>10} {number(own, 'call_sum_us', 12):>10} "
              f"{number(tool, 'call_sum_us', 12):>10} {number(own, 'off_percent'):>6}% "
              f"{number(own, 'complete_sum_us', 12):>10} {number(tool, 'complete_sum_us', 12):>10} "
              f"{number(own, 'share_percent'):>6}% {number(tool, 'share_percent'):>6}%")
        results.append({"direction": key[0], "memory": key[1], "bytes": key[2], "program": own, "report": tool})
    for problem in problems:
        print(f"DIFFERS {problem}")
    print("differs" if problems else "agrees")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({"verdict": problems or "agrees", "rows": results}, file, indent=1)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
