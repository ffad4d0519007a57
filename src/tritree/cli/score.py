"""``tritree score``: score a model on a table with the target in it."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from tritree.cli import options
from tritree.cli.errors import fit_errors
from tritree.cli.messages import UserError, note, progress, write_json, write_text
from tritree.cli.options import flag, option
from tritree.errors import list_names
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.cli.tables import TableSource
    from tritree.cli.training import Task, TrainingData

EXAMPLES = (
    ("tritree score houses.tritree new.csv", "the target is that of tritree fit"),
    ("tritree score houses.tritree new.csv --missing 0.3", "and with 30% of the cells removed at random"),
    ("tritree score houses.tritree new.csv -y sold_for --json", "another name of the target, JSON"),
)


def score(
    model: options.ModelFile,
    table: options.TableFile,
    *,
    target: Annotated[str | None, option("COLUMN", "--target", "-y")] = None,
    weights: Annotated[str | None, option("COLUMN")] = None,
    missing: Annotated[Any, option("FRACTION", parser=options.fraction)] = "0",
    seed: options.Seed = 0,
    skip_missing_target: Annotated[bool, flag("--skip-missing-target")] = False,
    unknown_category: options.UnknownCategory = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Score a model on a table that has the target, beside a constant prediction.

    Use rows that the model was not fitted to: it predicts its training rows better than any others. The metrics are
    R², RMSE and MAE for regression; log loss, AUC, accuracy and the Brier score for classification.

    Parameters
    ----------
    target
        Column with the target. By default that of tritree fit.
    weights
        Column with the sample weights. By default that of tritree fit, if the table has it.
    missing
        Fraction of the cells to remove at random, in a second score.
    seed
        Random seed of the cells to remove.
    skip_missing_target
        Leave out rows whose target is missing.
    """
    from tritree.cli.fit_record import read_record
    from tritree.cli.models import open_model
    from tritree.cli.scores import constant_label, constant_scores, removed_label, score_rows, scores_text
    from tritree.cli.tables import open_table

    opened = open_model(model, n_jobs=n_jobs, unknown_category=unknown_category)
    record = read_record(opened)
    target = target or (None if record is None else record.target)
    if target is None:
        how = "was saved from Python" if record is None else "was grafted"
        raise UserError(f"{model!r} {how} and does not name its target; name it with -y")
    source = open_table(table, table_format)
    roles = options.ColumnRoles(target, weights=weights, skip_missing_target=skip_missing_target)
    data = _read_labelled_rows(opened, source, roles, None if record is None else record.weights)
    roles = data.roles
    with progress("scoring"):
        scores = score_rows(opened, data, missing, seed)
    scores |= {"constant": constant_scores(opened, data, data)}
    if as_json:
        facts = {
            "model": model,
            "table": table,
            "target": roles.target,
            "weights": roles.weights,
            "task": data.task,
        }
        write_json(facts | {"rows_skipped": data.n_skipped, "seed": seed} | scores)
        return
    lines = {"rows as they are": scores["unchanged"]}
    if scores["removed"] is not None:
        lines[removed_label(scores)] = scores["removed"]
    lines[constant_label(data.task, scores["constant"])] = scores["constant"]
    skipped = f"; {count(data.n_skipped, 'row')} without a target left out" if data.n_skipped else ""
    weighted = "" if roles.weights is None else f", weighted by {roles.weights}"
    write_text(f"{data.task} of {roles.target}: {count(scores['rows'], 'row')}{weighted}{skipped}\n")
    write_text(scores_text(data.task, lines))


def _read_labelled_rows(
    model: Any, source: "TableSource", roles: options.ColumnRoles, default_weights: str | None
) -> "TrainingData":
    """Return the features, target and weights of a table as the model takes them."""
    from tritree.cli.cells import to_numbers
    from tritree.cli.columns import find_column
    from tritree.cli.models import features_of, read_rows
    from tritree.cli.training import TrainingData, check_no_times, drop_missing_target, to_regression_target
    from tritree.target import check_sample_weight

    classes = getattr(model, "classes_", None)
    has_text_classes = classes is not None and classes.dtype.kind in "OU"
    frame = read_rows(model, source, [roles.target] if has_text_classes else [])
    names = list(frame.columns)
    weights = roles.weights
    if weights is None and default_weights is not None:
        weights = default_weights if default_weights in names else None
        if weights is None:
            note(f"the table has no column of weights, {default_weights!r}; all rows have equal weight")
    roles = replace(
        roles,
        target=find_column(roles.target, names, source.name),
        weights=None if weights is None else find_column(weights, names, source.name),
    )
    frame, n_skipped = drop_missing_target(frame, roles.target, roles.skip_missing_target)
    known = set(map(str, model._encoder.column_names or ()))
    features = features_of(model, frame).drop(columns=set(roles.not_features) - known, errors="ignore")
    if classes is None:
        check_no_times(frame[roles.target], roles.target)
        labels = to_regression_target(
            frame[roles.target], roles.target, "name the column of the target with -y"
        )
    else:
        labels = _to_known_classes(frame[roles.target], roles.target, classes)
    numbers = None
    if roles.weights is not None:
        with fit_errors(roles):
            numbers = check_sample_weight(to_numbers(frame[roles.weights], roles.weights), len(frame))
    task: Task = "regression" if classes is None else "classification"
    return TrainingData(roles, features, labels, numbers, task, "", n_skipped)


def _to_known_classes(values: Any, name: str, classes: Any) -> Any:
    """Return class labels of the type of the model's classes; warn of those that it does not know."""
    import numpy as np

    from tritree.cli.cells import to_numbers
    from tritree.cli.training import to_classes

    is_float = classes.dtype.kind == "f"
    if is_float:
        labels = to_numbers(values, name).to_numpy(dtype=float)
    else:
        labels = to_classes(values, name, "name the column of the classes with -y")
    is_known = (labels[:, None] == classes).any(axis=1)
    if not is_known.any():
        raise UserError(
            f"column {name!r} holds none of the classes of the model ({list_names(classes.tolist())}); it holds "
            f"{list_names(np.unique(labels.astype(str)).tolist())}"
        )
    if not is_known.all():
        unknown = list_names(np.unique(labels[~is_known].astype(str)).tolist())
        n_rows = count(int(np.sum(~is_known)), "row")
        warnings.warn(
            f"rows with a class that the model does not know count as wrong: {n_rows} ({unknown})",
            stacklevel=2,
        )
    return labels
