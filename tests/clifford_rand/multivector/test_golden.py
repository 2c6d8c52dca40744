"""Multiplication tables of small algebras, pinned as text that people can read; nothing writes these files."""

from pathlib import Path

import pytest

import clifford_rand as cr

FOLDER = Path(__file__).parents[1] / "golden"
COUNTS = ((0, 0, 2), (0, 2, 0), (1, 1, 0), (1, 3, 0), (2, 0, 0), (2, 0, 1), (3, 0, 0), (3, 0, 1))


@pytest.mark.parametrize(("p", "q", "r"), COUNTS)
def test_tables(p, q, r):
    alg, file = cr.Algebra(p, q, r), FOLDER / f"cl_{p}_{q}_{r}.txt"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) == 2 * 4**alg.d + 2**alg.d
    for line in lines:
        question, answer = line.split(" = ")
        wanted = alg(answer)
        if question.startswith("star "):
            assert alg(question.removeprefix("star ")).star() == wanted, line
        else:
            assert alg(question) == wanted, line
