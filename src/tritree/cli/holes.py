"""``tritree holes``: where a table has holes."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.messages import Mendable, put, put_json, working
from tritree.cli.pictures import Dpi, picture
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, check_column, open_source

__all__ = ["EXAMPLES", "holes"]

EXAMPLES = (
    ("tritree holes houses.csv", "shares, patterns, and what goes missing together"),
    ("tritree holes houses.csv --drop price -o holes.png", "as a picture; .svg and .pdf, too"),
    ("tritree holes houses.csv --json | jq .complete_rows", "for programs"),
)

Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="A picture to draw: .png, .svg or .pdf. A file that is there is replaced.",
    ),
]
Picture = Annotated[
    Literal["png", "svg", "pdf"] | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        show_default=False,
        help="png, svg or pdf. If not named, the ending of the file tells.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", show_default=False, help="A column to leave out. May be repeated."),
]


@reads_a_table
def holes(
    table: options.TableFile,
    output: Output = None,
    kind: Picture = None,
    drop: Drop = None,
    dpi: Dpi = 110,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Tell where a table has holes: in which columns, in which patterns, and what goes missing together."""
    from tritree.cli.places import PICTURE_ENDINGS, check_output, format_of, refuse_terminal, write_out

    form = None if output is None and kind is None else format_of(output, kind, PICTURE_ENDINGS, None)
    source = open_source(table, reading)
    place = check_output(output, "the picture", table)
    if as_json and form is not None and place is None:
        raise Mendable("the picture and the JSON cannot both go to the standard output; name a file with -o")
    if form in ("png", "pdf"):
        refuse_terminal(place, form.upper())
    frame = source.read(reading)
    for name in drop or ():
        check_column(name, list(frame.columns), source.name)
    with working("looking for holes"):
        profile = profile_of(frame.drop(columns=drop or []))
    if form is not None:
        write_out(picture(profile.plot, form, dpi), place, output, "the picture")
    if as_json:
        put_json(profile.to_dict())
    elif form is None:
        put(str(profile))


def profile_of(frame: Any) -> Any:
    """Return the profile of a table: it has ``__str__``, ``to_dict`` and ``plot``."""
    from tritree.lab.missing_profile import profile_missing

    return profile_missing(frame)
