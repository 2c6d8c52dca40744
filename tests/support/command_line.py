"""Commands run in this process, for tests: exit codes are checked, no traceback is printed."""

from typer.testing import CliRunner

from clifford_rand_nn import load_model


def run(line, *arguments, code=0):
    """Run ``clifford-rand`` with the words of a line and further arguments; return its result, with this exit code."""
    from clifford_rand_nn.cli.app import app

    result = CliRunner().invoke(app, [*line.split(), *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    return result


def run_forced(line, *arguments, code=0):
    """Run a command that may overwrite the files of an earlier one."""
    words = [*line.split(), *arguments]
    forced = ["--force"] if "--out" in words and words[0] in ("fit", "predict") else []
    return run(line, *arguments, *forced, code=code)


def error_of(line, *arguments):
    """Return the one line of a command that is refused."""
    result = run(line, *arguments, code=2)
    lines = result.stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert lines[-1:] == errors, result.stderr
    return errors[0]


def fitted(path):
    """Return the estimator of a model file, which for a table is the last step of a pipeline."""
    model = load_model(path)
    return model[-1] if hasattr(model, "steps") else model
