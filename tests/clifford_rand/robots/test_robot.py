"""Robots: kinematics and dynamics by their laws, a closed form of two links, limits, URDF, and what is refused."""

import pickle

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand.presets import pga
from clifford_rand.robots import loops, tree
from clifford_rand.robots.formulas import frame_of
from clifford_rand.robots.search import damped_least_squares, search
from support.refusals import refused
from support.robots import ALG, FILES, URDF, made, robot, screws, state

ROBOTS = {
    **{name: (lambda name=name: robot(name)) for name in FILES},
    **{base: (lambda base=base: made(base)) for base in tree.BASES},
}


@pytest.fixture(params=ROBOTS)
def arm(request):
    return ROBOTS[request.param]()


def test_motors_are_products_of_exponentials():
    rng = np.random.default_rng(1)
    axes, q, home = screws(5, rng, 0.2), rng.standard_normal((4, 5)), pga.translator(ALG, [1, 2, 3])
    axes = cr.concatenate([axes, pga.slide_axis(ALG, rng.standard_normal((1, 3)))])
    q = np.concatenate([q, rng.standard_normal((4, 1))], axis=1)
    chain = pga.Robot(axes, home)
    motors, M, spaced = chain.link_motors(q), ALG.scalar(np.ones(4)), []
    for i in range(6):
        M = M * (axes[i] * (-q[:, i] / 2)).exp()
        assert motors[:, i + 1].isclose(M, rtol=1e-12).all()
        spaced.append((M * axes[i] * ~M).grade(2))
    M = M * home
    assert chain.forward_kinematics(q).isclose(M, rtol=1e-12).all()
    for frame, columns in (("space", spaced), ("body", [(~M * S * M).grade(2) for S in spaced])):
        J = np.stack([S.values for S in columns], axis=-1)[:, [5, 4, 3, 0, 1, 2]] * [[1], [-1], [1], [1], [1], [1]]
        assert np.abs(chain.jacobian(q, frame=frame) - J).max() <= 1e-11


def test_matrices_are_those_of_motors(arm):
    q = state(arm, np.random.default_rng(7))[0]
    for k, link in enumerate(arm.link_names):
        M = arm.forward_kinematics(q, link)
        assert np.abs(pga.motor_to_matrix(M) - arm.link_matrix(q, link)).max() <= 1e-12
        assert np.abs((M - arm.link_motors(q)[k]).values).max() == 0


def test_jacobians_are_derivatives(arm):
    q, v, _ = state(arm, np.random.default_rng(7))
    h = 1e-6
    for link in arm.link_names:
        ahead, back = (arm.link_matrix(arm.moved(q, s * h * v), link) for s in (1, -1))
        rate, M = (ahead - back) / (2 * h), arm.link_matrix(q, link)
        mixed = arm.jacobian(q, link, frame="mixed") @ v
        spin = rate[:3, :3] @ M[:3, :3].T
        expected = np.array([spin[2, 1], spin[0, 2], spin[1, 0], *rate[:3, 3]])
        assert np.abs(mixed - expected).max() <= 1e-7 * max(1, np.abs(expected).max())
        space, body = arm.jacobian(q, link) @ v, arm.jacobian(q, link, frame="body") @ v
        assert np.abs(space - [*mixed[:3], *(mixed[3:] + np.cross(M[:3, 3], mixed[:3]))]).max() <= 1e-11
        assert np.abs(body - np.concatenate([M[:3, :3].T @ mixed[:3], M[:3, :3].T @ mixed[3:]])).max() <= 1e-11


def test_dynamics_are_consistent(arm):
    q, v, a = state(arm, np.random.default_rng(7), (3,))
    M, tau = arm.mass_matrix(q), arm.inverse_dynamics(q, v, a)
    scale = np.abs(tau).max()
    assert np.abs(M - np.swapaxes(M, 1, 2)).max() == 0
    assert np.linalg.eigvalsh(M).min() > 0
    assert np.abs((M @ a[..., None])[..., 0] + arm.bias_forces(q, v) - tau).max() <= 1e-13 * scale
    assert np.abs(arm.forward_dynamics(q, v, tau) - a).max() <= 1e-9
    assert np.abs(arm.bias_forces(q, 0 * v) - arm.gravity_forces(q)).max() == 0


