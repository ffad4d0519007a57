"""``tritree export``: write a model for other programs."""

from typing import Annotated, Any, Literal

from tritree.cli import options
from tritree.cli.messages import UserError, to_json
from tritree.cli.tables import TableFormat, open_table

EXAMPLES = (
    ("tritree export houses.tritree -o houses.onnx", "a model for onnxruntime"),
    ("tritree export boosting.tritree -o houses.onnx --rows new.csv", "with the branches that new.csv needs"),
    ("tritree export houses.tritree --format json | jq '.nodes | length'", "the tree as data"),
)
#: Formats by file extension.
_FORMATS = {".onnx": "onnx", ".json": "json"}

Format = Annotated[
    Literal["onnx", "json"] | None,
    options.file_format("onnx or json"),
]
MaxNodes = Annotated[
    int,
    options.integer(
        1, "Maximum number of nodes of a fully grown tree, or of all trees of a forest or boosting."
    ),
]
Distribution = Annotated[
    bool,
    options.flag("--distribution", "Add to the JSON how the training targets are distributed in each node."),
]


@options.with_table_format
def export(
    model: options.ModelFile,
    output: options.OutputFile = None,
    requested: Format = None,
    rows: options.RowsToGrowFor = None,
    max_nodes: MaxNodes = 100_000,
    distribution: Distribution = False,
    number: options.TreeNumber = None,
    n_jobs: options.NJobs = None,
    *,
    table_format: TableFormat,
) -> None:
    """Export a model to ONNX, or a tree to JSON.

    For ONNX, one tree is grown in full first; a forest and boosting are exported as far as they have grown. JSON has
    one tree as far as it has grown. --rows grows the branches that a table needs.
    """
    from tritree.cli.models import grow_for, open_model, select_tree
    from tritree.cli.output import check_not_terminal, check_output, output_format, write_output

    form = output_format(output, requested, _FORMATS)
    file = check_output(output, "the model", model, rows)
    check_not_terminal(file, form)
    opened = open_model(model, n_jobs=n_jobs)
    tree = select_tree(opened, number) if form == "json" else opened
    if form == "onnx" and number is not None:
        raise UserError("an ONNX model has all trees; leave out --tree")
    if rows is not None:
        grow_for(tree if hasattr(tree, "predict") else opened, open_table(rows, table_format), table_format)
    if form == "onnx":
        data = _onnx(opened, max_nodes, has_rows=rows is not None)
    else:
        if distribution and not hasattr(tree, "fit"):
            raise UserError("trees of boosting have no distribution of targets; leave out --distribution")
        data = f"{to_json(tree.to_dict(distribution=distribution), indent=None)}\n".encode()
    write_output(data, file, output, f"the {'tree' if form == 'json' else 'model'} as {form.upper()}")


def _onnx(model: Any, max_nodes: int, *, has_rows: bool) -> bytes:
    from tritree.cli.errors import growth_limit
    from tritree.cli.models import model_kind

    try:
        import onnx  # noqa: F401 - before the tree grows
    except ImportError as error:
        raise UserError(
            f"ONNX models are made with onnx, which cannot be imported ({error}): pip install 'tritree[onnx]'"
        ) from error
    remedy = (
        "fit with a lower --max-depth or with --strategy mia, majority or surrogate, whose trees are small"
    )
    if model_kind(model) != "tree":
        fewer_rows = "name fewer rows with --rows, or " if has_rows else ""
        remedy = f"{fewer_rows}fit fewer or smaller trees (--trees, --max-depth, --min-samples-leaf)"
    with growth_limit(f"raise --max-nodes, or {remedy}", option="--max-nodes"):
        return bytes(model.to_onnx(max_nodes=max_nodes).SerializeToString())
