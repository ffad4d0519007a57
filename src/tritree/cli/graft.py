"""``tritree graft``: third branches for a model of another library."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tritree.cli import options
from tritree.cli.messages import UserError, progress, write_json, write_text
from tritree.cli.output import check_file, format_size, write_errors
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.cli.tables import TableSource
    from tritree.graft.source import SourceModel

EXAMPLES = (
    (
        "tritree graft model.json rows.csv -o robust.tritree",
        "a model of XGBoost, with rows like those of training",
    ),
    ("tritree graft model.txt rows.parquet --drop 'id_*'", "a model of LightGBM, as model.tritree"),
    ("tritree graft model.json rows.csv --strategy third", "no direction of missing values is kept"),
)


def graft(
    source_file: Annotated[str, options.argument("SOURCE")],
    table: options.TableFile,
    *,
    output: options.OutputFile = None,
    missing: Annotated[
        Literal["auto", "third", "keep"], options.option("STRATEGY", "--strategy", "-s", panel=options.MODEL)
    ] = "auto",
    max_background: Annotated[int, options.integer(1, panel=options.MODEL)] = 20_000,
    third_depth_extra: Annotated[int, options.integer(0, panel=options.MODEL)] = 0,
    drop: options.Columns = None,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Give a model of another library third branches for missing values.

    Complete rows get the predictions of the source, others an estimate of its mean prediction given what is observed.
    Nothing is trained anew, and the table needs no target. The other commands take the file that is written as they
    take one of tritree fit.

    Parameters
    ----------
    source_file
        A file of XGBoost (.json or .ubj), LightGBM (text) or CatBoost (.json). It is read without the library.
    table
        Rows like those that the model was fitted to; see tritree fit for the formats. Columns that the model does not
        have are ignored.
    output
        Model file. By default it is named after the source, with the extension .tritree, in the current folder. An
        existing file is replaced.
    missing
        auto: splits keep the direction of missing values that the source has learned, or may have learned, if at least
        a tenth of the rows lack their column; all others get a third branch. third: all splits get one. keep: none.
    max_background
        Maximum number of rows that are kept to grow third branches from.
    third_depth_extra
        Additional depth of third branches.
    drop
        Column of the table to leave out, or several: a,b or a pattern such as 'id_*'. May be repeated.
    seed
        Random seed of the choice of rows.
    """
    from tritree.cli.columns import select_columns
    from tritree.cli.fit_record import FitRecord
    from tritree.cli.inputs import check_readable
    from tritree.cli.tables import open_table
    from tritree.graft.models import graft_source, read_source

    if source_file == "-":
        raise UserError("a model is read from a file, not from the standard input; name the file")
    check_readable(Path(source_file), "model")
    rows = open_table(table, table_format)
    output = output or f"{Path(source_file).name.partition('.')[0] or 'model'}.tritree"
    file = check_file(output, "the model", "-o", source_file, table)
    with progress(f"reading {source_file!r}"):
        source = read_source(source_file)
    frame = _read_rows(source, rows)
    dropped = select_columns("--drop", drop, list(frame.columns), rows.name)
    with progress("grafting third branches"):
        model = graft_source(
            source,
            frame.drop(columns=dropped),
            missing=missing,
            max_background=max_background,
            third_depth_extra=third_depth_extra,
            random_state=seed,
            n_jobs=n_jobs,
        )
    replaced = file.exists()
    record = FitRecord(None, drop=dropped, table_format=rows.options())
    with write_errors(output):
        model.save(file, metadata=record.to_metadata())
    facts = {
        "model": output,
        "bytes": file.stat().st_size,
        "replaced": replaced,
        "source": source_file,
        "library": source.library,
        "task": "classification" if hasattr(model, "classes_") else "regression",
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "trees": model.n_trees_,
        "nodes": model.n_nodes_,
        "columns": model.n_features_in_,
        "rows": len(frame),
        "strategy": missing,
        "third_splits": model.n_third_splits_,
        "kept_splits": model.n_kept_splits_,
    }
    if as_json:
        write_json(facts)
    else:
        write_text(_to_text(facts, rows.name))


def _read_rows(source: "SourceModel", rows: "TableSource") -> Any:
    """Return the table: text where the source has categories of text, and numbers where it has no categories."""
    from tritree.cli.cells import is_text, to_numbers

    is_of_text = {
        column.name: column.categories is not None and any(isinstance(one, str) for one in column.categories)
        for column in source.columns
        if column.name is not None
    }
    frame = rows.read([name for name, found in is_of_text.items() if found])
    for name, found in is_of_text.items():
        if not found and name in frame.columns and is_text(frame[name]):
            frame[name] = to_numbers(frame[name], name, f" (numbers to {source.library})", "")
    return frame


def _to_text(facts: dict[str, Any], table: str) -> str:
    """Return what was grafted as text, a line per subject."""
    classes = "" if facts["classes"] is None else f", {count(len(facts['classes']), 'class', 'classes')}"
    third, kept = facts["third_splits"], facts["kept_splits"]
    size = f"{count(facts['trees'], 'tree')}, {count(facts['nodes'], 'node')}, {count(facts['columns'], 'column')}"
    lines = {
        "source": f"{facts['library']}, {facts['task']}{classes}: {size}",
        "table": f"{table}: {count(facts['rows'], 'row')}",
        "missing": f"{count(third, 'split')} {'has' if third == 1 else 'have'} a third branch, "
        f"{kept:,} {'keeps' if kept == 1 else 'keep'} the direction of {facts['library']}",
        "model": f"{facts['model']} ({format_size(facts['bytes'])}{', replaced' if facts['replaced'] else ''})",
    }
    return "\n".join(f"{label:<9}{text}" for label, text in lines.items())
