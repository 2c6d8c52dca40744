"""States on disk: the same bits back, refused where they are of another fit, kept where a new one cannot be written."""

import json
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.shards.checkpoint import _VERSION, Checkpoint

ABOUT = {"shards": "f00d", "beta": 0.1, "gates": np.arange(6.0).reshape(2, 3), "seed": None}
RNG = np.random.default_rng(0)
STATE = {
    "theta": (RNG.standard_normal((3, 4)), np.asfortranarray(RNG.standard_normal((3, 4)))),
    "half": np.float32([1.5, -0.0, np.inf]),
    "nothing": np.zeros((0, 3)),
    "labels": np.array(["a", "ü"]),
    "step": np.float64(np.nextafter(1.0, 2.0)),
    "plain": [1, True, None, "α", 1e-310, float("nan"), float("-inf"), 2**100],
    7: {},
    "deep": ((), [], ({"": np.array(3)},)),
}


@pytest.fixture
def keeper(tmp_path):
    return Checkpoint.opened(Checkpoint(tmp_path / "state", every=0), ABOUT)


def same(a, b):
    """Whether two states are the same, to the bits, types and memory order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        alike = a.dtype == b.dtype and a.shape == b.shape and a.tobytes("A") == b.tobytes("A")
        return alike and a.flags.c_contiguous == b.flags.c_contiguous
    return a == b or repr(a) == repr(b) == "nan"


def test_a_state_comes_back_to_the_bits_and_without_a_path_nothing_is_kept(keeper):
    assert keeper.load() is None
    keeper.write(STATE)
    assert same(keeper.load(), STATE)
    keeper.write((1,))
    assert keeper.load() == (1,)
    keeper = Checkpoint.opened(None, ABOUT)
    keeper.write(STATE)
    keeper.offer(lambda: pytest.fail("made for nothing"))
    assert keeper.load() is None


def test_states_are_written_each_so_many_seconds(tmp_path, monkeypatch):
    times = iter((100.0, 105.0, 109.9, 110.0, 110.5, 111.0, 119.9, 120.5, 120.6, 130.0))
    monkeypatch.setattr("clifford_rand_nn.shards.checkpoint.time.monotonic", lambda: next(times))
    keeper = Checkpoint.opened(Checkpoint(tmp_path / "state", every=10), ABOUT)
    made = []
    for turn in range(7):  # 110.5 and 120.6 are when a state has been written; the next is due ten seconds later
        keeper.offer(lambda turn=turn: made.append(turn))
    assert made == [2, 5]


def test_only_one_of_several_processes_writes(tmp_path):
    path = tmp_path / "state"
    Checkpoint.opened(path, ABOUT, writes=False).write(STATE)
    assert not list(tmp_path.iterdir())
    Checkpoint.opened(path, ABOUT).write(STATE)
    assert same(Checkpoint.opened(path, ABOUT, writes=False).load(), STATE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shards": "beef"}, "its shards are others, or were changed since"),
        ({"beta": 0.2}, r"its beta is 0\.1, and that of this fit is 0\.2"),
        ({"gates": np.zeros((2, 3))}, "its gates is another"),
        ({"gates": ABOUT["gates"].reshape(3, 2)}, "its gates is another"),
        ({"more": None}, "its more is None"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused_and_left_alone(keeper, tmp_path, change, said):
    keeper.write(STATE)
    path = tmp_path / "state"
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match=said) as error:
        Checkpoint.opened(path, {**ABOUT, **change}).load()
    assert str(path) in str(error.value)
    assert path.read_bytes() == before
    assert same(Checkpoint.opened(path, {**ABOUT, "beta": np.float64(0.1)}).load(), STATE)


@pytest.mark.parametrize(
    ("changed", "header", "lost"),
    [({}, {"version": version}, ()) for version in (1, _VERSION - 1, _VERSION + 1)]
    + [({}, {"library": "0.0.1"}, ()), ({}, {"state": {"list": []}}, ()), ({}, {}, ("1",))]
    + [({"0": np.ones((3, 4))}, {}, ()), ({"99": np.zeros(1)}, {}, ())],
)
def test_a_state_of_another_version_or_changed_is_refused_though_its_checksums_are_right(
    keeper, tmp_path, changed, header, lost
):
    keeper.write(STATE)
    path = tmp_path / "state"
    with np.load(path) as file:
        arrays = {name: array for name, array in (dict(file) | changed).items() if name not in lost}
    text = json.dumps(json.loads(arrays["header"].tobytes()) | header)
    with open(path, "wb") as stream:
        np.savez(stream, **arrays | {"header": np.frombuffer(text.encode(), np.uint8)})
    value = header.get("version", header.get("library"))
    said = "it is not as it was written" if value is None else f"was written by clifford-rand .*{value}"
    with pytest.raises(ArgumentError, match=said):
        keeper.load()


def test_a_damaged_checkpoint_is_refused(keeper, tmp_path):
    keeper.write(STATE)
    path = tmp_path / "state"
    good = path.read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for _ in range(60):
        bad = bytearray(good)
        if rng.random() < 0.3:
            del bad[int(rng.integers(len(bad))) :]
        else:
            bad[int(rng.integers(len(bad)))] ^= int(rng.integers(1, 256))
        path.write_bytes(bad)
        try:
            state, said = keeper.load(), None
        except ArgumentError as error:
            state, said = STATE, str(error)
        assert same(state, STATE)  # a date in the zip's directory means nothing
        assert said is None or (said.startswith(str(path)) and "delete it" in said)
        assert path.read_bytes() == bad
        refused += said is not None
    assert refused > 45


def test_something_else_is_no_checkpoint(keeper, tmp_path):
    path = tmp_path / "state"
    for write in (
        lambda: path.write_bytes(b""),
        lambda: path.write_text("a,b"),
        lambda: zipfile.ZipFile(path, "w").close(),
        lambda: np.savez(open(path, "wb"), header=np.zeros(3)),  # noqa: SIM115 - closed with the process
        lambda: np.savez(open(path, "wb"), header=np.frombuffer(b'{"format": "other"}', np.uint8)),  # noqa: SIM115
    ):
        write()
        with pytest.raises(ArgumentError, match="is damaged, or it is something else"):
            keeper.load()


def test_bad_arguments(tmp_path):
    for message, make in (
        (r"'every' parameter of Checkpoint must be seconds ≥ 0. Got -1", lambda: Checkpoint("state", every=-1)),
        (r"'path' parameter of Checkpoint must be the path of a file. Got 3", lambda: Checkpoint(3)),
        ("'checkpoint' parameter of fit must be a path", lambda: Checkpoint.opened(3, ABOUT, "fit")),
        (r"the path of a file\. Got another thing", lambda: Checkpoint.opened(tmp_path, ABOUT)),
        (
            r"a path that can be written\. Got one that cannot \(No such file",
            lambda: Checkpoint.opened(tmp_path / "no" / "state", ABOUT),
        ),
    ):
        with pytest.raises(ArgumentError, match=message):
            make()
    with pytest.raises(TypeError, match="a value of type object in a state"):
        Checkpoint.opened(tmp_path / "state", {"seed": object()})


_FULL = """
import resource, signal, sys, warnings
import numpy as np
from clifford_rand_nn.shards.checkpoint import Checkpoint
keeper = Checkpoint.opened(Checkpoint(sys.argv[1], every=0), {"beta": 1})
keeper.write((0, np.zeros(10)))
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    keeper.offer(lambda: (1, np.zeros(10**6)))
    keeper.offer(lambda: (2, np.zeros(10**6)))
assert keeper.load()[0] == 0
keeper.write((3, np.zeros(20)))
assert keeper.load()[0] == 3
print(len(told), told[0].message)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**10, resource.RLIM_INFINITY))
try:
    Checkpoint.opened(sys.argv[1], {"beta": 1})
except ValueError as error:
    print(error)
"""


def test_a_full_disk_costs_a_warning_and_the_old_state_stays(tmp_path):
    path = tmp_path / "state"
    run = [sys.executable, "-c", _FULL, str(path)]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    assert said[0].startswith(f"1 {path}: the checkpoint could not be written ([Errno 27] File too large")
    assert "the one before it stays, the fit goes on" in said[0]
    assert "must be a path that can be written" in said[1]
    assert "File too large" in said[1]
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def test_a_folder_that_is_gone_costs_a_warning(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    keeper = Checkpoint.opened(folder / "state", ABOUT)
    folder.rmdir()
    with pytest.warns(UserWarning, match="could not be written .* there is none, the fit goes on"):
        keeper.write(STATE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keeper.write(STATE)
    folder.mkdir()
    keeper.write(STATE)
    assert same(keeper.load(), STATE)