def test_power_of_forces_is_the_rate_of_energy(arm):
    q, v, a = state(arm, np.random.default_rng(7))
    h = 1e-5
    ahead, back = (arm.energy(arm.moved(q, s * h * v + h * h / 2 * a), v + s * h * a) for s in (1, -1))
    power = arm.inverse_dynamics(q, v, a) @ v
    assert abs((ahead - back) / (2 * h) - power) <= 1e-6 * max(1, abs(power), arm.energy(q, v))


def test_energy_is_conserved_in_a_simulation():
    arm = made()
    q, v, _ = state(arm, np.random.default_rng(3))
    before = arm.energy(q, v)
    errors = []
    for steps in (100, 200):
        at, h = np.concatenate([q, v]), 0.1 / steps

        def rate(y):
            return np.concatenate([y[7:], arm.forward_dynamics(y[:7], y[7:], np.zeros(7))])

        for _ in range(steps):  # Runge and Kutta, order 4
            k1 = rate(at)
            k2 = rate(at + h / 2 * k1)
            k3 = rate(at + h / 2 * k2)
            at = at + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(at + h * k3))
        errors.append(abs(arm.energy(at[:7], at[7:]) - before))
    assert errors[1] <= 1e-9 * abs(before)
    assert errors[1] <= errors[0] / 8 or errors[0] <= 1e-12 * abs(before)


def test_mass_matrices_that_are_singular_to_rounding_are_refused():
    """Two joints on one axis, with nothing but joints between them, move the same body alike; a base has no mass."""
    rng = np.random.default_rng(0)
    body = pga.Robot(pga.slide_axis(ALG, [[0, 0, 1.0]]), masses=[1.0], base="floating")
    refused("singular", body.forward_dynamics, [1, 0, 0, 0, 0, 0, 0, 0, 0.0], np.zeros(7), np.zeros(7))
    axis = pga.screw_axis(ALG, pga.line(ALG, rng.standard_normal(3), direction=rng.standard_normal(3)))
    slide = pga.slide_axis(ALG, rng.standard_normal(3))
    for chain in ([axis, axis], [slide, axis, slide, axis], [axis, slide, axis]):
        n = len(chain)
        arm = pga.Robot(cr.stack(chain), masses=[0.0] * (n - 1) + [1.3], centers=[[0.3, 0.2, 0.1]] * n)
        for q in (np.zeros(n), np.zeros((3, n))):
            refused("singular", arm.forward_dynamics, q, np.zeros(n), np.ones(n), error=ValueError)


def test_light_links_and_units_of_joints_leave_a_mass_matrix_regular():
    rng = np.random.default_rng(0)
    slides = pga.slide_axis(ALG, np.linalg.qr(rng.standard_normal((3, 3)))[0])
    light = pga.Robot(slides, masses=[1e9, 1.0, 1e-9])
    q, v, a = rng.standard_normal((3, 3))
    assert np.abs(light.forward_dynamics(q, v, light.inverse_dynamics(q, v, a)) - a).max() <= 1e-6


def test_two_rods_by_their_closed_form():
    """M. W. Spong et al., Robot Modeling and Control, 2006, section 7.4, for rods that hang down at rest."""
    pendulum = robot("two_link")
    (m1, l1), (m2, l2), g = (2.0, 1.0), (1.5, 0.8), 9.81
    r1, r2, i1, i2 = l1 / 2, l2 / 2, m1 * l1**2 / 12, m2 * l2**2 / 12
    (q1, q2), (v1, v2), (a1, a2) = np.random.default_rng(0).standard_normal((3, 2))
    d = m2 * l1 * r2 * np.cos(q2)
    M = np.array([[m1 * r1**2 + m2 * (l1**2 + r2**2) + i1 + i2 + 2 * d, m2 * r2**2 + i2 + d], [0, m2 * r2**2 + i2]])
    M[1, 0] = M[0, 1]
    h = -m2 * l1 * r2 * np.sin(q2)
    coriolis = np.array([h * (2 * v1 * v2 + v2**2), -h * v1**2])
    first, second = np.sin(q1), np.sin(q1 + q2)
    weight = g * np.array([(m1 * r1 + m2 * l1) * first + m2 * r2 * second, m2 * r2 * second])
    tau = pendulum.inverse_dynamics([q1, q2], [v1, v2], [a1, a2])
    assert np.abs(tau - (M @ [a1, a2] + coriolis + weight)).max() <= 1e-12
    assert np.abs(pendulum.mass_matrix([q1, q2]) - M).max() <= 1e-13
    tip = -np.array([l1 * first + l2 * second, 0, l1 * np.cos(q1) + l2 * np.cos(q1 + q2)])
    assert np.abs(pendulum.link_matrix([q1, q2])[:3, 3] - tip).max() <= 1e-13


