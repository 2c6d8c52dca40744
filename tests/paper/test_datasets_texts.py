"""Text sets: small copies in the formats of their sources, read by every way in; counts, labels and damage."""

import json
import warnings

import numpy as np
import pytest

import clifford_rand.errors as optional
from clifford_rand.errors import MissingDependencyError
from examples.paper.datasets import amazon, glue, hub, imdb, load_amazon_polarity, load_cola, load_imdb, load_qqp
from examples.paper.datasets.assembly import Known
from support.refusals import refused

SETS = {
    "plain_text": (("text",), ("neg", "pos"), ("train", "test")),
    "amazon_polarity": (("title", "content"), ("negative", "positive"), ("train", "test")),
    "cola": (("sentence",), ("unacceptable", "acceptable"), ("train", "validation")),
    "qqp": (("question1", "question2"), ("not_duplicate", "duplicate"), ("train", "validation")),
}
CALLS = {"plain_text": load_imdb, "amazon_polarity": load_amazon_polarity, "cola": load_cola, "qqp": load_qqp}
OFFICIAL = {"split": "official"}
OPTIONS = {"plain_text": {}, "amazon_polarity": {"n_train": None, "n_test": None}, "cola": OFFICIAL, "qqp": OFFICIAL}
ROWS = 8  # of each split, half of them in each class
LABELS = np.arange(ROWS) % 2


@pytest.fixture
def arrow():
    return pytest.importorskip("pyarrow")


