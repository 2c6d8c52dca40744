"""MNIST from OpenML's cache format, PTB-XL from a small PhysioNet folder: labels, splits, signals and damage."""

import hashlib
import io
import json
from urllib.error import URLError
from urllib.parse import urlparse

import numpy as np
import pytest

import clifford_rand.errors as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from examples.paper.datasets import load_mnist, load_ptbxl_reports, load_ptbxl_signals, mnist, ptbxl_signals
from examples.paper.datasets.assembly import Known
from examples.paper.datasets.mnist import mnist_arrays
from examples.paper.datasets.ptbxl_records import _VERSIONS
from support.refusals import refused

rng = np.random.default_rng(1)


# ---------------------------------------------------------------------------------------------- MNIST

DIGITS = np.tile(np.arange(10), 3)
IMAGES = rng.integers(0, 256, (30, 784))


def openml_files(images, digits, checksum=None):
    """Return what OpenML answers about its data set 554: three replies of its API and the ARFF file, by path."""
    lines = [f"@ATTRIBUTE pixel{i + 1} INTEGER" for i in range(784)]
    lines = ["@RELATION mnist_784", "", *lines, "@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}", "", "@DATA"]
    lines += [",".join(map(str, [*image, digit])) for image, digit in zip(images, digits, strict=True)]
    arff = ("\n".join(lines) + "\n").encode()
    shared = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    pixel = shared | {"data_type": "numeric", "is_target": "false"}
    features = [pixel | {"index": str(i), "name": f"pixel{i + 1}"} for i in range(784)]
    levels = {"data_type": "nominal", "nominal_value": [str(digit) for digit in range(10)], "is_target": "true"}
    features.append(shared | levels | {"index": "784", "name": "class"})
    description = {
        "id": "554", "name": "mnist_784", "version": "1", "description": "The MNIST database", "format": "ARFF",
        "status": "active", "url": "https://api.openml.org/data/v1/download/52667/mnist_784.arff",
        "md5_checksum": checksum or hashlib.md5(arff).hexdigest(),
    }  # fmt: skip
    qualities = [{"name": "NumberOfInstances", "value": str(len(images))}]
    replies = {
        "api/v1/json/data/554": {"data_set_description": description},
        "api/v1/json/data/features/554": {"data_features": {"feature": features}},
        "api/v1/json/data/qualities/554": {"data_qualities": {"quality": qualities}},
    }
    files = {name: json.dumps(reply).encode() for name, reply in replies.items()}
    return files | {"data/v1/download/52667/mnist_784.arff": arff}


class Answer(io.BytesIO):
    """One reply of the server, with the headers that scikit-learn looks at."""

    def info(self):
        return {"Content-Encoding": ""}


@pytest.fixture
def openml(monkeypatch):
    """Answer scikit-learn's requests from a dict of files; return the dict and the paths that were asked for."""
    files, asked = {}, []

    def answer(request, *_, **__):
        asked.append(urlparse(request.full_url).path.lstrip("/"))
        if asked[-1] not in files:
            raise URLError("there is no network in the tests")
        return Answer(files[asked[-1]])

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", answer)
    return files, asked


@pytest.fixture
def small_mnist(monkeypatch):
    counts = {"train": (2,) * 10, "test": (1,) * 10}
    monkeypatch.setattr(mnist, "_KNOWN", Known("MNIST", mnist._KNOWN.class_names, counts))
    monkeypatch.setattr(mnist, "_TRAIN", 20)


def test_mnist_is_downloaded_once_and_then_read_from_the_cache(tmp_path, small_mnist, openml):
    pytest.importorskip("pandas")
    files, asked = openml
    files |= openml_files(IMAGES, DIGITS)
    data = load_mnist(data_home=tmp_path)
    assert sorted(asked) == sorted(files)
    rows = np.flatnonzero(DIGITS < 2)
    np.testing.assert_array_equal(data.X, IMAGES[rows].astype(np.float32) / np.float32(255))
    assert (data.X.dtype, data.y.tolist(), data.ids.tolist()) == (np.float32, DIGITS[rows].tolist(), rows.tolist())
    assert data.split.tolist() == [True] * 4 + [False] * 2
    assert (data.name, data.class_names, data.notes) == ("MNIST 0/1", ("0", "1"), ())
    asked.clear()
    other = load_mnist((7, 3), data_home=tmp_path)
    assert asked == []
    assert other.y.tolist() == [1, 0] * 3  # rows have 3 before 7, and class 0 is the 7
    assert other.class_names == ("7", "3")
    assert len(load_mnist(range(10), data_home=tmp_path)) == 30


