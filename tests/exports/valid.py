#!/usr/bin/env python3
"""Whether what `pincheck export` writes for CI systems is valid, by programs that know the formats.

    valid.py --writer TEST_PROGRAM [--schema sarif-schema-2.1.0.json]
    valid.py [--schema FILE] FILES...

TEST_PROGRAM is render_exports_test, which writes samples with ordinary and hostile names. SARIF is held against the
official schema (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json)
where --schema or PINCHECK_SARIF_SCHEMA names a copy of it and python3-jsonschema is installed; JUnit's XML is read by
xmllint where it is installed, and by Python's parser; OpenMetrics by openmetrics.py, and by python3-prometheus-client
where it is installed; lines of JSON as what makes tables of them does: by column.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as ElementTree

import openmetrics

problems = []


def complain(file, text):
    problems.append(f"{file}: {text}")


def validator_of(schema):
    """Of the schema's own draft; None, with the reason on standard output, where there is none."""
    if not schema:
        print("schema: skipped, neither --schema nor PINCHECK_SARIF_SCHEMA names sarif-schema-2.1.0.json")
        return None
    try:
        import jsonschema
    except ImportError:
        print("schema: skipped, python3-jsonschema is not installed")
        return None
    schema = json.loads(pathlib.Path(schema).read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def uris(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "uri":
                yield inner
            yield from uris(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from uris(inner)


def check_sarif(file, validator):
    log = json.loads(file.read_bytes())
    for error in validator.iter_errors(log) if validator else []:
        complain(file, f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    for uri in uris(log):
        parts = urllib.parse.urlsplit(uri)
        if parts.scheme not in ("", "file") or parts.query or parts.fragment or not parts.path:
            complain(file, f"no URI of a file: {uri}")
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            if rules[result["ruleIndex"]] != result["ruleId"]:
                complain(file, f"ruleIndex of {result['ruleId']}")
            if file.stem.endswith("_redacted") and not result["locations"][0].get("physicalLocation"):
                complain(file, "a result without a file, which GitHub refuses, with --located")


def check_junit(file):
    if shutil.which("xmllint"):
        lint = subprocess.run(["xmllint", "--noout", "--nonet", str(file)], capture_output=True, text=True)
        if lint.returncode != 0:
            complain(file, lint.stderr)
    root = ElementTree.fromstring(file.read_bytes())
    suite = root.find("testsuite")
    cases = suite.findall("testcase")
    for name, tag in (("failures", "failure"), ("errors", "error")):
        if int(suite.get(name)) != len(suite.findall(f"testcase/{tag}")):
            complain(file, f"{name} does not count the {tag} elements")
    if int(suite.get("tests")) != len(cases) or len({case.get("name") for case in cases}) != len(cases):
        complain(file, "tests does not count the test cases, or two have one name")


def check_lines(file):
    lines = file.read_bytes().decode("ascii").split("\n")
    if lines.pop() != "":
        complain(file, "no newline at the end")
    keys, types = {}, {}
    for line in map(json.loads, lines):
        kind = line["kind"]
        if keys.setdefault(kind, list(line)) != list(line):
            complain(file, f"lines of kind {kind} have different keys")
        for key, value in line.items():
            if isinstance(value, (dict, list)):
                complain(file, f"{kind}.{key} is not flat")
            if value is not None and types.setdefault(key, type(value)) is not type(value):
                complain(file, f"{key} is of two types")
    if not lines or json.loads(lines[0])["kind"] != "job":
        complain(file, "the first line is not the job's")


def check_metrics(file):
    families = openmetrics.parse(file.read_bytes())
    if sum(families["pincheck_verdict"].samples.values()) != 1:
        complain(file, "not one verdict")
    for family in families.values():
        if family.type != "info" and len(family.samples) > 200:
            complain(file, f"{family.name} has {len(family.samples)} samples")
    try:
        from prometheus_client.openmetrics import parser
    except ImportError:
        return
    read = list(parser.text_string_to_metric_families(file.read_bytes().decode()))
    if [family.name for family in read] != list(families):
        complain(file, "python3-prometheus-client reads other families")
    for family in read:
        if [sample.labels for sample in family.samples] != [dict(key) for key in families[family.name].samples]:
            complain(file, f"python3-prometheus-client reads other labels of {family.name}")


CHECKS = {".xml": check_junit, ".jsonl": check_lines, ".om": check_metrics}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer")
    parser.add_argument("--schema", default=os.environ.get("PINCHECK_SARIF_SCHEMA"))
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    openmetrics.self_test()
    validator = validator_of(arguments.schema)
    with tempfile.TemporaryDirectory() as folder:
        files = arguments.files
        if arguments.writer:
            subprocess.run([arguments.writer, "--gtest_filter=ExportFiles.*", "--gtest_brief=1"], check=True,
                           env=os.environ | {"PINCHECK_EXPORT_DIR": folder})
            files = sorted(pathlib.Path(folder).iterdir())
        kinds = dict.fromkeys([".sarif", *CHECKS], 0)
        for file in files:
            kinds[file.suffix] += 1
            try:
                CHECKS[file.suffix](file) if file.suffix in CHECKS else check_sarif(file, validator)
            except (ValueError, ElementTree.ParseError) as error:
                complain(file, f"cannot be parsed: {error}")
    if not files or (arguments.writer and 0 in kinds.values()):
        complain("valid.py", "no files of some format")
    print(f"{kinds['.sarif']} SARIF ({'with' if validator else 'without'} the schema), {kinds['.xml']} JUnit, "
          f"{kinds['.jsonl']} JSONL and {kinds['.om']} OpenMetrics files: {len(problems)} problems")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