def write_parquet(folder, config, shards=1, names=None, rename=None, labels=LABELS):
    """Write a dataset repository as the hub has it: Parquet files with the features in their metadata, and a card."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns, classes, splits = SETS[config]
    (folder / config).mkdir(parents=True, exist_ok=True)
    for split in splits:
        data = {name: [f"{split} {name} {i}" for i in range(ROWS)] for name in columns}
        table = arrow.table({**data, "label": arrow.array(np.asarray(labels), arrow.int64())})
        features = {name: {"dtype": "string", "_type": "Value"} for name in columns}
        features["label"] = {"names": list(names or classes), "_type": "ClassLabel"}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        if rename:
            table = table.rename_columns([rename.get(name, name) for name in table.column_names])
        for i, rows in enumerate(np.array_split(np.arange(ROWS), shards)):
            parquet.write_table(table.take(rows), folder / config / f"{split}-{i:05d}-of-{shards:05d}.parquet")
    card = "".join(f"  - split: {split}\n    path: {config}/{split}-*\n" for split in splits)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{card}---\n")
    return folder


@pytest.fixture
def small(monkeypatch):
    """Pretend that the published sets have `ROWS` rows in each split."""
    for module, name in ((imdb, "_KNOWN"), (amazon, "_KNOWN"), (glue, "_COLA"), (glue, "_QQP")):
        known, half = getattr(module, name), (ROWS // 2, ROWS // 2)
        monkeypatch.setattr(module, name, Known(known.name, known.class_names, dict.fromkeys(known.counts, half)))


def check_rows(data, config):
    columns, classes, splits = SETS[config]
    assert data.class_names == classes
    assert data.counts == {side: dict.fromkeys(classes, ROWS // 2) for side in ("train", "test")}
    for text, label, side in zip(data.texts, data.y, data.split, strict=True):
        split, name, row = (text[0] if isinstance(text, tuple) else text).split()
        assert (int(row) % 2, split == splits[0]) == (label, side)
        assert name == ("content" if config == "amazon_polarity" else columns[0])
    if config == "qqp":
        assert all(first.replace("question1", "question2") == second for first, second in data.texts)


@pytest.mark.parametrize("config", SETS)
@pytest.mark.parametrize("shards", [1, 3])
def test_parquet_files_of_the_repository(tmp_path, small, config, shards):
    folder = write_parquet(tmp_path, config, shards)
    for source in (folder, folder / config):  # or the folder of the files themselves
        check_rows(CALLS[config](source, **OPTIONS[config]), config)


@pytest.mark.parametrize("config", SETS)
def test_the_library_datasets_reads_a_clone(tmp_path, small, config):
    pytest.importorskip("datasets")
    folder = write_parquet(tmp_path / "clone", config, 2)
    named = write_parquet(tmp_path / "other", config, names=("x", "y"))
    # without a network, pandas or the hub client may warn about what they cannot reach; that is not tested here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load, options = CALLS[config], OPTIONS[config]
        check_rows(load(source=str(folder), cache_dir=tmp_path / "cache", **options), config)
        message = r"the classes are \['x', 'y'\]"
        refused(message, load, source=str(named), cache_dir=tmp_path / "cache2", **options)


def test_the_library_is_called_with_the_pinned_revision(monkeypatch, small, arrow):
    """A stand-in for `datasets` sees what is asked of the hub."""
    asked = []

    class Data:
        column_names = ("sentence", "label", "idx")
        features = {"label": object()}  # noqa: RUF012

        def select_columns(self, names):
            assert names == ["sentence", "label"]
            return self

        def with_format(self, kind):
            assert kind == "arrow"
            return self

        def __getitem__(self, rows):
            return arrow.table({"sentence": [f"{asked[-1][1]['split']} {i}" for i in range(ROWS)], "label": LABELS})

    class Library:
        class exceptions:  # noqa: N801
            class DatasetsError(Exception):
                pass

        failure = None

        @classmethod
        def load_dataset(cls, *arguments, **options):
            asked.append((arguments, options))
            if cls.failure is not None:
                raise cls.failure
            return Data()

    monkeypatch.setattr(hub, "require", lambda *_, **__: Library)
    assert load_cola(split="official").train.texts[0] == "train 0"
    assert [arguments for arguments, _ in asked] == [("nyu-mll/glue", "cola")] * 2
    assert [options["split"] for _, options in asked] == ["train", "validation"]
    assert all(options["revision"] == "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c" for _, options in asked)
    Data.column_names = ("text", "label")
    refused("nyu-mll/glue@bcdcba7: there is no column 'sentence'; the columns are text", load_cola)
    Library.failure = Library.exceptions.DatasetsError("a checksum\ndiffers")
    refused("glue@bcdcba7: `datasets` could not load it: a checksum differs", load_cola)
    Library.failure = ConnectionError("no way to the hub")  # says what is wrong by itself
    refused("no way to the hub", load_cola, error=ConnectionError)


def test_pooling_divides_both_splits(tmp_path, small):
    folder = write_parquet(tmp_path, "cola")
    data, again, other = (load_cola(folder, test_share=0.25, rng=rng) for rng in (4, 4, 5))
    counts = {"train": 6, "test": 2}
    assert data.counts == {side: {"unacceptable": n, "acceptable": n} for side, n in counts.items()}
    assert data.split.tolist() == again.split.tolist() != other.split.tolist()
    assert {text.split()[0] for text in data.train.texts} == {"train", "validation"}


def test_amazon_draws_before_it_decodes(tmp_path, small):
    folder = write_parquet(tmp_path, "amazon_polarity", 3)
    data = load_amazon_polarity(folder, n_train=4, n_test=2, rng=0)
    assert data.counts == {"train": {"negative": 2, "positive": 2}, "test": {"negative": 1, "positive": 1}}
    assert len(set(data.texts)) == 6
    assert all(int(text.split()[2]) % 2 == label for text, label in zip(data.texts, data.y, strict=True))
    assert "4 of the 8 rows of split 'train' were drawn, by class shares" in data.notes
    both = load_amazon_polarity(folder, n_train=4, n_test=2, rng=0, field="both")
    assert both.texts == [f"{text.replace('content', 'title')}\n{text}" for text in data.texts]
    for message, options in (
        ("9 rows were asked of split 'train', which has 8; ask for fewer", {"n_train": 9}),
        ("'field' parameter of load_amazon_polarity must be one of 'content'", {"field": "text"}),
        ("'n_test' parameter of load_amazon_polarity must be an integer ≥ 1", {"n_test": 0}),
    ):
        refused(message, load_amazon_polarity, folder, **options)


@pytest.mark.parametrize("config", SETS)
def test_a_partial_copy_is_refused_or_noted(tmp_path, config):
    folder, load = write_parquet(tmp_path, config), CALLS[config]
    refused(r"not the complete .* 4 .* It should be .* or pass partial=True", load, folder, **OPTIONS[config])
    with pytest.warns(UserWarning, match="a partial copy of"):
        data = load(folder, partial=True, **OPTIONS[config])
    check_rows(data, config)
    assert data.notes[0].startswith("a partial copy of")


def test_missing_shards_and_files(tmp_path, small):
    folder = write_parquet(tmp_path, "cola", 3)
    (folder / "cola" / "train-00001-of-00003.parquet").unlink()
    refused("there are 2 of the 3 files of split 'train'; download the others", load_cola, folder)
    with pytest.warns(UserWarning, match="a partial copy of CoLA"):
        assert len(load_cola(folder, partial=True)) == 2 * ROWS - 3
    for file in (folder / "cola").glob("validation-*"):
        file.unlink()
    refused(r"there is no file validation-\*\.parquet", load_cola, folder, partial=True)
    refused("there is no such folder", load_cola, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ("pos", "neg")}, r"the classes are \['pos', 'neg'\], not \['neg', 'pos'\]; this is another dataset"),
        ({"rename": {"text": "review"}}, "there is no column 'text'; the columns are review, label"),
        ({"labels": [0, 1, -1, 1] * 2}, r"2 of 8 are not, such as -1 in row 2 \(-1 is a hidden label"),
        ({"labels": [0, 1, 2, 1] * 2}, "labels must be integers from 0 to 1; 2 of 8 are not, such as 2 in row 2"),
    ],
)
def test_wrong_columns_and_labels(tmp_path, small, change, message):
    refused(message, load_imdb, write_parquet(tmp_path, "plain_text", **change))


def test_damaged_parquet_and_missing_texts(tmp_path, small, arrow):
    file = write_parquet(tmp_path, "plain_text") / "plain_text" / "train-00000-of-00001.parquet"
    whole = file.read_bytes()
    for texts, y, message in (
        ([None] + ["a"] * 7, LABELS, "the text of row 0 is missing"),
        ([" "] + ["a"] * 7, LABELS, "1 of 16 texts are empty, more than one in 100"),
        (["a"] * 8, [None, *LABELS[1:]], "column 'label' has 1 missing values of 8"),
        (["a"] * 8, ["0"] * 8, "column 'label' must be integers, it is string"),
    ):
        arrow.parquet.write_table(arrow.table({"text": texts, "label": y}), file)
        refused(message, load_imdb, tmp_path)
    file.write_bytes(whole[:100])
    refused(r"train-00000-of-00001\.parquet: this is not a readable Parquet file", load_imdb, tmp_path)
    odd = write_parquet(tmp_path / "odd", "plain_text", 2)
    file = odd / "plain_text" / "train-00001-of-00002.parquet"
    arrow.parquet.write_table(arrow.table({"text": ["a"], "label": ["0"]}), file)
    refused("split 'train': the files do not fit each other", load_imdb, odd)


def test_repeated_texts_are_counted_and_kept(tmp_path, small, arrow):
    folder = write_parquet(tmp_path, "plain_text")
    texts = ["train text 0", "train text 1", "same", "same", "e", "f", "g", "h"]
    table = arrow.table({"text": texts, "label": LABELS})
    arrow.parquet.write_table(table, folder / "plain_text" / "test-00000-of-00001.parquet")
    assert load_imdb(folder).notes == ("2 of 8 test texts are also among the train texts",)
    arrow.parquet.write_table(table, folder / "plain_text" / "train-00000-of-00001.parquet")
    assert load_imdb(folder).notes == (
        "1 of 8 train texts repeat another train text",
        "8 of 8 test texts are also among the train texts",
    )
    assert len(load_imdb(folder)) == 2 * ROWS


# ---------------------------------------------------------------------------------------------- the original files


def test_imdb_archive(tmp_path, small):
    home = tmp_path / "aclImdb"
    for side in ("train", "test"):
        for kind, stars in (("neg", (1, 4)), ("pos", (7, 10))):
            (home / side / kind).mkdir(parents=True)
            for i in range(ROWS // 2):
                file = home / side / kind / f"{i + 8}_{stars[i % 2]}.txt"
                file.write_text(f"{side} {kind} é {i}", encoding="utf-8")
    (home / "train" / "urls_pos.txt").write_text("http://www.imdb.com/title/tt0453418/usercomments\n")
    for folder in (tmp_path, home):
        data = load_imdb(folder)
        assert data.train.texts == [f"train {kind} é {i}" for kind in ("neg", "pos") for i in range(4)]
        assert data.test.y.tolist() == [0] * 4 + [1] * 4
    file = home / "test" / "neg" / "8_1.txt"
    file.write_bytes(b"\xff\xfe")
    refused(r"8_1\.txt: this is not UTF-8 text", load_imdb, tmp_path)
    file.rename(file.with_name("8_9.txt"))
    refused(r"8_9\.txt: a review of 9 stars is not 'neg'", load_imdb, tmp_path)


def cola_lines(name, n=ROWS):
    return "".join(f'gj04\t{i % 2}\t{"" if i % 2 else "*"}\t{name} "quoted {i}\n' for i in range(n))


def test_cola_tables(tmp_path, small):
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text(cola_lines(name))
    data = load_cola(tmp_path, split="official")
    assert data.train.texts == [f'train "quoted {i}' for i in range(ROWS)]
    assert data.test.y.tolist() == [0, 1] * 4
    corpus = tmp_path / "raw"
    corpus.mkdir()
    (corpus / "in_domain_train.tsv").write_text(cola_lines("train"))
    (corpus / "in_domain_dev.tsv").write_text(cola_lines("in", 4))
    (corpus / "out_of_domain_dev.tsv").write_text(cola_lines("out", 4).rstrip("\n"))
    data = load_cola(corpus, split="official")
    assert data.test.texts == [f'{name} "quoted {i}' for name in ("in", "out") for i in range(4)]
    (corpus / "in_domain_dev.tsv").write_text("gj04\t1\tno sentence\n")
    refused(r"in_domain_dev\.tsv: line 1 is not a source, 0 or 1, a mark and a sentence", load_cola, corpus)


def test_cola_in_the_edition_of_its_authors(tmp_path):
    labels = {"train": (2_528, 6_023), "dev": (324, 719)}
    for name, (bad, good) in labels.items():
        lines = [f"s\t0\t*\t{name} bad {i}\n" for i in range(bad)] + [f"s\t1\t\t{name} good {i}\n" for i in range(good)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    notes = load_cola(tmp_path, split="official").notes
    assert notes == ("another edition: validation has 324 unacceptable + 719 acceptable",)
    data = load_cola(tmp_path)
    assert (len(data), int(data.split.sum())) == (9_594, 4_797)


def test_qqp_tables_leave_out_cut_lines(tmp_path, small):
    head = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    rows = "".join(f'{i}\t{i}\t{i + 50}\tIs "{{}} {i} so?\tIs {{}} {i}?\t{i % 2}\n' for i in range(ROWS))
    (tmp_path / "train.tsv").write_text(head + "99\t1\t2\tfirst half of a question\n" + rows.replace("{}", "train"))
    (tmp_path / "dev.tsv").write_text(head + rows.replace("{}", "dev"))
    data = load_qqp(tmp_path, split="official")
    assert data.train.texts[3] == ('Is "train 3 so?', "Is train 3?")
    assert data.y.tolist() == [0, 1] * ROWS
    assert data.notes == ("1 of 9 lines of train.tsv were cut by a line break and are left out",)
    (tmp_path / "dev.tsv").write_text("id\tsent0\tsent1\n")
    refused(r"dev\.tsv: there is no column 'question1' in the first line", load_qqp, tmp_path)


# ---------------------------------------------------------------------------------------------- arguments, libraries


def test_published_counts():
    records = (imdb._KNOWN, amazon._KNOWN, glue._COLA, glue._QQP)
    assert {known.name: {split: sum(n) for split, n in known.counts.items()} for known in records} == {
        "IMDb": {"train": 25_000, "test": 25_000},
        "Amazon polarity": {"train": 3_600_000, "test": 400_000},
        "CoLA": {"train": 8_551, "validation": 1_043},
        "QQP": {"train": 363_846, "validation": 40_430},
    }
    assert sum(counts[1] for counts in glue._QQP.counts.values()) == 149_263  # all duplicates of Quora's own release
    assert sum(glue._COLA.also["validation"]) == 1_043


@pytest.mark.parametrize("load", [load_cola, load_qqp])
def test_bad_arguments(load, tmp_path):
    refused(r"'split' parameter of load_.* must be one of 'pooled', 'official'", load, tmp_path, split="random")
    refused("'rng' parameter of load_", load, tmp_path, rng=-1)


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    (tmp_path / "cola").mkdir()
    monkeypatch.setattr(optional, "available", lambda module: False)
    for message, load, arguments in (
        (r'reading Parquet needs pyarrow: pip install "pyarrow>=', load_cola, (tmp_path,)),
        (r"downloading stanfordnlp/imdb needs datasets: pip install .datasets>=", load_imdb, ()),
    ):
        refused(message, load, *arguments, error=MissingDependencyError)
