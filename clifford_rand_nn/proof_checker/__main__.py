"""``python -m proof_checker proof.json``, in the folder that holds this one: checks a proof, prints what it proves."""

import json
import math
import pathlib
import sys
from fractions import Fraction
from typing import Any

from .check import InvalidProofError, Verdict, check, require


def decimal(x: Fraction, up: bool) -> str:
    """Return a decimal with some 12 digits, rounded upwards or downwards."""
    exponent = math.floor((abs(x.numerator).bit_length() - x.denominator.bit_length()) * 0.30103) - 12
    shifted = x / Fraction(10) ** exponent
    digits = str(math.ceil(shifted) if up else math.floor(shifted))
    return f"{digits[0]}.{digits[1:]}e{exponent + len(digits) - 1}" if x else "0"


def report(verdict: Verdict) -> str:
    """Return what is proved, in words, decimals and fractions."""
    objective, bound, family, theorem = verdict
    return f"""valid
    The objective of the network is at most {decimal(objective, up=True)},
    that of {family} at least {decimal(bound, up=False)}:
    the relative gap is at most {decimal(verdict.gap, up=True)}.
    This says nothing about new rows.
theorem    {theorem}
objective <= {objective}
optimum   >= {bound}
gap       <= {verdict.gap}"""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, whose keys have to differ."""
    require(len(dict(pairs)) == len(pairs), "a key is stated twice")
    return dict(pairs)


def main(arguments: list[str]) -> int:
    """Check the file of that name, print what it proves, and return 0; or print why it is not valid, and return 1."""
    sys.set_int_max_str_digits(100_000)  # longer ones take seconds each to read
    try:
        path = pathlib.Path(*arguments)
        print(report(check(json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique), path.parent)))
    except (InvalidProofError, OSError, TypeError, ValueError, RecursionError, MemoryError) as error:
        print(f"not valid: {str(error)[:300]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
