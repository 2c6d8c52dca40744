"""Robots beside Pinocchio on three URDF files, to 1e-10 relative to the largest number."""

import numpy as np
import pytest

from clifford_rand.presets import pga
from support.robots import FILES, URDF, robot, state

pin = pytest.importorskip("pinocchio")


def near(ours, theirs):
    return np.abs(ours - theirs).max() <= 1e-10 * max(1, np.abs(theirs).max())


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", FILES)
def test_kinematics_and_dynamics_are_those_of_pinocchio(name, base):
    ours, rng, is_free = robot(name, base=base), np.random.default_rng(0), base == "floating"
    model = pin.buildModelFromUrdf(str(URDF / f"{name}.urdf"), *[pin.JointModelFreeFlyer()] * is_free)
    data, joints = model.createData(), [model.joints[model.getJointId(joint)] for joint in ours.joint_names]
    places = np.array([*[3, 4, 5, 0, 1, 2] * is_free, *(joint.idx_v for joint in joints)])  # angular first
    frames = {"space": pin.WORLD, "body": pin.LOCAL, "mixed": pin.LOCAL_WORLD_ALIGNED}

    def configuration(q):
        found = pin.neutral(model)
        if is_free:
            rotation, p = pga.motor_to_rotation(ours.algebra.multivector(q[:8], grades=(0, 2, 4)))
            found[:7] = [*p, *rotation.as_quat()]
        for x, joint in zip(q[8 * is_free :], joints, strict=True):
            found[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        return found

    def velocity(v):
        found = np.zeros(model.nv)
        found[places] = v
        return found

    for _ in range(10):
        q, v, a = state(ours, rng)
        q_pin, v_pin, a_pin = configuration(q), velocity(v), velocity(a)
        pin.computeAllTerms(model, data, q_pin, v_pin)
        pin.updateFramePlacements(model, data)
        for link in ours.link_names:
            frame = model.getFrameId(link)
            assert near(ours.link_matrix(q, link), data.oMf[frame].homogeneous)
            for key, kind in frames.items():
                J = pin.getFrameJacobian(model, data, frame, kind)[[3, 4, 5, 0, 1, 2]][:, places]
                assert near(ours.jacobian(q, link, frame=key), J)
        assert near(ours.mass_matrix(q), (np.triu(data.M) + np.triu(data.M, 1).T)[np.ix_(places, places)])
        assert near(ours.bias_forces(q, v), data.nle[places])
        assert near(ours.energy(q, v), data.kinetic_energy + data.potential_energy)
        assert near(ours.gravity_forces(q), pin.computeGeneralizedGravity(model, data, q_pin)[places])
        tau = pin.rnea(model, data, q_pin, v_pin, a_pin)
        assert near(ours.inverse_dynamics(q, v, a), tau[places])
        if not is_free:  # a base of these files has no mass
            assert near(ours.forward_dynamics(q, v, tau[places]), pin.aba(model, data, q_pin, v_pin, tau)[places])
        p = ours.link_matrix(ours.moved(q, v), ours.link_names[0])[:3, 3]
        assert near(p, pin.integrate(model, q_pin, v_pin)[:3] if is_free else np.zeros(3))
