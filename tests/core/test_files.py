"""Files appear complete or not at all, in the place and with the rights of what stood there."""

import os

import pytest

from clifford_rand._files import replaced


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
