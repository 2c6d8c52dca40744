"""Good calls of cross products, sketches and sampling."""

import numpy as np

import clifford_rand as cr
from support.bad_input.algebra import PATIENT
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
_RTOL = {"rtol": tolerance(1e-12)}
_TOL = {"tol": tolerance(1e-10, missing="refused", **_ANY_SIZE)}


def _products(sketch):
    return lambda x, Y: (sketch @ x, Y @ sketch.T, sketch.T @ x[:4])


def _made(*arguments):
    """Return the call that makes a sketch and looks at its entries."""
    return lambda name: through(
        lambda *a, **o: getattr(cr, name.partition(".")[2])(*a, **o).toarray(), *arguments, rng=rng(0)
    )


def _methods(name, sketch):
    """Return the good calls of the methods of a sketch."""
    more = {"SRHT": {"d": count(100)}, "LeverageSampling": {"beta": share(0.5, one="right")}}
    return {
        f"{name}.@": through(
            _products(sketch), rows(RNG.standard_normal((12, 3)), a_row_less="refused", **_LINEAR),
            rows(WIDE, one_column="refused", a_frame="left out", **_LINEAR),  # whose product is its own
        ),
        f"{name}.T": through(lambda Y: sketch.T @ Y, rows(RNG.standard_normal((4, 3)), **_LINEAR)),
        f"{name}.has_exchangeable_rows": through(lambda: sketch.has_exchangeable_rows),
        f"{name}.log_minor_constant": through(lambda k: sketch.log_minor_constant(k), count(2)),
        f"{name}.redraw": through(lambda rng: sketch.redraw(rng=rng).toarray(), rng(0)),
        f"{name}.toarray": through(lambda dtype: sketch.toarray(dtype), dtype(np.float32)),
        f"{name}.suggest_dim": good(count(3), eps=share(0.5), delta=share(0.1), **more.get(name, {})),
    }  # fmt: skip


CALLS = catalogue({
    "cr.cross": [good(rows(A23, scale_1e300="other"), **_RTOL), good(rows(np.stack([A23, -A23]), scale_1e300="other"))],
    "cr.cross_log": good(rows(R34), **_RTOL),
    "cr.CrossProduct": through(lambda A: cr.cross_log(A).log_norm, rows(A23)),
    "cr.cross_many": good(rows(X53), index(INDEX), normalize=flag(True), **_RTOL),
    "cr.cross_all": through(
        lambda X, **o: list(cr.cross_all(X, **o)), rows(X53), normalize=flag(True),
        batch_size=count(3, missing="right"), callback=function(None), **_TOL, **_RTOL),
    "cr.cross_simplex": good(
        rows(X53), index(np.array([[0, 1, 2], [1, 2, 3]]), missing="right"), bias=flag(False), **_RTOL),
    "cr.cross_walk": good(rows(X53), index(INDEX), **_TOL, **_RTOL),
    "cr.characteristic_polynomial": good(rows(X53), vector(np.arange(5.0), missing="right")),
    "cr.count_chambers": good(rows(X53), vector(np.arange(5.0), missing="right"), bounded=flag(True)),
    "cr.OrientedMatroid cr.OrientedMatroid.circuits": through(lambda V: cr.OrientedMatroid(V).circuits(), rows(X53)),
    "cr.OrientedMatroid.chirotope": through(lambda V: cr.OrientedMatroid(V).chirotope, rows(X53)),
    "cr.OrientedMatroid.cocircuits": through(lambda V: cr.OrientedMatroid(V).cocircuits(), rows(X53)),
    "cr.OrientedMatroid.sign": through(lambda i: cr.OrientedMatroid(X53).sign(i), index(np.array([2, 0, 1]))),
    "cr.slogdet": good(
        rows(RNG.standard_normal((4, 4))), max_memory=limit(2.0**20),
        scratch=path(".", missing="right", a_folder="right")),
    "cr.haar_blade": good(count(2), count(4), rng=rng(0), shape=shape((2,))),
    "cr.random_rotation": good(count(3), rng=rng(0), shape=shape((2,))),
    "cr.leverage_scores": good(rows(X53), bias=flag(True), **_RTOL),
    "cr.volume_sample": [
        good(rows(X53), count(2), size=count(3), rng=rng(0), method=word("exact"), bias=flag(False), **_RTOL),
        good(rows(X53), 2, size=2, rng=0, method="auto")],
    "cr.GaussianSketch cr.SRHT": _made(count(3), count(6)),
    "cr.SJLT": _made(count(3), count(6), count(2)),
    "cr.SparseSign": _made(count(3), count(6), count(2, missing="right")),
    "cr.LeverageSampling": _made(vector(np.array([0.5, 1.0, 3.0])), count(4)),
    **{key: call for name, sketch in SKETCHES.items() for key, call in _methods(name, sketch).items()},
    "cr.sketch_rows": [
        good(rows(WIDE, empty_list="right", a_frame="refused", **_LINEAR), thing(S)),
        through(
            lambda last: cr.sketch_rows(iter([A23, last]), cr.SJLT(2, 3, rng=0)),
            rows(RNG.standard_normal((2, 3)), **_LINEAR))],
    "cr.sketched_cross": good(rows(RNG.standard_normal((3, 12))), thing(S), normalize=flag(True), **_RTOL),
    "cr.sketched_star": good(rows(WIDE), thing(S), **_RTOL),
    "cr.sketched_wedge": good(rows(WIDE), thing(S)),
    "cr.sketched_inner": good(
        rows(WIDE), rows(WIDE + 1), thing(S, an_array="right"), n_repeats=count(2, one="other", **PATIENT)),
    "cr.sketched_volume": [
        good(rows(WIDE), thing(S, a_number="right"), n_repeats=count(3, one="other", **PATIENT), rng=rng(0), **_RTOL),
        good(WIDE, count(6, **PATIENT), rng=0)],
    "cr.sketched_leverage_scores": good(
        rows(RNG.standard_normal((12, 2))), thing(S), project=thing(None, missing="right"), **_RTOL),
    "cr.nearest_to_span": [
        good(rows(X53), rows(A23), n_rows=count(2), **_RTOL),
        good(RNG.standard_normal((5, 12)), WIDE, thing(S, missing="right"))],
})  # fmt: skip
