"""Fitted models as modules of PyTorch: the same outputs, and the problem that was solved goes on from its optimum."""

import copy
import io

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkRegressor, ConvexReLURegressor, GatedReLURegressor, export_torch
from support.exported import KINDS, fitted, kernel_network, rows_of, training

torch = pytest.importorskip("torch")


def said(values):
    return values.detach().numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_says_what_the_model_says(kind):
    model, X = fitted(kind), rows_of(kind)
    module, x = model.to_torch(), torch.tensor(X)
    assert all(one.dtype == torch.float64 for one in module.parameters())
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(said(module(x)), model.predict(X), rtol=1e-9, atol=1e-11)
        if hasattr(model, "predict_interval"):
            ends = [said(end) for end in module.interval(x)]
            np.testing.assert_allclose(ends, model.predict_interval(X), rtol=1e-9, atol=1e-11)
            half = [said(end) for end in model.to_torch(coverage=0.5).interval(x)]
            np.testing.assert_allclose(half, model.predict_interval(X, coverage=0.5), rtol=1e-9, atol=1e-11)
        return
    np.testing.assert_allclose(said(module(x)), model.decision_function(X), rtol=1e-9, atol=1e-11)
    labels = module.labels(x).numpy()
    assert (labels if labels.ndim == 2 else np.array(module.classes)[labels]).tolist() == model.predict(X).tolist()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(said(module.probabilities(x)), model.predict_proba(X), rtol=1e-9)
    else:
        with pytest.raises(ArgumentError, match="of a model with the result 'predict_proba'"):
            module.probabilities(x)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_of_the_precision_of_the_module(kind):
    """Computed in float64: sums over the rows of a kernel lose four digits in float32."""
    model, X = fitted(kind), rows_of(kind).astype(np.float16)
    wanted, module = getattr(model, "decision_function", model.predict)(X), model.to_torch()
    for dtype, tol in ((torch.float16, 1e-3), (torch.float32, 1e-6), (torch.float64, 1e-9)):
        module, x = module.to(dtype).to("cpu"), torch.tensor(X).to(dtype)
        results = [module(x), *([module.probabilities(x)] if hasattr(model, "predict_proba") else [])]
        assert {result.dtype for result in (*results, module.penalty())} == {dtype}
        np.testing.assert_allclose(said(results[0]), wanted, rtol=tol, atol=tol)
    if hasattr(model, "classes_"):
        assert not module.labels(x).is_floating_point()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "search"])
def test_loss_and_penalty_are_the_objective_that_was_minimised(kind):
    model = fitted(kind)
    module, proof = model.to_torch(), model.certificate_
    assert objective(kind, module).item() == pytest.approx(proof.objective, rel=1e-9)


def objective(kind, module):
    """Return mean loss + beta · penalty on the rows of training."""
    model = fitted(kind)
    X, targets = trained_on(kind)
    f, y = module.outputs(torch.tensor(X)), torch.tensor(targets)
    if model.certificate_.loss == "squared":
        loss = 0.5 * ((f - y) ** 2).sum(dim=1).mean()
    elif y.shape[1] == 1:
        loss = torch.nn.functional.softplus(-y * f).mean()
    else:
        loss = torch.nn.functional.cross_entropy(f, y.argmax(dim=1))
    return loss + model.beta_ * module.penalty()


def trained_on(kind):
    """Return the rows of training and their targets (n, C), as the loss has them."""
    model = fitted(kind)
    X, y = training(kind)
    if not hasattr(model, "classes_"):
        return X, y.reshape(len(y), -1)
    if y.ndim == 2:
        return X, 2.0 * y - 1
    index = np.searchsorted(model.classes_, y)
    if len(model.classes_) == 2:
        return X, (2.0 * index - 1)[:, None]
    signed = model.certificate_.loss == "squared"
    return X, np.where(np.eye(len(model.classes_), dtype=bool)[index], 1.0, -1.0 if signed else 0.0)


CONVEX = [f"network, {what}" for what in ("two classes", "three classes", "two numbers")]
CONVEX += [f"gated, {what}" for what in ("three classes", "two numbers", "squared norms")]


