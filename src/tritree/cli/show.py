"""``tritree show``: a tree to look at, as text, as a picture or as a page."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.messages import Mendable, note, put, working
from tritree.cli.pictures import Dpi, picture
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, open_source
from tritree.cli.wording import in_our_lines, in_our_words

__all__ = ["EXAMPLES", "show"]

EXAMPLES = (
    ("tritree show houses.tritree", "as text"),
    ("tritree show houses.tritree -o tree.png", "a picture; .svg and .pdf, too"),
    (
        "tritree show houses.tritree -o tree.html --rows new.csv",
        "a page to walk through the tree with these rows",
    ),
    ("tritree show houses.tritree --format dot | dot -Tsvg > tree.svg", "for Graphviz"),
    ("tritree show forest.tritree --tree 0", "one of many trees"),
)
#: What is drawn by the ending of the file.
VIEWS = {
    ".txt": "text",
    ".png": "png",
    ".svg": "svg",
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".dot": "dot",
    ".gv": "dot",
}
_MOST_ROWS = 1000  # that a page lists

View = Annotated[
    Literal["text", "png", "svg", "pdf", "html", "dot"] | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        show_default=False,
        help="text, png, svg, pdf, html or dot. If not named, the ending of the file tells; without a file it is text.",
    ),
]
MaxDepth = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(0),
        metavar="NUMBER",
        show_default=False,
        help="Draw nodes down to this depth only. Not for a page.",
    ),
]


def _most(text: str | None) -> int | None:
    """Return a number of nodes, 0 for all of them, None if nothing was said."""
    return None if text is None else options.whole(1, or_none=True)(text) or 0


MaxNodes = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        show_default=False,
        callback=_most,
        help="Draw at most this many nodes, those nearest to the root; none draws all. If not named, as many as can be "
        "looked at.",
    ),
]
Digits = Annotated[
    int,
    typer.Option(
        parser=options.whole(1), metavar="NUMBER", help="Significant digits of values. Not for a page."
    ),
]
Rows = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE",
        show_default=False,
        help="Rows to lead through the tree first, so that the branches they need are there; a page starts from them.",
    ),
]


@reads_a_table
def show(
    model: options.ModelFile,
    output: options.OutputFile = None,
    view: View = None,
    rows: Rows = None,
    max_depth: MaxDepth = None,
    max_nodes: MaxNodes = None,
    digits: Digits = 4,
    dpi: Dpi = 110,
    number: options.TreeNumber = None,
    n_jobs: options.NJobs = None,
    *,
    reading: Reading,
) -> None:
    """Show a tree: as text, as a picture, or as a page to walk through it.

    Third branches are shown as far as they have grown; --rows makes those grow that a table needs.
    """
    from tritree.cli.leading import lead
    from tritree.cli.models import one_tree, open_model
    from tritree.cli.places import check_output, format_of, refuse_terminal, write_out

    kind = format_of(output, view, VIEWS, "text")
    place = check_output(output, "the tree", model, *([] if rows is None else [rows]))
    if kind in ("png", "pdf"):
        refuse_terminal(place, kind.upper())
    opened = open_model(model, n_jobs=n_jobs)
    tree = one_tree(opened, number)
    frame = None
    if rows is not None:
        # a tree of a forest is led through by itself, one of boosting grows with the others
        frame = lead(tree if hasattr(tree, "predict") else opened, open_source(rows, reading), reading)
    limits: dict[str, Any] = {"max_depth": max_depth, "digits": digits}
    if max_nodes is not None:
        limits["max_nodes"] = max_nodes or None
    if kind == "text" and place is None:
        put(in_our_words(tree.to_text(**limits), one_of_many=number is not None))
        return
    with working(f"drawing the tree as {kind}"):
        data = _draw(tree, kind, frame, limits, dpi, one_of_many=number is not None)
    write_out(data, place, output, f"the tree as {kind}")


def _draw(tree: Any, kind: str, frame: Any, limits: dict[str, Any], dpi: int, *, one_of_many: bool) -> bytes:
    """Return the file that shows a tree."""
    if kind == "text":
        return f"{in_our_words(tree.to_text(**limits), one_of_many=one_of_many)}\n".encode()
    if kind == "dot":
        return in_our_words(tree.to_dot(**limits), one_of_many=one_of_many).encode()
    if kind == "html":
        return _page(tree, frame, limits)
    return picture(lambda: _plot(tree, limits, one_of_many=one_of_many), kind, dpi)


def _plot(tree: Any, limits: dict[str, Any], *, one_of_many: bool) -> Any:
    """Return the axes with a tree, and below it remarks with the options of the command line."""
    axes = tree.plot(**limits)
    lines = in_our_lines([text.get_text() for text in axes.texts], one_of_many=one_of_many)
    for text, line in zip(axes.texts, lines, strict=True):
        text.set_text(line)
    return axes


def _page(tree: Any, frame: Any, limits: dict[str, Any]) -> bytes:
    if "max_nodes" in limits and limits["max_nodes"] is None:
        raise Mendable("a page cannot show everything; name a number with --max-nodes")
    if frame is not None and len(frame) > _MOST_ROWS:
        note(f"a page lists at most {_MOST_ROWS:,} rows: the first of {len(frame):,}")
        frame = frame.head(_MOST_ROWS)
    page = tree.to_html(rows=frame, **{name: limits[name] for name in ("max_nodes",) if name in limits})
    return bytes(page.encode())
