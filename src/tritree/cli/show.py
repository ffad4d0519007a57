"""``tritree show``: show a tree as text, as a figure or as an interactive page."""

from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.errors import growth_limit
from tritree.cli.messages import UserError, note, progress, write_text
from tritree.cli.options import integer, option
from tritree.cli.output import check_format, check_json_output, check_output, figure_bytes, write_output

EXAMPLES = (
    ("tritree show houses.tritree", "as text"),
    ("tritree show houses.tritree -o tree.png", "a figure; .svg and .pdf, too"),
    ("tritree show houses.tritree -o tree.html --rows new.csv", "an interactive page with these rows"),
    ("tritree show houses.tritree --format dot | dot -Tsvg > tree.svg", "for Graphviz"),
    ("tritree show forest.tritree", "a summary of a forest with importances, and its first tree"),
    ("tritree show forest.tritree -o importances.png", "the importances of a forest or boosting as a figure"),
    ("tritree show forest.tritree --tree 7", "one tree of a forest"),
    ("tritree show forest.tritree -o what-if.html --rows new.csv", "a what-if page of all trees"),
)
#: Formats by file extension.
_FORMATS = {
    ".txt": "text",
    ".png": "png",
    ".svg": "svg",
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".dot": "dot",
    ".gv": "dot",
}
#: Maximum number of rows that a page lists.
_MAX_ROWS = 1000


def show(
    context: typer.Context,
    model: options.ModelFile,
    *,
    output: options.OutputFile = None,
    requested: Annotated[
        Literal["text", "png", "svg", "pdf", "html", "dot"] | None, option("FORMAT", "--format", "-f")
    ] = None,
    rows: Annotated[str | None, option("TABLE")] = None,
    max_depth: Annotated[int | None, integer(0)] = None,
    max_nodes: Annotated[int | None, integer(1, words=("none",))] = None,
    digits: Annotated[int, integer(1)] = 4,
    dpi: options.Dpi = 110,
    tree_number: options.TreeNumber = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Show a tree as text, as a figure, or as an interactive page.

    Of a forest or boosting, the text is a summary with importances and the first tree, a figure has the importances,
    and a page is a what-if page: change the values of a row, or set them to missing, and watch the prediction and
    the contributions of the columns. --tree shows one of the trees. Third branches are shown as far as they have grown;
    --rows grows those that a table needs.

    Parameters
    ----------
    as_json
        Write the path, the size and the format of the file that is written as JSON. The tree itself as JSON is written
        by tritree export.
    requested
        text (the default without a file), png, svg, pdf, html or dot. By default the file extension decides.
    rows
        Rows to predict first, so that the branches they need are grown; a page starts with these rows, at most 1,000.
    max_depth
        Maximum depth of the nodes to draw. Not for a page.
    max_nodes
        Maximum number of nodes to draw, those nearest to the root; none draws all. The default varies by format; a
        what-if page has up to 200,000 nodes.
    digits
        Significant digits of values. Not for a page.
    """
    from tritree.cli.models import features_of, grow_for, model_kind, open_model, read_rows, select_tree
    from tritree.cli.tables import open_table

    form = check_format(output, requested, _FORMATS, "text")
    file = check_output(output, "the tree", model, rows)
    check_json_output(as_json, file, "the tree")
    opened = open_model(model, n_jobs=n_jobs)
    tree = select_tree(opened, tree_number)
    in_ensemble = model_kind(opened) != "tree"
    is_what_if = in_ensemble and tree_number is None and form == "html"
    frame = None
    if rows is not None and is_what_if:
        # the page grows what it needs, in a copy
        frame = features_of(opened, read_rows(opened, open_table(rows, table_format)))
    elif rows is not None:
        # a tree of a forest can predict by itself, one of boosting grows with the others
        frame = grow_for(tree if hasattr(tree, "predict") else opened, open_table(rows, table_format))
    limits: dict[str, Any] = {"max_depth": max_depth, "digits": digits}
    if options.is_given(context, "max_nodes"):
        limits["max_nodes"] = max_nodes
    is_summary = in_ensemble and tree_number is None and form in ("png", "svg", "pdf")
    drawn = "importances" if is_summary else "tree"
    what = "the what-if page" if is_what_if else f"the {drawn} as {form}"
    with progress(f"drawing {what}"):
        data = _draw(tree, form, frame, limits, dpi, in_ensemble=in_ensemble)
    if form == "text" and file is None:
        write_text(data.decode().removesuffix("\n"))
    else:
        write_output(data, file, output, what, as_json=as_json, format=form)


def _draw(tree: Any, form: str, frame: Any, limits: dict[str, Any], dpi: int, *, in_ensemble: bool) -> bytes:
    """Return the file that shows a tree, with hints that name options of the command line."""
    from tritree.inspection.captions import Hints, use_hints

    grow_rows = "--rows TABLE grows those that rows need"
    hints = Hints(
        grow_tree=grow_rows if in_ensemble else "fit --grow-all grows them all",
        grow_model=grow_rows,
        max_nodes="--max-nodes none draws everything",
        max_depth="a larger --max-depth draws more",
        digits="--digits 17 shows them in full",
        detached="never grown",
    )
    with use_hints(hints):
        if form == "text":
            return f"{tree.to_text(**limits)}\n".encode()
        if form == "dot":
            return bytes(tree.to_dot(**limits).encode())
        if form == "html":
            return _page(tree, frame, limits)
        if in_ensemble and hasattr(tree, "n_trees_") and not hasattr(tree, "feature_importances_"):
            raise UserError(
                "the model file has no training rows to compute importances from; name a tree to draw with --tree"
            )
        return figure_bytes(lambda: tree.plot(**limits), form, dpi)


def _page(tree: Any, frame: Any, limits: dict[str, Any]) -> bytes:
    if "max_nodes" in limits and limits["max_nodes"] is None:
        raise UserError("a page cannot show everything; name a number with --max-nodes")
    if frame is not None and len(frame) > _MAX_ROWS:
        note(f"a page lists at most {_MAX_ROWS:,} rows: the first of {len(frame):,}")
        frame = frame.head(_MAX_ROWS)
    remedy = "raise it, fit fewer or smaller trees, or show one of them with --tree"
    with growth_limit(remedy, option="--max-nodes"):
        page = tree.to_html(rows=frame, **{name: limits[name] for name in ("max_nodes",) if name in limits})
    return bytes(page.encode())
