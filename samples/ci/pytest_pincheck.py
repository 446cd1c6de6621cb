"""pytest plugin: fails the test during which the process did what `pincheck check` fails for.

    PYTHONPATH=samples/ci pincheck run --check --allow-no-cuda -- pytest -p pytest_pincheck

pytest is run under pincheck once; before the first and after every phase of every test (setup, call, teardown) the plugin
has the process's own report brought up to date and compares what gates in it. Nothing is compared, and no process
started, where no CUDA call was made. `--check` also gates what the plugin does not see: child processes, and what is found
at the end only.

    --pincheck-args='--strict --suppressions ci/suppressions.toml'   what gates, as of `pincheck check`
    --pincheck-require                                               no run without pincheck

The `run` before it has such options of its own; pincheck.toml counts for both.

The offence of a test that fails, is skipped or is expected to fail anyway is told with it, and changes nothing in its result.

Not supported: what a test leaves running (threads, objects that are freed later) counts in the test in which it happens,
and a test that forks and goes on in the child (pytest-forked) is not looked at. Workers of pytest-xdist are processes of
their own: each looks at its own report."""

import ctypes
import json
import os
import shlex
import shutil
import subprocess

import pytest

NOT_UNDER = "not recording: start it as 'pincheck run --check --allow-no-cuda -- pytest -p pytest_pincheck ...'"


def find_flush():
    """pincheck_flush() of libpincheck.so in this process (interpose/lifecycle.h); None where pincheck is not."""
    try:
        flush = ctypes.CDLL(None).pincheck_flush
    except AttributeError:
        return None
    flush.restype = ctypes.c_int64
    return flush


def find_program():
    """The pincheck that belongs to the library, else that of PATH."""
    for entry in os.environ.get("LD_PRELOAD", "").replace(":", " ").split():
        if os.path.basename(entry) == "libpincheck.so":
            folder = os.path.dirname(os.path.realpath(entry))
            for up in ("..", "../.."):  # lib, or lib/x86_64-linux-gnu
                program = os.path.join(folder, up, "bin", "pincheck")
                if os.access(program, os.X_OK):
                    return program
    return shutil.which("pincheck")


class Report:
    """The process's own report, and what gated in it when it was last looked at."""

    def __init__(self, flush, program, arguments):
        self.flush = flush
        self.command = [program, "export", "--format=json", *arguments, str(os.getpid())]
        # Tests may go elsewhere: relative paths, and pincheck.toml, are those of where pytest was started.
        self.folder = os.getcwd()
        self.environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self.snapshots = 0
        self.counts = {}

    def new_offences(self):
        """Text about what came to gate, or gates and happened again, since the last call; "" when nothing did."""
        snapshots = self.flush()
        if snapshots < 0:
            return "pincheck: the report could not be written (a full disk?): what this test did is not known"
        if snapshots == self.snapshots:  # nothing was recorded since
            return ""
        self.snapshots = snapshots
        run = subprocess.run(self.command, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if run.returncode != 0:
            pytest.exit(f"{shlex.join(self.command)} ended with {run.returncode}: {run.stderr.strip()}", returncode=4)
        counts, texts = {}, []
        for finding in json.loads(run.stdout)["findings"]:
            if finding["gated"]:
                key = (finding["rule"], finding["fingerprint"], finding["place"])
                counts[key] = counts.get(key, 0) + finding["amounts"]["count"]
                more = counts[key] - self.counts.get(key, 0)
                if more > 0:
                    texts.append(f"pincheck: {finding['rule']}: {finding['api']}, {more} more\n"
                                 f"  {finding['heading'] or 'no frame of the program is known'}\n"
                                 f"  {finding['why']}\n  Fix: {finding['fix']}")
        self.counts = counts
        return "\n".join(texts)


class Watcher:
    def __init__(self, report):
        self.report = report
        self.before_tests = ""

    def pytest_collection_finish(self):
        self.before_tests = self.report.new_offences()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self):
        outcome = yield
        result = outcome.get_result()
        text = self.report.new_offences()
        if text and result.passed:
            result.outcome, result.longrepr = "failed", text
        elif text:
            result.sections.append(("pincheck", text))

    def pytest_terminal_summary(self, terminalreporter):
        if self.before_tests:
            terminalreporter.section("pincheck: while tests were collected, which fails none of them")
            terminalreporter.line(self.before_tests)


def pytest_addoption(parser):
    group = parser.getgroup("pincheck")
    group.addoption("--pincheck-args", default="", help="options of 'pincheck export' that decide what gates")
    group.addoption("--pincheck-require", action="store_true", help="an error where pytest is not run under pincheck")


def pytest_configure(config):
    flush, program = find_flush(), find_program()
    if flush is None:
        if config.getoption("pincheck_require"):
            raise pytest.UsageError(f"pincheck: {NOT_UNDER}")
    elif program is None:
        raise pytest.UsageError("pincheck: libpincheck.so is in this process, but no program pincheck is beside it or in PATH")
    else:
        report = Report(flush, program, shlex.split(config.getoption("pincheck_args")))
        config.pluginmanager.register(Watcher(report), "pincheck-watcher")


def pytest_report_header(config):
    return "pincheck: " + ("recording" if config.pluginmanager.has_plugin("pincheck-watcher") else NOT_UNDER)
