"""Multiplication tables of small algebras, pinned as text that people can read; nothing writes these files."""

from pathlib import Path

import pytest

import clifford_rand as cr

FILES = sorted((Path(__file__).parents[1] / "golden").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_tables(file):
    p, q, r = (int(part) for part in file.stem.split("_")[1:])
    alg = cr.Algebra(p, q, r)
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) == 2 * 4**alg.d + 2**alg.d
    for line in lines:
        question, answer = line.split(" = ")
        wanted = alg(answer)
        if question.startswith("star "):
            assert alg(question.removeprefix("star ")).star() == wanted, line
        else:
            assert alg(question) == wanted, line


def test_there_are_tables():
    assert len(FILES) == 8
