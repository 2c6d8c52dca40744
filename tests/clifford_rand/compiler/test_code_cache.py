"""Files of what Numba compiled: whole, of this user, of these types and this source, or as if they were not there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clifford_rand import _files
from clifford_rand.compiler import machine_code
from clifford_rand.compiler.decorator import compiled
from clifford_rand.compiler.machine_code import CodeCache


def twice(x):
    return 2 * x


class Codegen:
    def magic_tuple(self):
        return ("x86", "some", "")


class Library:
    has_dynamic_globals = False


class Result:
    """What is kept of a compiled function, without a compiler."""

    lifted = ()
    library, codegen = Library(), Codegen()

    def __init__(self, content):
        self.content = content

    def _reduce(self):
        return (self.content,)


class Context:
    codegen = Codegen

    def refresh(self):
        pass


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_code.CompileResult, "_rebuild", staticmethod(lambda context, content: content))
    return CodeCache(twice, b"source")


def file_of(tmp_path):
    (file,) = tmp_path.rglob("*.code")
    return file


def test_what_is_saved_is_there_for_its_types_alone(kept, tmp_path):
    kept.save_overload("types", Result("code"))
    assert kept.load_overload("types", Context()) == "code"
    assert kept.load_overload("others", Context()) is None
    assert CodeCache(twice, b"another").load_overload("types", Context()) is None
    kept.save_overload("others", Result("other code"))
    assert kept.load_overload("types", Context()) == "code"
    os.replace(*sorted(tmp_path.rglob("*.code")))  # the file of one stands where that of the other was
    assert [kept.load_overload(one, Context()) for one in ("types", "others")].count(None) == 2
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".code"]


def test_a_file_that_is_cut_or_changed_anywhere_is_not_used(kept, tmp_path):
    kept.save_overload("types", Result("code"))
    file = file_of(tmp_path)
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place])
        assert kept.load_overload("types", Context()) is None
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert kept.load_overload("types", Context()) is None
    kept.save_overload("types", Result("code"))
    assert file.read_bytes() == whole
    assert kept.load_overload("types", Context()) == "code"


def test_a_folder_that_cannot_be_written_to_is_read(kept, tmp_path, monkeypatch):
    kept.save_overload("types", Result("code"))

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(machine_code, "replaced", refuse)
    kept.save_overload("others", Result("other code"))
    assert kept.load_overload("types", Context()) == "code"
    assert kept.load_overload("others", Context()) is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners")
def test_files_and_folders_that_others_can_write_are_not_used(kept, tmp_path, monkeypatch):
    kept.save_overload("types", Result("code"))
    file = file_of(tmp_path)
    assert (file.parent.stat().st_mode & 0o777, file.parent.name) == (0o700, f"clifford_rand_{os.getuid()}")
    file.chmod(0o666)
    assert kept.load_overload("types", Context()) is None
    file.chmod(0o600)
    assert kept.load_overload("types", Context()) == "code"
    file.parent.chmod(0o777)
    assert kept.load_overload("types", Context()) == "code"  # the folder is this user's, and closed again
    assert file.parent.stat().st_mode & 0o777 == 0o700
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: -1)  # as if this user were another one
        assert kept.load_overload("types", Context()) is None
        patch.setattr(_files, "_code_path", lambda: file.parent)
        assert _files.code_folder() is None
        # a file of another user in a folder that is trusted
        patch.setattr(machine_code, "code_folder", lambda: file.parent)
        assert kept.load_overload("types", Context()) is None
    real = tmp_path / "elsewhere"
    file.parent.rename(real)
    file.parent.symlink_to(real)
    assert kept.load_overload("types", Context()) == "code"  # by a link of this user

    def refuse(path, mode):
        raise OSError(30, "Read-only file system", path)

    for mode, is_used in ((0o755, True), (0o775, False)):
        real.chmod(mode)
        with monkeypatch.context() as patch:
            patch.setattr(os, "chmod", refuse)
            assert (_files.code_folder() is not None) == is_used


def test_a_function_without_a_file_is_compiled_and_not_kept():
    namespace = {}
    exec(compile("def thrice(x):\n    return 3 * x\n", "<made here>", "exec"), namespace)
    made = compiled()(namespace["thrice"])
    assert not isinstance(made._cache, CodeCache)
    assert isinstance(compiled()(twice)._cache, CodeCache)


@pytest.mark.slow
def test_a_compiled_function_comes_from_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for hits in (0, 1):
        made = compiled()(twice)
        np.testing.assert_array_equal(made(np.arange(3.0)), [0, 2, 4])
        assert sum(made.stats.cache_hits.values()) == hits


def test_no_function_is_kept_in_numbas_own_files():
    root = Path(__file__).parents[3]
    files = [path for package in ("clifford_rand", "clifford_rand_nn") for path in (root / package).rglob("*.py")]
    assert len(files) > 300
    assert [path.name for path in files if re.search(r"\bn?jit\(.*cache=", path.read_text())] == []


_CALLED = """
from clifford_rand.compiler.decorator import compiled

SHIFT = {shift}

@compiled()
def added(x):
    return x + {added}
"""
_CALLING = """
from called import SHIFT, added
from clifford_rand.compiler.decorator import compiled

@compiled()
def outer(x):
    return inner(x)

@compiled()
def inner(x):
    return 100 * SHIFT + added(x)
"""
_ASKED = "import calling; print(calling.outer(1.0), calling.outer.stats.cache_hits.total())"


@pytest.mark.slow
def test_code_of_other_files_and_their_constants_is_of_the_source(tmp_path):
    (tmp_path / "calling.py").write_text(_CALLING)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code"), "PYTHONPATH": path}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a source of the same size and second would be taken for the same

    def said(shift, added):
        (tmp_path / "called.py").write_text(_CALLED.format(shift=shift, added=added))
        run = subprocess.run(
            [sys.executable, "-c", _ASKED], env=environment, capture_output=True, text=True, check=True
        )
        return run.stdout.split()

    assert said(0, 1) == ["2.0", "0"]
    assert said(0, 1) == ["2.0", "1"]
    assert said(0, 2) == ["3.0", "0"]
    assert said(1, 2) == ["103.0", "0"]
    assert said(0, 1) == ["2.0", "0"]  # one file for each tuple of types: the last source has it
