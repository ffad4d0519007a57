"""``tritree predict``: predict the rows of a table."""

from typing import TYPE_CHECKING, Annotated, Any

from tritree.cli import options
from tritree.cli.messages import UserError, progress, write_json

if TYPE_CHECKING:
    from tritree.cli.tables import TableSource

EXAMPLES = (
    ("tritree predict houses.tritree new.csv", "write the predictions to the terminal"),
    ("tritree predict houses.tritree new.csv --keep id -o prices.csv", "with a column of the table"),
    (
        "tritree predict visits.tritree new.parquet --append --probabilities -o all.parquet",
        "with all columns of the table, and the probability of each class",
    ),
    ("zcat new.csv.gz | tritree predict houses.tritree - | sort -n | head", "in a pipe"),
)

#: Numbers with leading zeros, which are probably identifiers and stay text.
_LEADING_ZERO = r"\s*[+-]?0\d"


def predict(
    model: options.ModelFile,
    table: options.TableFile,
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

    Parameters
    ----------
    output
        Table to write: .csv, .tsv or .parquet; text also with .gz, .bz2, .xz, .zst or .zip. An existing file is
        replaced. By default CSV is written to the standard output.
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
    import pandas as pd

    from tritree.cli.columns import select_columns
    from tritree.cli.models import features_of, like_training, open_model, read_rows
    from tritree.cli.output import check_output, write_output
    from tritree.cli.tables import check_table_output, open_table, table_bytes, to_records

    opened = open_model(model, n_jobs=n_jobs, unknown_category=unknown_category)
    if probabilities and not hasattr(opened, "classes_"):
        raise UserError(f"{model!r} predicts numbers, not classes; leave out --probabilities")
    source = like_training(opened, open_table(table, table_format))
    file = check_output(output, "the predictions", model, table)
    form, compression = ("csv", None) if file is None else check_table_output(str(output))
    frame = read_rows(opened, source)
    names = list(frame.columns)
    if not append:
        names = select_columns("--keep", keep, names, source.name)
    copied = _copy_columns(source, names, frame, typed=as_json or form == "parquet")
    with progress("predicting"):
        rows = features_of(opened, _drop_copied(opened, frame, names))
        columns = _predict(opened, rows, name, probabilities)
    if both := next((name for name in columns if name in copied.columns), None):
        raise UserError(
            f"the table has a column {both!r} already; choose another name for predictions with --name"
        )
    result = pd.concat([copied, pd.DataFrame(columns)], axis=1)
    if as_json and file is None:
        write_json(to_records(result))
        return
    facts = {"format": form, "rows": len(result), "columns": list(result.columns)}
    data = table_bytes(result, form, compression)
    write_output(data, file, output, "predictions", as_json=as_json, **facts)


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
