"""Robots of the tests: three URDF files, a tree of screws on every kind of base, and states at random."""

from pathlib import Path

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import pga

URDF = Path(__file__).parents[1] / "clifford_rand" / "robots" / "urdf"
FILES = ["arm7", "tree", "two_link"]
ALG = cr.Algebra.pga(3)


def robot(name, **options):
    pytest.importorskip("urdf_parser_py")
    return pga.Robot.from_urdf(URDF / f"{name}.urdf", **options)


def screws(n, rng, pitch=0.0):
    lines = pga.line(ALG, rng.standard_normal((n, 3)), pga.direction(ALG, rng.standard_normal((n, 3))))
    return pga.screw_axis(ALG, lines, pitch)


def made(base="fixed", rng=0):
    """A branching tree of joints that turn, slide and screw."""
    rng = np.random.default_rng(rng)
    axes = cr.concatenate([screws(3, rng), pga.slide_axis(ALG, rng.standard_normal((2, 3))), screws(2, rng, 0.3)])
    frames = np.tile(np.eye(4), (7, 1, 1))
    frames[:, :3, :3] = np.linalg.qr(rng.standard_normal((7, 3, 3)))[0]
    frames[:, :3, :3] *= np.linalg.det(frames[:, :3, :3])[:, None, None]
    frames[:, :3, 3] = rng.standard_normal((7, 3))
    spread = rng.standard_normal((7, 3, 4))
    return pga.Robot(
        axes, pga.motor_from_matrix(ALG, frames), parents=[-1, 0, 1, 1, 3, -1, 5], masses=rng.uniform(1, 3, 7),
        centers=rng.standard_normal((7, 3)), inertias=spread @ np.swapaxes(spread, 1, 2), base=base,
    )  # fmt: skip


def state(arm, rng, shape=()):
    """Return q, v, a at random."""
    n = len(arm.joint_names)
    q, v, a = rng.standard_normal((3, *shape, n))
    if arm._of.first:
        B = ALG.random_multivector(grades=2, rng=rng, shape=shape)
        q = np.concatenate([B.exp().select_keys(arm._keys).coefficients, q], axis=-1)
        v, a = (np.concatenate([rng.standard_normal((*shape, 6)), x], axis=-1) for x in (v, a))
    return q, v, a