def test_a_damaged_download_is_tried_again_and_then_an_error(tmp_path, small_mnist, openml):
    pytest.importorskip("pandas")
    files, asked = openml
    files |= openml_files(IMAGES, DIGITS, checksum="0" * 32)
    with (
        pytest.warns(RuntimeWarning, match="Invalid cache"),
        pytest.raises(ArgumentError, match=r"OpenML data set 554: The md5 checksum of the file .* does not match"),
    ):
        load_mnist(data_home=tmp_path)
    assert asked.count("data/v1/download/52667/mnist_784.arff") == 2


def test_all_of_mnist_has_the_published_counts():
    digits = np.concatenate([np.repeat(np.arange(10), mnist._COUNTS[name]) for name in ("train", "test")])
    images = np.zeros((70_000, 784), dtype=np.uint8)
    data = mnist_arrays(images, digits)
    assert data.counts == {"train": {"0": 5_923, "1": 6_742}, "test": {"0": 980, "1": 1_135}}
    digits[0] = 9
    refused(r"not the complete MNIST: train has 5,922 0 .*pass partial=True", mnist_arrays, images, digits)
    with pytest.warns(UserWarning, match="a partial copy of MNIST"):
        assert mnist_arrays(images, digits, partial=True).counts["train"]["0"] == 5_922


@pytest.mark.parametrize(
    ("images", "digits", "message"),
    [
        (IMAGES[:, :5], DIGITS, r"images must be \(n, 784\) numbers; they have shape \(30, 5\)"),
        (IMAGES - 1, DIGITS, "grey levels must be from 0 to 255"),
        (np.where(IMAGES == 0, np.nan, IMAGES), DIGITS, "grey levels must be from 0 to 255"),
        (IMAGES, DIGITS[:4], "targets must be a digit for each of the 30 images"),
        (IMAGES, DIGITS + 1, "targets must be a digit for each of the 30 images"),
    ],
)
def test_what_is_not_mnist(images, digits, message):
    refused(message, mnist_arrays, images, digits)


@pytest.mark.parametrize("digits", [(1,), (1, 1), (0, 10), "01", (0, True), 3, (0.0, 1.0)])
def test_bad_digits(digits):
    refused("'digits' parameter of load_mnist must be two or more different digits", load_mnist, digits)


# ---------------------------------------------------------------------------------------------- PTB-XL

LEADS = ["I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6"]
STATEMENTS = """\
,description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass,Statement Category
NDT,non-diagnostic T abnormalities,1.0,1.0,,STTC,STTC,other ST-T descriptive statements
NORM,normal ECG,1.0,,,NORM,NORM,Normal/abnormal
IMI,inferior myocardial infarction,1.0,,,MI,IMI,Myocardial Infarction
LVH,left ventricular hypertrophy,1.0,,,HYP,LVH,Ventricular Hypertrophy
1AVB,first degree AV block,1.0,,,CD,_AVB,"Sinus node dysfunction, atrial and AV-conduction defects"
ABQRS,abnormal QRS,,1.0,,,,Normal/abnormal
SR,sinus rhythm,,,1.0,,,Statements related to impulse formation (abnormalities)
"""
COLUMNS = (
    "ecg_id,patient_id,age,sex,height,weight,nurse,site,device,recording_date,report,scp_codes,heart_axis,"
    "infarction_stadium1,infarction_stadium2,validated_by,second_opinion,initial_autogenerated_report,"
    "validated_by_human,baseline_drift,static_noise,burst_noise,electrodes_problems,extra_beats,pacemaker,strat_fold,"
    "filename_lr,filename_hr"
)
CODES = [  # and what they are
    ({"NORM": 100.0, "SR": 0.0}, 1),
    ({"IMI": 50.0, "ABQRS": 0.0}, 0),
    ({"NDT": 0.0, "SR": 0.0}, 0),  # a likelihood of 0 stands for an unknown one
    ({"NORM": 80.0}, 1),
    ({"LVH": 100.0, "1AVB": 100.0}, 0),
    ({"NORM": 50.0, "1AVB": 100.0}, None),  # mixed
    ({"SR": 0.0}, None),  # no superclass
    ({"1AVB": 100.0}, 0),
    ({"NORM": 0.0, "ABQRS": 0.0}, 1),
    ({"IMI": 15.0, "LVH": 50.0}, 0),
    ({"NORM": 100.0, "SR": 0.0}, 1),
    ({"NDT": 100.0}, 0),
]


