"""Text sets: small copies in the formats of their sources, read by every way in; counts, labels and damage are told."""

import json
import warnings

import numpy as np
import pytest

import clifford_rand._optional as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from examples.paper.datasets import amazon, glue, hub, imdb, load_amazon_polarity, load_cola, load_imdb, load_qqp
from examples.paper.datasets.assembly import Known

SETS = {
    "plain_text": (("text",), ("neg", "pos"), ("train", "test")),
    "amazon_polarity": (("title", "content"), ("negative", "positive"), ("train", "test")),
    "cola": (("sentence",), ("unacceptable", "acceptable"), ("train", "validation")),
    "qqp": (("question1", "question2"), ("not_duplicate", "duplicate"), ("train", "validation")),
}
CALLS = {"plain_text": load_imdb, "amazon_polarity": load_amazon_polarity, "cola": load_cola, "qqp": load_qqp}
ROWS = 8  # of each split, half of them in each class


def write_parquet(folder, config, shards=1, names=None, rename=None, labels=None, split_names=None):
    """Write a dataset repository as the hub has it: Parquet files with the features in their metadata, and a card."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns, classes, splits = SETS[config]
    (folder / config).mkdir(parents=True, exist_ok=True)
    for split in split_names or splits:
        y = np.arange(ROWS) % 2 if labels is None else np.asarray(labels)
        data = {name: [f"{split} {name} {i}" for i in range(ROWS)] for name in columns}
        table = arrow.table({**data, "label": arrow.array(y, arrow.int64())})
        features = {name: {"dtype": "string", "_type": "Value"} for name in columns}
        features["label"] = {"names": list(names or classes), "_type": "ClassLabel"}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        if rename:
            table = table.rename_columns([rename.get(name, name) for name in table.column_names])
        for i, rows in enumerate(np.array_split(np.arange(ROWS), shards)):
            file = folder / config / f"{split}-{i:05d}-of-{shards:05d}.parquet"
            parquet.write_table(table.take(rows), file)
    card = "".join(f"  - split: {split}\n    path: {config}/{split}-*\n" for split in splits)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{card}---\n")
    return folder


@pytest.fixture
def small(monkeypatch):
    """Pretend that the published sets have `ROWS` rows in each split."""
    for module, name in ((imdb, "_KNOWN"), (amazon, "_KNOWN"), (glue, "_COLA"), (glue, "_QQP")):
        known = getattr(module, name)
        half = (ROWS // 2, ROWS // 2)
        monkeypatch.setattr(module, name, Known(known.name, known.class_names, dict.fromkeys(known.counts, half)))


def options(config):
    if config == "amazon_polarity":
        return {"n_train": None, "n_test": None}
    return {"split": "official"} if config in ("cola", "qqp") else {}


def check_rows(data, config):
    columns, classes, splits = SETS[config]
    assert data.class_names == classes
    assert data.counts == {side: dict.fromkeys(classes, ROWS // 2) for side in ("train", "test")}
    for text, label, side in zip(data.texts, data.y, data.split, strict=True):
        part = text[0] if isinstance(text, tuple) else text
        split, name, row = part.split()
        assert (int(row) % 2, split == splits[0]) == (label, side)
        assert name == ("content" if config == "amazon_polarity" else columns[0])
    if config == "qqp":
        assert all(first.replace("question1", "question2") == second for first, second in data.texts)


@pytest.mark.parametrize("config", SETS)
@pytest.mark.parametrize("shards", [1, 3])
def test_parquet_files_of_the_repository(tmp_path, small, config, shards):
    folder = write_parquet(tmp_path, config, shards)
    check_rows(CALLS[config](folder, **options(config)), config)
    check_rows(CALLS[config](folder / config, **options(config)), config)  # the folder of the files themselves


@pytest.mark.parametrize("config", SETS)
def test_the_library_datasets_reads_a_clone(tmp_path, small, config, monkeypatch):
    pytest.importorskip("datasets")
    folder = write_parquet(tmp_path / "clone", config, 2)
    # without a network, pandas or the hub client may warn about what they cannot reach; that is not tested here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = CALLS[config](source=str(folder), cache_dir=tmp_path / "cache", **options(config))
        check_rows(data, config)
        named = write_parquet(tmp_path / "other", config, names=("x", "y"))
        with pytest.raises(ArgumentError, match=r"the classes are \['x', 'y'\]"):
            CALLS[config](source=str(named), cache_dir=tmp_path / "cache2", **options(config))


def test_the_library_is_called_with_the_pinned_revision(monkeypatch, small):
    """A stand-in for `datasets` sees what is asked of the hub."""
    arrow = pytest.importorskip("pyarrow")
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
            texts = [f"{asked[-1][1]['split']} {i}" for i in range(ROWS)]
            return arrow.table({"sentence": texts, "label": np.arange(ROWS) % 2})

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
    data = load_cola(split="official")
    assert data.train.texts[0] == "train 0"
    assert [arguments for arguments, _ in asked] == [("nyu-mll/glue", "cola")] * 2
    assert [options["split"] for _, options in asked] == ["train", "validation"]
    assert all(options["revision"] == "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c" for _, options in asked)
    Data.column_names = ("text", "label")
    with pytest.raises(
        ArgumentError, match="nyu-mll/glue@bcdcba7: there is no column 'sentence'; the columns are text"
    ):
        load_cola()
    Library.failure = Library.exceptions.DatasetsError("a checksum\ndiffers")
    with pytest.raises(ArgumentError, match="glue@bcdcba7: `datasets` could not load it: a checksum differs"):
        load_cola()
    Library.failure = ConnectionError("no way to the hub")  # says what is wrong by itself
    with pytest.raises(ConnectionError, match="no way to the hub"):
        load_cola()


def test_pooling_divides_both_splits(tmp_path, small):
    folder = write_parquet(tmp_path, "cola")
    data = load_cola(folder, test_share=0.25, rng=4)
    assert data.counts == {
        "train": {"unacceptable": 6, "acceptable": 6},
        "test": {"unacceptable": 2, "acceptable": 2},
    }
    assert data.split.tolist() == load_cola(folder, test_share=0.25, rng=4).split.tolist()
    assert data.split.tolist() != load_cola(folder, test_share=0.25, rng=5).split.tolist()
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
    with pytest.raises(ArgumentError, match="9 rows were asked of split 'train', which has 8; ask for fewer"):
        load_amazon_polarity(folder, n_train=9)
    with pytest.raises(ArgumentError, match="'field' parameter of load_amazon_polarity must be one of 'content'"):
        load_amazon_polarity(folder, field="text")
    with pytest.raises(ArgumentError, match="'n_test' parameter of load_amazon_polarity must be an integer ≥ 1"):
        load_amazon_polarity(folder, n_test=0)


@pytest.mark.parametrize("config", SETS)
def test_a_partial_copy_is_refused_or_noted(tmp_path, config):
    folder = write_parquet(tmp_path, config)
    with pytest.raises(ArgumentError, match=r"not the complete .* 4 .* It should be .* or pass partial=True"):
        CALLS[config](folder, **options(config))
    with pytest.warns(UserWarning, match="a partial copy of"):
        data = CALLS[config](folder, partial=True, **options(config))
    check_rows(data, config)
    assert data.notes[0].startswith("a partial copy of")


def test_missing_shards_and_files(tmp_path, small):
    folder = write_parquet(tmp_path, "cola", 3)
    (folder / "cola" / "train-00001-of-00003.parquet").unlink()
    with pytest.raises(ArgumentError, match="there are 2 of the 3 files of split 'train'; download the others"):
        load_cola(folder)
    with pytest.warns(UserWarning, match="a partial copy of CoLA"):
        assert len(load_cola(folder, partial=True)) == 2 * ROWS - 3
    for file in (folder / "cola").glob("validation-*"):
        file.unlink()
    with pytest.raises(ArgumentError, match=r"there is no file validation-\*\.parquet"):
        load_cola(folder, partial=True)
    with pytest.raises(ArgumentError, match="there is no such folder"):
        load_cola(tmp_path / "nowhere")


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
    with pytest.raises(ArgumentError, match=message):
        load_imdb(write_parquet(tmp_path, "plain_text", **change))


def test_damaged_parquet_and_missing_texts(tmp_path, small):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = write_parquet(tmp_path, "plain_text") / "plain_text" / "train-00000-of-00001.parquet"
    whole = file.read_bytes()
    labels = np.arange(ROWS) % 2
    for texts, y, message in (
        ([None] + ["a"] * 7, labels, "the text of row 0 is missing"),
        ([" "] + ["a"] * 7, labels, "1 of 16 texts are empty, more than one in 100"),
        (["a"] * 8, [None, *labels[1:]], "column 'label' has 1 missing values of 8"),
        (["a"] * 8, ["0"] * 8, "column 'label' must be integers, it is string"),
    ):
        parquet.write_table(arrow.table({"text": texts, "label": y}), file)
        with pytest.raises(ArgumentError, match=message):
            load_imdb(tmp_path)
    file.write_bytes(whole[:100])
    with pytest.raises(ArgumentError, match=r"train-00000-of-00001\.parquet: this is not a readable Parquet file"):
        load_imdb(tmp_path)


def test_repeated_texts_are_counted_and_kept(tmp_path, small):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = write_parquet(tmp_path, "plain_text")
    texts = ["train text 0", "train text 1", "same", "same", "e", "f", "g", "h"]
    table = arrow.table({"text": texts, "label": np.arange(ROWS) % 2})
    parquet.write_table(table, folder / "plain_text" / "test-00000-of-00001.parquet")
    data = load_imdb(folder)
    assert data.notes == ("2 of 8 test texts are also among the train texts",)
    parquet.write_table(table, folder / "plain_text" / "train-00000-of-00001.parquet")
    assert load_imdb(folder).notes == (
        "1 of 8 train texts repeat another train text",
        "8 of 8 test texts are also among the train texts",
    )
    assert len(load_imdb(folder)) == 2 * ROWS


# ---------------------------------------------------------------------------------------------- the original files


def write_archive(home):
    for side in ("train", "test"):
        for kind, stars in (("neg", (1, 4)), ("pos", (7, 10))):
            (home / side / kind).mkdir(parents=True)
            for i in range(ROWS // 2):
                (home / side / kind / f"{i + 8}_{stars[i % 2]}.txt").write_text(
                    f"{side} {kind} é {i}", encoding="utf-8"
                )
    (home / "train" / "urls_pos.txt").write_text("http://www.imdb.com/title/tt0453418/usercomments\n")


def test_imdb_archive(tmp_path, small):
    write_archive(tmp_path / "aclImdb")
    for folder in (tmp_path, tmp_path / "aclImdb"):
        data = load_imdb(folder)
        assert data.train.texts == [f"train {kind} é {i}" for kind in ("neg", "pos") for i in range(4)]
        assert data.test.y.tolist() == [0] * 4 + [1] * 4
    file = tmp_path / "aclImdb" / "test" / "neg" / "8_1.txt"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ArgumentError, match=r"8_1\.txt: this is not UTF-8 text"):
        load_imdb(tmp_path)
    file.rename(file.with_name("8_9.txt"))
    with pytest.raises(ArgumentError, match=r"8_9\.txt: a review of 9 stars is not 'neg'"):
        load_imdb(tmp_path)


def cola_lines(name, n=ROWS):
    return "".join(f'gj04\t{i % 2}\t{"" if i % 2 else "*"}\t{name} "quoted {i}\n' for i in range(n))


def test_cola_tables(tmp_path, small):
    (tmp_path / "train.tsv").write_text(cola_lines("train"))
    (tmp_path / "dev.tsv").write_text(cola_lines("dev"))
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
    with pytest.raises(
        ArgumentError, match=r"in_domain_dev\.tsv: line 1 is not a source, 0 or 1, a mark and a sentence"
    ):
        load_cola(corpus)


def test_cola_in_the_edition_of_its_authors(tmp_path):
    labels = {"train": (2_528, 6_023), "dev": (324, 719)}
    for name, (bad, good) in labels.items():
        lines = [f"s\t0\t*\t{name} bad {i}\n" for i in range(bad)] + [f"s\t1\t\t{name} good {i}\n" for i in range(good)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    data = load_cola(tmp_path, split="official")
    assert data.notes == ("another edition: validation has 324 unacceptable + 719 acceptable",)
    data = load_cola(tmp_path)
    assert (len(data), int(data.split.sum())) == (9_594, 4_797)


def test_qqp_tables_leave_out_cut_lines(tmp_path, small):
    head = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    rows = [f'{i}\t{i}\t{i + 50}\tIs "{{}} {i} so?\tIs {{}} {i}?\t{i % 2}\n' for i in range(ROWS)]
    cut = "99\t1\t2\tfirst half of a question\n"
    (tmp_path / "train.tsv").write_text(head + cut + "".join(rows).replace("{}", "train"))
    (tmp_path / "dev.tsv").write_text(head + "".join(rows).replace("{}", "dev"))
    data = load_qqp(tmp_path, split="official")
    assert data.train.texts[3] == ('Is "train 3 so?', "Is train 3?")
    assert data.y.tolist() == [0, 1] * ROWS
    assert data.notes == ("1 of 9 lines of train.tsv were cut by a line break and are left out",)
    (tmp_path / "dev.tsv").write_text("id\tsent0\tsent1\n")
    with pytest.raises(ArgumentError, match=r"dev\.tsv: there is no column 'question1' in the first line"):
        load_qqp(tmp_path)


# ---------------------------------------------------------------------------------------------- arguments, libraries


def test_published_counts():
    totals = {
        known.name: {split: sum(counts) for split, counts in known.counts.items()}
        for known in (imdb._KNOWN, amazon._KNOWN, glue._COLA, glue._QQP)
    }
    assert totals == {
        "IMDb": {"train": 25_000, "test": 25_000},
        "Amazon polarity": {"train": 3_600_000, "test": 400_000},
        "CoLA": {"train": 8_551, "validation": 1_043},
        "QQP": {"train": 363_846, "validation": 40_430},
    }
    assert sum(counts[1] for counts in glue._QQP.counts.values()) == 149_263  # all duplicates of Quora's own release
    assert sum(glue._COLA.also["validation"]) == 1_043


@pytest.mark.parametrize("load", [load_cola, load_qqp])
def test_bad_arguments(load, tmp_path):
    with pytest.raises(ArgumentError, match=r"'split' parameter of load_.* must be one of 'pooled', 'official'"):
        load(tmp_path, split="random")
    with pytest.raises(ArgumentError, match="'rng' parameter of load_"):
        load(tmp_path, rng=-1)


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    (tmp_path / "cola").mkdir()
    monkeypatch.setattr(optional, "available", lambda module: False)
    with pytest.raises(
        MissingDependencyError, match=r'reading Parquet needs pyarrow: pip install "clifford-rand\[app\]"'
    ):
        load_cola(tmp_path)
    with pytest.raises(MissingDependencyError, match=r"downloading stanfordnlp/imdb needs datasets: .*\[paper\]"):
        load_imdb()


def test_files_of_one_split_must_fit_each_other(tmp_path, small):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = write_parquet(tmp_path, "plain_text", 2)
    odd = arrow.table({"text": ["a"], "label": ["0"]})
    parquet.write_table(odd, folder / "plain_text" / "train-00001-of-00002.parquet")
    with pytest.raises(ArgumentError, match="split 'train': the files do not fit each other"):
        load_imdb(folder)
