"""Few cases of each parametrized test in a run of all: evenly spread from first to last, the same every time."""

FEW = 2  # of each function: the least that has two values of every parameter; 1, 2, 3 take 44, 60, 67 % of the time


def beyond_few(items, few=FEW):
    """Return the items, in order, that are neither slow nor smoke and not among the ``few`` of their function."""
    functions = {}
    for item in items:
        if not any(item.iter_markers("slow")) and not any(item.iter_markers("smoke")):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for cases in functions.values() for item in _between(cases, few)]


def _between(cases, few):
    if len(cases) <= few:
        return []
    kept = {round(k * (len(cases) - 1) / max(few - 1, 1)) for k in range(few)}
    return [case for k, case in enumerate(cases) if k not in kept]
