"""``tritree export``: a tree for other programs."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.messages import Mendable, plain_json
from tritree.cli.reading import reads_a_table
from tritree.cli.tables import Reading, open_source

__all__ = ["EXAMPLES", "export"]

EXAMPLES = (
    ("tritree export houses.tritree -o houses.onnx", "a model that onnxruntime runs"),
    ("tritree export boosting.tritree -o houses.onnx --rows new.csv", "ready for rows with such holes"),
    ("tritree export houses.tritree --format json | jq '.nodes | length'", "the tree as data"),
)
#: What is written by the ending of the file.
EXPORTS = {".onnx": "onnx", ".json": "json"}

ExportFormat = Annotated[
    Literal["onnx", "json"] | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        show_default=False,
        help="onnx or json. If not named, the ending of the file tells.",
    ),
]
ExportNodes = Annotated[
    int,
    typer.Option(
        parser=options.whole(1),
        metavar="NUMBER",
        help="The most nodes that a tree may have when it is grown in full, or many trees together.",
    ),
]
Spread = Annotated[
    bool,
    typer.Option(
        "--spread", metavar="", help="Tell in JSON how the training responses are spread in each node."
    ),
]
Rows = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE",
        show_default=False,
        help="Rows like those to come: the third branches that they need are grown first.",
    ),
]


@reads_a_table
def export(
    model: options.ModelFile,
    output: options.OutputFile = None,
    kind: ExportFormat = None,
    rows: Rows = None,
    max_nodes: ExportNodes = 100_000,
    spread: Spread = False,
    number: options.TreeNumber = None,
    n_jobs: options.NJobs = None,
    *,
    reading: Reading,
) -> None:
    """Export a tree for other programs: as an ONNX model, or as JSON.

    For ONNX a tree is grown in full first; the trees of a forest and boosted trees are taken as they have grown. The
    JSON has one tree as it has grown so far. --rows makes branches grow that a table needs.
    """
    from tritree.cli.leading import lead
    from tritree.cli.models import one_tree, open_model
    from tritree.cli.places import check_output, format_of, refuse_terminal, write_out

    form = format_of(output, kind, EXPORTS, None)
    place = check_output(output, "the tree", model, *([] if rows is None else [rows]))
    if form == "onnx":
        refuse_terminal(place, "ONNX")
    opened = open_model(model, n_jobs=n_jobs)
    tree = one_tree(opened, number) if form == "json" else opened
    if form == "onnx" and number is not None:
        raise Mendable("ONNX has all trees; leave out --tree")
    if rows is not None:
        lead(tree if hasattr(tree, "predict") else opened, open_source(rows, reading), reading)
    if form == "json":
        if spread and not hasattr(tree, "fit"):
            raise Mendable("boosted trees do not know how responses are spread; leave out --spread")
        data = f"{plain_json(tree.to_dict(**({'spread': True} if spread else {})), indent=None)}\n".encode()
    else:
        data = _onnx(opened, max_nodes, by_rows=rows is not None)
    write_out(data, place, output, f"the {'tree' if form == 'json' else 'model'} as {form.upper()}")


def _onnx(tree: Any, max_nodes: int, *, by_rows: bool) -> bytes:
    from tritree.errors import GrowthLimitError

    try:
        import onnx  # noqa: F401 - to say in our words that it is absent, before the tree grows
    except ImportError as error:
        raise Mendable(
            f"ONNX models are made with onnx, which cannot be imported ({error}): pip install 'tritree[onnx]'"
        ) from error
    try:
        return bytes(tree.to_onnx(max_nodes=max_nodes).SerializeToString())
    except GrowthLimitError as error:
        limit = str(error).partition("; raise")[0].replace("max_nodes=", "--max-nodes ")
        remedy = (
            f"{'name fewer rows with --rows, or ' if by_rows else ''}"
            "fit fewer or smaller trees (--trees, --max-depth, --min-samples-leaf)"
            if hasattr(tree, "n_trees_")
            else "fit with a lower --max-depth or with --strategy mia, majority or surrogate, whose trees are small"
        )
        raise Mendable(f"{limit}; raise --max-nodes, or {remedy}") from None
