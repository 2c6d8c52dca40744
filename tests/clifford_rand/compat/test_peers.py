"""The same random multivectors through clifford and kingdon (extra ``bench``); skipped where they are missing."""

import numpy as np
import pytest

import clifford_rand as cr
from support.blades import all_blades
from support.interpreted import interpreted

SIGNATURES = [(2, 0, 0), (3, 0, 0), (1, 3, 0), (2, 0, 1), (3, 0, 1), (4, 1, 0), (0, 2, 1)]


@pytest.fixture(params=SIGNATURES, ids=str)
def counts(request):
    return request.param


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_clifford(counts):
    rng = np.random.default_rng(0)
    with interpreted("clifford", "sparse") as clifford:
        layout, _ = clifford.Cl(*counts)
        alg = cr.Algebra(signature=layout.sig)
        a, b = rng.standard_normal((2, 2**alg.d))
        x, y = layout.MultiVector(a), layout.MultiVector(b)
        theirs = {"*": x * y, "^": x ^ y, "~": ~x, "lc": x.lc(y)}
        theirs |= {f"grade {k}": x(k) for k in range(alg.d + 1)}
    x, y = alg.multivector(a), alg.multivector(b)
    ours = {"*": x * y, "^": x ^ y, "~": ~x, "lc": x.lc(y)} | {f"grade {k}": x.grade(k) for k in range(alg.d + 1)}
    for name, other in theirs.items():
        np.testing.assert_allclose(ours[name].dense().values, other.value, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore")
def test_kingdon(counts):
    kingdon = pytest.importorskip("kingdon")
    p, q, r = counts
    if r > 1:
        pytest.skip("another order of names")
    other = kingdon.Algebra(p, q, r)
    alg = cr.Algebra(p, q, r)
    assert tuple(other.signature) == alg.signature
    blades = ["e" + "".join(str(alg.names.vectors[i]) for i in blade) for blade in all_blades(alg.d)]
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 2**alg.d))

    def there(values):
        return other.multivector(**dict(zip(blades, values, strict=True)))

    def back(theirs):
        return np.array([float(getattr(theirs, blade)) for blade in blades])

    ours, theirs = (alg.multivector(a), alg.multivector(b)), (there(a), there(b))
    for name, mine, result in [
        ("*", ours[0] * ours[1], theirs[0] * theirs[1]),
        ("^", ours[0] ^ ours[1], theirs[0] ^ theirs[1]),
        ("~", ~ours[0], ~theirs[0]),
        ("|", ours[0] | ours[1], theirs[0] | theirs[1]),
        ("&", ours[0] & ours[1], theirs[0] & theirs[1]),
        *[(f"grade {k}", ours[0].grade(k), theirs[0].grade(k)) for k in range(alg.d + 1)],
    ]:
        np.testing.assert_allclose(mine.dense().values, back(result), atol=1e-12, err_msg=name)
