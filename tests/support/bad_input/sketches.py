"""Good calls of cross products, sketches and sampling."""

import numpy as np

import clifford_rand as cr
from support.bad_input.algebra import _PATIENT
from support.bad_input.good import *

RNG = np.random.default_rng(9)
X53, A23, R34 = (RNG.standard_normal(s) for s in ((5, 3), (2, 3), (3, 4)))
WIDE = RNG.standard_normal((2, 12))
INDEX = np.array([[0, 1], [1, 4], [2, 3]])
S = cr.SJLT(4, 12, rng=0)
_ANY_SIZE = dict.fromkeys(["1e150", "1e300", "an_integer"], "right")
# a sketch is linear: what is not finite stays so
_LINEAR = dict.fromkeys(["NaN", "infinity", "-infinity", "all_NaN"], "other")
SKETCHES = {
    "GaussianSketch": cr.GaussianSketch(4, 12, rng=0),
    "SJLT": S,
    "SRHT": cr.SRHT(4, 12, rng=0),
    "SparseSign": cr.SparseSign(4, 12, s=2, rng=0),
    "LeverageSampling": cr.LeverageSampling(np.arange(1.0, 13.0), 4, rng=0),
}


def _products(sketch):
    def run(x, Y):
        return sketch @ x, Y @ sketch.T, sketch.T @ x[:4]

    return run


CALLS = {
    "cr.cross": [
        good(rows(A23, scale_1e300="other"), rtol=tolerance(1e-12)),
        good(rows(np.stack([A23, -A23]), scale_1e300="other")),
    ],
    "cr.cross_log": good(rows(R34), rtol=tolerance(1e-12)),
    "cr.CrossProduct": through(lambda A: cr.cross_log(A).log_norm, rows(A23)),
    "cr.cross_many": good(rows(X53), index(INDEX), normalize=flag(True), rtol=tolerance(1e-12)),
    "cr.cross_all": through(
        lambda X, **o: list(cr.cross_all(X, **o)),
        rows(X53),
        normalize=flag(True),
        chunk=count(3, missing="right"),
        tol=tolerance(1e-10, missing="refused", **_ANY_SIZE),
        rtol=tolerance(1e-12),
        progress=function(None),
    ),
    "cr.cross_simplex": good(
        rows(X53), index(np.array([[0, 1, 2], [1, 2, 3]]), missing="right"), bias=flag(False), rtol=tolerance(1e-12)
    ),
    "cr.cross_walk": good(
        rows(X53), index(INDEX), tol=tolerance(1e-10, missing="refused", **_ANY_SIZE), rtol=tolerance(1e-12)
    ),
    "cr.haar_blade": good(count(2), count(4), rng=rng(0), shape=shape((2,))),
    "cr.random_rotation": good(count(3), rng=rng(0), shape=shape((2,))),
    "cr.leverage_scores": good(rows(X53), bias=flag(True), rtol=tolerance(1e-12)),
    "cr.volume_sample": [
        good(
            rows(X53),
            count(2),
            size=count(3),
            rng=rng(0),
            method=word("exact"),
            bias=flag(False),
            rtol=tolerance(1e-12),
        ),
        good(rows(X53), 2, size=2, rng=0, method="auto"),
    ],
    "cr.GaussianSketch": through(lambda *a, **o: cr.GaussianSketch(*a, **o).toarray(), count(3), count(6), rng=rng(0)),
    "cr.SRHT": through(lambda *a, **o: cr.SRHT(*a, **o).toarray(), count(3), count(6), rng=rng(0)),
    "cr.SJLT": through(lambda *a, **o: cr.SJLT(*a, **o).toarray(), count(3), count(6), count(2), rng=rng(0)),
    "cr.SparseSign": through(
        lambda *a, **o: cr.SparseSign(*a, **o).toarray(), count(3), count(6), count(2, missing="right"), rng=rng(0)
    ),
    "cr.LeverageSampling": through(
        lambda *a, **o: cr.LeverageSampling(*a, **o).toarray(), vector(np.array([0.5, 1.0, 3.0])), count(4), rng=rng(0)
    ),
    **{
        f"{name}.@": through(
            _products(sketch),
            rows(RNG.standard_normal((12, 3)), a_row_less="refused", **_LINEAR),
            rows(WIDE, one_column="refused", a_frame="left out", **_LINEAR),  # whose product is its own
        )
        for name, sketch in SKETCHES.items()
    },
    **{
        f"{name}.T": through(lambda Y, sketch=sketch: sketch.T @ Y, rows(RNG.standard_normal((4, 3)), **_LINEAR))
        for name, sketch in SKETCHES.items()
    },
    **{
        f"{name}.exchangeable_rows": through(lambda sketch=sketch: sketch.exchangeable_rows)
        for name, sketch in SKETCHES.items()
    },
    **{
        f"{name}.log_minor": through(lambda k, sketch=sketch: sketch.log_minor(k), count(2))
        for name, sketch in SKETCHES.items()
    },
    **{
        f"{name}.redraw": through(lambda rng, sketch=sketch: sketch.redraw(rng).toarray(), rng(0))
        for name, sketch in SKETCHES.items()
    },
    **{
        f"{name}.toarray": through(lambda dtype, sketch=sketch: sketch.toarray(dtype), dtype(np.float32))
        for name, sketch in SKETCHES.items()
    },
    **{
        f"{name}.suggest_dim": good(
            count(3),
            share(0.5),
            share(0.1),
            **({"d": count(100)} if name == "SRHT" else {}),
            **({"beta": share(0.5, one="right")} if name == "LeverageSampling" else {}),
        )
        for name in SKETCHES
    },
    "cr.sketch_rows": [
        good(rows(WIDE, empty_list="right", a_frame="refused", **_LINEAR), thing(S)),
        through(
            lambda one: cr.sketch_rows(iter([RNG2, one]), cr.SJLT(2, 3, rng=0)),
            rows(RNG.standard_normal((2, 3)), **_LINEAR),
        ),
    ],
    "cr.sketched_cross": good(
        rows(RNG.standard_normal((3, 12))), thing(S), normalize=flag(True), rtol=tolerance(1e-12)
    ),
    "cr.sketched_star": good(rows(WIDE), thing(S), rtol=tolerance(1e-12)),
    "cr.sketched_wedge": good(rows(WIDE), thing(S)),
    "cr.sketched_inner": good(
        rows(WIDE), rows(WIDE + 1), thing(S, an_array="right"), repeats=count(2, one="other", **_PATIENT)
    ),
    "cr.sketched_volume": [
        good(
            rows(WIDE),
            thing(S, a_number="right"),
            repeats=count(3, one="other", **_PATIENT),
            rng=rng(0),
            rtol=tolerance(1e-12),
        ),
        good(WIDE, count(6, **_PATIENT), rng=0),
    ],
    "cr.sketched_leverage_scores": good(
        rows(RNG.standard_normal((12, 2))), thing(S), project=thing(None, missing="right"), rtol=tolerance(1e-12)
    ),
    "cr.nearest_to_span": [
        good(rows(X53), rows(A23), count=count(2), rtol=tolerance(1e-12)),
        good(RNG.standard_normal((5, 12)), WIDE, thing(S, missing="right")),
    ],
}
RNG2 = RNG.standard_normal((2, 3))
