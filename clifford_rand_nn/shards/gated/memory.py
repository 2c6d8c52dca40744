"""What a fit of the gated network takes of memory, beside libraries, before anything is read."""

from clifford_rand_nn.row_sums.engine import Need
from clifford_rand_nn.row_sums.sums import BLOCK_ROWS
from clifford_rand_nn.shards.gated.passes import block_rows
from clifford_rand_nn.shards.source import Shards

_GATED = 36.0  # bytes for a number of the sample while gates are drawn and the map is made, beside three copies of it
_STATES = 16  # arrays of the size of the network: the solver's, and those of the start on the sample
_LEVELS = 12  # of the tree of sums that wait: of 4096 parts, and of the fewer ones of a plan's trial
_WAITING = 3  # sums of a worker: of its part, of a block, and those that wait to be added


def needed(shards: Shards, rows: int, gates: int, outputs: int) -> Need:
    """Return the bytes of a fit with a sample of so many rows."""
    width, size = shards.d + 1, shards.dtype.itemsize
    network = 8.0 * width * gates * outputs
    numbers = 8.0 * (3 * gates * outputs + 10 * outputs)  # of a row: products with the gates, targets and losses
    sample = min(rows, shards.n) * (width * (size + 2 * max(4, size) + _GATED) + numbers)
    return Need(
        always=sample + network * (_STATES + _LEVELS),
        sums=_WAITING * network,
        row=width * (size + 8.0) + numbers,
        rows=max(BLOCK_ROWS, block_rows(width + gates * outputs)),
    )
