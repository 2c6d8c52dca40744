"""The example that learns a step of three bodies: its physics, its symmetry, and that it learns."""

import pytest

torch = pytest.importorskip("torch")

from examples.nbody import __main__ as bodies  # noqa: E402

torch.set_num_threads(1)  # its threads wait for each other where tests share the cores


@pytest.mark.slow
def test_the_step_is_physics_and_is_learned():
    position, velocity, mass = bodies.draw(400, 3)
    after = bodies.simulate(position, velocity, mass)
    center = (mass[..., None] * after).sum(1)  # at rest at 0 in `draw`, up to the velocity of the center
    drift = bodies.TIME * (mass[..., None] * velocity).sum(1)
    torch.testing.assert_close(center, drift, atol=1e-5, rtol=1e-5)
    Q = bodies.turned(400, 5)
    torch.testing.assert_close(bodies.simulate(position @ Q, velocity @ Q, mass), after @ Q, atol=1e-4, rtol=1e-4)

    torch.manual_seed(0)
    network = bodies.Equivariant(16)
    test = bodies.draw(500, 99)
    wanted, Q = bodies.simulate(*test), bodies.turned(500, 98)
    free = (test[0] + bodies.TIME * test[1] - wanted).square().mean()
    bodies.train(network, (position, velocity, mass), 250, 0, False)
    with torch.no_grad():
        same = (network(*test) - wanted).square().mean()
        turned = (network(test[0] @ Q, test[1] @ Q, test[2]) - wanted @ Q).square().mean()
    assert same < 0.7 * free  # .48 to .56 of it in four seeds
    assert abs(turned - same) < 1e-3 * same
