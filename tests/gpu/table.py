#!/usr/bin/env python3
"""Prints the tables of a run.py output folder: table.py tests/gpu/h200"""

import glob
import json
import os
import sys

OTHERS = ("environment.json", "conformance.json", "same_calls.json", "samples.json", "gates.json")


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    folder = sys.argv[1]
    with open(os.path.join(folder, "environment.json"), encoding="utf-8") as file:
        facts = json.load(file)
    where = "the simulated device" if facts.get("simulated") else f"{facts['gpu']}, driver {facts['driver']}"
    print(f"Copies recorded by pincheck and counted by CUPTI in the same run; {where}.")
    print("Each cell: recorded / counted. -: not counted.\n")
    print("| program | H2D | D2H | D2D | memsets | pageable | pinned | routes | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        if os.path.basename(path) in OTHERS:
            continue
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        sums = result.get("recorded_sums", {})
        reference = result.get("reference", {})
        recorded = result.get("recorded", {})
        host = {}
        for direction in ("host_to_device", "device_to_host"):
            for kind, number in recorded.get("copies", {}).get(direction, {}).items():
                host[kind] = host.get(kind, 0) + number
        counts = [f"{sums.get(key, '-')} / {reference.get(key, '-')}" for key in ("htod", "dtoh", "dtod", "memsets")]
        cells = [result["program"], *counts, host.get("pageable", 0), host.get("pinned", 0),
                 ", ".join(recorded.get("routes", [])) or "-", result["verdict"]]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")
    path = os.path.join(folder, "conformance.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            print(f"\nConformance set, exit status: {json.load(file)['verdict']}.")
    path = os.path.join(folder, "same_calls.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        print(f"\nResults of {sum(run['lines'] for run in result['runs'])} calls with and without the tool: "
              f"{result['verdict']}.")
        if result.get("not_run"):
            print("Not run: " + "; ".join(result["not_run"]) + ".")
    path = os.path.join(folder, "gates.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            gates = json.load(file)["gates"]
        print("\n`pincheck run --check`: " + "; ".join(
            f"{gate['gate']}: {gate.get('status', '-')} ({gate['verdict']})" for gate in gates) + ".")


if __name__ == "__main__":
    main()
