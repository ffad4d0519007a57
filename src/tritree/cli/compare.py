"""``tritree compare``: compare strategies, and kinds of models, on a table."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.messages import UserError, note, print_warning, printable, write_json, write_text
from tritree.cli.options import MODEL, TREE, integer, one_of, option
from tritree.cli.output import check_file, check_output, check_store, write_errors
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.cli.training import TrainingData
    from tritree.lab.dataset import Dataset
    from tritree.lab.ranks import Comparison

EXAMPLES = (
    ("tritree compare houses.csv --target price", "all strategies, with more and more values missing"),
    ("tritree compare visits.parquet -y outcome --seeds 5 --report visits.html", "with a report"),
    ("tritree compare loans.csv -y default --columns income", "what if one field is missing in production?"),
    ("tritree compare houses.csv -y price --model boosting", "the strategies of boosting"),
    (
        "tritree compare houses.csv -y price -m tree -m boosting -s trinary -s trinary_mia",
        "one tree against boosting, with two strategies",
    ),
    (
        "tritree compare cars.csv -y mpg --mechanism mnar --store cars.sqlite",
        "keep finished results in a file",
    ),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of the estimators; those that are not on the command line have their default values."""

    trees: options.Trees = 100
    learning_rate: options.LearningRate = 0.1
    min_samples_leaf: options.MinSamplesLeaf = None
    criterion: options.Criterion = None