@pytest.mark.parametrize("kind", [*CONVEX, "infinitely many gates"])
def test_the_gradient_of_a_convex_objective_vanishes_at_the_optimum(kind):
    model = fitted(kind)
    module = model.to_torch()
    at_optimum = gradient(objective(kind, module), module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter *= 1.1
    # its square is at most 2 L times the gap, at most 1e-6 of the objective; exact solvers leave 1e-12
    assert at_optimum < 3e-2 * gradient(objective(kind, module), module)


def gradient(value, module):
    """Return the length of the gradient by all parameters."""
    found = torch.autograd.grad(value, list(module.parameters()), allow_unused=True)
    return float(sum((one**2).sum() for one in found if one is not None) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", ["group_l2", pytest.param("group_l1", marks=pytest.mark.slow)])
def test_training_on_from_a_global_optimum_gains_no_more_than_the_gap(penalty):
    X = np.random.default_rng(1).standard_normal((8, 1))
    y = np.abs(X[:, 0]) + 0.1 * X[:, 0] ** 3
    model = ConvexReLURegressor(gates="exhaustive", penalty=penalty, beta=3e-3).fit(X, y)
    module, x, t = model.to_torch(), torch.tensor(X), torch.tensor(y)
    first = copy.deepcopy(module.state_dict())

    def value():
        return 0.5 * ((module(x) - t) ** 2).mean() + model.beta_ * module.penalty()

    gap = model.result_.duality_gap
    assert value().item() == pytest.approx(model.result_.objective, rel=1e-9)
    for rate in (1e-3, 0.3):
        for method in (torch.optim.SGD, torch.optim.Adam):
            module.load_state_dict(first)
            optimizer = method(module.parameters(), lr=rate)
            for _ in range(3):
                optimizer.zero_grad()
                value().backward()
                optimizer.step()
                assert value().item() >= model.result_.objective - gap - 1e-12
    with torch.no_grad():  # and there is something to be trained: another start is worse, and a step from it is down
        module.w2 *= 1.5
    worse = value()
    worse.backward()
    with torch.no_grad():  # in the weights in which the objective is smooth: the optimum is on kinks of the others
        module.w2 -= 1e-3 * module.w2.grad
    assert model.result_.objective < value().item() < worse.item()


def test_gates_amplitudes_and_scaling_are_not_trained():
    gated = fitted("gated, two numbers").to_torch()
    assert {name for name, _ in gated.named_parameters()} == {"W1", "b1", "b2"}
    assert {name for name, _ in fitted("relu, a number").to_torch().named_parameters()} == {"W1", "b1", "w2", "b2"}
    kernel = fitted("network, two classes").to_torch()
    assert {name for name, _ in kernel.named_parameters()} == {"alpha", "intercept"}
    assert {"mean", "rate", "rows"} <= {name for name, _ in kernel.named_buffers()}


@pytest.mark.parametrize("kind", ["network, a number", "few neurons, a number", "gated, squared norms"])
def test_gradients_by_rows_are_those_of_the_model(kind):
    module, X = fitted(kind).to_torch(), rows_of(kind)[10:14].astype(np.float64)
    x = torch.tensor(X, requires_grad=True)
    (found,) = torch.autograd.grad(module(x).sum(), x)
    for j in range(3):
        h = 1e-5 * X[:, j].std()
        step = np.eye(3)[j] * h
        slope = (fitted(kind).predict(X + step) - fitted(kind).predict(X - step)) / (2 * h)
        np.testing.assert_allclose(found[:, j].numpy(), slope, rtol=2e-4, atol=1e-5 * np.abs(slope).max())


def test_gradients_are_finite_on_the_rows_of_the_kernel():
    network = kernel_network()
    X = network.rows[:4] / np.where(network.standard.rate > 0, network.standard.rate, 1) + network.standard.mean
    x = torch.tensor(X, requires_grad=True)
    module = network.to_torch()
    np.testing.assert_allclose(said(module(x)), network.predict(X), rtol=1e-9, atol=1e-11)
    (module(x).sum() + module.penalty()).backward()
    assert torch.isfinite(x.grad).all()
    assert module.penalty().item() == pytest.approx(network.penalty(), rel=1e-9)


def test_rows_are_taken_in_blocks_where_nothing_is_trained(monkeypatch):
    network, X = kernel_network(), rows_of("network, a number")
    module, widest = network.to_torch(), []
    monkeypatch.setattr(type(module.program), "block", lambda self: 4)
    evaluated = type(module)._evaluated

    def noted(self, end, x):
        widest.append(len(x))
        return evaluated(self, end, x)

    monkeypatch.setattr(type(module), "_evaluated", noted)
    with torch.no_grad():
        np.testing.assert_allclose(module(torch.tensor(X)).numpy(), network.predict(X), rtol=1e-9, atol=1e-11)
    assert max(widest) == 4


@pytest.mark.slow
def test_a_module_is_saved_loaded_and_exported():
    model, X = fitted("network, three classes"), torch.tensor(rows_of("network, three classes"))
    module = model.to_torch()
    stream = io.BytesIO()
    torch.save(module, stream)
    stream.seek(0)
    again = torch.load(stream, weights_only=False)
    assert (again(X) == module(X)).all()
    dynamic = {"x": {0: torch.export.Dim("rows", min=1)}}
    program = torch.export.export(module, (X[:5],), dynamic_shapes=dynamic)
    np.testing.assert_allclose(said(program.module()(X)), said(module(X)), rtol=1e-12)


def test_modules_refuse_rows_of_another_shape():
    with pytest.raises(ArgumentError, match=r"must be of shape \(n, 3\). Got shape \(2, 4\)"):
        fitted("relu, a number").to_torch()(torch.zeros(2, 4))


def test_biases_without_weights_have_finite_gradients():
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = 1.0 * (X[:, 0] > 0)  # a step: gates with a bias alone
    model = GatedReLURegressor(gates=(np.array([[1.0], [0.0]]), np.zeros(1)), bias="free", beta=0.5).fit(X, y)
    module = model.to_torch()
    assert not model.network_.W1.any()
    value = ((module(torch.tensor(X)) - torch.tensor(y)) ** 2).mean() + module.penalty()
    value.backward()
    assert all(torch.isfinite(one.grad).all() for one in module.parameters())


@pytest.mark.slow
def test_a_program_has_the_intervals_of_the_model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, X[:, 0] + 0.1 * rng.standard_normal(60))
    assert set(export_torch(model, tmp_path / "model.pt2", coverage=0.5)) == {"variable", "low", "high"}
    found = torch.export.load(tmp_path / "model.pt2").module()(torch.tensor(X[:4]))
    ends = [np.squeeze(said(found[name])) for name in ("low", "high")]
    np.testing.assert_allclose(ends, model.predict_interval(X[:4], coverage=0.5), rtol=1e-9, atol=1e-11)
    assert set(export_torch(model, tmp_path / "model.pt2", coverage=None)) == {"variable"}
