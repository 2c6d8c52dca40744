"""Estimated training time of a constrained ReLU network, from measurements on two cores."""

_STEP = 4e-8 * 40  # of the interior point: for each pattern, row and squared column, times its steps
_PROJECTION, _LEAST = 1.2e-8, 1e-4  # of a projection on a cone: for each row and root of a cubed column; at least
_CHECKED = 20  # projections for each pattern of the augmented Lagrangian, which it takes where it looks at the gap
_ROUNDS, _CLIMBED = 25, 6  # rounds of column generation, and projections for each pattern in one
# Passes that prove a bound, and their questions for each pattern: climbs, branch and bound, or climbs and a relaxation.
_PASSES, _CLIMBS, _SPLITS = 6, 60, 500
_EXACT, _ENCLOSED = 2, 4  # outputs up to which few splits, or branch and bound, enclose the longest outputs
# A step of a relaxation, least and by columns and squared rows that bound a cone, some ten a column; their number.
_RELAX, _BOUNDING, _RELAXED = (2e-5, 2e-9), 10, 400
_MASTER = (0.05, 5e-6)  # a problem over the neurons in use, and by rows and outputs


def projection_seconds(n: int, d: int) -> float:
    """Return those of a projection on a cone of n rows in d dimensions."""
    return float(_LEAST + _PROJECTION * n * min(n, d) ** 1.5)


def program_seconds(n: int, d: int, n_patterns: int, wide: bool) -> float:
    """Return those of the convex program of one output; ``wide``, by the augmented Lagrangian."""
    if wide:
        return float(_CHECKED * n_patterns * projection_seconds(n, d))
    return float(_STEP * n_patterns * n * d**2)


def columns_seconds(n: int, d: int, outputs: int, n_patterns: int) -> float:
    """Return those of column generation, to an optimum that is proved as far as it can be."""
    r = min(outputs, d)
    questions = _SPLITS if _EXACT < r <= _ENCLOSED else _CLIMBS
    pattern = (_ROUNDS * _CLIMBED + _PASSES * questions) * projection_seconds(n, d)
    if r > _ENCLOSED:
        rows = min(n, _BOUNDING * d)
        pattern += _PASSES * _RELAXED * (_RELAX[0] + _RELAX[1] * min(n, d) * rows**2)
    return float(n_patterns * pattern + _ROUNDS * (_MASTER[0] + _MASTER[1] * n * outputs))
