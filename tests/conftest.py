"""In how many processes the tests run, which of their cases, which part of them, and with which global seed.

One process and all cases for a few named files; else a process a core, each with one BLAS thread, and few cases of each
test, the others being slow (`support.selection`). For seeds see `support.seeds`.
"""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest

from support.seeds import ALL, run_seeds, shift_seeds
from support.selection import beyond_few, in_part, part_of

# examples are no part of the installed library: they are found in the repository, behind what is installed
ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:
    sys.path.append(ROOT)


def pytest_addoption(parser):
    group = parser.getgroup("global seed")
    group.addoption("--global-seed", type=int, default=0, metavar="K", help="other numbers for every seed in the tests")
    group.addoption("--all-seeds", action="store_true", help=f"run the tests for each global seed from 0 to {ALL - 1}")
    text = "few cases of each test, the others being slow, or all; all of named files and with -k, else few"
    parser.getgroup("cases").addoption("--cases", choices=["few", "all"], help=text)
    text = "of the tests that are selected part K of N, from 0; the parts 0/N to N-1/N are all (support.selection)"
    parser.getgroup("cases").addoption("--part", type=part_of, metavar="K/N", help=text)


def pytest_cmdline_main(config):
    if config.option.all_seeds:
        arguments = [argument for argument in config.invocation_params.args if argument != "--all-seeds"]
        return pytest.ExitCode.TESTS_FAILED if run_seeds(arguments, range(ALL)) else pytest.ExitCode.OK
    return None


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup and in some continuous integration
        signal.signal(signal.SIGINT, signal.default_int_handler)  # children that are started get the default one, too
    shift_seeds(config.option.global_seed)
    if config.option.part:
        config.pluginmanager.register(Parts())
    if getattr(config.option, "dist", "no") != "no":  # side by side, threads for all cores only wait for each other
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, "1")  # processes start with it, before a plugin of theirs imports NumPy


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(config, items):
    if (config.option.cases or ("all" if _names_files(config) or config.option.keyword else "few")) == "few":
        for item in beyond_few(items):
            item.add_marker(pytest.mark.slow)
    if not config.option.global_seed:
        return
    for item in items:
        for mark in item.iter_markers("one_seed"):
            item.add_marker(pytest.mark.skip(reason=f"of one seed: {mark.args[0]}"))


class Parts:
    """The part of the tests that runs, chosen from those that pytest has selected by markers and keywords."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        chosen = in_part([item.nodeid for item in items], *config.option.part)
        config.hook.pytest_deselected(items=[item for item, here in zip(items, chosen, strict=True) if not here])
        items[:] = [item for item, here in zip(items, chosen, strict=True) if here]

    def pytest_report_header(self, config):
        return "part {}/{} of the tests that are selected (the first is part 0)".format(*config.option.part)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector: of 13,000 tests that all stay it takes a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # and it passes over them later
        gc.enable()


def pytest_xdist_auto_num_workers(config):
    """Named files are tests at work: to start processes for them takes longer than the tests.

    In a run of all, each process would rewrite 7,200 assertions before its first test, for 10 to 17 s. They stay plain
    there; what fails shows its local variables, and by its name each part of the assertion, too.
    """
    if _names_files(config):
        return 0
    os.environ["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} --assert=plain --showlocals"
    return None


def _names_files(config):
    return all(".py" in argument for argument in config.args)
