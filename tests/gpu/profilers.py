#!/usr/bin/env python3
"""PyTorch's and JAX's own profilers under the tool: their data about the GPU must be there as it is without it.

  profilers.py BUILD_DIR [OUT_FILE] [--only torch,jax]

Each program runs twice, plain and under libpincheck.so with the device times that are on by default. The tool is CUPTI's
client from the first CUDA call on and must hand it over when the profiler starts. Compared is what the profiler saw of
the device, by kind: kernels, copies and memsets. Also printed: how many copies the tool had device times of before that.
A framework that is not installed is skipped with the reason. Exit status 1 when a comparison fails."""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

from runner import Runner

TORCH = """
import json, sys
try:
    import torch
except ImportError as error:
    print(json.dumps({"skipped": str(error)})); sys.exit()
if not torch.cuda.is_available():
    print(json.dumps({"skipped": "torch sees no device"})); sys.exit()
from torch.profiler import profile, ProfilerActivity

def work(rounds):
    host = torch.ones(1 << 18)
    pinned = torch.ones(1 << 18).pin_memory()
    for _ in range(rounds):
        a = host.cuda()
        b = pinned.to("cuda", non_blocking=True)
        c = (a * b).sum()
        d = torch.zeros(1 << 16, device="cuda")
        d.cpu()
        c.item()
    torch.cuda.synchronize()

work(5)
seen = {}
# A profiler that is started and stopped several times, as training loops do.
for number in range(3):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work(10)
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            name = event.name
            kind = "copies" if name.startswith("Memcpy") else "memsets" if name.startswith("Memset") else "kernels"
            seen[kind] = seen.get(kind, 0) + 1
print(json.dumps({"seen": seen, "version": torch.__version__}))
"""

JAX = """
import glob, gzip, json, sys, tempfile
try:
    import jax, jax.numpy as jnp, numpy
except ImportError as error:
    print(json.dumps({"skipped": str(error)})); sys.exit()
if jax.default_backend() != "gpu":
    print(json.dumps({"skipped": "jax sees no device"})); sys.exit()

step = jax.jit(lambda x: (x @ x).sum())
host = numpy.ones((512, 512), numpy.float32)

def work(rounds):
    for _ in range(rounds):
        float(step(jax.device_put(host)))

work(5)
folder = tempfile.mkdtemp()
with jax.profiler.trace(folder):
    work(10)
seen = {}
for path in glob.glob(folder + "/**/*.trace.json.gz", recursive=True):
    trace = json.load(gzip.open(path))
    devices = {e["pid"] for e in trace["traceEvents"]
               if e.get("ph") == "M" and e["name"] == "process_name" and "/device:GPU" in e["args"]["name"]}
    threads = {(e["pid"], e["tid"]) for e in trace["traceEvents"]
               if e.get("ph") == "M" and e["name"] == "thread_name" and "Stream" in e["args"]["name"]}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event["pid"] in devices and (event["pid"], event["tid"]) in threads:
            name = event["name"]
            kind = "copies" if "Memcpy" in name else "memsets" if "Memset" in name else "kernels"
            seen[kind] = seen.get(kind, 0) + 1
print(json.dumps({"seen": seen, "version": jax.__version__}))
"""


def run(build, source, hooked, folder):
    environment = dict(os.environ)
    if hooked:
        environment["LD_PRELOAD"] = os.path.join(build, "lib", "libpincheck.so")
        environment["PINCHECK_OPTIONS"] = "output=" + os.path.join(folder, "%p.pcr")
    try:
        done = subprocess.run([sys.executable, "-c", source], env=environment, cwd=folder, capture_output=True,
                              text=True, check=False, timeout=240)
    except subprocess.TimeoutExpired:
        return {"problem": "did not end in 240 s"}
    lines = done.stdout.strip().splitlines()
    try:
        result = json.loads(lines[-1]) if lines else {"problem": "no output"}
    except ValueError:
        result = {"problem": "odd output", "stdout": done.stdout[-2000:]}
    if done.returncode != 0:
        result["problem"] = f"status {done.returncode}"
    complaints = [line for line in done.stderr.splitlines() if "CUPTI" in line or "pincheck" in line]
    if done.returncode != 0 or complaints:
        result["stderr"] = complaints or done.stderr.splitlines()[-15:]
    return result


def recorded(runner, folder):
    """What the reports say of device times."""
    told = []
    for path in sorted(glob.glob(os.path.join(folder, "*.pcr"))):
        dump = runner.run([runner.pincheck(), "dump", path], "/", {})["stdout"].splitlines()
        copies = 0
        for line in dump:
            if line.startswith("transfer: "):
                copies += int(dict(word.split("=", 1) for word in line.split() if "=" in word)["copies"])
        times = [line for line in dump if line.startswith("coverage: ") and "device-times" in line]
        losses = [line for line in dump if line.startswith("loss: ")]
        told.append({"copies_with_times": copies, "coverage": times, "losses": losses})
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--only", default="torch,jax")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    runner = Runner(build, False, 60)
    failed = False
    results = {}
    for name, source in (("torch", TORCH), ("jax", JAX)):
        if name not in arguments.only.split(","):
            continue
        with tempfile.TemporaryDirectory(prefix="pincheck-profilers-") as folder:
            plain = run(build, source, False, folder)
            if "skipped" in plain:
                results[name] = {"verdict": "skipped: " + plain["skipped"]}
                print(f"{name}: {results[name]['verdict']}")
                continue
            hooked = run(build, source, True, folder)
            result = {"plain": plain, "hooked": hooked, "recorded": recorded(runner, folder)}
        problems = [side + ": " + run_["problem"] for side, run_ in (("plain", plain), ("hooked", hooked))
                    if "problem" in run_]
        if not problems and not plain["seen"].get("copies"):
            problems.append("the profiler saw no copy even without the tool")
        if not problems and plain["seen"] != hooked["seen"]:
            problems.append(f"the profiler saw {hooked['seen']}, without the tool {plain['seen']}")
        result["verdict"] = "; ".join(problems) or "same"
        failed = failed or bool(problems)
        results[name] = result
        print(f"{name}: {result['verdict']} {hooked.get('seen')}; the tool had times of "
              f"{sum(report['copies_with_times'] for report in result['recorded'])} copies")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