@pytest.mark.parametrize("shape", [(), (1,), (5,), (16,), (37,), (2, 3), (0,), (0, 4)])
def test_batches_equal_single_configurations(arm, shape):
    q, v, a = state(arm, np.random.default_rng(7), shape)
    n = v.shape[-1]
    results = {
        "fk": (arm.forward_kinematics(q).coefficients, lambda q, v, a: arm.forward_kinematics(q).coefficients, (8,)),
        "jacobian": (arm.jacobian(q), lambda q, v, a: arm.jacobian(q), (6, n)),
        "inverse": (arm.inverse_dynamics(q, v, a), arm.inverse_dynamics, (n,)),
        "mass": (arm.mass_matrix(q), lambda q, v, a: arm.mass_matrix(q), (n, n)),
    }
    for name, (whole, one, last) in results.items():
        assert whole.shape == (*shape, *last), name
        for place in np.ndindex(shape):
            assert np.abs(whole[place] - one(q[place], v[place], a[place])).max() <= 1e-12, name


def test_batches_broadcast_and_threads_agree():
    arm = made()
    q, v, a = state(arm, np.random.default_rng(0), (20_001,))
    tau = arm.inverse_dynamics(q, v, a)
    assert np.abs(tau[-3:] - arm.inverse_dynamics(q[-3:], v[-3:], a[-3:])).max() == 0
    grid = arm.inverse_dynamics(q[:4, None], v[:3], a[0])
    assert grid.shape == (4, 3, 7)
    assert np.abs(grid[2, 1] - arm.inverse_dynamics(q[2], v[1], a[0])).max() == 0
    refused("such that their batch shapes broadcast", arm.inverse_dynamics, q[:4], v[:3], a[0], error=ValueError)


@pytest.mark.parametrize("angle", [0.0, -2.5, 1e3, 4.7e6, -1e9])
def test_large_angles(angle):
    turn = pga.Robot(pga.screw_axis(ALG, pga.line(ALG, [[0, 0, 0]], pga.direction(ALG, [0, 0, 1]))))
    expected = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert np.abs(turn.link_matrix([angle])[:2, :2] - expected).max() <= 1e-15


def test_inverse_kinematics_reaches_within_limits():
    arm = robot("arm7")
    rng = np.random.default_rng(4)
    wanted = rng.uniform(0.8 * arm.lower, 0.8 * arm.upper, (12, 7))
    target = arm.forward_kinematics(wanted)
    found = arm.inverse_kinematics(target, n_restarts=20, rng=0)
    assert found.converged.all()
    assert ((found.q >= arm.lower) & (found.q <= arm.upper)).all()
    left = pga.screw(~arm.forward_kinematics(found.q) * target)
    assert np.abs(left.angle).max() <= 1e-9
    one = arm.inverse_kinematics(target[0], wanted[0] + 0.1)
    assert (one.q.shape, bool(one.converged)) == ((7,), True)
    assert not arm.inverse_kinematics(pga.translator(ALG, [5, 0, 0]), np.zeros(7)).converged
    again = arm.inverse_kinematics(-target, found.q + 0.01)  # the same motions
    assert np.abs(again.q - arm.inverse_kinematics(target, found.q + 0.01).q).max() <= 1e-9
    assert arm.inverse_kinematics(target[0], wanted[0])[2:] == (0, True)  # no iteration


