"""``tritree export``: write a model for other programs."""

from typing import Annotated, Any, Literal

from tritree.cli import options
from tritree.cli.errors import growth_limit
from tritree.cli.messages import UserError, progress, to_json
from tritree.cli.output import check_format, check_json_output, check_output, write_output

EXAMPLES = (
    ("tritree export houses.tritree -o houses.onnx", "a model for onnxruntime"),
    ("tritree export houses.tritree -o houses.onnx --rows new.csv", "with the branches that new.csv needs"),
    ("tritree export houses.tritree --format json | jq '.nodes | length'", "the tree as data"),
)
#: Formats by file extension.
_FORMATS = {".onnx": "onnx", ".json": "json"}


def export(
    model: options.ModelFile,
    *,
    output: options.OutputFile = None,
    requested: Annotated[Literal["onnx", "json"] | None, options.option("FORMAT", "--format", "-f")] = None,
    rows: Annotated[str | None, options.option("TABLE")] = None,
    max_nodes: Annotated[int | None, options.integer(1)] = None,
    distribution: Annotated[bool, options.flag("--distribution")] = False,
    tree_number: options.TreeNumber = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Export a model to ONNX or JSON.

    An ONNX model cannot grow third branches, so they are grown first: those that --rows needs, else those that training
    rows with missing values need. A warning says what is left out. JSON has the trees as far as they have grown, and
    as far as --rows needs.

    Parameters
    ----------
    as_json
        Write the path, the size and the format of the file that is written as JSON; for a model as JSON see --format.
    requested
        onnx or json. By default the file extension decides.
    rows
        Rows with the missing values to expect; the third branches they need are grown first.
    max_nodes
        Maximum number of nodes of an ONNX model, all trees together; growth stops there.
    distribution
        Add to the JSON of a tree how the training targets are distributed in each node.
    """
    from tritree.cli.models import features_of, grow_for, model_kind, open_model, read_rows, select_tree
    from tritree.cli.tables import open_table

    form = check_format(output, requested, _FORMATS)
    file = check_output(output, "the model", model, rows)
    check_json_output(as_json, file, "the model")
    opened = open_model(model, n_jobs=n_jobs)
    tree = select_tree(opened, tree_number)
    if form == "onnx" and tree_number is not None:
        raise UserError("an ONNX model has all trees; leave out --tree")
    if distribution and tree_number is None and model_kind(opened) != "tree":
        raise UserError("--distribution is for one tree; name it with --tree")
    if distribution and not hasattr(tree, "fit"):
        raise UserError("trees of boosting have no distribution of targets; leave out --distribution")
    table = None if rows is None else open_table(rows, table_format)
    if form == "onnx":
        frame = None if table is None else features_of(opened, read_rows(opened, table))
        data = _onnx(opened, frame, max_nodes)
    else:
        if table is not None:
            grow_for(tree if hasattr(tree, "predict") else opened, table)
        described = tree.to_dict(distribution=True) if distribution else tree.to_dict()
        data = f"{to_json(described, indent=None)}\n".encode()
    what = "the model" if tree_number is None else "the tree"
    write_output(data, file, output, f"{what} as {form.upper()}", as_json=as_json, format=form)


def _onnx(model: Any, rows: Any, max_nodes: int | None) -> bytes:
    import onnx  # noqa: F401 - fails before anything is grown, with the name of the package

    from tritree.cli.models import model_kind

    trees = "a smaller tree (--max-depth)"
    if model_kind(model) != "tree":
        trees = "fewer or smaller trees (--trees, --max-depth, --min-samples-leaf)"
    with (
        progress("growing branches and exporting the model"),
        growth_limit(f"raise --max-nodes, or fit {trees}", option="--max-nodes"),
    ):
        return bytes(model.to_onnx(rows=rows, max_nodes=max_nodes).SerializeToString())
