"""``clifford-rand prove``: the exact proof of a certificate, for the table that the model was trained on."""

from pathlib import Path

from clifford_rand_nn.certificates.export import CsvTable
from clifford_rand_nn.cli.console import check_out, refused_data, say, show_pairs
from clifford_rand_nn.cli.options import ProofOutput, TableFormat
from clifford_rand_nn.cli.tables import Reading, choose_target, read_model, read_other

_SUFFIXES = (".json",)


def run_prove(
    path: Path, train: Path, target: str | None, weights: str | None, output: ProofOutput, table_format: TableFormat
) -> None:
    """Read the model and its training table, write the proof and report."""
    check_out(output.out, output.force, _SUFFIXES, "a proof")
    loaded = read_model(path)
    target = choose_target(train, target, table_format, True)
    rows = read_other(train, Reading(target, weights, dialect=table_format.keywords), loaded.encoder, loaded.names)
    columns = tuple(map(str, rows.names if loaded.names is None else loaded.names))
    table = CsvTable(train, columns, (target,)) if output.by_reference else None
    with refused_data(str(train)):
        X = loaded.as_taken(rows.X)
        exact = loaded.model.certificate_.export(
            output.out, X, rows.y, rows.weights, table=table, max_operations=output.max_operations
        )
    say(f"{output.out} written, {output.out.stat().st_size / 1e3:.3g} kB")
    show_pairs([("proved", exact.sentence), ("check it", f"clifford-rand check {output.out}")])
