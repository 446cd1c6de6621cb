#!/usr/bin/env python3
"""Runs programs bare and under `pincheck run`, and holds the results, the copies and the findings against each other and
against what reading the programs' sources says (samples_expected.json).

  samples.py BUILD_DIR PROGRAMS_DIR [OUT_DIR] [--expected FILE] [--simulated] [--timeout SECONDS]

PROGRAMS_DIR holds each program as NAME-RUNTIME, or NAME-RUNTIME.skipped with the reason why it was not built
(samples.sh makes it). Compared: exit status, what the program prints (times and rates masked), executed copies by
direction and memsets as recorded, as counted by CUPTI and as expected, the verdict, and each finding's rule, place and
number of calls; a place is right when the source line that heads the finding holds the expected text. OUT_DIR (default:
tests/gpu/<device>) gets samples.json; the table is printed. Exit status 1 when something differs."""

import argparse
import json
import os
import re
import sys
import tempfile

from runner import COUNTED, HERE, Runner, environment, slug

# What differs between two runs of one program: times, rates, and how often it could ask before the device was done.
MASKS = ((re.compile(r"\d+\.\d+(e[-+]?\d+)?"), "#"), (re.compile(r"executed \d+ iterations"), "executed # iterations"),
         (re.compile(r"[ \t]+"), " "))


def masked(text):
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    return text


def heading_line(site, frame):
    """Of the line that heads a finding: file name, number, and text where the file can be read."""
    lines = site["stack"][frame]["lines"] if frame >= 0 else []
    line = next((line for line in lines if line["line"] and "/cuda_runtime" not in line["file"]), None)
    if line is None:
        return "", 0, ""
    try:
        with open(line["file"], encoding="utf-8", errors="replace") as file:
            text = file.read().splitlines()[line["line"] - 1]
    except (OSError, IndexError):
        text = ""
    return os.path.basename(line["file"]), line["line"], text


def findings_of(capture):
    sites = {site["id"]: site for site in capture["sites"]}
    found = []
    for finding in capture["findings"]:
        if finding["severity"] == "note":
            continue  # a busy machine can make one
        site = sites[finding["site"]]
        file, line, text = heading_line(site, finding["heading_frame"])
        found.append({"rule": finding["rule"], "gated": finding["gated"], "heading": f"{file}:{line}", "file": file,
                      "line": line, "text": text.strip(), "calls": site["calls"]})
    return found


def finding_problems(found, expected):
    problems = []
    left = list(found)
    for wanted in expected:
        match = next((one for one in left if one["rule"] == wanted["rule"] and one["file"] == wanted["file"]
                      and wanted["text"] in one["text"] and one["calls"] == wanted["calls"]), None)
        if match is None:
            problems.append(f"not found: {wanted['rule']} x {wanted['calls']} at {wanted['text']}")
        else:
            left.remove(match)
    return problems + [f"found, not expected: {one['rule']} x {one['calls']} at {one['heading']}" for one in left]