def compare(
    context: typer.Context,
    table: options.TableFile,
    *,
    roles: options.ColumnRoles,
    kinds: Annotated[
        list[str],
        option("KIND", "--model", "-m", panel=MODEL, parser=one_of("tree", "forest", "boosting")),
    ] = ["tree"],  # noqa: B006 - Typer copies it
    strategies: Annotated[
        list[str] | None,
        option(
            "STRATEGY",
            "--strategy",
            "-s",
            panel=MODEL,
            parser=one_of("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"),
        ),
    ] = None,
    depth: Annotated[Any, integer(0, words=("none", "tuned"), panel=TREE)] = "tuned",
    parameters: Parameters,
    mechanism: Annotated[Literal["mcar", "im", "mar", "mnar", "predictive"], option("NAME")] = "mcar",
    columns: options.Columns = None,
    rates: options.Fractions = "0.1,0.3,0.5",
    seeds: options.Seeds = 3,
    folds: Annotated[int, integer(2)] = 10,
    report: Annotated[str | None, option("FILE")] = None,
    store: options.StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Compare the strategies on a table: unchanged, with values removed in training and test, and in the test only.

    The strategies are those of one tree, unless --model names a forest or boosting. Every loss is cross-validated. The
    last scenario is what happens when fields go missing in production.

    Finished results are kept in the user's cache, by the content of the table, unless --store names a file: an
    interrupted run continues when it is started again.

    Parameters
    ----------
    kinds
        Kind of model: tree, forest or boosting. May be repeated to compare several kinds.
    strategies
        Strategy to compare. May be repeated. By default all of them, and learning from complete rows only
        (complete_case).
    depth
        Depth of the trees, none for no limit, or tuned: the depth at which a majority tree stops improving. With tuned,
        forests have no limit and boosting has depth 6, as in tritree fit.
    mechanism
        Missingness mechanism: mcar (at random), im (largest values first), mar (depends on other columns), mnar
        (depends on the value itself), predictive (depends on the target).
    columns
        Column from which values are removed. May be repeated. By default all features.
    rates
        Fractions of the values to remove, separated by commas. The unchanged table is always compared.
    folds
        Number of cross-validation folds.
    report
        HTML report to write.
    """
    from tritree.cli.models import check_criterion, check_options, method_names
    from tritree.cli.tables import check_column, open_table
    from tritree.cli.training import read_training_data
    from tritree.lab import Experiment, Folds, in_both, in_test, write_report

    methods = method_names(kinds, strategies)
    page = None if report is None else check_file(report, "the report", "--report", table)
    store_file = check_store(store, table, report)
    source = open_table(table, table_format)
    data = read_training_data(source, roles)
    roles = data.roles
    given = options.given_options(context, parameters)
    if depth == 0 and "boosting" in kinds:
        raise UserError("--depth 0 is not for --model boosting; use 1 or more")
    check_options(given, kinds)
    check_criterion(given.get("--criterion"), data.task)
    dataset = _dataset(source.name if table == "-" else printable(Path(table).name), data, roles)
    _check_folds(folds, dataset)
    for name in columns or ():
        check_column(name, list(dataset.X.columns), f"the features of {source.name}")
    experiment = Experiment(
        datasets=[dataset],
        scenarios=(in_both(mechanism, columns=columns), in_test(mechanism, columns=columns)),
        rates=rates,
        methods=methods,
        seeds=seeds,
        max_depth=depth,
        folds=Folds(folds),
        options={option.removeprefix("--").replace("-", "_"): value for option, value in given.items()},
        store=store_file or _store_in_cache(dataset.fingerprint),
    )
    results = run_experiment(experiment, n_jobs)
    _check_results(results, rates)
    if page is not None:
        with write_errors(str(report)):
            write_report(results, page, title=f"Strategies for missing values on {dataset.name}")
    missing_fraction = float(dataset.X.isna().to_numpy().mean())
    comparisons = _compare(results, missing_fraction)
    about = experiment.about() | {"task": dataset.task, "weights": roles.weights, "store": experiment.store}
    if as_json:
        write_json({"about": about} | _to_dict(comparisons, missing_fraction, results))
        return
    write_text(f"{_to_text(comparisons, missing_fraction)}\n")
    for label, text in {
        "models": _models_text(about),
        "table": _table_text(dataset, data.reason, roles.weights),
        "store": experiment.store,
        "report": report,
    }.items():
        if text is not None:
            write_text(f"{label:<6} {text}")


def _dataset(name: str, data: "TrainingData", roles: options.ColumnRoles) -> "Dataset":
    """Return the data set to compare on: the features, target, weights and task that ``tritree fit`` would use."""
    from tritree.lab import Dataset

    frame = data.features.assign(**{roles.target: data.target})
    if roles.weights is not None:
        frame[roles.weights] = data.weights
    return Dataset.from_table(name, frame, roles.target, task=data.task, sample_weight=roles.weights)


def _check_folds(folds: int, dataset: "Dataset") -> None:
    """Raise a UserError if there are fewer rows, or rows of the largest class, than folds."""
    n_rows, of_what = dataset.n_rows, "rows"
    if dataset.task == "classification":
        n_rows, of_what = max(Counter(dataset.y.tolist()).values()), "rows of its largest class"
    if n_rows < folds:
        raise UserError(
            f"{dataset.name!r} has {n_rows:,} {of_what}, too few for {folds} folds; use fewer with --folds"
        )


def _store_in_cache(fingerprint: str) -> Path | None:
    """Return the file for results in the user's cache, named by the content of the table; warn if there can be none."""
    from tritree.lab.store import cache_folder

    file = cache_folder() / "compare" / f"{fingerprint}.sqlite"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return check_output(str(file), "finished results")
    except (UserError, OSError) as error:
        print_warning(f"finished results are not stored ({error}); name a file for them with --store")
        return None


def run_experiment(experiment: Any, n_jobs: int | None) -> Any:
    """Return the results of an experiment; if it is interrupted, print where the finished results are."""
    try:
        return experiment.run(-1 if n_jobs is None else n_jobs)
    except KeyboardInterrupt:
        if experiment.store is not None:
            note(f"finished results are in {str(experiment.store)!r}; the same command continues from there")
        raise


def _check_results(results: Any, rates: list[float]) -> None:
    """Raise a UserError if all runs with removed values failed; without any, the strategies are the same."""
    from tritree.lab.ranks import losses

    found = set() if results.empty else set(losses(results)["rate"])
    if not (found - {0.0} if any(rates) else found):
        where = " with values removed" if any(rates) else ""
        raise UserError(
            f"no method could be run{where}, so there is nothing to compare; the warning says why"
        )


def _compare(results: Any, missing_fraction: float) -> "dict[str, Comparison]":
    """Return the comparisons on the table "unchanged" and with values "removed" that results on one data set allow.

    If no value is missing in the table and one kind of model is compared, all strategies are the same on it.
    """
    from tritree.lab import compare_methods
    from tritree.lab.ranks import compare_unchanged
    from tritree.lab.ranks.names import parse_method

    methods = {parse_method(method) for method in results["method"].unique()}
    differ = missing_fraction > 0 or len({method[0] for method in methods if method is not None}) > 1
    found = {}
    if differ and (results["rate"] == 0).any():
        found["unchanged"] = compare_unchanged(results)
    if not found or (results["rate"] > 0).any():
        found["removed"] = compare_methods(results)
    return found


def _to_text(comparisons: "dict[str, Comparison]", missing_fraction: float) -> str:
    """Return the comparisons as text, each with a headline."""
    texts = []
    for name, comparison in comparisons.items():
        rates = [_percent(rate) for rate in comparison.rates if rate > 0]
        if not rates:
            missing = f"with {_percent(missing_fraction)} of its values missing"
            headline = f"The table unchanged, {missing if missing_fraction else 'without missing values'}"
        elif len(rates) == 1:
            headline = f"With {rates[0]} of the values removed"
        else:
            listed = f"{', '.join(rates[:-1])} and {rates[-1]}"
            headline = f"With {listed} of the values removed (losses are means over these rates)"
        # the notes on the tests are the same for both comparisons
        notes = comparison.notes if name == list(comparisons)[-1] else []
        texts.append(f"{headline}:\n{replace(comparison, notes=notes)}")
    return "\n\n".join(texts)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g}%"


