"""Run the test suites of clifford, kingdon and galgebra on `clifford_rand.compat`: only import lines are changed.

``python tests/benchmarks/peer_suites.py --clifford CHECKOUT --kingdon CHECKOUT --galgebra CHECKOUT`` copies the
tests of the checkouts to a temporary folder, puts the module paths of this library into their imports, runs them and
counts. A case that does not pass stands in a table of `peers.known` with its reason. One that passes though listed, or
fails though not listed, is reported and makes the exit status 1.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from peers.known import CLIFFORD, GALGEBRA, KINGDON

ROOT = Path(__file__).resolve().parents[2]

# Harness only: one line of JSON for each case. clifford's times of construction ask for pytest-benchmark's fixture,
# and one call is what is tested of them.
CONFTEST = """
import json, pathlib, pytest

def pytest_configure(config):
    for marker in ("veryslow", "slow"):
        config.addinivalue_line("markers", marker + ": of the peer")

@pytest.fixture
def benchmark():
    return lambda function, *arguments, **keywords: function(*arguments, **keywords)

def pytest_collectreport(report):
    if report.failed and report.nodeid.endswith(".py"):
        report.when, report.nodeid = "collect", report.nodeid + "::" + "(its import)"
        pytest_runtest_logreport(report)

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        excused = report.outcome == "skipped"
        passed = report.outcome == "passed" or hasattr(report, "wasxfail")
        message = "" if passed or excused else str(getattr(report.longrepr, "reprcrash", None) or report.longrepr)
        with open(pathlib.Path(__file__).parent / "outcomes.jsonl", "a") as file:
            outcome = "passed" if passed else "skipped" if excused else "failed"
            file.write(json.dumps([report.nodeid.split("/")[-1], outcome, message[-300:]]) + "\\n")
"""


@dataclass(frozen=True)
class Suite:
    """The tests of a peer: the folder in its checkout, how many cases there are, and how many of them must pass.

    Only ``modules`` count; the others concern the peer's kernels, its own tools or its printing. ``paths`` has module
    paths of the peer that are called otherwise here, "" for what has no counterpart: its names become None. ``known``
    has the cases that do not pass, and why; a name without brackets stands for all parameters.
    """

    peer: str
    folder: str
    cases: int
    least: int
    modules: str
    paths: dict[str, str]
    known: dict[str, str]


_GALGEBRA = "test_mv test_versors test_lt test_cheatsheet test_differential_ops"
SUITES = [
    Suite(
        *("clifford", "clifford/test", 462, 440),
        "test_algebra_initialisation test_aliases test_bit_helpers test_clifford test_complex test_degenerate "
        "test_dpga test_function_cache test_io test_layout test_layout_helpers test_multivector_inverse test_parser "
        "test_tools_classify test_transformations test_trig_functions",
        {
            "_layout_helpers": "clifford_rand.compat.clifford.order",
            "_numba_utils": "numba.core.config",
            "_bit_helpers": "",
        },
        CLIFFORD,
    ),
    Suite("kingdon", "tests", 71, 50, "test_kingdon", {"operator_dict": ""}, KINGDON),
    Suite("galgebra", "test", 87, 80, _GALGEBRA, {}, GALGEBRA),
]


def rewritten(text: str, suite: Suite) -> str:
    """Return a module of tests with this library's module paths in its imports and in strings that name modules."""
    peer, here = suite.peer, f"clifford_rand.compat.{suite.peer}"

    def path(match: re.Match[str]) -> str:
        rest = match["rest"] or ""
        first = rest[1:].partition(".")[0]
        return match["lead"] + suite.paths.get(first, here + rest)

    lines = []
    for line in text.split("\n"):
        for first, target in suite.paths.items():
            if not target and (match := re.match(rf"(\s*)from {peer}\.{first} import (.+)", line)):
                line = f"{match[1]}{' = '.join(name.strip() for name in match[2].split(','))} = None"
        line = re.sub(rf"^(?P<lead>\s*import ){peer}(?P<rest>)$", rf"\g<lead>{here} as {peer}", line)
        line = re.sub(rf"^(?P<lead>\s*(?:import|from) ){peer}(?P<rest>\.[\w.]+)?\b", path, line)
        line = re.sub(rf"(?P<lead>['\"]){peer}(?P<rest>\.)", path, line)
        lines.append(line)
    text = "\n".join(lines)
    ast.parse(text)
    return text


def outcomes_of(suite: Suite, checkout: Path, every: bool) -> dict[str, tuple[str, str]]:
    """Return {case: (outcome, last words)} of a suite."""
    source = checkout / suite.folder
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"{suite.peer}_tests"
        place.mkdir()
        modules = sorted(path.stem for path in source.glob("test_*.py")) if every else suite.modules.split()
        for name in ("__init__", *modules):
            if (source / f"{name}.py").exists():
                (place / f"{name}.py").write_text(rewritten((source / f"{name}.py").read_text(), suite))
        (place / "conftest.py").write_text(CONFTEST)
        options = f"-q -p no:cacheprovider -p no:xdist --tb=short --continue-on-collection-errors -c {os.devnull}"
        command = [sys.executable, "-m", "pytest", *options.split(), "--rootdir", folder]
        command += [f"{place.name}/{name}.py" for name in modules]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        made = place / "outcomes.jsonl"
        if not made.exists():
            raise SystemExit(run.stdout + run.stderr)
        result: dict[str, tuple[str, str]] = {}
        for line in made.read_text().splitlines():
            case, outcome, words = json.loads(line)
            if result.get(case, ("passed", ""))[0] != "failed":
                result[case] = (outcome, words)
        return result


def report(suite: Suite, outcomes: dict[str, tuple[str, str]], verbose: bool) -> bool:
    """Print the counts of a suite and what is not as its table says; tell whether all is."""
    count = Counter(outcome for outcome, _ in outcomes.values())
    print(f"\n{suite.peer}: {count['passed']} of {len(outcomes)} cases pass, {count['failed']} fail")
    good = count["passed"] >= suite.least
    reasons: Counter[str] = Counter()
    for case, (outcome, words) in outcomes.items():
        listed = suite.known.get(case) or suite.known.get(case.partition("[")[0])
        if outcome == "failed" and listed is None:
            print(f"  fails, not listed: {case}\n      {words.strip()}")
            good = False
        elif outcome == "passed" and listed is not None:
            print(f"  passes, but listed: {case}")
            good = False
        elif listed is not None:
            reasons[listed] += 1
            if verbose:
                print(f"  {case}: {words.strip()}")
    present = {*outcomes, *(case.partition("[")[0] for case in outcomes)}
    if len(outcomes) != suite.cases or not present >= {*suite.known}:
        print(f"  another version of the suite: {suite.cases} cases were expected; listed, not there:")
        print("\n".join(f"    {case}" for case in sorted({*suite.known} - present)))
        good = False
    for reason, number in reasons.most_common():
        print(f"  {number:3} {reason}")
    return good


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    for suite in SUITES:
        parser.add_argument(f"--{suite.peer}", type=Path, help=f"a checkout of {suite.peer}")
    parser.add_argument("--all", action="store_true", help="also modules that are not counted")
    parser.add_argument("--verbose", action="store_true", help="the last words of the cases that are listed, too")
    given = parser.parse_args()
    good = True
    for suite in SUITES:
        checkout = getattr(given, suite.peer)
        if checkout is not None:
            good &= report(suite, outcomes_of(suite, checkout, given.all), given.verbose)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