def write_ptbxl(home, codes=CODES):
    rows = []
    for i, (code, _) in enumerate(codes, start=1):
        report = '"sinusrhythmus, ""normales"" ekg. ' + f'Ä {i}"'
        cells = [str(i), f"{15700 + i}.0", "56.0", "1", "", "63.0", "2.0", "0.0", "CS-12   E", "1984-11-09 09:17:34"]
        cells += [report, f'"{code}"', "", "", "", "", "False", "False", "True", '" , I-V1,  "', "", "", "", "", ""]
        cells += [str((i - 1) % 10 + 1), f"records100/00000/{i:05d}_lr", f"records500/00000/{i:05d}_hr"]
        rows.append(",".join(cells))
    (home / "ptbxl_database.csv").write_text("\n".join([COLUMNS, *rows]) + "\n", encoding="utf-8")
    (home / "scp_statements.csv").write_text(STATEMENTS, encoding="utf-8")
    write_sums(home)
    return home


def write_sums(home):
    files = [file for file in sorted(home.rglob("*")) if file.is_file() and file.name != "SHA256SUMS.txt"]
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.relative_to(home)}\n" for file in files]
    (home / "SHA256SUMS.txt").write_text("".join(lines))


@pytest.fixture
def small_ptbxl(monkeypatch):
    monkeypatch.setitem(_VERSIONS, len(CODES), ("made", (4, 6, 1, 1)))


def test_reports_have_the_labels_of_the_superclasses(tmp_path, small_ptbxl):
    data = load_ptbxl_reports(write_ptbxl(tmp_path))
    kept = [(i, label) for i, (_, label) in enumerate(CODES, start=1) if label is not None]
    assert data.ids.tolist() == [i for i, _ in kept]
    assert data.y.tolist() == [label for _, label in kept]
    assert data.split.tolist() == [(i - 1) % 10 + 1 <= 6 for i, _ in kept]
    assert data.texts[0] == 'sinusrhythmus, "normales" ekg. Ä 1'
    assert data.class_names == ("abnormal", "normal")
    assert data.notes == ("1 records with NORM and another superclass and 1 without any are left out",)


def test_folds_are_the_split(tmp_path, small_ptbxl):
    write_ptbxl(tmp_path)
    data = load_ptbxl_reports(tmp_path, train_folds=range(1, 5), test_folds=[10])
    assert data.ids.tolist() == [1, 2, 3, 4, 10, 11, 12]
    assert data.test.ids.tolist() == [10]
    both = r"'test_folds' parameter .* so that no patient is on both sides"
    refused(both, load_ptbxl_reports, tmp_path, test_folds=[6, 7])
    refused(r"no labelled record is in the test folds \[7\]", load_ptbxl_reports, tmp_path, test_folds=[7])
    rule = r"'train_folds' parameter .* must be one or more integers from 1 to 10"
    for folds in ([], [0], [11], ["1"], 3, "1"):
        refused(rule, load_ptbxl_reports, tmp_path, train_folds=folds)


