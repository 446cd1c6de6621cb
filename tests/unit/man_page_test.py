#!/usr/bin/env python3
"""pincheck(1) has every verb and every option that --help tells, and groff takes it without a warning.

usage: man_page_test.py PINCHECK PAGE
"""

import re
import shutil
import subprocess
import sys


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def options_of(text):
    """The names that begin the lines of a help: -o, --output."""
    names = set()
    for line in text.splitlines():
        if re.match(r"\s+-", line):
            names.update(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", re.split(r"\s{2,}|\s[A-Z]", line.strip())[0]))
    return names


def main():
    program, page = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        roff = file.read()
    top = output(program, "--help")
    verbs = re.findall(r"^  ([a-z]+)\s", re.split(r"subcommands:", top, flags=re.IGNORECASE)[1], re.MULTILINE)
    assert {"run", "check", "doctor", "explain"} <= set(verbs), f"verbs were not found in the help: {verbs}"
    plain = roff.replace("\\-", "-")
    sections = dict(re.findall(r"^\.SS (\w+)\n(.*?)(?=^\.S[SH] )", plain, re.MULTILINE | re.DOTALL))
    missing = [f"verb {verb}" for verb in verbs if verb not in sections]
    told = 0
    for verb in verbs:
        names = options_of(output(program, verb, "--help"))
        assert names, f"no option was found in the help of {verb}"
        told += len(names)
        bold = set(re.findall(r"\\fB(-[\w-]+)\\fR", sections.get(verb, "")))
        missing += [f"{verb} {name}" for name in sorted(names - bold)]
    assert told > 60, f"only {told} options were found in the helps"
    assert not missing, f"{page} lacks: {', '.join(missing)}"

    if shutil.which("groff") is None:
        print("groff is not here: the page's layout is not checked")
        return
    done = subprocess.run(["groff", "-Tutf8", "-man", "-ww", page], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    assert "doctor" in done.stdout


main()
