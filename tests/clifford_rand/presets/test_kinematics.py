"""Chains of joints against products of matrices and differences, and steps of damped least squares."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import pga

PLANE, SPACE = cr.Algebra.pga(2), cr.Algebra.pga(3)


def arm(seed=0):
    """Six joints of space: four that turn, a screw, one that slides; and the tool at rest."""
    rng = np.random.default_rng(seed)
    lines = pga.line(SPACE, rng.standard_normal((6, 3)), rng.standard_normal((6, 3)))
    axes = pga.screw_axis(SPACE, lines, [0, 0, 0, 0, 0.3, 0])
    slide = pga.slide_axis(SPACE, rng.standard_normal(3))
    values = axes.coefficients.copy()
    values[5] = slide.values
    home = (0.3 * SPACE.random_multivector(rng, (), 2)).exp()
    return SPACE.multivector(values, 2), lines, home


def flat_chain(lengths):
    """A chain of the plane that lies along e1."""
    places = np.concatenate([[0.0], np.cumsum(lengths)])
    joints = pga.screw_axis(PLANE, pga.point(PLANE, np.stack([places[:-1], np.zeros(len(lengths))], axis=-1)))
    return joints, pga.translator(PLANE, [places[-1], 0.0])


def test_the_tool_moves_by_the_product_of_the_joints_motors():
    screws, lines, home = arm()
    q = np.random.default_rng(1).standard_normal((5, 6))
    found = pga.forward_kinematics(screws, q, home)
    assert found.shape == (5,)
    for i in range(5):
        M = SPACE.scalar(1.0)
        for k in range(4):
            M = M * pga.rotor(SPACE, lines[k], q[i, k])
        M = M * pga.motor(SPACE, lines[4], q[i, 4], 0.3 * q[i, 4])
        u = screws[5].values[:3]
        M = M * pga.translator(SPACE, q[i, 5] * u) * home
        assert found[i].isclose(M, rtol=1e-12)
    partial = pga.joint_motors(screws, q)
    assert partial.shape == (5, 6)
    assert partial[..., 2].isclose(pga.forward_kinematics(screws[:3], q[:, :3]), rtol=1e-14).all()
    assert pga.forward_kinematics(screws, np.zeros(6), home).isclose(home)


def test_a_chain_of_the_plane_by_trigonometry():
    lengths = np.array([1.0, 0.7, 0.4])
    joints, home = flat_chain(lengths)
    q = np.random.default_rng(2).standard_normal((8, 3))
    headings = np.cumsum(q, axis=-1)
    tip = np.stack([(lengths * np.cos(headings)).sum(-1), (lengths * np.sin(headings)).sum(-1)], axis=-1)
    found = pga.forward_kinematics(joints, q, home)
    np.testing.assert_allclose(pga.coordinates(found >> pga.point(PLANE, [0, 0])), tip, atol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_jacobians_are_derivatives(n):
    """dM = -½ Σ dq_i S_i M in the base, -½ M Σ dq_i S_i in the tool, for any bivectors as axes."""
    alg, rng = cr.Algebra.pga(n), np.random.default_rng(n)
    screws = alg.random_multivector(rng, (5,), 2) * 0.5
    home = (0.5 * alg.random_multivector(rng, (), 2)).exp()
    q, h = rng.standard_normal((3, 5)), 1e-6
    M = pga.forward_kinematics(screws, q, home)
    S, T = pga.space_jacobian(screws, q), pga.body_jacobian(screws, q, home)
    assert S.shape == T.shape == (3, 5)
    for i in range(5):
        step = h * np.eye(5)[i]
        above, below = (pga.forward_kinematics(screws, q + s, home) for s in (step, -step))
        slope = (above - below) / (2 * h)
        scale = np.abs(M.values).max() * np.abs(S.values).max()
        np.testing.assert_allclose((slope + S[:, i] * M / 2).values, 0, atol=1e-8 * scale)
        np.testing.assert_allclose((slope + M * T[:, i] / 2).values, 0, atol=1e-8 * scale)


def test_a_step_minimises_what_it_says():
    screws, _, home = arm(3)
    rng = np.random.default_rng(4)
    q, target = rng.standard_normal(6), pga.forward_kinematics(screws, rng.standard_normal(6), home)
    V = (~pga.forward_kinematics(screws, q, home) * target).log() * -2
    weight = np.array([1 / 0.2] * 3 + [1.0] * 3)  # e01, e02, e03 in lengths of 0.2
    J, v = (pga.body_jacobian(screws, q, home).values * weight).T, V.grade(2).values * weight
    for damping in (0.0, 0.3):
        step, error = pga.damped_step(screws, q, target, home, damping=damping, length=0.2)
        np.testing.assert_allclose(J.T @ (J @ step - v) + damping**2 * step, 0, atol=1e-9)
        assert error == pytest.approx(np.linalg.norm(v))
    few, _ = pga.damped_step(screws[:3], q[:3], target, home)
    assert few.shape == (3,)
    many = pga.damped_step(screws, np.stack([q, q]), target, home, damping=[0.0, 0.3])[0]
    np.testing.assert_allclose(many[0], pga.damped_step(screws, q, target, home)[0], rtol=1e-10)


def test_targets_in_reach_are_reached_by_a_batch_of_arms():
    """40 targets within a radian a joint of the start; a local method may end at a fold, but seldom (fixed seed)."""
    screws, _, home = arm(5)
    rng = np.random.default_rng(6)
    start = 0.5 * rng.standard_normal((40, 6))
    target = pga.forward_kinematics(screws, start + 0.3 * rng.standard_normal((40, 6)), home)
    found = pga.inverse_kinematics(screws, target, start, home)
    done = found.converged
    assert done.sum() >= 38
    assert (found.error[done] <= 1e-10).all()
    reached = pga.motor_to_matrix(pga.forward_kinematics(screws, found.q, home)[done])
    np.testing.assert_allclose(reached, pga.motor_to_matrix(target[done]), atol=1e-8)
    again = pga.inverse_kinematics(screws, -target, start, home)  # the same motions
    np.testing.assert_allclose(again.q, found.q, atol=1e-9)
    step, error = pga.damped_step(screws, start, target, home)
    assert step.shape == (40, 6)
    assert (found.error < error).all()


def test_targets_out_of_reach_are_approached():
    joints, home = flat_chain([1.0, 1.0])
    out = pga.inverse_kinematics(joints, pga.translator(PLANE, [3.0, 0.0]), [0.4, -0.7], home, length=1e-3)
    assert not out.converged
    tip = pga.coordinates(pga.forward_kinematics(joints, out.q, home) >> pga.point(PLANE, [0, 0]))
    np.testing.assert_allclose(tip, [2.0, 0.0], atol=1e-3)
    known = pga.inverse_kinematics(joints, home, [0.0, 0.0], home)
    assert known.steps == 0
    assert known.converged


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_what_overflows_converges_nowhere_and_prints_nothing(capfd):
    screws, _, home = arm(5)
    target = pga.forward_kinematics(screws, np.ones(6), home)
    found = pga.inverse_kinematics(screws, target, np.full(6, 0.9), 1e300 * home)
    assert not found.converged
    assert capfd.readouterr().out == ""  # LAPACK's own messages


def test_exact_targets_are_numbers_and_symbols_are_refused():
    import sympy

    joints = pga.screw_axis(PLANE, pga.point(PLANE, [[0.0, 0], [1, 0]]))
    home, target, q = pga.translator(PLANE, [2.0, 0]), pga.translator(PLANE, [1.0, 1]), [0.3, 0.2]
    exact = target.map(lambda x: sympy.Rational(x))
    assert exact.dtype == object
    found = pga.inverse_kinematics(joints, exact, q, home)
    np.testing.assert_allclose(found.q, pga.inverse_kinematics(joints, target, q, home).q)
    np.testing.assert_allclose(pga.damped_step(joints, q, exact)[0], pga.damped_step(joints, q, target)[0])
    for solve in (pga.inverse_kinematics, lambda S, T, q: pga.damped_step(S, q, T)):
        with pytest.raises(cr.ArgumentError, match=r"'target' parameter of .* must be of real numbers. Got symbols"):
            solve(joints, target * sympy.Symbol("s"), q)


def test_steps_of_any_damping_and_lengths_within_reason():
    joints = pga.screw_axis(PLANE, pga.point(PLANE, [[0.0, 0], [1, 0]]))
    step, error = pga.damped_step(joints, [0.3, 0.2], pga.translator(PLANE, [1.0, 1]), damping=1e300)
    assert (step == 0).all() or (abs(step) < 1e-290).all()
    assert error > 0
    with pytest.raises(cr.ArgumentError, match=r"'length' parameter .* must be a number from 1e-100 to 1e100"):
        pga.inverse_kinematics(joints, pga.translator(PLANE, [1.0, 1]), [0.3, 0.2], length=1e-300)
