"""Every code block of README, site and gallery runs, and prints what stands below it.

Fences of `python` run page by page in one namespace. A fence of `text` right after one is its output, in which a
line of `…` stands for any lines. Cells of tutorials and how-tos are parsed here; the build of the site executes them
and the scripts of the gallery. Commands are looked up, and cheap ones run on small data. A code that cannot run is a
`{code-block} python` with `:class: fragment`, counted in FRAGMENTS.
"""

import ast
import contextlib
import importlib
import importlib.util
import re
import shlex
import textwrap
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from clifford_rand import MissingDependencyError

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ("auto_gallery/", "generated/", "reference/command-line.md")  # by the build of the site
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not any(part in page.as_posix() for part in WRITTEN)]
FENCE = re.compile(r"^( *)(`{3,}|:{3,})(?!`|:)(.*?)\n(.*?)^\1\2 *$", re.S | re.M)
SHELL, SHOWN = ("console", "bash", "sh"), ("text", "json", "bibtex")
SLOW = {"dask-cluster.md"}  # whose python takes more than ten seconds
TOOLS = ("python", ".", "venv", "build", "pre-commit", "pytest", "sphinx-build", "git", "twine", "check-wheel-contents")
FRAGMENTS = {"datasets.md": 1}  # it downloads, and needs an encoder
STAND_INS = {  # what a page takes from a cluster, on this machine
    'Client("scheduler:8786")': 'Client(processes=False, dashboard_address=":0")',
    "/data/train": "train",
}


class Block(NamedTuple):
    """A fence: its language or directive, its code, and the text that follows it as its output."""

    kind: str
    code: str
    output: str | None


def blocks(page):
    """Return the fences of a page in their order."""
    text, fences, end = page.read_text(encoding="utf-8"), [], 0
    for fence in FENCE.finditer(text):
        code = textwrap.dedent(fence[4])
        if fence[3].strip() == "text" and fences and not text[end : fence.start()].strip():
            fences[-1] = fences[-1]._replace(output=code)
        else:
            fences.append(Block(fence[3].strip(), code, None))
        end = fence.end()
    return fences


def cells(page):
    return [
        re.sub(r"\A---\n.*?^---\n|\A(?::.*\n)+", "", block.code, flags=re.S | re.M)
        for block in blocks(page)
        if block.kind.startswith("{code-cell}")
    ]


def name(page):
    return str(page.relative_to(ROOT))


def pages_with(*kinds):
    """Parametrize a test by the pages with fences of these kinds."""
    pages = [page for page in PAGES if any(block.kind.startswith(kinds) for block in blocks(page))]
    marks = {page: [pytest.mark.slow] * (page.name in SLOW and "python" in kinds) for page in pages}
    return pytest.mark.parametrize("page", [pytest.param(page, marks=marks[page], id=name(page)) for page in pages])


