"""Names that the examples of docstrings use without importing them: `tests/support/doctest_names.py`."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def doctest_names(doctest_namespace, pytestconfig):
    if pytestconfig.option.doctestmodules:
        from support.doctest_names import names

        doctest_namespace.update(names())
