"""``tritree export``: a tree for other programs."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.messages import Mendable, plain_json

__all__ = ["EXAMPLES", "export"]

EXAMPLES = (
    ("tritree export houses.tritree -o houses.onnx", "a model that onnxruntime runs"),
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
        help="The most nodes that a tree may have when it is grown in full.",
    ),
]
Spread = Annotated[
    bool,
    typer.Option(
        "--spread", metavar="", help="Tell in JSON how the training responses are spread in each node."
    ),
]


def export(
    model: options.ModelFile,
    output: options.OutputFile = None,
    kind: ExportFormat = None,
    max_nodes: ExportNodes = 100_000,
    spread: Spread = False,
    number: options.TreeNumber = None,
    n_jobs: options.NJobs = None,
) -> None:
    """Export a tree for other programs: as an ONNX model, or as JSON.

    For ONNX a tree is grown in full first; the trees of a forest and boosted trees are taken as they have grown. The
    JSON has one tree as it has grown so far.
    """
    from tritree.cli.models import one_tree, open_model
    from tritree.cli.places import check_output, format_of, refuse_terminal, write_out

    form = format_of(output, kind, EXPORTS, None)
    place = check_output(output, "the tree", model)
    if form == "onnx":
        refuse_terminal(place, "ONNX")
    opened = open_model(model, n_jobs=n_jobs)
    if form == "json":
        tree = one_tree(opened, number)
        if spread and not hasattr(tree, "fit"):
            raise Mendable("boosted trees do not know how responses are spread; leave out --spread")
        data = f"{plain_json(tree.to_dict(**({'spread': True} if spread else {})), indent=None)}\n".encode()
    else:
        if number is not None:
            raise Mendable("ONNX has all trees; leave out --tree")
        data = _onnx(opened, max_nodes)
    write_out(data, place, output, f"the {'tree' if form == 'json' else 'model'} as {form.upper()}")


def _onnx(tree: Any, max_nodes: int) -> bytes:
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
            "fit fewer or smaller trees (--trees, --max-depth, --min-samples-leaf)"
            if hasattr(tree, "n_trees_")
            else "fit with a lower --max-depth or with --strategy mia, majority or surrogate, whose trees are small"
        )
        raise Mendable(f"{limit}; raise --max-nodes, or {remedy}") from None
