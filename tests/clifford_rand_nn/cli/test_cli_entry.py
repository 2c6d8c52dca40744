"""From the first import to the last line of a command, Ctrl-C and a want of memory are one line."""

import signal
import sys
import time

import pytest
from typer.testing import CliRunner

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import __main__ as entry
from clifford_rand_nn.cli import app, console, info, was_interrupted

UNFINISHED = "interrupted: the command was not finished.\n"


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """Put back what the program takes for itself."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    yield
    signal.signal(signal.SIGINT, before)
    signal.set_wakeup_fd(-1)
    was_interrupted()  # what is left


def ends(monkeypatch, capfd, work):
    monkeypatch.setattr(app, "app", work)
    with pytest.raises(SystemExit) as end:
        entry.main()
    return end.value.code, capfd.readouterr().err


def command(monkeypatch, work):
    monkeypatch.setattr(info, "run_info", work)
    result = CliRunner().invoke(app.app, ["info", "model.npz"])
    return result.exit_code, result.stderr


class Finalized:
    """Its finaliser is where Ctrl-C comes, or memory ends: Python can raise nothing there."""

    def __init__(self, error=KeyboardInterrupt):
        self.error = error

    def __del__(self):
        raise self.error


def test_ctrl_c_while_modules_are_loaded(monkeypatch, capfd):
    def loading():
        raise KeyboardInterrupt

    assert ends(monkeypatch, capfd, loading) == (130, UNFINISHED)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL  # nothing is left to be saved
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert ends(monkeypatch, capfd, loading)[0] == 130
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_ctrl_c_while_options_are_read(monkeypatch):
    def reading(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(app._Group, "parse_args", reading)
    result = CliRunner().invoke(app.app, ["info", "model.npz"])
    assert (result.exit_code, result.stderr) == (130, UNFINISHED)


@pytest.mark.parametrize("other", [ImportError, ArgumentError])
def test_ctrl_c_that_code_in_c_makes_another_error_of(other, monkeypatch, capfd):
    """Of a module that is loaded, or of a table that pandas reads."""

    def missing(*_):
        raise other("initialization failed") from None

    def loading(*_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            missing()

    def full(*_):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise OSError(28, "No space left on device", "new.npz")

    assert ends(monkeypatch, capfd, loading) == (130, UNFINISHED)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.undo()
    assert command(monkeypatch, loading) == (130, UNFINISHED)
    assert command(monkeypatch, missing)[0] == (1 if other is ImportError else 2)
    assert command(monkeypatch, full) == (2, "error: new.npz: No space left on device\n")


def test_ctrl_c_that_python_cannot_raise_comes_again(monkeypatch, capfd):
    def work():
        one = Finalized()
        del one
        for _ in range(1000):
            time.sleep(0.001)

    assert ends(monkeypatch, capfd, work) == (130, UNFINISHED)


def test_memory_that_ends_where_python_cannot_raise_is_one_line(monkeypatch, capfd):
    def work():
        for _ in range(3):
            one = Finalized(MemoryError)
            del one

    monkeypatch.setattr(app, "app", work)
    entry.main()
    said = capfd.readouterr().err
    assert said == "warning: memory ended in a step of a library that goes on without it.\n"


def test_memory_that_ends_is_one_sentence(monkeypatch, capfd):
    def work():
        raise MemoryError

    with monkeypatch.context() as patch:
        assert ends(patch, capfd, work) == (2, "error: there is not enough memory.\n")

    def refused(*_):
        raise MemoryError("Unable to allocate 7.0 GiB for an array")

    why = "(Unable to allocate 7.0 GiB for an array)"
    line = f"error: there is not enough memory {why}; free some, or give fewer rows or columns.\n"
    assert command(monkeypatch, refused) == (2, line)


def test_a_line_about_an_error_has_an_end():
    said = console.one_line(ArgumentError(f"there is no column '{'w' * 5000}'; the columns are 'a', 'b'."))
    assert len(said) < 1000
    assert said.startswith("there is no column 'www")
    assert said.endswith("'; the columns are 'a', 'b'.")
