"""Robots beside Pinocchio on three URDF files, to 1e-10 relative to the largest number."""

import numpy as np
import pytest

from clifford_rand.presets import pga
from support.robots import FILES, URDF, robot, state

pin = pytest.importorskip("pinocchio")


class Beside:
    """Pinocchio's model of a file, with joints in the order of ours and twists angular first."""

    def __init__(self, name, ours):
        self.model = pin.buildModelFromUrdf(str(URDF / f"{name}.urdf"))
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in ours.joint_names]
        self.places = np.array([joint.idx_v for joint in self.joints])

    def configuration(self, q):
        found = pin.neutral(self.model)
        for x, joint in zip(q, self.joints, strict=True):
            found[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        return found

    def velocity(self, v):
        found = np.zeros(self.model.nv)
        found[self.places] = v
        return found


def near(ours, theirs):
    return np.abs(ours - theirs).max() <= 1e-10 * max(1, np.abs(theirs).max())


@pytest.mark.parametrize("name", FILES)
def test_kinematics_and_dynamics_are_those_of_pinocchio(name):
    ours = robot(name)
    beside = Beside(name, ours)
    model, data, places = beside.model, beside.data, beside.places
    rng = np.random.default_rng(0)
    frames = {"space": pin.WORLD, "body": pin.LOCAL, "mixed": pin.LOCAL_WORLD_ALIGNED}
    for _ in range(20):
        q, v, a = rng.standard_normal((3, len(places)))
        q_pin, v_pin, a_pin = beside.configuration(q), beside.velocity(v), beside.velocity(a)
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
        assert near(ours.forward_dynamics(q, v, tau[places]), pin.aba(model, data, q_pin, v_pin, tau)[places])


@pytest.mark.parametrize("name", FILES)
def test_a_floating_base_is_that_of_pinocchio(name):
    ours = robot(name, base="floating")
    model = pin.buildModelFromUrdf(str(URDF / f"{name}.urdf"), pin.JointModelFreeFlyer())
    data, n = model.createData(), len(ours.joint_names)
    joints = [model.joints[model.getJointId(joint)] for joint in ours.joint_names]
    places = np.array([3, 4, 5, 0, 1, 2, *(joint.idx_v for joint in joints)])  # of our velocities, angular first
    q, v, a = state(ours, np.random.default_rng(0))
    rotation, p = pga.motor_to_rotation(ours.algebra.multivector(q[:8], grades=(0, 2, 4)))
    q_pin = np.concatenate([p, rotation.as_quat(), np.zeros(model.nq - 7)])
    for x, joint in zip(q[8:], joints, strict=True):
        q_pin[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
    v_pin, a_pin = np.zeros((2, n + 6))
    v_pin[places], a_pin[places] = v, a
    pin.computeAllTerms(model, data, q_pin, v_pin)
    pin.updateFramePlacements(model, data)
    for link in ours.link_names:
        frame = model.getFrameId(link)
        assert near(ours.link_matrix(q, link), data.oMf[frame].homogeneous)
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)[[3, 4, 5, 0, 1, 2]][:, places]
        assert near(ours.jacobian(q, link, frame="body"), J)
    assert near(ours.mass_matrix(q), (np.triu(data.M) + np.triu(data.M, 1).T)[np.ix_(places, places)])
    assert near(ours.inverse_dynamics(q, v, a), pin.rnea(model, data, q_pin, v_pin, a_pin)[places])
    assert near(ours.energy(q, v), data.kinetic_energy + data.potential_energy)
    moved = pin.integrate(model, q_pin, v_pin)
    assert near(ours.link_matrix(ours.moved(q, v), ours.link_names[0])[:3, 3], moved[:3])