@pytest.mark.parametrize(("rank", "n"), [(2, 4), (4, 4), (6, 7)])
def test_steps_solve_the_damped_normal_equations_and_singular_directions_get_none(rank, n):
    """With no damping it is the step of least norm, as NumPy finds it, also where rounding alone makes J regular."""
    rng = np.random.default_rng(4)
    J, V = rng.standard_normal((6, rank)) @ rng.standard_normal((rank, n)), rng.standard_normal(6)
    steps = damped_least_squares(np.stack([J] * 4), V, np.array([0.0, 1e-15, 0.3, 1e300]))
    np.testing.assert_allclose(steps[:2], [np.linalg.lstsq(J, V, rcond=1e-12)[0]] * 2, rtol=1e-9)
    assert np.abs(J.T @ (J @ steps[2] - V) + 0.3**2 * steps[2]).max() <= 1e-12
    assert np.abs(steps[3]).max() < 1e-290


def test_joints_at_their_limits_leave_the_step_to_others():
    """The minimum of |J q - b| over q_1 ≤ 1 is at q_1 = 1, q_2 = ((3 - 1) + 0.5)/2; without limits at q_1 = 2.5."""
    J, b = np.array([[1.0, 1], [0, 1]]), np.array([3, 0.5])
    limits = np.array([-5.0, -5]), np.array([1.0, 5])

    def errors(q):
        return b - q @ J.T, np.broadcast_to(J, (*q.shape[:-1], 2, 2))

    found = search(errors, np.array([[0.0, 0], [1, 1]]), limits, 1e-12, 100)
    np.testing.assert_allclose(found.q, [[1, 1.25]] * 2, rtol=1e-9)
    assert not found.converged.any()
    mirrored = search(lambda q: (-b - q @ J.T, errors(q)[1]), np.zeros(2), (-limits[1], -limits[0]), 1e-12, 100)
    np.testing.assert_allclose(mirrored.q, [-1, -1.25], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("far", [1e150, 1e300])
def test_what_overflows_converges_nowhere_and_prints_nothing(far, capfd):
    lines = pga.line(ALG, [[0, 0, 0], [1, 0, 0]], pga.direction(ALG, [0, 0, 1]))
    rods = pga.Robot(pga.screw_axis(ALG, lines), pga.translator(ALG, [2, 0, 0]))
    found = rods.inverse_kinematics(pga.translator(ALG, [[far, 0, 0], [1, 1, 0]]), [0.9, 0.9])
    assert found.converged.tolist() == [False, True]
    assert capfd.readouterr().out == ""  # LAPACK's own messages
    out = rods.inverse_kinematics(pga.translator(ALG, [3, 0, 0]), [0.4, -0.7], length=1e-3)
    assert not out.converged
    assert np.abs(rods.link_matrix(out.q)[:3, 3] - [2, 0, 0]).max() <= 1e-3


def test_manipulability_vanishes_where_a_direction_is_lost():
    pendulum, arm = robot("two_link"), robot("arm7")
    assert pendulum.manipulability([0.3, 0.0]).shape == ()
    assert arm.manipulability(np.zeros(7)) <= 1e-14
    q = np.random.default_rng(0).uniform(-1, 1, (4, 7))
    J = arm.jacobian(q, frame="mixed")
    assert np.allclose(arm.manipulability(q), np.prod(np.linalg.svd(J)[1], axis=-1), rtol=1e-10)


def test_poses_are_those_of_scipy():
    rotations = pytest.importorskip("scipy.spatial.transform").Rotation
    xyz, rpy = np.random.default_rng(0).standard_normal((2, 3))
    X = np.array(frame_of(tree.pose(xyz, rpy)))
    assert np.abs(X[:9].reshape(3, 3) - rotations.from_euler("xyz", rpy).as_matrix()).max() <= 1e-15
    assert np.abs(X[9:] - xyz).max() <= 1e-15


PAIR = screws(2, np.random.default_rng(0))
BAD = [
    (lambda a: pga.Robot(1.0), "'screws' parameter of Robot must be a multivector of Algebra.pga"),
    (lambda a: pga.Robot(pga.slide_axis(ALG, [0, 0, 1.0])), "bivectors, one a joint. Got shape"),
    (lambda a: pga.Robot(PAIR, 2 * pga.translator(ALG, [0, 0, 1])), "motors of length 1"),
    (lambda a: pga.Robot(PAIR, parents=[0, 1]), "'parents' parameter of Robot"),
    (lambda a: pga.Robot(PAIR, parents=[1, 0]), "must be a tree"),
    (lambda a: pga.Robot(PAIR, masses=[1, 2, 3]), "'masses' parameter of Robot must be of"),
    (lambda a: pga.Robot(PAIR, base="flying"), "'base' parameter of Robot must be one of"),
    (lambda a: pga.Robot(PAIR, gravity=[1, 2]), r"'gravity' parameter of Robot must be of shape"),
    (lambda a: a.forward_kinematics([1.0]), r"'q' parameter of forward_kinematics must be of shape \(..., 7\)"),
    (lambda a: a.forward_kinematics(np.zeros(7), "hand"), "'link' parameter of forward_kinematics must be one of"),
    (lambda a: a.jacobian(np.zeros(7), frame="world"), "'frame' parameter of jacobian must be one of 'space'"),
    (lambda a: a.inverse_dynamics(np.zeros(7), "fast", np.zeros(7)), "'v' parameter of inverse_dynamics must be"),
    (lambda a: a.inverse_kinematics(1.0), "'target' parameter of inverse_kinematics must be a multivector"),
    (lambda a: a.inverse_kinematics(ALG.scalar(1.0), length=1e-300), "'length' parameter of .* from 1e-100 to 1e100"),
    (lambda a: a.inverse_kinematics(ALG.scalar(1.0), length=1e101), "'length' parameter of .* from 1e-100 to 1e100"),
    (lambda a: a.inverse_kinematics(sp.Symbol("s") * ALG.scalar(1)), "'target' parameter of .* of real numbers"),
    (lambda a: made("floating").inverse_kinematics(ALG.scalar(1)), "'base' parameter of inverse_kinematics"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD)
def test_errors_say_what_is_wrong(call, message):
    refused(message, call, made(), error=ValueError)


JOINT = (
    '<robot name="r"><link name="a"/><link name="b"/>'
    '<joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint></robot>'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "'path' parameter of Robot.from_urdf must be a URDF file"),
        ('<robot name="r"><link name="a"/><link name="b"/></robot>', "'path' parameter of .* must be a URDF file"),
        (JOINT.format("planar", ""), "Got joint 'j', a planar joint"),
        (JOINT.format("revolute", '<mimic joint="k"/>'), "Got joint 'j', which has mimic"),
        (JOINT.format("continuous", '<axis xyz="0 0 0"/>'), "joint 'j' with axis 0 0 0"),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    pytest.importorskip("urdf_parser_py")
    (tmp_path / "r.urdf").write_text(text)
    refused(message, pga.Robot.from_urdf, tmp_path / "r.urdf", error=ValueError)
    refused(r"none\.urdf", pga.Robot.from_urdf, tmp_path / "none.urdf", error=FileNotFoundError)


def test_without_the_parser_the_error_names_the_command(monkeypatch):
    monkeypatch.setattr("clifford_rand.errors.available", lambda module: False)
    with pytest.raises(cr.MissingDependencyError, match=r"Robot\.from_urdf needs urdf_parser_py\.urdf: pip install"):
        pga.Robot.from_urdf(URDF / "arm7.urdf")


def test_arrays_of_every_layout_have_one_machine_code():
    arm = made()
    q = np.random.default_rng(0).standard_normal((7, 4)).T
    read_only = np.ascontiguousarray(q)
    read_only.setflags(write=False)
    expected = arm.jacobian(np.array(q, order="C"))
    codes = len(loops.jacobians.signatures)
    for odd in (q, read_only, q.astype(np.float32).astype(np.float64), q.tolist(), read_only[::-1][::-1]):
        assert np.abs(arm.jacobian(odd) - expected).max() <= 1e-6
    assert len(loops.jacobians.signatures) == codes


def test_a_pickled_robot_is_the_same():
    arm = made("floating")
    q, v, a = state(arm, np.random.default_rng(0))
    tau = arm.inverse_dynamics(q, v, a)
    again = pickle.loads(pickle.dumps(arm))
    assert np.abs(again.inverse_dynamics(q, v, a) - tau).max() == 0
    assert again.link_names == arm.link_names
