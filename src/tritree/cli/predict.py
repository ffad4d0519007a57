"""``tritree predict`` and ``tritree explain``: what a model says of rows, and why."""

# annotations are read by Typer when the program is built, so they are not put off here

import re
from typing import Annotated, Any

import typer

from tritree.cli import options
from tritree.cli.messages import Mendable, put, put_bytes, put_json, working
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, open_source, records

__all__ = ["EXPLAIN_EXAMPLES", "PREDICT_EXAMPLES", "explain", "parse_rows", "predict"]

PREDICT_EXAMPLES = (
    ("tritree predict houses.tritree new.csv", "the predictions, to the terminal"),
    ("tritree predict houses.tritree new.csv --keep id -o prices.csv", "with a column of the table"),
    (
        "tritree predict visits.tritree new.parquet --append --probabilities -o all.parquet",
        "with all of them",
    ),
    ("zcat new.csv.gz | tritree predict houses.tritree - | sort -n | head", "in a pipe"),
)
EXPLAIN_EXAMPLES = (
    ("tritree explain houses.tritree new.csv 0", "the first row"),
    ("tritree explain houses.tritree new.csv 3 10-12", "four rows"),
    ("tritree explain houses.tritree new.csv 0 --json", "for programs"),
)

#: Rows that are explained where none are named; more would be a wall of text.
_MOST_ROWS = 10

Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="The table to write: .csv, .tsv or .parquet; text also with .gz, .bz2, .xz, .zst or .zip. A file that is "
        "there is replaced. If not named, CSV goes to the standard output.",
    ),
]
Name = Annotated[str, typer.Option(metavar="NAME", help="What the column of predictions is called.")]
Probabilities = Annotated[
    bool,
    typer.Option(
        "--probabilities",
        metavar="",
        help="Add a column per class with its probability, called as prediction_yes for yes.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        show_default=False,
        help="A column of the table to write beside the predictions, as it is. May be repeated.",
    ),
]
Append = Annotated[
    bool,
    typer.Option("--append", metavar="", help="Write all columns of the table, and then the predictions."),
]
Rows = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ROW]...",
        show_default=False,
        help="Rows by position: the first one is 0, and 3-7 are five. If none is named, all of at most 10.",
    ),
]


@reads_a_table
def predict(
    model: options.ModelFile,
    table: options.TableFile,
    output: Output = None,
    name: Name = "prediction",
    probabilities: Probabilities = False,
    keep: Keep = None,
    append: Append = False,
    unknown_category: options.UnknownCategory = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Predict the rows of a table, with holes anywhere.

    Columns are matched by name. One that the model knows and the table lacks is missing in every row, and one that the
    model does not know is ignored; a warning names them.
    """
    from tritree.cli.kept import read_kept
    from tritree.cli.models import open_model
    from tritree.cli.places import check_output, check_table_kind, table_bytes, write_out
    from tritree.cli.typed import read_rows

    tree = open_model(model, n_jobs=n_jobs, unknown_category=unknown_category)
    if probabilities and not hasattr(tree, "classes_"):
        raise Mendable(f"{model!r} predicts numbers, which have no probabilities; leave out --probabilities")
    source = open_source(table, reading)
    place = check_output(output, "the predictions", model, table)
    kind = "csv" if place is None else check_table_kind(str(output))
    frame = read_rows(tree, source, reading)
    names = list(frame.columns) if append else list(dict.fromkeys(keep or []))
    kept = read_kept(source, reading, names, frame, typed=as_json or kind == "parquet")
    with working("predicting"):
        answers = _answers(tree, _without_kept(tree, frame, names), name, probabilities)
    result = _joined(kept, answers)
    if place is not None:
        write_out(table_bytes(result, str(output)), place, output, "predictions")
        if as_json:
            put_json({"output": output, "rows": len(result), "columns": list(result.columns)})
    elif as_json:
        put_json(records(result))
    else:
        put_bytes(table_bytes(result, None))


def _without_kept(tree: Any, frame: Any, names: list[str]) -> Any:
    """Return the rows without columns that are only passed on: no warning need tell that they are ignored."""
    known = {str(key) for key in tree._encoder.column_names or frame.columns}
    passed_on = [name for name in names if name not in known]
    return frame.drop(columns=passed_on) if len(passed_on) < len(frame.columns) else frame


def _answers(tree: Any, frame: Any, name: str, probabilities: bool) -> Any:
    """Return a frame of the predictions, and of the probabilities if they are wanted."""
    from tritree.cli.tables import import_pandas

    if not hasattr(tree, "classes_"):
        return import_pandas().DataFrame({name: tree.predict(frame)})
    shares = tree.predict_proba(frame)
    columns = {name: tree.classes_[shares.argmax(axis=1)]}  # as predict does, without leading the rows twice
    if probabilities:
        columns |= {f"{name}_{label}": shares[:, k] for k, label in enumerate(tree.classes_)}
    return import_pandas().DataFrame(columns)


def _joined(kept: Any, answers: Any) -> Any:
    """Return the columns that are passed on and the predictions beside each other."""
    from tritree.cli.tables import import_pandas

    taken = next((name for name in answers.columns if name in kept.columns), None)
    if taken is not None:
        raise Mendable(
            f"the table has a column {taken!r} already; call the predictions otherwise with --name"
        )
    return import_pandas().concat([kept, answers], axis=1)


@reads_a_table
def explain(
    model: options.ModelFile,
    table: options.TableFile,
    rows: Rows = None,
    unknown_category: options.UnknownCategory = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Explain predictions: the path of a row through the tree, each turn with its reason.

    Of a forest or of boosted trees it is what each column has moved, over all trees.
    """
    from tritree.cli.models import open_model
    from tritree.cli.typed import read_rows

    wanted = parse_rows(rows or [])
    tree = open_model(model, n_jobs=n_jobs, unknown_category=unknown_category)
    source = open_source(table, reading)
    frame = read_rows(tree, source, reading)
    positions = _positions(wanted, len(frame), source.name)
    with working("explaining"):
        told = list(zip(positions, tree.explain(frame.iloc[positions]), strict=True))
    if as_json:
        put_json([{"row": row} | why.to_dict() for row, why in told])
    else:
        put("\n\n\n".join(f"row {row} {why}" for row, why in told))


def parse_rows(texts: list[str]) -> list[tuple[int, int]]:
    """Return first and last positions of rows, as "5" and "3-7" name them."""
    spans = []
    for text in texts:
        found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", text)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if last < first:
            raise typer.BadParameter(
                f"{text!r} names no rows; give a position, such as 0, or several, such as 3-7",
                param_hint="ROW",
            )
        spans.append((first, last))
    return spans


def _positions(wanted: list[tuple[int, int]], n_rows: int, table: str) -> list[int]:
    """Return the positions of the rows to explain."""
    if not wanted and n_rows > _MOST_ROWS:
        raise Mendable(f"{table} has {n_rows:,} rows; name those to explain, such as 0 or 0-9")
    beyond = next((last for _, last in wanted if last >= n_rows), None)
    if beyond is not None:
        raise Mendable(f"there is no row {beyond} in {table}; its rows are 0 to {n_rows - 1}")
    spans = wanted or [(0, n_rows - 1)]
    return [row for first, last in spans for row in range(first, last + 1)]