class Samples:
    def __init__(self, runner, folder):
        self.runner = runner
        self.folder = os.path.abspath(folder)
        self.pincheck = runner.pincheck()

    def export(self, reports):
        done = self.runner.run([self.pincheck, "export", "--format=json", reports], reports, {})
        try:
            return json.loads(done["stdout"])
        except ValueError:
            return {"verdict": "none: " + done["stderr"].strip(), "sites": [], "findings": []}

    def one(self, expected, runtime):
        program = os.path.join(self.folder, f"{expected['program']}-{runtime}")
        result = {"name": expected["name"], "runtime": runtime, "arguments": expected["arguments"],
                  "why": expected["why"]}
        if not os.path.exists(program):
            reason = "not built"
            if os.path.exists(program + ".skipped"):
                with open(program + ".skipped", encoding="utf-8") as file:
                    reason = file.read().strip()
            return dict(result, verdict="skipped: " + reason)
        one_device = {"CUDA_VISIBLE_DEVICES": "0"}
        command = [program] + expected["arguments"]
        with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
            reports = os.path.join(folder, "reports")
            bare = result["bare"] = self.runner.run(command, folder, one_device)
            hooked = result["hooked"] = self.runner.run(
                [self.pincheck, "run", "--color", "never", "--output", reports, "--", *command], folder,
                dict(self.runner.counting(folder), **one_device))
            result["reference"] = self.runner.reference(folder)
            if not os.path.isdir(reports):
                return dict(result, verdict=f"no report; status {bare['status']}, under the tool {hooked['status']}")
            result["recorded"] = self.runner.recorded(reports, "")
            capture = self.export(reports)
        result["findings"] = findings_of(capture)
        result["gate"] = capture["verdict"]
        return dict(result, verdict="; ".join(self.problems(result, expected)) or "right")

    def problems(self, result, expected):
        bare, hooked = result["bare"], result["hooked"]
        problems = []
        if bare["status"] != 0:
            problems.append(f"the program itself fails: {bare['status']}")
        result["unchanged"] = bare["status"] == hooked["status"] and masked(bare["stdout"]) == masked(hooked["stdout"])
        if not result["unchanged"]:
            problems.append(f"result changed: status {bare['status']}, under the tool {hooked['status']}"
                            if bare["status"] != hooked["status"] else "output changed")
        problems += self.runner.differences(result["recorded"], result["reference"])
        if "error" not in result["recorded"]:
            sums = result["recorded_sums"] = self.runner.sums(result["recorded"])
            problems += [f"{key}: recorded {sums[key]}, by the source {expected['copies'][key]}" for key in COUNTED
                         if key in result["reference"] and sums[key] != expected["copies"][key]]
        if result["gate"] != expected["verdict"]:
            problems.append(f"verdict {result['gate']}, expected {expected['verdict']}")
        return problems + finding_problems(result["findings"], expected["findings"])


def print_table(facts, results):
    where = "the simulated device" if facts["simulated"] else f"{facts['gpu']}, driver {facts['driver']}"
    print(f"Public programs, built from unchanged sources; {where}. Copies: recorded / counted.\n")
    print("| program | runtime | result unchanged | H2D | D2H | D2D | memsets | gate | findings | verdict |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for result in results:
        sums, reference = result.get("recorded_sums", {}), result.get("reference", {})
        findings = [f"{one['rule']} at {one['file']}:{one['line']} x {one['calls']}"
                    for one in result.get("findings", [])]
        cells = [result["name"], result["runtime"], {True: "yes", False: "NO"}.get(result.get("unchanged"), "-"),
                 *(f"{sums.get(key, '-')} / {reference.get(key, '-')}" for key in COUNTED), result.get("gate", "-"),
                 ", ".join(findings) or "none", result["verdict"]]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("programs")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--expected", default=os.path.join(HERE, "samples_expected.json"))
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--timeout", type=float, default=120)
    arguments = parser.parse_args()
    facts = dict(environment(), simulated=arguments.simulated)
    out = os.path.abspath(arguments.out or os.path.join(HERE, slug(facts["gpu"])))
    os.makedirs(out, exist_ok=True)
    samples = Samples(Runner(arguments.build, arguments.simulated, arguments.timeout), arguments.programs)
    with open(arguments.expected, encoding="utf-8") as file:
        expected = json.load(file)
    results = [samples.one(one, runtime) for one in expected for runtime in one["runtimes"]]
    with open(os.path.join(out, "samples.json"), "w", encoding="utf-8") as file:
        json.dump({"environment": facts, "programs": results}, file, indent=1)
    print_table(facts, results)
    bad = [one for one in results if one["verdict"] != "right" and not one["verdict"].startswith("skipped")]
    print(f"\n{len(bad)} of {len(results)} runs differ" if bad else "\nall agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
