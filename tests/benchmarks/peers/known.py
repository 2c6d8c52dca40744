"""Cases of the peers' test suites that do not pass on `clifford_rand.compat`, each with its reason."""

CLIFFORD: dict[str, str] = {}
KINGDON: dict[str, str] = {}
GALGEBRA: dict[str, str] = {}
