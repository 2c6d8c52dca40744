"""Few cases of each parametrized test in a run of all: the same ones every time, evenly spread or named by a mark."""

FEW = 1  # of each function: 1, 2, 3 take 44, 60, 67 % of the time of all


def beyond_few(items, few=FEW):
    """Return the items, in order, that are neither slow nor smoke and not among the ``few`` of their function."""
    functions = {}
    for item in items:
        if not any(item.iter_markers("slow")) and not any(item.iter_markers("smoke")):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for cases in functions.values() for item in _unnamed(cases) or _between(cases, few)]


def _unnamed(cases):
    """Return the cases other than those that the mark ``kept`` names, none if it names none of them."""
    kept = {f"[{name}]" for mark in cases[0].iter_markers("kept") for name in mark.args}
    others = [case for case in cases if not case.nodeid.endswith(tuple(kept))]
    return others if len(others) < len(cases) else []


def _between(cases, few):
    """Return the cases other than the middle ones of as many equal parts."""
    kept = {(2 * part + 1) * len(cases) // (2 * few) for part in range(few)} if len(cases) > few else range(few)
    return [case for k, case in enumerate(cases) if k not in kept]
