#!/usr/bin/env python3
"""Runs the scripts of a CI system's YAML as it would, in a scratch project, with pincheck from an installed prefix and with
stand-ins for what else they call: cmake does nothing, and ctest is a program that makes pageable copies.

usage: command_lines.py PREFIX SCRATCH PROGRAM FILE

Every `pincheck …` command must end with a status that is no usage error (2) and not 126 or more, and the files that the
YAML hands to the system must be there afterwards. Exit status 77: python3-yaml is missing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

# Beside what a real project has: what the main branch found, and a row that suppresses nothing.
SUPPRESSIONS = """[[suppression]]
rule = "pageable-async-copy"
function = "nothing"
reason = "a row of the test"
"""
# Says what each command ended with; stands before the real one in PATH and replaces /opt/pincheck.
WRAPPER = """#!/bin/sh
"{prefix}/bin/pincheck" "$@"
status=$?
echo "$status pincheck $*" >> "{log}"
exit $status
"""


def scripts_of(data):
    """Scripts with the shell's options that the system gives them, in order; each is one shell."""
    if "jobs" in data:  # GitHub
        for job in data["jobs"].values():
            for step in job["steps"]:
                if "run" in step:
                    yield "set -eo pipefail\n" + step["run"]
        return
    for job in data.values():
        for part in ("script", "after_script"):
            if part in job:
                yield "set -eo pipefail\n" + "\n".join(job[part])


def handed_over(data):
    """Files and folders that the system takes from the scripts."""
    if "jobs" in data:
        for job in data["jobs"].values():
            for step in job["steps"]:
                given = step.get("with", {})
                for key in ("sarif_file", "path"):
                    if key in given:
                        yield given[key]
        return
    for job in data.values():
        artifacts = job.get("artifacts", {})
        yield from artifacts.get("paths", [])
        yield from artifacts.get("reports", {}).values()


def variables_of(data):
    found = {}
    for job in data.values():
        if isinstance(job, dict):
            found.update(job.get("variables", {}))
    return found


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def main():
    prefix, scratch, program, file = sys.argv[1:]
    data = yaml.safe_load(pathlib.Path(file).read_text())
    project = pathlib.Path(scratch) / "project"
    shutil.rmtree(scratch, ignore_errors=True)
    project.mkdir(parents=True)
    log = pathlib.Path(scratch) / "log"
    log.write_text("")
    opt = pathlib.Path(scratch) / "opt"
    write(opt / "bin/pincheck", WRAPPER.format(prefix=prefix, log=log), 0o755)
    write(opt / "bin/cmake", "#!/bin/sh\nexit 0\n", 0o755)
    write(opt / "bin/ctest", f'#!/bin/sh\nexec "{program}" --size 64K --pageable\n', 0o755)
    write(project / "ci/suppressions.toml", SUPPRESSIONS)
    # A baseline of a program without copies.
    first = pathlib.Path(scratch) / "first"
    subprocess.run([f"{prefix}/bin/pincheck", "run", "--quiet", "--output", str(first), "--", program, "--size", "64K"],
                   check=True)
    for name in ("ci/main.json", "pincheck-main.json"):
        subprocess.run([f"{prefix}/bin/pincheck", "export", "--no-config", "--format=json", "-o", str(project / name),
                        str(first)], check=True)
    environment = dict(os.environ, PATH=f"{opt}/bin:{os.environ['PATH']}", **variables_of(data))
    for name in ("GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
        environment[name] = str(pathlib.Path(scratch) / name)
    for script in scripts_of(data):
        script = script.replace("/opt/pincheck", str(opt))
        print("----", script, flush=True)
        subprocess.run(["bash", "-c", script], cwd=project, env=environment)
    wrong = []
    ran = log.read_text().splitlines()
    print("----", *ran, sep="\n")
    written = len(re.findall(r"(?<![\w/.-])(?:/opt/pincheck/bin/)?pincheck (?:run|check|export|report|diff) ",
                             "\n".join(scripts_of(data))))
    if len(ran) != written or written == 0:
        wrong.append(f"{written} commands are written in {file}, and {len(ran)} were run")
    for line in ran:
        status = int(line.split()[0])
        if status == 2 or status >= 126:
            wrong.append(f"a usage error, or worse: {line}")
    if not any(line.startswith("1 ") for line in ran):
        wrong.append("no command fails on new pageable copies")
    for name in handed_over(data):
        if not (project / name).exists():
            wrong.append(f"no command has written {name}")
    for text in wrong:
        print(f"command_lines.py: {text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