def imports(code):
    """Yield (module, names from it) for each import in a code."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def run(code, where, namespace):
    """Run a block, and show the value of its last line, as a notebook does."""
    tree, last = ast.parse(code, where), None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, where, "exec"), namespace)
    if last is not None and (value := eval(compile(last, where, "eval"), namespace)) is not None:
        print(repr(value))


def agrees(shown, printed):
    """Say whether a text is what is printed, but for lines of `…` and the first digit of rounding noise."""
    shown, printed = (re.sub(r"\de-1(?=[1-9])", "1e-1", text).strip() for text in (shown, printed))
    pattern = "\n".join(".*" if line.strip() == "…" else re.escape(line.rstrip()) for line in shown.split("\n"))
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.split("\n")), re.S) is not None


def write_data(target="risk"):
    """Write tables and shards of the names that pages use into the working directory."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = np.where(X[:, 0] > X[:, 1] ** 2 - 0.5, "high", "low")
    for stem, has_target in [("train", True), ("wine", True), ("test", True), ("new", False)]:
        names = ["age", "rate", "weight"] + [target] * has_target
        rows = [[*(f"{x:.3f}" for x in X[i]), y[i]][: len(names)] for i in range(len(X))]
        Path(f"{stem}.csv").write_text("\n".join(",".join(row) for row in [names, *rows]), encoding="utf-8")
        Path(stem).mkdir()
        for i in range(2):
            np.save(f"{stem}/X-{i:05d}.npy", X[40 * i : 40 * (i + 1)].astype(np.float32))
            if has_target:
                np.save(f"{stem}/y-{i:05d}.npy", y[40 * i : 40 * (i + 1)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data()
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_says_what_it_is(page):
    kinds = [block.kind for block in blocks(page)]
    assert [kind for kind in kinds if kind not in (*SHELL, *SHOWN, "python") and not kind.startswith("{")] == []
    fragments = [block for block in blocks(page) if ":class: fragment" in block.code]
    assert len(fragments) == FRAGMENTS.get(page.name, 0)
    assert kinds.count("{code-block} python") == len(fragments)
    for fragment in fragments:
        ast.parse(re.sub(r"\A(:.*\n)+", "", fragment.code))


@pages_with("python")
def test_python_runs_and_prints_what_is_shown(page, folder, capsys):
    namespace = {"__name__": "__main__"}
    codes = [block for block in blocks(page) if block.kind == "python"]
    for module in {module for block in codes for module, _ in imports(block.code)}:
        pytest.importorskip(module)
    for code, output in [(block.code, block.output) for block in codes]:
        for there, here in STAND_INS.items():
            code = code.replace(there, here)
        run(code, page.name, namespace)
        printed = capsys.readouterr().out
        assert output is None or agrees(output, printed), printed


@pages_with("{code-cell}")
def test_cells_are_python_and_import_what_exists(page):
    assert not [cell for cell in cells(page) if not cell.strip()]
    for module, names in imports("\n".join(cells(page))):
        if module.startswith("clifford_rand"):
            owner = importlib.import_module(module)
            for public in names:
                with contextlib.suppress(MissingDependencyError):
                    assert hasattr(owner, public) or importlib.util.find_spec(f"{module}.{public}"), public


# ---- commands


def commands(page):
    """Yield the commands of a page as lists of words, without comments and variables of the environment."""
    for block in blocks(page):
        if block.kind in SHELL:
            for line in block.code.replace("\\\n", " ").splitlines():
                words = [*shlex.split(line.removeprefix("$ "), comments=True), "&&"]
                while "&&" in words:
                    command, words = words[: words.index("&&")], words[words.index("&&") + 1 :]
                    while command and re.fullmatch(r"[A-Z_]+=\S*", command[0]):
                        command = command[1:]
                    if command:
                        yield command


@pytest.fixture(scope="module")
def app():
    pytest.importorskip("typer")
    from clifford_rand_nn.cli.app import app

    return app


@pages_with(*SHELL)
def test_commands_exist(page, app):
    """What runs a command is there, knows its name, and the options beside it."""
    import typer

    known = typer.main.get_command(app).commands
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for program, *words in commands(page):
        options = {word.split("=")[0] for word in words if word.startswith("--")}
        if program == "clifford-rand":
            assert words[0] in known, words
            assert options <= {option for parameter in known[words[0]].params for option in parameter.opts}, words
        elif program in ("python", "python3") and words[0] not in ("-c", "-X"):
            if words[0] == "-m" and words[1] in TOOLS:
                continue
            part = words[1].replace(".", "/") if words[0] == "-m" else words[0].removesuffix(".py")
            files = [file for base in (ROOT, ROOT / "tests") for file in base.glob(f"{part}.py")]
            files += (ROOT / part).glob("*.py")
            text = "\n".join(file.read_text(encoding="utf-8") for file in files)
            assert "__main__" in text or (ROOT / part / "__main__.py") in files, words
            for option in options:  # of argparse, or a parameter of typer
                assert re.search(rf"{option}\b|\b{option[2:].replace('-', '_')}: ", text), (words, option)
            if part == "examples/paper" and words[2] != "NAME":
                assert words[2] in {file.stem for file in files}, words
        elif program == "pip":
            assert words[0] == "install"
            for extra in re.findall(r"\[([\w,]+)\]", " ".join(words)):
                assert set(extra.split(",")) <= set(project["optional-dependencies"]), words
        elif program == "bash":
            assert (ROOT / words[0]).exists(), words
        else:
            assert program in TOOLS, program


CHEAP = ("fit", "predict", "evaluate", "explain", "prune")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(c[0] == "clifford-rand" and c[1] in CHEAP for c in commands(p))], ids=name
)
def test_commands_run(page, app, tmp_path, monkeypatch):
    """Fits, predictions and explanations of a page run in their order, on tables and shards of eighty rows."""
    from typer.testing import CliRunner

    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    lines = [words for program, *words in commands(page) if program == "clifford-rand" and words[0] in CHEAP]
    targets = [words[words.index("--target") + 1] for words in lines if "--target" in words]
    write_data(targets[0] if targets else "risk")
    if lines[0][0] != "fit":
        lines.insert(0, ["fit", "train.csv", "--target", "risk", "--out", "model.npz"])
    for words in lines:
        if any(
            word.endswith(".npz") and not Path(word).exists() and words[words.index(word) - 1] != "--out"
            for word in words
        ):
            continue  # of embeddings, which an encoder computes
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (words, result.output)
