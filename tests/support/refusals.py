"""What a call refuses, and in which words."""

import pytest

from clifford_rand.errors import ArgumentError


def refused(message, call, *arguments, error=ArgumentError, **options):
    """Assert that a call raises an error whose sentence has the pattern ``message``."""
    with pytest.raises(error, match=message):
        call(*arguments, **options)
