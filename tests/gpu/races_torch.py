"""The part of races.py about PyTorch: the training loop of torch_races.py. The right one prints the same losses with and
without the tool, and nothing is found at any level; in the seeded one the refill is found, and at level trap the function
that does it. And what the levels cost: rounds of the loop without the tool and with races=order, watch and trap in turns: medians,
and the median of the rounds' ratios with the range that it lies in with 95 % confidence (order statistics). Runs differ by
more than the levels do: take many rounds."""

import importlib.util
import json
import math
import os
import re
import statistics
import sys
import tempfile

from runner import HERE

LOOP_STEPS = 1000  # of the rounds that are timed
TIMEOUT = 300


def loop(runner, folder, options, *arguments):
    """One run: what it printed, and its report's name. Options None: without the tool."""
    report = os.path.join(folder, "loop.pcr")
    if os.path.exists(report):
        os.unlink(report)
    variables = {} if options is None else {
        "LD_PRELOAD": runner.preload("trap" if "races=trap" in options else ""),
        "PINCHECK_OPTIONS": f"output={report}:{options}"}
    done = runner.run([sys.executable, os.path.join(HERE, "torch_races.py"), *arguments], folder, variables, TIMEOUT)
    if done["status"] != 0:
        raise RuntimeError(f"torch_races.py {' '.join(arguments)} ({options}): status {done['status']}\n{done['stderr']}")
    found = re.search(r"^(loss .*)\nseconds ([0-9.]+)$", done["stdout"], re.MULTILINE)
    return found.group(1), float(found.group(2)), report


def errors_of(runner, pincheck, report, folder):
    """Races that are errors, and what the report says of watching. Which line of Python made a copy is not seen: all three
    uploads of a step are one site, of whose calls some are watched."""
    done = runner.run([pincheck, "export", "--format=json", report], folder, {}, TIMEOUT)
    if done["status"] != 0:
        raise RuntimeError(done["stderr"])
    data = json.loads(done["stdout"])
    found = [{key: finding[key] for key in ("rule", "presumed", "count", "heading", "why")}
             for finding in data["findings"] if finding["races"] and finding["severity"] == "error"]
    coverage = {entry["kind"]: entry["text"] for entry in data["processes"][0]["coverage"]
                if entry["kind"] in ("races", "watched-copies")}
    return found, coverage


def verdicts(runner, pincheck, folder):
    plain, _, _ = loop(runner, folder, None)
    runs = []
    for options, arguments, wanted in (("races=order", (), False), ("races=watch:sample=count", (), False),
                                       ("races=watch", (), False), ("races=watch:sample=count", ("--seeded",), True),
                                       ("races=trap", (), False), ("races=trap", ("--seeded",), True)):
        losses, _, report = loop(runner, folder, options, *arguments)
        found, coverage = errors_of(runner, pincheck, report, folder)
        problems = [] if losses == plain else [f"printed '{losses}', without the tool '{plain}'"]
        rules = sorted({finding["rule"] for finding in found})
        if rules != (["source-overwritten-in-flight"] if wanted else []):
            problems.append(f"found {rules}")
        if "races=trap" in options and wanted and not any("libtorch" in finding["why"] for finding in found):
            problems.append("the function that fills the buffer is not named")
        runs.append({"options": options, "arguments": list(arguments), "losses": losses, "found": found, "coverage": coverage,
                     "verdict": "; ".join(problems) or "right"})
        print(f"{'PyTorch ' + ' '.join(arguments):<28} {options:<28} {runs[-1]['verdict']} {coverage}", flush=True)
    return runs


def interval(values):
    """Between which of the values the median lies, with 95 % confidence at least, as far as so many can tell."""
    values = sorted(values)
    count = len(values)
    below = 0  # values on each side that may be left out
    while 2 * sum(math.comb(count, i) for i in range(below + 1)) / 2 ** count <= 0.05:
        below += 1
    below = max(below - 1, 0)
    return values[below], values[count - 1 - below]


def costs(runner, folder, rounds, levels):
    """Seconds of the loop by level, in turns."""
    seconds = {level: [] for level in ("none", *levels)}
    for _ in range(rounds):
        for level, times in seconds.items():
            times.append(loop(runner, folder, None if level == "none" else level, "--steps", str(LOOP_STEPS))[1])
    for level, times in seconds.items():
        ratios = [time / without for time, without in zip(times, seconds["none"])]
        least, most = interval(ratios)
        print(f"PyTorch loop of {LOOP_STEPS} steps, {level:<12} median {statistics.median(times):.3f} s of {rounds}, "
              f"{min(times):.3f} to {max(times):.3f}, ratio {statistics.median(ratios):.4f} ({least:.4f} to {most:.4f})", flush=True)
    return seconds


def torch_part(runner, pincheck, rounds, levels, only_costs):
    if importlib.util.find_spec("torch") is None:
        print("PyTorch                      skipped: torch is not installed")
        return {"verdict": "skipped"}
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        try:
            runs = [] if only_costs else verdicts(runner, pincheck, folder)
            seconds = costs(runner, folder, rounds, levels)
        except RuntimeError as error:
            print(error)
            return {"verdict": str(error)}
    right = all(run["verdict"] == "right" for run in runs)
    return {"verdict": "right" if right else "differs", "runs": runs, "seconds": seconds}
