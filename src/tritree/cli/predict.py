"""``tritree predict``: predict the rows of a table."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tritree.cli import options
from tritree.cli.messages import UserError, progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tritree.cli.batches import BatchTable
    from tritree.cli.tables import TableSource

EXAMPLES = (
    ("tritree predict houses.tritree new.csv", "write the predictions to the terminal"),
    ("tritree predict houses.tritree new.csv --keep id -o prices.csv", "with a column of the table"),
    (
        "tritree predict visits.tritree new.parquet --append --probabilities -o all.parquet",
        "with all columns of the table, and the probability of each class",
    ),
    (
        "tritree predict visits.tritree big/*.parquet -o predictions.parquet",
        "batch by batch, in little memory",
    ),
    ("zcat new.csv.gz | tritree predict houses.tritree - | sort -n | head", "in a pipe"),
)

#: Numbers with leading zeros, which are probably identifiers and stay text.
_LEADING_ZERO = r"\s*[+-]?0\d"


def predict(
    model: options.ModelFile,
    tables: options.TableFiles,
    *,
    output: options.OutputFile = None,
    name: Annotated[str, options.option("NAME")] = "prediction",
    probabilities: Annotated[bool, options.flag("--probabilities")] = False,
    keep: options.Columns = None,
    append: Annotated[bool, options.flag("--append")] = False,
    unknown_category: options.UnknownCategory = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Predict the rows of a table, whatever values are missing.

    Columns are matched by name. A feature that the table lacks is missing in every row, and a column that the model
    does not know is ignored; a warning names them. The table is read as that of tritree fit was, unless options say
    otherwise, and may have its target.

    Parquet files may be larger than the memory: they are read, and the predictions written, batch by batch. Several
    files are one table.

    Parameters
    ----------
    output
        Table to write: .csv, .tsv or .parquet; text also with .gz, .bz2, .xz, .zst or .zip. An existing file is
        replaced when all rows are predicted. By default CSV is written to the standard output.
    name
        Name of the column of predictions.
    probabilities
        Add the probability of each class, in columns such as prediction_yes for class yes.
    keep
        Column of the table to write beside the predictions, unchanged, or several: a,b or a pattern such as 'id_*'. May
        be repeated.
    append
        Write all columns of the table, then the predictions.
    as_json
        Write the predictions as JSON, a list with an object per row; with a file, its path, size, format, number of
        rows and columns instead.
    """
    from tritree.cli.batches import find_batches
    from tritree.cli.models import like_training, open_model
    from tritree.cli.output import check_output
    from tritree.cli.tables import check_table_output, open_table

    opened = open_model(model, n_jobs=n_jobs, unknown_category=unknown_category)
    if probabilities and not hasattr(opened, "classes_"):
        raise UserError(f"{model!r} predicts numbers, not classes; leave out --probabilities")
    batches = find_batches(tables, table_format, also_small=True)
    read_files = tables if batches is None else batches.files.paths
    file = check_output(output, "the predictions", model, *read_files)
    form, compression = ("csv", None) if file is None else check_table_output(str(output))
    is_typed = as_json or form == "parquet"
    wanted = _Wanted(opened, name, probabilities, keep, append, is_typed)
    types: dict[str, Any] = {}
    if batches is None:
        results = _predict_table(wanted, like_training(opened, open_table(tables[0], table_format)))
    else:
        results = _predict_batches(wanted, like_training(opened, batches))
        copied = wanted.copied(batches.columns, batches.name)  # before anything is read
        types = {name: batches.files.schema.field(name).type for name in copied}
    if file is None:
        _write_to_stdout(results, as_json)
        return
    _write_to_file(results, file, str(output), form, compression, types, as_json)


