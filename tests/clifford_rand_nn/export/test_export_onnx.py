"""Fitted models as ONNX files, which onnxruntime runs: the same to 1e-5 of single and 1e-10 of double precision."""

import numpy as np
import pytest

from clifford_rand import __version__
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn import load_model, save_model
from clifford_rand_nn.export.program import Program, apply, constant, rows, softplus
from support.exported import KINDS, fitted, kernel_network, rows_of

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from clifford_rand_nn.export.onnx_file import OPSET, onnx_model  # noqa: E402  # after the libraries that it needs


def run(model, X, folder=None):
    """Return the outputs of a file, or of a model of onnx, by their names."""
    there = model.SerializeToString() if folder is None else str(model.to_onnx(folder / "model.onnx", dtype=X.dtype))
    session = runtime.InferenceSession(there, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_onnxruntime_says_what_the_model_says(kind, tmp_path):
    model, all_rows = fitted(kind), rows_of(kind)
    for X, tol in ((all_rows, 1e-5), (all_rows[:1], 1e-5), (all_rows.astype(np.float64), 1e-9)):
        out = run(model, X, tmp_path)
        if hasattr(model, "classes_"):
            assert out["label"].tolist() == model.predict(X).tolist()
            if hasattr(model, "predict_proba"):
                assert set(out) == {"label", "probabilities"}
                said, wanted = out["probabilities"], model.predict_proba(X)
            else:
                assert set(out) == {"label", "scores"}
                said, wanted = out["scores"], model.decision_function(X).reshape(len(X), -1)
        else:
            said, wanted = out["variable"], model.predict(X).reshape(len(X), -1)
            assert set(out) == {"variable", *(("low", "high") if hasattr(model, "predict_interval") else ())}
            if "low" in out:
                ends = [end.reshape(len(X), -1) for end in model.predict_interval(X)]
                np.testing.assert_allclose([out["low"], out["high"]], ends, rtol=tol, atol=tol)
        assert said.dtype == X.dtype
        assert said.shape == wanted.shape
        np.testing.assert_allclose(said, wanted, rtol=tol, atol=tol)


def test_a_file_says_what_it_is(tmp_path):
    path = fitted("network, three classes").to_onnx(str(tmp_path / "model.onnx"))
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {(one.domain, one.version) for one in model.opset_import} == {("", OPSET)}
    notes = {one.key: one.value for one in model.metadata_props}
    assert notes["opset"] == str(OPSET)
    assert notes["clifford-rand"] == model.producer_version == __version__
    assert notes["model"] == "ConvexNetworkClassifier"
    assert notes["loss"] == "logistic"
    (taken,) = model.graph.input
    assert taken.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert [one.dim_param or one.dim_value for one in taken.type.tensor_type.shape.dim] == ["rows", 3]


def test_columns_and_labels_keep_their_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rows_of("relu, a number"), columns=["a", "b c", "é"])
    from clifford_rand_nn import GatedReLUClassifier

    for labels in (["x", "é"], [2, 7], [False, True], [0.0, 3.0]):
        y = np.asarray(labels)[(X["a"] > 0).astype(int)]
        model = GatedReLUClassifier(4, beta=1e-2, random_state=0).fit(X, y)
        assert run(model, X.to_numpy(), tmp_path)["label"].tolist() == model.predict(X).tolist()
    model.classes_ = np.array(["no", 3], dtype=object)
    with pytest.raises(ArgumentError, match="Got labels of int and str instead"):
        model.to_onnx(tmp_path / "model.onnx")
    notes = {one.key: one.value for one in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert notes["columns"].split("\n") == ["a", "b c", "é"]


def test_networks_state_themselves(tmp_path):
    finite = fitted("gated, two numbers").network_
    for network, kind in ((kernel_network(), "network, a number"), (finite, "gated, two numbers")):
        X = rows_of(kind)
        np.testing.assert_allclose(run(network, X, tmp_path)["variable"], network.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["network, two classes", "network, two numbers"])
def test_rows_are_taken_in_blocks_of_every_size(kind, monkeypatch):
    program, X = fitted(kind)._program(0.9), rows_of(kind)
    whole = run(onnx_model(program), X)
    monkeypatch.setattr(Program, "block", lambda self: 4)
    blocks = onnx_model(program)
    assert "Loop" in {node.op_type for node in blocks.graph.node}
    for n in (0, 1, 3, 4, 5, 8, len(X)):
        out = run(blocks, X[:n])
        for name, values in whole.items():
            assert out[name].shape == values[:n].shape
            if values.dtype.kind == "f":
                np.testing.assert_allclose(out[name], values[:n], rtol=1e-6, atol=1e-6)
            else:
                assert (out[name] == values[:n]).all()


def test_a_wide_model_is_one_that_goes_by_blocks():
    blocks = {width: Program("m", 2, {}, width=width).block() for width in (128, 1000, 2**20)}
    assert blocks == {128: None, 1000: 2**16 // 1000, 2**20: 1}


FUNCTIONS = {
    "arcsin": (lambda a: apply("arcsin", a), np.arcsin),
    "log1p": (lambda a: apply("log1p", a * a), lambda a: np.log1p(a * a)),
    "softplus": (lambda a: softplus(a * 800.0), lambda a: np.logaddexp(0, 800 * a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_onnx_does_not_have_are_right_to_rounding(name):
    value, exact = FUNCTIONS[name]
    a = np.concatenate([np.linspace(-1, 1, 4001), 0.5 + np.linspace(-1e-9, 1e-9, 5), 10.0 ** -np.arange(300.0)])
    program = Program(name, 1, {"predict": value(rows())})
    said = run(onnx_model(program, "float64"), a[:, None])["variable"]
    np.testing.assert_allclose(said[:, 0], exact(a), rtol=1e-15, atol=1e-300)


def test_cosines_are_sines_which_every_runtime_has_in_double_precision():
    model = onnx_model(Program("cos", 1, {"predict": apply("cos", rows())}), "float64")
    assert "Cos" not in {node.op_type for node in model.graph.node}
    a = np.linspace(0, 2 * np.pi, 4001)
    np.testing.assert_allclose(run(model, a[:, None])["variable"][:, 0], np.cos(a), rtol=0, atol=2e-15)


def test_a_model_from_a_file_is_exported_as_well(tmp_path):
    for kind in ("network, two classes", "network, three classes"):
        save_model(fitted(kind), tmp_path / "model.npz")
        again, X = load_model(tmp_path / "model.npz"), rows_of(kind)
        assert (run(again, X, tmp_path)["probabilities"] == run(fitted(kind), X, tmp_path)["probabilities"]).all()


def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch):
    model = fitted("relu, a number")
    with pytest.raises(ArgumentError, match=r"'path' parameter of to_onnx must be a file name that ends in .onnx"):
        model.to_onnx(tmp_path / "model.pb")
    with pytest.raises(ArgumentError, match="'dtype' parameter of to_onnx must be one of 'float32', 'float64'"):
        model.to_onnx(tmp_path / "model.onnx", dtype="float16")
    monkeypatch.setattr("clifford_rand_nn.export.onnx_file._MOST", 100)
    with pytest.raises(ArgumentError, match="of a model that takes at most 100 bytes, as ONNX files do"):
        model.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("clifford_rand.errors.available", lambda module: False)
    with pytest.raises(MissingDependencyError, match=r'to_onnx needs onnx: pip install "onnx>='):
        model.to_onnx(tmp_path / "model.onnx")


def test_an_array_is_in_a_file_once():
    W = constant(np.eye(2), "W")
    model = onnx_model(Program("m", 2, {"predict": (rows() @ W) @ W + 2.0, "low": rows() * 2.0}))
    assert sum(one.dims == [2, 2] for one in model.graph.initializer) == 1
    assert sum(list(one.dims) == [] for one in model.graph.initializer) == 1