def test_a_partial_copy_is_refused_or_noted(tmp_path):
    write_ptbxl(tmp_path)
    refused("not the complete PTB-XL: 12 records: 4 normal, 6 abnormal, 1 mixed, 1 un", load_ptbxl_reports, tmp_path)
    with pytest.warns(UserWarning, match="a partial copy of PTB-XL: 12 records"):
        assert len(load_ptbxl_reports(tmp_path, partial=True)) == 10
    version, counts = _VERSIONS[21_799]
    assert (version, sum(counts), counts[:2]) == ("1.0.3", 21_799, (9_069, 11_874))


def test_damage_is_named(tmp_path, small_ptbxl):
    def named(message, folder=tmp_path):
        refused(message, load_ptbxl_reports, folder)

    write_ptbxl(tmp_path)
    file, statements = tmp_path / "ptbxl_database.csv", tmp_path / "scp_statements.csv"
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole.replace("normales", "abnormes"), encoding="utf-8")
    named(r"1 of 2 files differ from SHA256SUMS\.txt, such as ptbxl_database\.csv")
    altered = load_ptbxl_reports(tmp_path, partial=True)
    assert altered.notes[0] == "1 of 2 files differ from SHA256SUMS.txt"
    (tmp_path / "SHA256SUMS.txt").unlink()
    assert load_ptbxl_reports(tmp_path).notes[0] == "no checksum was compared: there is no SHA256SUMS.txt"
    for old, new, message in (
        ("{'NDT': 100.0}", "{'NDT': ", "record 12 is malformed"),
        ("{'NDT': 100.0}", "['NDT']", "record 12 is malformed"),
        ("2,records100/00000/00012_lr", "12,records100/00000/00012_lr", "record 12 is malformed: .*strat_fold '12'"),
        ("\n12,", "\n11,", "ecg_id 11 occurs twice"),
        ("strat_fold", "fold", "there is no column 'strat_fold'"),
    ):
        assert old in whole
        file.write_text(whole.replace(old, new), encoding="utf-8")
        named(message)
    file.write_bytes(whole.encode("latin-1"))
    named("this is not a CSV table in UTF-8")
    file.write_text(whole, encoding="utf-8")
    statements.write_text(STATEMENTS.replace(",HYP,", ",HYPER,"))
    named("'HYPER' is not a superclass of PTB-XL")
    statements.unlink()
    named(r"scp_statements\.csv: there is no such file")
    named("there is no such folder", tmp_path / "nowhere")


def write_signal(home, i, rate=100, leads=LEADS, seconds=10, units="mV"):
    import wfdb

    kind, name = ("records100", "lr") if rate == 100 else ("records500", "hr")
    folder = home / kind / "00000"
    folder.mkdir(parents=True, exist_ok=True)
    digital, n = np.random.default_rng(i).integers(-3000, 3000, (rate * seconds, len(leads))), len(leads)
    about = {"units": [units] * n, "fmt": ["16"] * n, "adc_gain": [1000.0] * n, "baseline": [0] * n}
    options = about | {"sig_name": list(leads), "d_signal": digital, "write_dir": str(folder)}
    wfdb.wrsamp(f"{i:05d}_{name}", fs=rate, **options)
    return digital / 1000.0


@pytest.mark.slow
def test_signals_are_read_in_millivolts(tmp_path, small_ptbxl):
    pytest.importorskip("wfdb")
    written = {i: write_signal(tmp_path, i) for i in range(1, 13)}
    written_fast = write_signal(tmp_path, 4, rate=500)
    reports = load_ptbxl_reports(write_ptbxl(tmp_path))
    data = load_ptbxl_signals(tmp_path)
    assert (data.X.shape, data.X.dtype) == ((10, 1000, 12), np.float32)
    np.testing.assert_array_equal(data.ids, reports.ids)
    np.testing.assert_array_equal(data.y, reports.y)
    np.testing.assert_array_equal(data.split, reports.split)
    for X, i in zip(data.X, data.ids, strict=True):
        np.testing.assert_allclose(X, written[int(i)], atol=1e-6)
    assert data.notes == reports.notes
    some = load_ptbxl_signals(tmp_path, ids=[8, 2])
    assert some.ids.tolist() == [8, 2]
    np.testing.assert_array_equal(some.X[1], data.X[1])
    fast = load_ptbxl_signals(tmp_path, rate=500, ids=[4])
    np.testing.assert_allclose(fast.X[0], written_fast, atol=1e-6)


