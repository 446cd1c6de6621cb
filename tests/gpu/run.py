#!/usr/bin/env python3
"""Runs the copying programs under the tool and compares what it recorded with what CUPTI counted in the same run.

  run.py BUILD_DIR [OUT_DIR] [--only NAME,NAME] [--simulated] [--timeout SECONDS]

BUILD_DIR is a build folder or a bundle of one (bundle.sh). Each program runs twice: under libpincheck.so with CUPTI
counting, and plain, for its output and status. OUT_DIR (default: tests/gpu/<device>) gets one JSON file a program, and
environment.json. Nothing is fetched from a network. --simulated takes the simulated device's own counts in place of
CUPTI's, to try this script without a GPU. Exit status 1 when a comparison fails."""

import argparse
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CUDA_LIBRARIES = ["/usr/local/cuda-13.0/targets/x86_64-linux/lib", "/usr/local/cuda/lib64",
                  "/usr/local/cuda/extras/CUPTI/lib64"]
SKIPPED = 77


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
    if not simulated:
        table["pytorch"] = [sys.executable, os.path.join(HERE, "torch_copies.py")]
        table["cupy"] = [sys.executable, os.path.join(HERE, "cupy_copies.py")]
    return table


class Runner:
    def __init__(self, arguments):
        self.build = os.path.abspath(arguments.build)
        self.simulated = arguments.simulated
        self.timeout = arguments.timeout
        self.tool = os.path.join(self.build, "lib", "libpincheck.so")
        self.facts = os.path.join(self.build, "gpu", "report_facts")
        self.counter = os.path.join(self.build, "gpu", "libcupti_count.so")
        for path in (self.tool, self.facts):
            if not os.path.exists(path):
                sys.exit(f"run.py: {path} is missing: build first")
        folders = [os.path.join(self.build, "simcuda")] if self.simulated else [
            folder for folder in CUDA_LIBRARIES if os.path.isdir(folder)]
        self.libraries = ":".join(folders + [p for p in [os.environ.get("LD_LIBRARY_PATH", "")] if p])
        self.has_cupti = not self.simulated and os.path.exists(self.counter)

    def runtime_library(self):
        for folder in self.libraries.split(":"):
            found = sorted(glob.glob(os.path.join(folder, "libcudart.so.[0-9][0-9]")))
            if found:
                return found[-1]
        return "libcudart.so.13"

    def execute(self, command, folder, hooked):
        environment = dict(os.environ, LD_LIBRARY_PATH=self.libraries)
        if hooked:
            environment["LD_PRELOAD"] = self.tool
            environment["PINCHECK_OPTIONS"] = f"output={folder}/%p.pcr"
            if self.simulated:
                environment["SIMCUDA_COUNTS_FILE"] = os.path.join(folder, "simulated.json")
            elif self.has_cupti:
                environment["CUDA_INJECTION64_PATH"] = self.counter
                environment["CUPTI_COUNT_OUT"] = os.path.join(folder, "cupti-%p.json")
        begin = time.monotonic()
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                                  timeout=self.timeout, check=False)
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, out, err = "timeout", "", ""
        return {"status": status, "stdout": out, "stderr": err, "seconds": round(time.monotonic() - begin, 3)}

    def reference(self, folder):
        """Copies by direction as somebody else counted them, or why there are none."""
        if self.simulated:
            counts = {"source": "simulated device", "htod": 0, "dtoh": 0, "dropped": 0}
            path = os.path.join(folder, "simulated.json")
            if not os.path.exists(path):
                return {"source": "none", "problem": "the simulated device wrote no counts"}
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    counts["htod"] += json.loads(line)["h2d"]
                    counts["dtoh"] += json.loads(line)["d2h"]
            return counts
        files = glob.glob(os.path.join(folder, "cupti-*.json"))
        if not self.has_cupti or not files:
            return {"source": "none", "problem": "no CUPTI: nothing to compare with"}
        counts = {"source": "CUPTI", "htod": 0, "dtoh": 0, "dtod": 0, "htoh": 0, "dropped": 0, "htod_host": {},
                  "dtoh_host": {}, "problem": ""}
        for path in files:
            with open(path, encoding="utf-8") as file:
                one = json.load(file)
            for key in ("htod", "dtoh", "dtod", "htoh", "dropped"):
                counts[key] += one[key]
            for key in ("htod_host", "dtoh_host"):
                for kind, number in one[key].items():
                    counts[key][kind] = counts[key].get(kind, 0) + number
            counts["problem"] = counts["problem"] or one["problem"]
        return counts

    def recorded(self, folder, stdout):
        ledger = os.path.join(folder, "ledger.json")
        with open(ledger, "w", encoding="utf-8") as file:
            file.write(stdout)
        reports = sorted(glob.glob(os.path.join(folder, "*.pcr")))
        has_ledger = stdout.lstrip().startswith("{") and '"sites"' in stdout
        command = [self.facts] + (["--ledger", ledger] if has_ledger else []) + reports
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr or done.returncode}

    def one(self, name, command):
        with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as hooked_folder, \
                tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as plain_folder:
            hooked = self.execute(command, hooked_folder, True)
            result = {"program": name, "command": [os.path.basename(part) for part in command], "hooked": hooked}
            if hooked["status"] == SKIPPED:
                result["verdict"] = "skipped: " + hooked["stdout"].strip()
                return result
            result["reference"] = self.reference(hooked_folder)
            result["recorded"] = self.recorded(hooked_folder, hooked["stdout"])
            result["plain"] = self.execute(command, plain_folder, False)
        result["verdict"] = self.verdict(result)
        return result

    def verdict(self, result):
        problems = []
        hooked, plain, recorded, reference = (result[key] for key in ("hooked", "plain", "recorded", "reference"))
        if hooked["status"] != plain["status"]:
            problems.append(f"status {hooked['status']}, plain {plain['status']}")
        if hooked["stdout"] != plain["stdout"] and result["program"] not in ("pytorch", "cupy"):
            problems.append("stdout differs")
        if plain["status"] != 0:
            problems.append(f"the program itself fails: {plain['status']}")
        if "error" in recorded or recorded.get("reports", 0) == 0:
            problems.append("no readable report")
            return "; ".join(problems)
        copies = recorded["copies"]
        sums = {}
        for direction, key in (("host_to_device", "htod"), ("device_to_host", "dtoh")):
            kinds = copies.get(direction, {})
            # CUPTI gives managed copies the kind device-to-device; the simulated device counts them as asked for.
            sums[key] = sum(n for kind, n in kinds.items() if self.simulated or kind != "managed")
        result["recorded_sums"] = sums
        if reference["source"] == "none":
            problems.append(reference["problem"])
        else:
            for key in ("htod", "dtoh"):
                if sums[key] != reference[key]:
                    problems.append(f"{key}: recorded {sums[key]}, {reference['source']} {reference[key]}")
            if reference["dropped"]:
                problems.append(f"CUPTI dropped {reference['dropped']} records")
        if recorded["losses"]:
            problems.append("losses: " + recorded["losses"].strip().replace("\n", ", "))
        return "; ".join(problems) or "same"