@dataclass(frozen=True)
class _Wanted:
    """The columns to write for the rows of a table."""

    model: Any
    name: str
    probabilities: bool
    keep: list[str] | None
    append: bool
    #: Whether columns of the table are written with their types, not as text.
    typed: bool

    def copied(self, columns: list[str], table: str) -> list[str]:
        """Return the columns of a table to write; raise a UserError if there are others of their names."""
        from tritree.cli.columns import select_columns

        names = columns if self.append else select_columns("--keep", self.keep, columns, table)
        labels = self.model.classes_ if self.probabilities else ()
        predicted = [self.name, *(f"{self.name}_{label}" for label in labels)]
        if both := next((name for name in predicted if name in names), None):
            raise UserError(
                f"the table has a column {both!r} already; choose another name for predictions with --name"
            )
        return names

    def predict(self, source: Any) -> Any:
        """Return columns of the table of a source, and predictions."""
        import pandas as pd

        from tritree.cli.batches import BatchPart
        from tritree.cli.models import features_of, read_rows

        frame = read_rows(self.model, source)
        names = self.copied(list(frame.columns), source.name)
        if isinstance(source, BatchPart):
            copied = source.frame[names]
        else:
            copied = _copy_columns(source, names, frame, typed=self.typed)
        with progress("predicting"):
            rows = features_of(self.model, _drop_copied(self.model, frame, names))
            columns = _predict(self.model, rows, self.name, self.probabilities)
        return pd.concat([copied, pd.DataFrame(columns)], axis=1)


def _predict_table(wanted: _Wanted, source: "TableSource") -> "Iterator[Any]":
    yield wanted.predict(source)


def _predict_batches(wanted: _Wanted, table: "BatchTable") -> "Iterator[Any]":
    """Yield the result for each batch of a table; what no branch is grown for is counted over all of them."""
    from tritree.estimators.growing_model import warn_of_ungrown

    model = wanted.model._model
    model.warned_of_ungrown = True
    for part in table.parts(nullable=True):
        with part.errors():
            result = wanted.predict(part)
        yield result if wanted.typed else _times_as_text(result)
    model.warned_of_ungrown = False
    warn_of_ungrown(model)


def _write_to_stdout(results: "Iterator[Any]", as_json: bool) -> None:
    from tritree.cli.table_writer import json_stream, text_stream

    with json_stream() if as_json else nullcontext(text_stream()) as write:
        for result in results:
            write(result)


def _write_to_file(
    results: "Iterator[Any]",
    file: "Path",
    output: str,
    form: str,
    compression: str | None,
    types: dict[str, Any],
    as_json: bool,
) -> None:
    """Write predictions to a file, and print what it holds."""
    from tritree.cli.output import report_written
    from tritree.cli.table_writer import table_file

    replaced, n_rows, columns = file.exists(), 0, []
    with table_file(file, output, form, compression, types) as write:
        for result in results:
            write(result)
            n_rows, columns = n_rows + len(result), list(result.columns)
    facts = {"format": form, "rows": n_rows, "columns": columns}
    report_written(file, output, "predictions", replaced=replaced, as_json=as_json, **facts)


def _copy_columns(source: "TableSource", names: list[str], frame: Any, *, typed: bool) -> Any:
    """Return columns of a table to write beside the predictions.

    Cells of a text file are copied as they stand there, "007" and "NA" included, but decimal commas become points, as
    in the predictions. If the result is to have types, they have those of ``frame``, the table as read for prediction,
    except that a column with "007" in it stays text.
    """
    if not names or not source.is_text:
        return frame[names]
    cells = source.read_as_text()[names]
    if not typed:
        numeric = frame[names].select_dtypes("number").columns if source.has_decimal_commas else ()
        return cells.assign(**{name: cells[name].str.replace(",", ".") for name in numeric})
    as_text = [name for name in names if cells[name].str.match(_LEADING_ZERO).any()]
    return frame[names].assign(**{name: cells[name].where(frame[name].notna(), None) for name in as_text})


def _times_as_text(frame: Any) -> Any:
    """Return columns whose times are text, of which each is written as it is whatever the others are."""
    times = [name for name in frame.columns if frame[name].dtype.kind in "mM"]
    return frame.assign(
        **{name: frame[name].astype(object).where(frame[name].notna(), None) for name in times}
    )


def _drop_copied(model: Any, frame: Any, names: list[str]) -> Any:
    """Return the rows without copied columns that are not features, so that no warning says they are ignored."""
    features = {str(name) for name in model._encoder.column_names or frame.columns}
    copied = [name for name in names if name not in features]
    return frame.drop(columns=copied) if len(copied) < len(frame.columns) else frame


def _predict(model: Any, frame: Any, name: str, probabilities: bool) -> dict[str, Any]:
    """Return the column of predictions, and those of the probabilities if requested."""
    if not hasattr(model, "classes_"):
        return {name: model.predict(frame)}
    predicted = model.predict_proba(frame)
    columns = {name: model.classes_[predicted.argmax(axis=1)]}  # as predict does, without a second traversal
    if probabilities:
        columns |= {f"{name}_{label}": predicted[:, k] for k, label in enumerate(model.classes_)}
    return columns
