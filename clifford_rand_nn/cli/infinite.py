"""What ``clifford-rand fit`` says of intervals for new rows."""

from typing import Any


def promises(model: Any, what: str) -> list[tuple[str, str]]:
    """Say how wide the intervals for ``what`` are, and how that is known; nothing for models without any."""
    if not hasattr(model, "intervals_"):
        return []
    how = "leave-one-out" if model.path_ is None and model.metric_ is None else "rows that were held out"
    wider = ", more where rows are few" if model.intervals_.shares.any() else ""
    half = float(model.intervals_.quantile(0.9)[0])
    return [("intervals", f"90 % of {what} within ±{half:.4g} of the prediction{wider}, by {how}")]