def environment():
    facts = {"kernel": platform.release(), "libc": " ".join(platform.libc_ver()), "python": platform.python_version(),
             "gpu": "none", "driver": "none"}
    if shutil.which("nvidia-smi"):
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            facts["gpu"], facts["driver"] = [part.strip() for part in done.stdout.splitlines()[0].split(",")][:2]
    return facts


def slug(gpu):
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower().replace("nvidia", "")).strip("-") or "none"


def conformance(runner, out):
    program = os.path.join(runner.build, "bin", "pincheck-conformance")
    if not os.path.exists(program):
        return "not built"
    verdicts = {}
    with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
        for hooked in (False, True):
            run = runner.execute([program, "--gtest_brief=1"], folder, hooked)
            verdicts["hooked" if hooked else "plain"] = run
    with open(os.path.join(out, "conformance.json"), "w", encoding="utf-8") as file:
        json.dump({"program": "conformance", **verdicts,
                   "verdict": f"plain {verdicts['plain']['status']}, hooked {verdicts['hooked']['status']}"}, file,
                  indent=1)
    return f"plain {verdicts['plain']['status']}, hooked {verdicts['hooked']['status']}"


SAME_CALLS = {"same_calls_runtime_shared": 17, "same_calls_runtime_static": 17, "same_calls_driver_linked": 0,
              "same_calls_driver_dlsym": 0, "same_calls_driver_lookup": 0}


def same_calls(runner, out):
    """Each call's results with and without the tool (tests/programs/same_calls.h); for the runtime also with each of its
    first calls before everything else. Byte for byte."""
    rows = []
    for name, firsts in SAME_CALLS.items():
        if name.endswith("_static") and not runner.simulated:
            name += "_nvidia"
        program = os.path.join(runner.build, "programs", name)
        for first in [None] + list(range(firsts)):
            command = [program] + ([] if first is None else [str(first)])
            with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
                plain = runner.execute(command, folder, False)
                hooked = runner.execute(command, folder, True)
            row = {"program": name, "first": first, "lines": len(plain["stdout"].splitlines())}
            if plain["status"] != 0:
                row["problem"] = f"the program itself fails: {plain['status']}"
            elif any(plain[key] != hooked[key] for key in ("status", "stdout", "stderr")):
                pairs = zip(plain["stdout"].splitlines() + [f"status {plain['status']}", plain["stderr"]],
                            hooked["stdout"].splitlines() + [f"status {hooked['status']}", hooked["stderr"]])
                row["problem"] = next(([a, b] for a, b in pairs if a != b), "differs in length")
            if first is None:
                row["stdout"] = plain["stdout"]
            rows.append(row)
    bad = [row for row in rows if "problem" in row]
    verdict = "same" if not bad else "; ".join(f"{row['program']} {row['first']}: {row['problem']}" for row in bad)
    with open(os.path.join(out, "same_calls.json"), "w", encoding="utf-8") as file:
        json.dump({"program": "same_calls", "verdict": verdict, "runs": rows}, file, indent=1)
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--timeout", type=float, default=90)
    arguments = parser.parse_args()
    runner = Runner(arguments)
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
        result = runner.one(name, command)
        with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
        good = result["verdict"] == "same" or result["verdict"].startswith("skipped")
        failures += 0 if good else 1
        print(f"{name:28} {result['verdict']}", flush=True)
    if not wanted or "same_calls" in wanted:
        verdict = same_calls(runner, out)
        failures += 0 if verdict == "same" else 1
        print(f"{'same_calls':28} {verdict}", flush=True)
    if not wanted and not arguments.simulated:
        verdict = conformance(runner, out)
        failures += 0 if verdict == "plain 0, hooked 0" else 1
        print(f"{'conformance':28} {verdict}")
    print(f"{failures} of the programs differ" if failures else "all agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