def _to_dict(comparisons: "dict[str, Comparison]", missing_fraction: float, results: Any) -> dict[str, Any]:
    """Return the comparisons as plain data; the entries at the top are those with values removed, if any."""
    from tritree.cli.tables import to_records
    from tritree.lab import compare_methods

    facts = {
        name: {
            "recommendation": comparison.recommendation,
            "conclusions": comparison.conclusions,
            "notes": comparison.notes,
            "rates": comparison.rates,
            "methods": to_records(comparison.table),
        }
        for name, comparison in comparisons.items()
    }
    unchanged = facts.get("unchanged")
    return (facts.get("removed") or facts["unchanged"]) | {
        "unchanged": unchanged and {"missing_fraction": missing_fraction} | unchanged,
        "by_rate": to_records(compare_methods(results, by="rate").table),
    }


def _table_text(dataset: "Dataset", reason: str, weights: str | None) -> str:
    """Return the size and the task of a data set in words."""
    size = f"{count(dataset.n_rows, 'row')}, {count(dataset.X.shape[1], 'column')}"
    weighted = "" if weights is None else f", weighted by {weights}"
    return f"{dataset.name}: {size}{weighted}; {dataset.task}: {reason}"


def _models_text(about: dict[str, Any]) -> str:
    """Return the main parameters of each kind of model in words."""
    has_trees = any(":" not in method for method in about["methods"])
    texts = [f"tree: {_depth_text(depth)}" for depth in about["depths"].values() if has_trees]
    for kind, facts in about["models"].items():
        n_trees = count(facts.get("n_estimators") or facts["max_iter"], "tree")
        rate = facts.get("learning_rate")
        rate_text = "" if rate is None else f", learning rate {rate:g}"
        texts.append(f"{kind}: {n_trees}, {_depth_text(facts['max_depth'])}{rate_text}")
    return "; ".join(texts)


def _depth_text(depth: int | None) -> str:
    return "unlimited depth" if depth is None else f"depth {depth}"
