"""Functions of the presets leave float32 as it is, with Python numbers beside it, too."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga, pga

PGA, CGA = cr.Algebra.pga(3), cr.Algebra.cga(3)
P, Q, D = np.random.default_rng(0).standard_normal((3, 5, 3)).astype(np.float32)
SIZES = np.abs(P[:, 0]) + np.float32(0.1)


def motor():
    return pga.motor(PGA, pga.line(PGA, P, Q), 0.5, SIZES)


def circle():
    return cga.up(CGA, P) ^ cga.up(CGA, Q) ^ cga.up(CGA, D)


@pytest.mark.parametrize(
    "made",
    [
        lambda: pga.slide_axis(PGA, P),
        lambda: pga.screw_axis(PGA, pga.line(PGA, P, Q), SIZES),
        lambda: pga.screw_axis(PGA, pga.line(PGA, P, Q), 0.1),
        lambda: pga.sclerp(motor(), motor(), 0.5),
        lambda: pga.sclerp(motor(), motor(), SIZES),
        lambda: pga.distance(pga.plane(PGA, P, SIZES), pga.point(PGA, Q)),
        lambda: cga.dilator(CGA, SIZES),
        lambda: cga.dilator(CGA, 2.0, P),
        lambda: cga.inversion(CGA, P, 2.0),
        lambda: cga.classify(circle()).directions(),
        lambda: cga.sample(circle(), 4),
    ],
)
def test_float32_gives_float32(made):
    assert made().dtype == np.float32
