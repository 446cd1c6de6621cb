#!/usr/bin/env python3
"""Runs cuda_tests.py with samples/ci/pytest_pincheck.py, under pincheck and without it, and compares which tests fail.

usage: plugin.py PREFIX SCRATCH SOURCE under|without|xdist|suppressed

Exit status 77: pytest, or for xdist pytest-xdist, is missing."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

OFFENDING = {"test_pageable_fails": "failure", "test_pageable_again_fails[1]": "failure",
             "test_pageable_again_fails[2]": "failure", "test_in_a_fixture_has_an_error": "error"}
ALWAYS = {"test_of_its_own_fails": "failure"}


def main():
    prefix, scratch, source, mode = sys.argv[1:]
    for module in ["pytest", "xdist"] if mode == "xdist" else ["pytest"]:
        if importlib.util.find_spec(module) is None:
            print(f"skipped: the Python module {module} is not installed")
            return 77
    shutil.rmtree(scratch, ignore_errors=True)
    pathlib.Path(scratch).mkdir(parents=True)
    environment = dict(os.environ, PYTHONPATH=f"{source}/samples/ci", PYTHONDONTWRITEBYTECODE="1")
    pytest = [sys.executable, "-m", "pytest", "-p", "pytest_pincheck", "-p", "no:cacheprovider", "--junit-xml=results.xml",
              f"{source}/tests/recipes/cuda_tests.py", f"--rootdir={source}/tests/recipes"]
    run = [f"{prefix}/bin/pincheck", "run", "--quiet", "--output", "reports", "--", *pytest]
    wrong = []
    if mode == "xdist":
        run += ["-n", "2"]
    elif mode == "suppressed":
        row = '[[suppression]]\nrule = "pageable-async-copy"\nmodule = "*"\nreason = "a row of the test"\n'
        (pathlib.Path(scratch) / "rows.toml").write_text(row)
        run += ["--pincheck-args=--suppressions rows.toml"]
    elif mode == "without":
        run = pytest
        refused = subprocess.run([*pytest, "--pincheck-require"], cwd=scratch, env=environment, capture_output=True, text=True)
        if refused.returncode != 4 or "pincheck: not recording: start it as" not in refused.stderr:
            wrong.append(f"--pincheck-require ends with {refused.returncode}: {refused.stderr}")
    done = subprocess.run(run, cwd=scratch, env=environment, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    results = {}
    for case in xml.parse(f"{scratch}/results.xml").iter("testcase"):
        bad = [child for child in case if child.tag in ("failure", "error")]
        name = case.get("name")
        results[name] = bad[0].tag if bad else "passed"
        if bad and name in OFFENDING:
            count = 2 if name.endswith("[2]") else 1
            for word in ("pageable-async-copy: ", f", {count} more", "Fix: "):
                if word not in bad[0].text:
                    wrong.append(f"{name} does not say '{word}': {bad[0].text}")
    expected = {name: "passed" for name in results}
    expected.update(ALWAYS, **(OFFENDING if mode in ("under", "xdist") else {}))
    if results != expected or len(results) != 10:
        wrong.append(f"results are {results}, expected {expected}")
    if done.returncode != 1:
        wrong.append(f"exit status {done.returncode}")
    header = "pincheck: " + ("not recording: start it as 'pincheck run" if mode == "without" else "recording")
    if header not in done.stdout:
        wrong.append(f"the header does not say '{header}'")
    for text in wrong:
        print(f"plugin.py: {text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
