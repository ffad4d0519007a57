"""``tritree explain``: explain predictions."""

import re
from typing import Annotated

import typer

from tritree.cli import options
from tritree.cli.messages import UserError, progress, write_json, write_text

EXAMPLES = (
    ("tritree explain houses.tritree new.csv 0", "the first row"),
    ("tritree explain houses.tritree new.csv 3 10-12", "four rows"),
    ("tritree explain houses.tritree new.csv 0 --json", "as JSON"),
)

#: Maximum number of rows that are explained if none are named.
_MAX_ROWS = 10


def _parse_rows(text: str) -> range:
    """Return the positions of rows, given as "5" or "3-7"."""
    match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", text)
    rows = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
    if not rows:
        raise ValueError
    return rows


_ROWS = options.parser("a position, such as 0, or a range, such as 3-7", _parse_rows)


def explain(
    model: options.ModelFile,
    table: options.TableFile,
    rows: Annotated[list[range] | None, typer.Argument(metavar="[ROW]...", parser=_ROWS)] = None,
    *,
    unknown_category: options.UnknownCategory = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Explain predictions: for one tree the path of a row and the reason for each branch.

    For a forest or boosting, the contributions of the columns, summed over all trees.

    Parameters
    ----------
    rows
        Rows by position: 0 is the first row, 3-7 are five rows. By default all rows, if there are at most 10.
    """
    from tritree.cli.models import features_of, open_model, read_rows
    from tritree.cli.tables import open_table

    opened = open_model(model, n_jobs=n_jobs, unknown_category=unknown_category)
    source = open_table(table, table_format)
    frame = features_of(opened, read_rows(opened, source))
    positions = _positions(rows or [], len(frame), source.name)
    with progress("explaining"):
        explanations = list(zip(positions, opened.explain(frame.iloc[positions]), strict=True))
    if as_json:
        write_json([{"row": row} | explanation.to_dict() for row, explanation in explanations])
    else:
        write_text("\n\n\n".join(f"row {row} {explanation}" for row, explanation in explanations))


def _positions(rows: list[range], n_rows: int, table: str) -> list[int]:
    """Return the positions of the rows to explain."""
    if not rows and n_rows > _MAX_ROWS:
        raise UserError(f"{table} has {n_rows:,} rows; name those to explain, such as 0 or 0-9")
    for last in [span[-1] for span in rows]:
        if last >= n_rows:
            raise UserError(f"there is no row {last} in {table}; its rows are 0 to {n_rows - 1}")
    return [row for span in rows or [range(n_rows)] for row in span]
