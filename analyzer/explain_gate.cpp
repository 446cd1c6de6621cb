#include "explain_gate.h"

namespace pincheck {
namespace {

constexpr char kDefaultGate[] =
    R"(`pincheck check` and `pincheck run --check` fail, with exit status 1, when the report holds a finding of severity error that a vendor library did not cause: pageable-async-copy, straddles-registration, ignored-error where page-locked memory leaks, and races, corrupting or latent (see `pincheck explain races`).

Whose call it is, is decided by the file name of the module of the first frame outside CUDA and the system. Vendor libraries (NCCL, cuBLAS, cuSOLVER, cuDNN, …) and frameworks (PyTorch, CuPy, …) are known by patterns; everything else is yours. --origins FILE adds patterns.

An asynchronous copy from pageable memory in your own code always gates, even when your next call waits for it: the call that does what you then mean is cudaMemcpy, and it is never reported. One that a framework makes for you gates too (.to(device, non_blocking=True) from an unpinned tensor), unless the framework waits for it at once: then it is the framework's blocking copy, copy-then-sync.

Not gated, but counted on the screen and listed by `pincheck report --all`: copy-then-sync, hidden-wait, copies that vendor libraries make for themselves, races whose both parties are libraries (vendors' or frameworks'), and all other warnings. --strict gates all of them. A note never gates: presumed races, and relies-on-staging. --fail-on SLUG, or --fail-on error or warning, replaces the default. --allow-staged exempts pageable uploads that were measured not to wait.

What a team lets pass beyond that (thresholds, suppressions, a baseline, a configuration file): `pincheck explain gate`.

The exit status is 0 for a pass, 1 for a violation, 2 for wrong usage or a file that cannot be read, 3 for no conclusion (see `pincheck explain blind`). `pincheck run` gives the program's own status when that is not 0.)";

constexpr char kGate[] =
    R"(A finding gates when it is selected and nothing lets it pass. Selected: by its severity and whose it is (see `pincheck explain default-gate`), --fail-on, --strict. Then, in this order, it passes when it is staged (with --allow-staged), suppressed, within its rule's threshold, or known from the baseline. --strict and --fail-on change what is selected, never what is let pass. What was let pass is counted on the screen, listed by --all, and in the JSON with the reason (`decision`, `decision_why`). None of this turns a run that saw nothing into a pass.

Thresholds. --gate-threshold RULE:count=10,bytes=1MiB,held=5ms (repeatable, once a rule): a finding of that rule passes when it is at or below every limit that is given, and gates as soon as it is above one. All three are totals of one finding over the whole job: calls (of hidden-wait those that waited for its cause; of races how often it was found), bytes copied, and time that the calls held the host. Races have a count only, hidden-wait no bytes: another limit is refused. Times differ from run to run; count does not.

Suppressions. --suppressions FILE (repeatable), a TOML file to be reviewed like code:

  [[suppression]]
  rule = "pageable-async-copy"       # or a list of rules, or "*"
  function = "Meter::update"         # with or without parameters; * ? [a-z] as in a shell
  file = "src/meter.cu"              # base name, or the end of the path
  reason = "four bytes an epoch; see ticket 1234"
  expires = 2027-03-31               # the last day, UTC; optional

A row names a rule, a reason, and at least one of module, function, file and fingerprint; all that it names must fit, module, function and file the same frame. That frame is the one which the finding is headed by; with frames = "any" it may be any outside CUDA, so that a function or a library stands for everything that it calls. Of a race either party will do. `pincheck show N --suppression` prints a row for a finding, without the reason. A row that has expired no longer suppresses, and the screen says so. A row that matches no finding is named too, so that it can be removed; it never changes the exit status, since another run of the same job may need it.

Baseline. `pincheck export --no-config --format=json -o main.json REPORTS` keeps what a run found, and `pincheck check --baseline main.json` gates only what is not in it, or was less severe in it. A finding is recognised by its fingerprint: rule, cause, API, direction, classes of memory, and the names of the innermost functions of yours (at most four) and their modules. No line, address, build-id or path is in it. Two copies in one function have one fingerprint; they are told apart by their lines, and where lines moved, by their number: when there are more than before, all whose lines are not in the baseline gate. The same goes for overloads and instantiations of one function, and for all copies of a module without symbols. A renamed function is a new one. --worse count=+50% (bytes, held) gates known findings that grew by more than that, in sum over a fingerprint; held is noisy. The screen counts what was fixed since; `pincheck diff main.json REPORTS` lists it, with what is new, worse and better. Export with the same `races` level as you check with.

Configuration. pincheck.toml in the working directory of run, check, report, show, export and diff, or --config FILE; --no-config reads none. Names of files in it are relative to its folder:

  fail-on = ["error", "copy-then-sync"]
  strict = false
  allow-staged = true
  allow-no-cuda = false
  suppressions = "ci/suppressions.toml"   # or a list
  baseline = "ci/main.json"
  worse = { count = "+50%" }

  [thresholds]
  pageable-async-copy = { count = 10, held = "5ms" }

The command line wins: a threshold replaces the file's of that rule, --no-strict undoes strict = true, files of suppressions are added. A mistake in any of these files is exit status 2 before the program is started.)";

}  // namespace

const char* default_gate_text() {
    return kDefaultGate;
}

const char* gate_text() {
    return kGate;
}

}  // namespace pincheck
