"""``tritree missing``: where the values of a table are missing."""

from typing import Annotated, Literal

from tritree.cli import options
from tritree.cli.messages import UserError, progress, write_json, write_text

EXAMPLES = (
    ("tritree missing houses.csv", "fractions, patterns, and columns that are missing together"),
    ("tritree missing houses.csv --drop price -o missing.png", "as a figure; .svg and .pdf, too"),
    ("tritree missing houses.csv --json | jq .complete_rows", "as JSON"),
)


def missing(
    table: options.TableFile,
    *,
    output: options.OutputFile = None,
    requested: Annotated[
        Literal["png", "svg", "pdf"] | None, options.option("FORMAT", "--format", "-f")
    ] = None,
    drop: options.Columns = None,
    dpi: options.Dpi = 110,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Summarise the missing values of a table: by column, by pattern, and which columns are missing together.

    Parameters
    ----------
    output
        Figure to draw: .png, .svg or .pdf. An existing file is replaced.
    requested
        png, svg or pdf. By default the file extension decides.
    drop
        Column to leave out, or several: a,b or a pattern such as 'id_*'. May be repeated.
    """
    from tritree.cli.columns import select_columns
    from tritree.cli.output import (
        FIGURE_FORMATS,
        check_format,
        check_json_output,
        check_output,
        figure_bytes,
        write_output,
    )
    from tritree.cli.tables import open_table, warn_of_unnamed_columns
    from tritree.lab.missing_profile import profile_missing

    form = None if output is requested is None else check_format(output, requested, FIGURE_FORMATS)
    source = open_table(table, table_format)
    file = check_output(output, "the figure", table)
    check_json_output(as_json and form is not None, file, "the figure")
    frame = source.read()
    dropped = select_columns("--drop", drop, list(frame.columns), source.name)
    if len(dropped) == len(frame.columns):
        raise UserError(f"--drop leaves no column of {source.name}; drop fewer")
    warn_of_unnamed_columns(frame, dropped)
    with progress("summarising missing values"):
        profile = profile_missing(frame.drop(columns=dropped))
    if form is not None:
        write_output(figure_bytes(profile.plot, form, dpi), file, output, "the figure")
    if as_json:
        write_json(profile.to_dict())
    elif form is None:
        write_text(str(profile))
