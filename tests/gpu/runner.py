"""What run.py and samples.py share: running a program with and without the tool, the copies that somebody else counted in
the same run, and the comparison of both."""

import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CUDA_LIBRARIES = ["/usr/local/cuda-13.0/targets/x86_64-linux/lib", "/usr/local/cuda/lib64",
                  "/usr/local/cuda/extras/CUPTI/lib64"]
COUNTED = ("htod", "dtoh", "dtod", "memsets")


class Runner:
    def __init__(self, build, simulated, timeout):
        self.build = os.path.abspath(build)
        self.simulated = simulated
        self.timeout = timeout
        self.tool = os.path.join(self.build, "lib", "libpincheck.so")
        self.facts = os.path.join(self.build, "gpu", "report_facts")
        self.counter = os.path.join(self.build, "gpu", "libcupti_count.so")
        for path in (self.tool, self.facts):
            if not os.path.exists(path):
                sys.exit(f"{os.path.basename(sys.argv[0])}: {path} is missing: build first")
        folders = [os.path.join(self.build, "simcuda")] if simulated else [
            folder for folder in CUDA_LIBRARIES if os.path.isdir(folder)]
        self.libraries = ":".join(folders + [p for p in [os.environ.get("LD_LIBRARY_PATH", "")] if p])
        self.has_cupti = not simulated and os.path.exists(self.counter)

    def preload(self, level):
        """LD_PRELOAD for a level of the option races."""
        return self.tool + (":" + os.path.join(self.build, "lib", "libpincheck-trap.so") if level == "trap" else "")

    def pincheck(self):
        """The analyzer's path; makes it run where its libraries are missing."""
        path = os.path.join(self.build, "bin", "pincheck")
        # A bundle brings libdw, for machines without.
        libraries = os.path.join(self.build, "lib", "analyzer")
        if os.path.isdir(libraries) and self.run([path, "--help"], "/", {})["status"] != 0:
            self.libraries += ":" + libraries
        return path

    def runtime_library(self):
        for folder in self.libraries.split(":"):
            found = sorted(glob.glob(os.path.join(folder, "libcudart.so.[0-9][0-9]")))
            if found:
                return found[-1]
        return "libcudart.so.13"

    def counting(self, folder):
        """Variables that make somebody count the copies of a run."""
        if self.simulated:
            return {"SIMCUDA_COUNTS_FILE": os.path.join(folder, "simulated.json")}
        if self.has_cupti:
            return {"CUDA_INJECTION64_PATH": self.counter, "CUPTI_COUNT_OUT": os.path.join(folder, "cupti-%p.json")}
        return {}

    def run(self, command, folder, variables, timeout=None):
        """timeout: in seconds; none: the runner's own."""
        environment = dict(os.environ, LD_LIBRARY_PATH=self.libraries, **variables)
        if self.simulated:
            # They lead to a toolkit's own libcupti, which needs a device.
            for name in ("CUDA_HOME", "CUDA_PATH"):
                environment.pop(name, None)
        begin = time.monotonic()
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, errors="replace",
                                  timeout=timeout or self.timeout, check=False)
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as expired:
            status = "timeout"
            out, err = (text if isinstance(text, str) else (text or b"").decode(errors="replace")
                        for text in (expired.stdout, expired.stderr))
        return {"status": status, "stdout": out, "stderr": err, "seconds": round(time.monotonic() - begin, 3)}

    def execute(self, command, folder, hooked, timeout=None, counted=True):
        """`counted`: with somebody else counting beside the tool, who initialises the driver before the program does."""
        variables = {}
        if hooked:
            variables = dict(self.counting(folder) if counted else {}, LD_PRELOAD=self.tool,
                             PINCHECK_OPTIONS=f"output={folder}/%p.pcr")
        return self.run(command, folder, variables, timeout)

    def reference(self, folder):
        """Copies by direction as somebody else counted them, or why there are none."""
        if self.simulated:
            counts = {"source": "simulated device", "htod": 0, "dtoh": 0, "dtod": 0, "dropped": 0}
            path = os.path.join(folder, "simulated.json")
            if not os.path.exists(path):
                return {"source": "none", "problem": "the simulated device wrote no counts"}
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    for key, name in (("htod", "h2d"), ("dtoh", "d2h"), ("dtod", "d2d")):
                        counts[key] += json.loads(line)[name]
            return counts
        files = glob.glob(os.path.join(folder, "cupti-*.json"))
        if not self.has_cupti or not files:
            return {"source": "none", "problem": "no CUPTI: nothing to compare with"}
        counts = {"source": "CUPTI", "htod": 0, "dtoh": 0, "dtod": 0, "htoh": 0, "memsets": 0, "other_kinds": 0,
                  "dropped": 0, "htod_host": {}, "dtoh_host": {}, "problem": ""}
        for path in files:
            with open(path, encoding="utf-8") as file:
                one = json.load(file)
            for key in ("htod", "dtoh", "dtod", "htoh", "memsets", "other_kinds", "dropped"):
                counts[key] += one[key]
            for key in ("htod_host", "dtoh_host"):
                for kind, number in one[key].items():
                    counts[key][kind] = counts[key].get(kind, 0) + number
            counts["problem"] = counts["problem"] or one["problem"]
        return counts

    def recorded(self, folder, stdout):
        """What the reports in the folder hold (report_facts), and how they differ from the ledger that was printed."""
        ledger = os.path.join(folder, "ledger.json")
        with open(ledger, "w", encoding="utf-8") as file:
            file.write(stdout)
        reports = sorted(glob.glob(os.path.join(folder, "*.pcr")))
        has_ledger = stdout.lstrip().startswith("{") and '"sites"' in stdout
        command = [self.facts] + (["--ledger", ledger] if has_ledger else []) + reports
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr or done.returncode}

    def sums(self, recorded):
        """Executed copies and memsets as a counter of the device's work would count them."""
        copies = recorded["copies"]
        sums = {"memsets": recorded["fills"]}
        managed = 0
        for direction, key in (("host_to_device", "htod"), ("device_to_host", "dtoh"), ("device_to_device", "dtod")):
            kinds = dict(copies.get(direction, {}))
            if not self.simulated and key != "dtod":
                # CUPTI gives managed copies the kind device-to-device (measured: H200, driver 580.159, CUPTI 13.0); the
                # simulated device counts them as asked for.
                managed += kinds.pop("managed", 0)
            sums[key] = sum(kinds.values())
        sums["dtod"] += managed
        return sums

    def differences(self, recorded, reference):
        """One sentence for each count that differs, and for each reason not to trust one."""
        if "error" in recorded or recorded.get("reports", 0) == 0:
            return ["no readable report"]
        problems = []
        if reference["source"] == "none":
            problems.append(reference["problem"])
        sums = self.sums(recorded)
        for key in COUNTED:
            if key in reference and sums[key] != reference[key]:
                problems.append(f"{key}: recorded {sums[key]}, {reference['source']} {reference[key]}")
        if reference.get("dropped"):
            problems.append(f"CUPTI dropped {reference['dropped']} records")
        if reference.get("other_kinds"):
            problems.append(f"CUPTI counted {reference['other_kinds']} copies of no known kind")
        if recorded["losses"]:
            problems.append("losses: " + recorded["losses"].strip().replace("\n", ", "))
        return problems


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
