#!/usr/bin/env python3
"""Starts a server with the environment that samples/servers gives it and reads its report live by the commands that stand
in the file's head, with /opt/pincheck and /var/lib/pincheck in a scratch folder.

usage: servers.py PREFIX SCRATCH SERVER FILE

SERVER prints "warm", waits for a line, makes 5 pageable copies, prints "served", and waits for another line
(tests/programs/two_phases.cpp). Exit status 77: python3-yaml is missing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time


def of_systemd(text):
    """Environment and folder for reports of a drop-in; % is doubled in it. Settings are read as systemd does, repeated ones too."""
    settings = [line.split("=", 1) for line in text.splitlines() if re.match(r"[A-Za-z]+=", line)]
    assert text.count("\n[") == 1 and "\n[Service]\n" in text
    assert {key for key, _ in settings} == {"Environment", "StateDirectory", "StateDirectoryMode"}, settings
    folder = "/var/lib/" + dict(settings)["StateDirectory"]
    assert not re.search(r"(?<!%)%(?!%)", "".join(value.replace("%%", "") for _, value in settings)), "a single %"
    return dict(value.replace("%%", "%").split("=", 1) for key, value in settings if key == "Environment"), folder


def complaints_of_systemd(scratch, file):
    """What systemd itself says of the drop-in, where it is installed."""
    if shutil.which("systemd-analyze") is None:
        return ""
    folder = pathlib.Path(scratch) / "server.service.d"
    folder.mkdir()
    shutil.copy(file, folder)
    (pathlib.Path(scratch) / "server.service").write_text("[Service]\nExecStart=/bin/true\n")
    done = subprocess.run(["systemd-analyze", "verify", "./server.service"], cwd=scratch, capture_output=True, text=True)
    return "".join(line for line in done.stderr.splitlines() if "pincheck.conf" in line)


def of_kubernetes(text):
    import yaml
    spec = yaml.safe_load(text)["spec"]
    [server] = spec["containers"]
    mounts = {mount["mountPath"]: mount["name"] for mount in server["volumeMounts"]}
    volumes = {volume["name"] for volume in spec["volumes"]}
    [init] = spec["initContainers"]
    assert {*mounts.values(), *(mount["name"] for mount in init["volumeMounts"])} == volumes
    # What the init container fills is where the library is looked for, and every path is in a volume.
    assert init["command"][-1] == init["volumeMounts"][0]["mountPath"]
    assert mounts["/opt/pincheck"] == init["volumeMounts"][0]["name"]
    [folder] = set(mounts) - {"/opt/pincheck"}
    return {entry["name"]: entry["value"] for entry in server["env"]}, folder


def commands_of(text, pid):
    """The lines of the file's head that are commands of pincheck."""
    for line in text.splitlines():
        if re.match(r"#   (kubectl exec|pincheck)", line):
            command = re.sub(r"^kubectl exec .* -- ", "", re.split(r"   +", line[4:])[0])
            yield re.sub(r"\$\(systemctl .*?\)|\bPID\b", str(pid), command)


def main():
    prefix, scratch, server, file = sys.argv[1:]
    text = pathlib.Path(file).read_text()
    try:
        variables, folder = (of_systemd if file.endswith(".conf") else of_kubernetes)(text)
    except ImportError:
        print("skipped: python3-yaml is not installed")
        return 77
    reports = scratch + folder
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(reports, 0o700)
    there = {"/opt/pincheck": prefix, folder: reports}

    def here(words):
        return re.sub("|".join(there), lambda found: there[found[0]], words)

    process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
                               env=dict(os.environ, **{name: here(value) for name, value in variables.items()}))
    assert process.stdout.readline() == "warm\n"
    environment = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}")

    def pincheck(command):
        done = subprocess.run(["bash", "-ec", here(command)], env=environment, capture_output=True, text=True)
        print(f"---- {command}: {done.returncode}", done.stdout, done.stderr, sep="\n")
        return done

    # The report is behind its process for a while.
    deadline = time.monotonic() + 60
    while "x 40 " not in pincheck(f"pincheck report --all {folder}").stdout and time.monotonic() < deadline:
        pass
    wrong = []
    complaints = complaints_of_systemd(scratch, file) if file.endswith(".conf") else ""
    if complaints:
        wrong.append(f"systemd: {complaints}")
    commands = list(commands_of(text, process.pid))
    for command in commands:
        done = pincheck(command)
        if done.returncode != 0:
            wrong.append(f"{command} ends with {done.returncode}")
        if "report" in command and "--since" not in command and "pageable-async-copy" not in done.stdout:
            wrong.append(f"{command} does not show the copies")
    if not any("mark" in command for command in commands) or len(commands) < 3:
        wrong.append(f"the head of {file} has no such commands: {commands}")
    process.communicate("on\non\n", timeout=60)
    if process.returncode != 0:
        wrong.append(f"the server ended with {process.returncode}")
    if pincheck(f"pincheck check --since warm {folder}").returncode != 1:
        wrong.append("the 5 copies after the mark are not found")
    for text in wrong:
        print(f"servers.py: {text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
