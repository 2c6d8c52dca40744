"""Three bodies, one step: an equivariant network of multivectors beside a multilayer perceptron of the same size.

    python -m examples.nbody [--train 400] [--steps 1200] [--seeds 3]

Positions, velocities and masses in; positions a time 0.5 later out, by 50 steps of leapfrog with softened gravity. All
systems lie near the plane of e1 and e2; errors are printed for such ones and for ones turned and reflected at random.
"""

import argparse
import math
import time

import torch
from torch import Tensor, nn

import clifford_rand as cr

BODIES, TIME, STEPS, SOFT = 3, 0.5, 50, 0.1


def simulate(position: Tensor, velocity: Tensor, mass: Tensor) -> Tensor:
    """Return the positions (n, bodies, 3) after a time `TIME` of softened gravity, by leapfrog."""
    step = TIME / STEPS

    def acceleration(position: Tensor) -> Tensor:
        apart = position[:, None, :, :] - position[:, :, None, :]
        inverse = ((apart**2).sum(-1) + SOFT**2) ** -1.5
        pull: Tensor = (mass[:, None, :, None] * inverse[..., None] * apart).sum(2)
        return pull

    for _ in range(STEPS):
        velocity = velocity + acceleration(position) * (step / 2)
        position = position + velocity * step
        velocity = velocity + acceleration(position) * (step / 2)
    return position


def draw(n: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return positions, velocities and masses of n systems near the plane of e1 and e2, their center at rest at 0."""
    generator = torch.Generator().manual_seed(seed)
    flat = torch.tensor([1.0, 1.0, 0.1])
    position = torch.randn(n, BODIES, 3, generator=generator) * flat
    velocity = 0.5 * torch.randn(n, BODIES, 3, generator=generator) * flat
    mass = 0.5 + torch.rand(n, BODIES, generator=generator)
    share = mass[..., None] / mass.sum(1)[:, None, None]
    return position - (share * position).sum(1, True), velocity - (share * velocity).sum(1, True), mass


def turned(n: int, seed: int) -> Tensor:
    """Return n random orthogonal matrices, half of them reflections."""
    generator = torch.Generator().manual_seed(seed)
    Q: Tensor = torch.linalg.qr(torch.randn(n, 3, 3, generator=generator))[0]
    return Q


class Equivariant(nn.Module):
    """Vectors and masses as multivectors of R³, two product layers, and a correction of free flight."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        alg = cr.Algebra(3)
        layers = cr.layers
        self.body = nn.Sequential(
            layers.EquivariantLinear(alg, 3 * BODIES, channels),
            layers.GeometricProductLayer(alg, channels),
            layers.GradeGate(alg, channels),
            layers.GeometricProductLayer(alg, channels),
            layers.GradeGate(alg, channels),
            layers.GeometricProductLayer(alg, channels),
            layers.EquivariantLinear(alg, channels, BODIES),
        )

    def forward(self, position: Tensor, velocity: Tensor, mass: Tensor) -> Tensor:
        """Return the positions after the step."""
        vectors = nn.functional.pad(torch.cat([position, velocity], dim=1), (1, 4))
        scalars = nn.functional.pad(mass[..., None], (0, 7))
        moved: Tensor = self.body(torch.cat([vectors, scalars], dim=1))
        return position + TIME * velocity + moved[..., 1:4]


class Plain(nn.Module):
    """The same numbers in a row, through two hidden layers, and the same correction of free flight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(7 * BODIES, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 3 * BODIES)
        )

    def forward(self, position: Tensor, velocity: Tensor, mass: Tensor) -> Tensor:
        """Return the positions after the step."""
        row = torch.cat([position.flatten(1), velocity.flatten(1), mass], dim=1)
        moved: Tensor = self.body(row)
        return position + TIME * velocity + moved.reshape(-1, BODIES, 3)


def size_of(network: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in network.parameters())


def train(network: nn.Module, data: tuple[Tensor, Tensor, Tensor], steps: int, seed: int, turn: bool) -> None:
    """Adam on the squared error, 64 systems at a time; with ``turn`` each is turned at random first."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    target = simulate(*data)
    for number in range(steps):
        chosen = torch.randint(len(target), (64,), generator=generator)
        position, velocity, mass, wanted = (part[chosen] for part in (*data, target))
        if turn:
            Q = turned(64, 1000 * seed + number)
            position, velocity, wanted = (part @ Q for part in (position, velocity, wanted))
        loss = (network(position, velocity, mass) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def main() -> None:
    """Train all three for each seed, and print their errors on turned systems and on systems as in training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=400)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    start = time.perf_counter()
    test = draw(2000, 99)
    Q = turned(2000, 98)
    wanted = simulate(*test)
    free = (test[0] + TIME * test[1] - wanted).square().mean()
    print(f"free flight: squared error {free:.3g}")
    errors: dict[str, list[tuple[float, float]]] = {}
    for seed in range(given.seeds):
        torch.manual_seed(seed)
        equivariant = Equivariant(16)
        count = size_of(equivariant)
        width = round((-(10 * BODIES + 2) + math.sqrt((10 * BODIES + 2) ** 2 + 4 * count)) / 2)
        networks = {"multivectors": equivariant, "plain": Plain(width), "plain, turned data": Plain(width)}
        for name, network in networks.items():
            train(network, draw(given.train, seed), given.steps, seed, name.endswith("data"))
            with torch.no_grad():
                same = (network(*test) - wanted).square().mean()
                turns = (network(test[0] @ Q, test[1] @ Q, test[2]) - wanted @ Q).square().mean()
            errors.setdefault(f"{name} ({size_of(network)} parameters)", []).append((float(same), float(turns)))
    print(f"{given.train} systems, {given.steps} steps, {given.seeds} seeds: median squared error")
    for name, found in errors.items():
        same_error, turned_error = torch.tensor(found).median(0).values.tolist()
        print(f"  {name:40} as in training {same_error:.3g}   turned {turned_error:.3g}")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
