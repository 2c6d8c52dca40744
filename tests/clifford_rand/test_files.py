"""Files appear complete or not at all, in the place and with the rights of what stood there."""

import errno
import os

import numpy as np
import pytest

from clifford_rand._files import read_npz, replaced


def test_an_error_leaves_what_was_there(tmp_path):
    file = tmp_path / "a.txt"
    for before in (None, "old"):
        if before:
            file.write_text(before)
        with pytest.raises(TypeError), replaced(file) as new, open(new, "w") as stream:
            stream.writelines(["half", None])
        assert [entry.name for entry in tmp_path.iterdir()] == ([file.name] if before else [])
    assert file.read_text() == "old"


def test_links_are_followed_and_pipes_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replaced(tmp_path / "link") as new:
        new.write_text("text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"
    os.mkfifo(tmp_path / "pipe")
    with replaced(tmp_path / "pipe") as new:
        assert new == tmp_path / "pipe"
    assert (tmp_path / "pipe").is_fifo()


def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    with replaced(tmp_path / "a") as first, replaced(tmp_path / "a") as second:
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "a").read_text() == "first"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_error_of_the_system_names_the_file_asked_for(tmp_path, monkeypatch):
    """Not none at all, and not the hidden one; what names another file (one that is read meanwhile) stays."""
    file = tmp_path / "out.csv"
    file.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/out\.csv'"), replaced(file) as new:
        new.write_text("new")
    with pytest.raises(PermissionError) as caught, replaced(file) as new:
        raise PermissionError(errno.EACCES, "Permission denied", str(new))
    assert caught.value.filename == str(file)
    with pytest.raises(FileNotFoundError) as caught, replaced(file) as new:
        (tmp_path / "vanished.csv").read_text()
    assert caught.value.filename == str(tmp_path / "vanished.csv")
    with pytest.raises(OSError, match=r"out\.csv: some disk error"), replaced(file) as new:
        raise OSError("some disk error")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]
    assert file.read_text() == "old"


@pytest.mark.parametrize("value", [3.0, "ab", 1 + 2j])
def test_arrays_without_axes_come_back_as_arrays(value, tmp_path):
    array = np.array(value, dtype="U5" if isinstance(value, str) else None)
    np.savez(tmp_path / "a.npz", a=array)
    read = read_npz(tmp_path / "a.npz", None)[0]["a"]
    assert isinstance(read, np.ndarray)
    assert (read.dtype, read.shape, read[()]) == (array.dtype, (), value)
