"""``tritree info``: what is in a model file."""

from pathlib import Path
from typing import Any

from tritree.cli import options
from tritree.cli.messages import write_json, write_text
from tritree.cli.output import format_size
from tritree.inspection.formatting import align, as_label, as_name, count

EXAMPLES = (
    ("tritree info houses.tritree", "kind of model, target, columns, parameters"),
    ("tritree info houses.tritree --json | jq .target", "as JSON"),
)

#: Maximum number of categories that a line lists.
_MAX_LISTED = 5


def info(model: options.ModelFile, *, as_json: options.AsJson = False) -> None:
    """Describe a model file: the kind of model, its target, columns and parameters, and what the file holds."""
    from tritree.cli.models import open_model

    facts = _describe(open_model(model), model)
    if as_json:
        write_json(facts)
    else:
        write_text(_to_text(facts))


def _describe(model: Any, path: str) -> dict[str, Any]:
    """Return what is known about a model as plain data."""
    from tritree.cli.fit_record import read_record
    from tritree.cli.models import model_kind
    from tritree.serialization import read_versions

    record = read_record(model)
    format_version, version = read_versions(path)
    classes = getattr(model, "classes_", None)
    defaults = type(model)().get_params()
    parameters = model.get_params()
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "format": format_version,
        "tritree": version,
        "training_rows": not model._model.is_detached,
        "kind": "graft" if hasattr(model, "library") else model_kind(model),
        "strategy": model.missing,
        "task": "regression" if classes is None else "classification",
        "target": None if record is None else record.target,
        "weights": None if record is None else record.weights,
        "dropped": [] if record is None else record.drop,
        "table_format": {} if record is None else record.table_format,
        "classes": None if classes is None else classes.tolist(),
        "trees": model._model.n_trees,
        "nodes": model.n_nodes_,
        "nodes_grown_on_demand": model.n_grown_,
        "columns": _describe_columns(model),
        "parameters": parameters,
        "changed_parameters": sorted(
            name for name, value in parameters.items() if value != defaults[name] and name != "missing"
        ),
    }


def _describe_columns(model: Any) -> list[dict[str, Any]]:
    """Return the columns with their type, and their categories or the range of the thresholds that split them."""
    ranges = _threshold_ranges(model)
    found = []
    for name, column, span in zip(model._feature_names(), model._encoder.columns, ranges, strict=True):
        write = float if column.time is None or column.part is not None else column.time.write_threshold
        limits = None if span is None or column.order is not None else [write(value) for value in span]
        found.append(
            {
                "name": str(name),
                "type": "categorical"
                if column.categories is not None
                else "ordered categories"
                if column.order is not None
                else "numbers"
                if column.part is not None or column.type.value == "booleans"
                else column.type.value,
                "categories": column.order if column.categories is None else column.categories,
                "thresholds": limits,
            }
        )
    return found


def _threshold_ranges(model: Any) -> list[tuple[float, float] | None]:
    """Return the lowest and the highest threshold of each column; None if no split has one."""
    import numpy as np

    low = np.full(len(model._encoder.columns), np.inf)
    high = -low
    for tree in model._model.trees():
        chosen = (tree.column >= 0) & np.isfinite(tree.threshold)
        np.minimum.at(low, tree.column[chosen], tree.threshold[chosen])
        np.maximum.at(high, tree.column[chosen], tree.threshold[chosen])
    return [
        (float(least), float(most)) if least <= most else None for least, most in zip(low, high, strict=True)
    ]


def _to_text(facts: dict[str, Any]) -> str:
    """Return the facts about a model as text, a line per subject, and its columns as a table."""
    classes = facts["classes"]
    labels = "" if classes is None else f", {count(len(classes), 'class', 'classes')}: {_listed(classes)}"
    of_target = "" if facts["target"] is None else f" of {facts['target']}"
    grown = facts["nodes_grown_on_demand"]
    size = f"{count(facts['trees'], 'tree')}, {count(facts['nodes'], 'node')}" + (
        f" ({grown:,} grown on demand)" if grown else ""
    )
    changed = ", ".join(f"{name}={facts['parameters'][name]!r}" for name in facts["changed_parameters"])
    rows = "with training rows" if facts["training_rows"] else "without training rows"
    lines = {
        "file": f"{facts['model']} ({format_size(facts['bytes'])}, format {facts['format']}, tritree "
        f"{facts['tritree']}), {rows}",
        "task": f"{facts['task']}{of_target}{labels}",
        facts["kind"]: f"{facts['strategy']}, {size}",
        "parameters": changed or "all have their defaults",
        "weights": facts["weights"],
        "dropped": ", ".join(facts["dropped"]) or None,
    }
    text = "\n".join(f"{label:<11} {line}" for label, line in lines.items() if line is not None)
    table = [[as_name(column["name"]), column["type"], _content(column)] for column in facts["columns"]]
    width = max(len(kind) for _, kind, _ in table)
    columns = align([[f"{name}", f"{kind:<{width}}", ""] for name, kind, _ in table])
    contents = [content for _, _, content in table]
    width = max(map(len, columns))
    shown = [f"{line:<{width}}  {content}".rstrip() for line, content in zip(columns, contents, strict=True)]
    return "\n".join([text, "", count(len(table), "column"), *(f"  {line}" for line in shown)])


def _content(column: dict[str, Any]) -> str:
    if column["categories"] is not None:
        return f"{len(column['categories']):,}: {_listed(column['categories'])}"
    if column["thresholds"] is None:
        return "no split"
    low, high = (f"{value:g}" if isinstance(value, float) else value for value in column["thresholds"])
    return f"split at {low}" if low == high else f"split from {low} to {high}"


def _listed(values: Any) -> str:
    more = ", …" if len(values) > _MAX_LISTED else ""
    return ", ".join(as_label(value) for value in values[:_MAX_LISTED]) + more
