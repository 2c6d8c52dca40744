"""Rotors and motors from points: known motions, optimality, Horn's eigenvector, weights, degenerate sets, outliers."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import clifford_rand as cr
from clifford_rand.presets import cga, pga
from support.geometry import gaussian
from support.refusals import refused


def random_motor(alg, seed, shape=(), size=1.0):
    return pga.normalized((size * alg.random_multivector(rng=np.random.default_rng(seed), shape=shape, grades=2)).exp())


def moved(M, X):
    return pga.coordinates((M[..., None] if M.ndim else M) >> pga.point(M.algebra, X))


def same(A, B, rtol=1e-12):
    """Equal up to sign, as motions are."""
    sign = np.sign((A * ~B).scalar_part())
    return np.all((A * np.where(sign == 0, 1, sign)).isclose(B, rtol=rtol))


def loss(M, X, Y, w=1.0, s=1.0):
    return (w * np.square(Y - moved(M, s * X)).sum(axis=-1)).sum(axis=-1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_known_motion_is_recovered_in_both_models_over_batches(n):
    alg, X = cr.Algebra.pga(n), gaussian(n, 4, 1, n + 2, n)
    M = random_motor(alg, n, (4, 3), 2.0)
    Y = moved(M, X + np.zeros((4, 3, n + 2, n)))
    found = cr.motor_from_points(alg, X, Y)
    assert found.shape == (4, 3)
    assert same(found, M)
    assert (found.scalar_part() >= 0).all()
    assert (found * ~found).isclose(1, rtol=1e-13).all()
    assert same(cr.motor_from_points(alg, pga.point(alg, X), pga.point(alg, Y)), M)
    assert same(cr.motor_from_points(alg, X + 1e6, Y), M * pga.translator(alg, np.full(n, -1e6)), 1e-8)
    factor = np.exp(gaussian(n + 1, 4, 3))
    scaled, s = cr.motor_from_points(alg, X, moved(M, factor[..., None, None] * X), scale=True)
    assert same(scaled, M)
    np.testing.assert_allclose(s, factor, rtol=1e-12)
    conformal = cr.Algebra.cga(n)
    V, s = cr.motor_from_points(conformal, X, moved(M, factor[..., None, None] * X), scale=True)
    images = cga.down(V[..., None] >> cga.up(conformal, X + np.zeros((4, 3, n + 2, n))))
    np.testing.assert_allclose(images, moved(M, factor[..., None, None] * X), atol=1e-9)
    V = cr.motor_from_points(conformal, X, Y)
    images = cga.down(V[..., None] >> cga.up(conformal, X + np.zeros((4, 3, n + 2, n))))
    np.testing.assert_allclose(images, Y, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("scale", [False, True])
def test_no_motion_near_the_fitted_one_has_a_lower_loss(n, scale):
    alg, rng = cr.Algebra.pga(n), np.random.default_rng(n)
    X, Y, w = gaussian(1, 20, n), gaussian(2, 20, n), rng.random(20)
    M, s = cr.motor_from_points(alg, X, Y, weights=w, scale=True) if scale else (
        cr.motor_from_points(alg, X, Y, weights=w), 1.0,
    )  # fmt: skip
    best = loss(M, X, Y, w, s)
    steps = alg.random_multivector(rng=rng, shape=(300,), grades=2) * np.geomspace(1e-4, 3, 300)
    near = steps.exp() * M
    assert (loss(near, X, Y, w, s) >= best * (1 - 1e-14)).all()
    if scale:
        assert all(loss(M, X, Y, w, s * k) > best for k in (0.9, 0.999, 1.001, 1.1))


@pytest.mark.parametrize("n", [2, 3])
def test_rotors_are_horns_eigenvectors(n):
    """The greatest eigenvector of R ↦ Σ w y·(R x ~R) among all even elements, which are all rotors for n ≤ 3."""
    alg, X, Y, w = cr.Algebra(n), gaussian(3, 15, n), gaussian(4, 15, n), np.random.default_rng(5).random(15)
    R = cr.rotor_from_points(alg, X, Y, weights=w)
    keys = R.keys
    basis = R.new(keys, np.eye(keys.size))
    x, y = alg.vector(X), alg.vector(Y)
    form = np.zeros((keys.size, keys.size))
    for i in range(keys.size):
        for j in range(keys.size):
            form[i, j] = (w * y.inner((basis[i] * x * ~basis[j]).grade(1)).scalar_part()).sum()
    form = (form + form.T) / 2
    values, vectors = np.linalg.eigh(form)
    largest = vectors[:, -1] * np.sign(vectors[0, -1])
    np.testing.assert_allclose(R.coefficients, largest, atol=1e-12)
    total = (w * y.inner(R >> x).scalar_part()).sum()
    assert total == pytest.approx(values[-1], rel=1e-12)


def test_rotors_agree_with_scipy_and_stand_in_every_model():
    X, Y, w = gaussian(6, 30, 3), gaussian(7, 30, 3), np.random.default_rng(8).random(30)
    theirs = Rotation.align_vectors(Y, X, weights=w)[0].as_matrix()
    R = cr.rotor_from_points(cr.Algebra(3), X, Y, weights=w)
    np.testing.assert_allclose(R.vector_matrix(), theirs, atol=1e-12)
    alg = cr.Algebra.pga(3)
    np.testing.assert_allclose(
        pga.motor_to_matrix(cr.rotor_from_points(alg, X, Y, weights=w))[:3, :3], theirs, atol=1e-12
    )
    conformal = cr.Algebra.cga(3)
    V = cr.rotor_from_points(conformal, X, Y, weights=w)
    np.testing.assert_allclose(cga.down(V >> cga.up(conformal, X)), X @ theirs.T, atol=1e-12)
    assert cr.rotor_from_points(cr.Algebra(3), cr.Algebra(3).vector(X), Y, weights=w) == R


def test_weights_count_as_repeated_points():
    alg, X, Y = cr.Algebra.pga(3), gaussian(9, 12, 3), gaussian(10, 12, 3)
    count = np.random.default_rng(11).integers(0, 4, 12)
    M = cr.motor_from_points(alg, X, Y, weights=count)
    assert M.isclose(cr.motor_from_points(alg, np.repeat(X, count, axis=0), np.repeat(Y, count, axis=0)), rtol=1e-12)
    assert M.isclose(cr.motor_from_points(alg, X, Y, weights=1e-200 * count), rtol=1e-12)
    with pytest.raises(AssertionError):
        assert M.isclose(cr.motor_from_points(alg, X, Y), rtol=1e-3)


def test_both_conformal_bases():
    X = gaussian(30, 6, 2)
    for null in (False, True):
        alg = cr.Algebra.cga(2, null_basis=null)
        V = cga.translator(alg, [1, 2]) * cga.rotor(alg, alg.e12, 0.5) * cga.dilator(alg, 2.0)
        found, s = cr.motor_from_points(alg, cga.up(alg, X), V >> cga.up(alg, X), scale=True)
        assert found.isclose(V, rtol=1e-12)
        assert s == pytest.approx(2.0, rel=1e-12)


@pytest.mark.slow
def test_many_points_in_blocks_are_the_same_sums():
    alg, X = cr.Algebra.pga(3), gaussian(12, 50_000, 3)
    M = random_motor(alg, 13)
    Y = moved(M, X) + 0.1 * gaussian(14, 50_000, 3)
    found = cr.motor_from_points(alg, X + 1e4, Y - 1e4)
    centered = [A - A.mean(axis=0) for A in (X, Y)]
    F = Rotation.align_vectors(centered[1], centered[0])[0].as_matrix()
    np.testing.assert_allclose(pga.motor_to_matrix(found)[:3, :3], F, atol=1e-11)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_reflections_are_never_fitted(n):
    alg, X = cr.Algebra.pga(n), gaussian(15, 10, n)
    mirror = np.eye(n)
    mirror[0, 0] = -1
    M = cr.motor_from_points(alg, X, X @ mirror)
    assert (M * ~M).isclose(1, rtol=1e-13)
    best = loss(M, X, X @ mirror)
    for seed in range(200):
        assert loss(random_motor(alg, seed), X, X @ mirror) >= best
    flat = X.copy()
    flat[:, 0] = 0  # n - 1 dimensions: the motion is unique
    known = random_motor(alg, 3)
    assert same(cr.motor_from_points(alg, flat, moved(known, flat)), known)


def test_of_all_optimal_turns_the_least_one():
    alg = cr.Algebra.pga(3)
    line = np.outer(np.linspace(-1, 2, 7), [1.0, 2, 2])
    turn = pga.rotor(alg, alg.e12, 0.7) * pga.rotor(alg, alg.e23, 0.4)
    turned, step = moved(turn, line), np.array([1.0, 0, 0])
    M = cr.motor_from_points(alg, line, turned + step)
    np.testing.assert_allclose(moved(M, line), turned + step, atol=1e-14)
    image = turned[-1]
    least = np.arccos(line[-1] @ image / np.linalg.norm(image) / np.linalg.norm(line[-1]))
    assert pga.screw(M).angle == pytest.approx(least, rel=1e-12)
    one = cr.motor_from_points(alg, [[1.0, 2, 3]], [[2.0, 2, 3]])
    assert one.isclose(pga.translator(alg, [1, 0, 0]), rtol=1e-15)
    opposite = cr.motor_from_points(alg, line, -line)
    np.testing.assert_allclose(moved(opposite, line), -line, atol=1e-13)
    mixed = cr.motor_from_points(alg, np.stack([line, gaussian(0, 7, 3)]), np.stack([line + 1, gaussian(0, 7, 3) + 1]))
    assert mixed.isclose(pga.translator(alg, [1, 1, 1]), rtol=1e-12).all()
    still = cr.rotor_from_points(cr.Algebra(4), np.eye(4)[:2], np.eye(4)[:2])
    assert still.isclose(1, rtol=1e-15)


def test_float32_and_scales():
    alg, X = cr.Algebra.pga(3), gaussian(16, 20, 3).astype(np.float32)
    M = random_motor(alg, 17)
    Y = moved(M, X).astype(np.float32)
    found, s = cr.motor_from_points(alg, X, Y, scale=True)
    assert found.dtype == s.dtype == np.float32
    assert same(found, M.astype(np.float32), 1e-5)
    for size in (1e-100, 1e100):
        rotor = cr.rotor_from_points(cr.Algebra(3), X * np.float64(size), Y * np.float64(size))
        assert rotor.isclose(cr.rotor_from_points(cr.Algebra(3), X, Y), rtol=1e-5)


# ---- outliers


@pytest.mark.parametrize(("noise", "share"), [(None, 0.5), (0.01, 0.6)])
def test_outliers_do_not_move_the_robust_motor(noise, share):
    """Of 100 pairs; the motion of the inliers alone, to the noise of one coordinate.

    The outliers are scattered about the images: of 3,000 such sets of either kind the motion was found each time. Where
    all are about a place ten away, they agree that everything goes there (not found in 15 and 8 of 3,000).
    """
    alg, k = cr.Algebra.pga(3), int(100 * share)
    X, M = gaussian(18, 50, 100, 3), random_motor(alg, 19, (50,), 2.0)
    images = moved(M, X)
    Y = images + 0.01 * gaussian(20, 50, 100, 3)
    Y[:, :k] = images.mean(axis=1, keepdims=True) + 3 * gaussian(21, 50, k, 3)
    found = cr.robust_motor_from_points(alg, X, Y, noise=noise)
    assert found.converged.all()
    clean = moved(cr.motor_from_points(alg, X[:, k:], Y[:, k:]), X)
    rms = np.sqrt(np.square(moved(found.motor, X) - clean).sum(-1).mean(-1))
    assert rms.max() < 0.01
    plain = moved(cr.motor_from_points(alg, X, Y), X)
    assert np.median(np.sqrt(np.square(plain - clean).sum(-1).mean(-1))) > 0.1
    assert np.median(found.weights[:, k:]) > 0.5
    assert np.median(found.weights[:, :k]) < 1e-3
    assert found.weights.shape == (50, 100)
    again = cr.motor_from_points(alg, X, Y, weights=found.weights)
    assert same(again, found.motor, 1e-6)


def test_huber_minimises_its_loss_and_is_least_squares_without_outliers():
    alg = cr.Algebra.pga(2)
    X, M = gaussian(22, 60, 2), random_motor(alg, 23)
    Y = moved(M, X) + 0.05 * np.random.default_rng(24).standard_t(2, (60, 2))
    found = cr.robust_motor_from_points(alg, X, Y, loss="huber", noise=0.05)
    c = 0.05 * np.sqrt(-2 * np.log(1 - 0.8214))  # the quantile of χ² with two degrees of freedom

    def huber(N):
        r = np.linalg.norm(Y - moved(N, X), axis=-1)
        return np.where(r < c, r**2 / 2, c * (r - c / 2)).sum(axis=-1)

    rng = np.random.default_rng(25)
    near = (alg.random_multivector(rng=rng, shape=(200,), grades=2) * np.geomspace(1e-3, 1, 200)).exp() * found.motor
    assert (huber(near) >= huber(found.motor)).all()
    wide = cr.robust_motor_from_points(alg, X, Y, loss="huber", noise=100.0)
    assert wide.motor.isclose(cr.motor_from_points(alg, X, Y), rtol=1e-14)
    assert (wide.weights == 1).all()


def test_robust_fits_of_exact_data_and_with_scale():
    alg = cr.Algebra.pga(3)
    X, M = gaussian(26, 40, 3), random_motor(alg, 27)
    found = cr.robust_motor_from_points(alg, X, moved(M, 2.5 * X), scale=True, weights=np.arange(40.0))
    assert same(found.motor, M)
    assert found.scale == pytest.approx(2.5, rel=1e-13)
    assert found.weights[0] == 0
    one = cr.robust_motor_from_points(alg, [[1.0, 2, 3]], [[2.0, 2, 3]])  # no residual at all
    assert one.motor.isclose(pga.translator(alg, [1, 0, 0]))
    assert one.converged
    assert one.weights == 1
    short = cr.robust_motor_from_points(alg, X, gaussian(28, 40, 3), max_iter=3)
    assert short.n_iter == 3
    assert not short.converged


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda a, X: cr.motor_from_points(cr.Algebra(3), X, X), "'algebra' parameter.*rotor_from_points"),
        (lambda a, X: cr.rotor_from_points(cr.Algebra(2, 2), X, X), "a Euclidean, projective or conformal algebra"),
        (lambda a, X: cr.motor_from_points(a, X, X[:3]), "'Y' parameter of .* must be of as many points as X, 5"),
        (lambda a, X: cr.motor_from_points(a, X[:, :2], X), r"'X' parameter .*shape \(\.\.\., N, 3\)"),
        (lambda a, X: cr.motor_from_points(a, X[:0], X[:0]), r"N ≥ 1. Got shape \(0, 3\)"),
        (lambda a, X: cr.motor_from_points(a, X, X * np.nan), "'Y' parameter of motor_from_points must be finite"),
        (lambda a, X: cr.motor_from_points(a, X, X, weights=-np.ones(5)), "'weights' .* must be not negative"),
        (lambda a, X: cr.motor_from_points(a, X, X, weights=np.zeros(5)), "'weights' .* not all zero"),
        (lambda a, X: cr.motor_from_points(a, X, X, weights=np.ones(4)), r"shape \(\.\.\., 5\). Got shape \(4,\)"),
        (lambda a, X: cr.motor_from_points(a, X * 0, X, scale=True), "of several points where scale is asked for"),
        (lambda a, X: cr.motor_from_points(a, X, X * 0, scale=True), "such that a scale > 0 is best"),
        (lambda a, X: cr.motor_from_points(a, cr.Algebra(3).vector(X), X), r"elements of Algebra\.pga\(3\)"),
        (lambda a, X: cr.rotor_from_points(cr.Algebra(3), cr.Algebra(3).e12, X), r"vectors. Got grades \(2,\)"),
        (lambda a, X: cr.robust_motor_from_points(a, X, X, loss="cauchy"), "one of 'geman-mcclure', 'huber'"),
        (lambda a, X: cr.robust_motor_from_points(a, X, X, noise=0), "'noise' .* must be positive"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_clear_error(work, message):
    refused(message, work, cr.Algebra.pga(3), gaussian(0, 5, 3))