class Reader:
    """Stands in for wfdb: reads nothing but an array of zeros for one record and of ones for another."""

    leads, rate, units = tuple(LEADS), 100, "mV"

    @classmethod
    def rdsamp(cls, stem):
        if stem.endswith("00003_lr"):
            raise ValueError("no sample can be read")
        signal = np.full((10 * cls.rate, len(cls.leads)), float(stem.endswith("00002_lr")))
        return signal, {"fs": cls.rate, "sig_name": list(cls.leads), "units": [cls.units] * len(cls.leads)}


def test_signals_without_wfdb(tmp_path, small_ptbxl, monkeypatch):
    write_ptbxl(tmp_path)
    folder = tmp_path / "records100" / "00000"
    folder.mkdir(parents=True)
    for i in (1, 2, 3):
        for ending in (".hea", ".dat"):
            (folder / f"{i:05d}_lr{ending}").touch()
    monkeypatch.setattr(ptbxl_signals, "require", lambda *_, **__: Reader)
    data = load_ptbxl_signals(tmp_path, ids=[2, 1])
    assert data.X.shape == (2, 1000, 12)
    assert data.X.mean(axis=(1, 2)).tolist() == [1.0, 0.0]
    assert (data.y.tolist(), data.ids.tolist()) == ([0, 1], [2, 1])
    for message, i in (
        ("00003_lr: wfdb could not read it: no sample can be read", 3),
        (r"00004_lr\.hea: there is no such file; download the folder records100", 4),
    ):
        refused(message, load_ptbxl_signals, tmp_path, ids=[i])
    monkeypatch.setattr(Reader, "leads", Reader.leads[:3])
    leads = r"it has shape \(1000, 3\), 100 Hz and the leads I, II, III\."
    refused(leads, load_ptbxl_signals, tmp_path, ids=[1])


def test_damaged_signals_are_told(tmp_path, small_ptbxl):
    pytest.importorskip("wfdb")
    write_ptbxl(tmp_path)

    def named(message, ids=(1,), **options):
        refused(message, load_ptbxl_signals, tmp_path, ids=list(ids), **options)

    named(r"00001_lr\.hea: there is no such file; download the folder records100")
    for changed, message in (
        ({"leads": LEADS[::-1]}, "the signal must be 10 s of the 12 leads at 100 Hz"),
        ({"seconds": 9}, r"it has shape \(900, 12\), 100 Hz"),
        ({"units": "uV"}, "the signal must be in mV; it is in uV"),
    ):
        write_signal(tmp_path, 1, **changed)
        named(message)
    write_signal(tmp_path, 1)
    write_sums(tmp_path)
    file = tmp_path / "records100" / "00000" / "00001_lr.dat"
    whole = file.read_bytes()
    file.write_bytes(b"\x00\x01" + whole[2:])
    named(r"1 of 2 files differ from SHA256SUMS\.txt, such as records100/00000/00001_lr\.dat")
    (tmp_path / "SHA256SUMS.txt").unlink()
    file.write_bytes(b"\x00\x80" + whole[2:])  # -32768 is how 16-bit files say that a sample is missing
    named("the signal has 1 missing samples")
    file.write_bytes(whole[:1000])
    named("wfdb could not read it")
    named("Got 1 others, such as 6 instead", ids=[6])
    named("a list of different integers, values of ecg_id", ids=[1, 1])
    named("'rate' parameter of load_ptbxl_signals must be one of 100, 500", rate=250)


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(optional, "available", lambda module: False)
    missing = {"error": MissingDependencyError}
    refused(r'reading MNIST needs pandas: pip install "pandas>=', load_mnist, data_home=tmp_path, **missing)
    refused(r"reading the signals of PTB-XL needs wfdb: pip install .wfdb>=", load_ptbxl_signals, tmp_path, **missing)
