"""Fits to shards that are killed, or whose disk is full: what they leave is what a fit leaves that nobody disturbs."""

import os
from functools import partial

import numpy as np
import pytest

from support.kills import Fit, killed_until_done, once_there, small_files, write_shards

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_shards(tmp_path_factory.mktemp("rows"), n=6000)


@pytest.fixture(scope="module")
def whole(rows, tmp_path_factory):
    return Fit("ridge", rows, None, tmp_path_factory.mktemp("whole") / "found").result()[0]


def test_a_fit_that_is_killed_goes_on_to_the_same_bits(rows, whole, tmp_path):
    rng, kills = np.random.default_rng(0), 0
    for turn in range(20):  # a fast machine may end a fit before its first kill
        own = tmp_path / str(turn)
        own.mkdir()
        more, _, found = killed_until_done("ridge", rows, own, rng, 0.3 / (1 + turn), 4)
        assert found == whole
        kills += more
        if kills >= 4:
            break
    assert kills > 0


def test_a_fit_goes_on_when_the_disk_is_full_and_another_from_its_file(rows, whole, tmp_path):
    path = tmp_path / "state"
    found, said = Fit("ridge", rows, path, tmp_path / "found", partial(once_there, path, small_files)).result()
    assert found == whole
    assert len([line for line in said if "could not be written" in line]) == 1
    assert Fit("ridge", rows, path, tmp_path / "again").result()[0] == whole
