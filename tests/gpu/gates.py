#!/usr/bin/env python3
"""What `pincheck run --check` says of programs whose right answer is known.

  gates.py BUILD_DIR OUT_FILE [--timeout SECONDS]

BUILD_DIR is a build folder or a bundle of one (bundle.sh), on a machine with a GPU. Each program must end with the status
that the gate promises, and the screen must say what stands beside it. What is not installed is skipped with the reason.
Exit status 1 when one differs."""

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile

from runner import HERE, Runner, environment


def gates():
    """Name, what it needs, arguments of run, command, status, patterns on the screen."""
    def python(script, *arguments):
        return [sys.executable, os.path.join(HERE, script), *arguments]

    return [
        ("no CUDA", None, [], ["/bin/true"], 3, [r"NO CONCLUSION"]),
        ("no CUDA, allowed", None, ["--allow-no-cuda"], ["/bin/true"], 0, []),
        ("PyTorch, pageable loader", "torch", [], python("torch_training.py"), 1, [r"pageable-async-copy at \d+ site"]),
        ("PyTorch, pinned loader", "torch", [], python("torch_training.py", "--pinned"), 0, [r"copy-then-sync +\d+ site"]),
        ("PyTorch, NCCL and cuSOLVER", "torch", [], python("torch_internals.py"), 0,
         [r"in vendor libraries +\d+ sites?, \d+ copies"]),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--timeout", type=float, default=120)
    arguments = parser.parse_args()
    runner = Runner(arguments.build, False, arguments.timeout)
    pincheck = runner.pincheck()
    results = []
    for name, needs, options, command, status, patterns in gates():
        if needs and importlib.util.find_spec(needs) is None:
            results.append({"gate": name, "verdict": f"skipped: {needs} is not installed"})
            continue
        with tempfile.TemporaryDirectory(prefix="pincheck-gpu-") as folder:
            done = runner.run([pincheck, "run", "--check", "--color", "never", "--output", folder + "/reports", *options,
                               "--", *command], folder, {})
        problems = [] if done["status"] == status else [f"status {done['status']}, expected {status}"]
        problems += [f"the screen lacks '{pattern}'" for pattern in patterns if not re.search(pattern, done["stderr"])]
        screen = [line.rstrip() for line in done["stderr"].replace(folder, "DIR").replace(HERE, "tests/gpu").splitlines()]
        results.append({"gate": name, "verdict": "; ".join(problems) or "right", "status": done["status"],
                        "screen": screen})
    for result in results:
        print(f"{result['gate']:<28} {result['verdict']}")
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"environment": environment(), "gates": results}, file, indent=1)
        file.write("\n")
    sys.exit(any(result["verdict"] != "right" and not result["verdict"].startswith("skipped") for result in results))


if __name__ == "__main__":
    main()
