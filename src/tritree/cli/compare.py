"""``tritree compare``: compare models of tritree with each other and with other libraries on a table."""

import shlex
import time
import warnings
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tritree.cli import options
from tritree.cli.advice import advise
from tritree.cli.compare_output import to_dict, to_text
from tritree.cli.messages import UserError, is_quiet, note, print_warning, printable, write_json, write_text
from tritree.cli.options import MODEL, TREE, integer, option, some_of
from tritree.cli.output import check_file, check_output, check_store, write_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.cli.training import TrainingData
    from tritree.lab.dataset import Dataset

EXAMPLES = (
    ("tritree compare houses.csv --target price", "boosting, a forest and a tree: which one to use?"),
    ("tritree compare houses.csv -y price --with lightgbm,xgboost", "against other libraries"),
    ("tritree compare visits.parquet -y outcome --with all --report visits.html", "with a report"),
    ("tritree compare loans.csv -y default --columns income", "what if one field is missing in production?"),
    (
        "tritree compare houses.csv -y price -m tree -s all --seeds 3",
        "all strategies for missing values of a tree",
    ),
    (
        "tritree compare houses.csv -y price -m tree,boosting -s trinary,trinary_mia",
        "one tree against boosting, with two strategies",
    ),
    (
        "tritree compare patients.csv -y healthy --masked-copies 4",
        "will missing values that mean something mislead when fields go missing at random?",
    ),
    (
        "tritree compare cars.csv -y mpg --mechanism mnar --store cars.sqlite",
        "keep finished results in a file",
    ),
)

_KINDS = ("boosting", "forest", "tree")
_LIBRARIES = ("lightgbm", "xgboost", "catboost", "hist")
_MANY_ROWS = 5_000  # from which on fewer folds are enough


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
        list[Any] | None,
        option("KIND", "--model", "-m", panel=MODEL, parser=some_of("tree", "forest", "boosting")),
    ] = None,
    strategies: Annotated[
        list[Any] | None,
        option(
            "STRATEGY",
            "--strategy",
            "-s",
            panel=MODEL,
            parser=some_of("all", "trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"),
        ),
    ] = None,
    libraries: Annotated[
        list[Any] | None, option("LIBRARY", "--with", panel=MODEL, parser=some_of("all", *_LIBRARIES))
    ] = None,
    masked_copies: options.MaskedCopies = 0,
    depth: Annotated[Any, integer(0, words=("none", "tuned"), panel=TREE)] = "tuned",
    parameters: Parameters,
    mechanism: Annotated[Literal["mcar", "im", "mar", "mnar", "predictive"], option("NAME")] = "mcar",
    columns: options.Columns = None,
    rates: options.Fractions = "0.1,0.3,0.5",
    seeds: options.Seeds = 1,
    seed: Annotated[int, integer(0)] = 0,
    folds: Annotated[int | None, integer(2, show_default="10; 5 with more than 5,000 rows")] = None,
    report: Annotated[str | None, option("FILE")] = None,
    store: options.StoreFile = None,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
    table_format: options.TableFormat,
) -> None:
    """Compare models on a table, and say which one to use.

    Boosting, a forest and a tree of tritree are compared with each other, with a constant prediction, and with the
    libraries that --with names, each with its own defaults and the same columns. All scores are cross-validated: on the
    table as it is, with values missing in the test only, as when fields go missing in production, and with values
    missing in training and test.

    Finished results are kept in the user's cache, by the content of the table, unless --store names a file: an
    interrupted run continues when it is started again.

    Parameters
    ----------
    kinds
        Kind of model: tree, forest or boosting, or a list of them. May be repeated. By default all three; with
        --strategy, tree.
    strategies
        Strategy for missing values to compare, or a list of them. May be repeated; all for every strategy, and for
        learning from complete rows only (complete_case). By default the default strategy of each kind of model.
    libraries
        Library to compare with: lightgbm, xgboost, catboost or hist (HistGradientBoosting of scikit-learn), or a list
        such as hist,lightgbm. May be repeated; all for those that are installed.
    masked_copies
        Compare boosting also with this number of masked copies of the training rows, such as 4, as in tritree fit:
        they pay if missing values mean something in the table, and fields go missing at random later. Boosting then
        takes several times as long, and much longer if the table is complete. By default it is compared without.
    depth
        Depth of the trees of tritree, none for no limit, or tuned: for a single tree, the depth at which a majority
        tree stops improving; forests then have no limit and boosting has depth 6, as in tritree fit.
    mechanism
        Missingness mechanism: mcar (at random), im (largest values first), mar (depends on other columns), mnar
        (depends on the value itself), predictive (depends on the target).
    columns
        Column from which values are removed, or several, as in --drop. May be repeated. By default all features.
    rates
        Fractions of the values to remove, separated by commas; 0 to compare on the table as it is only.
    seed
        Seed of the folds and of the first removal of values. Models have fixed seeds.
    folds
        Number of cross-validation folds.
    report
        HTML report to write.
    """
    from tritree.cli.columns import select_columns
    from tritree.cli.models import check_criterion, check_options
    from tritree.cli.tables import open_table
    from tritree.cli.training import read_training_data
    from tritree.lab import Experiment, Folds, in_both, in_test, write_report
    from tritree.lab.ranks import judge, scenario_scores

    begin = time.perf_counter()
    kinds, strategies, libraries = map(_joined, (kinds, strategies, libraries))
    kinds = kinds or (["tree"] if strategies else list(_KINDS))
    methods = _methods(kinds, strategies, libraries, masked_copies)
    page = None if report is None else check_file(report, "the report", "--report", table)
    store_file = check_store(store, table, report)
    source = open_table(table, table_format)
    data = read_training_data(source, roles)
    roles = data.roles
    given = options.given_options(context, parameters)
    if depth == 0 and "boosting" in kinds:
        raise UserError("--depth 0 is not for --model boosting; use 1 or more")
    check_options([*given, *(["--masked-copies"] if masked_copies else [])], kinds)
    check_criterion(given.get("--criterion"), data.task)
    dataset = _dataset(source.name if table == "-" else printable(Path(table).name), data, roles)
    folds = folds or (5 if dataset.n_rows > _MANY_ROWS else 10)
    _check_folds(folds, dataset)
    features = f"the features of {source.name}"
    columns = select_columns("--columns", columns, list(dataset.X.columns), features) or None
    experiment = Experiment(
        datasets=[dataset],
        scenarios=(in_both(mechanism, columns=columns), in_test(mechanism, columns=columns)),
        rates=rates,
        methods=methods,
        seeds=range(seed, seed + seeds),
        max_depth=depth,
        folds=Folds(folds, seed),
        options={option.removeprefix("--").replace("-", "_"): value for option, value in given.items()},
        store=store_file or _store_in_cache(dataset.fingerprint),
    )
    results = run_experiment(experiment, n_jobs)
    _check_results(results, rates)
    if page is not None:
        with write_errors(str(report)):
            write_report(results, page, title=f"Which model for {roles.target} of {dataset.name}?")
    scores = scenario_scores(results)
    verdict = judge(scores)
    about = experiment.about() | {
        "task": dataset.task,
        "reason": data.reason,
        "rows": dataset.n_rows,
        "columns": dataset.X.shape[1],
        "masked_copies": masked_copies,
        "missing_fraction": float(dataset.X.isna().to_numpy().mean()),
        "weights": roles.weights,
        "store": experiment.store,
        "report": report,
        "seconds": time.perf_counter() - begin,
    }
    command = _fit_command(context, verdict.method, experiment.depths.get(dataset.name))
    if as_json:
        write_json(to_dict(verdict, scores, results, command, about))
    else:
        write_text(to_text(verdict, scores, command, about))


def _joined(lists: "Sequence[list[str]] | None") -> list[str]:
    """Return the words of a list option that may be repeated."""
    return [word for words in lists or () for word in words]


def _methods(
    kinds: "Sequence[str]", strategies: "Sequence[str]", libraries: "Sequence[str]", masked_copies: int
) -> list[str]:
    """Return the methods to compare, or raise a UserError if a library is not installed."""
    from tritree.cli.models import method_names
    from tritree.lab.methods import CONSTANT
    from tritree.lab.other_libraries import LIBRARIES

    found = []
    for name in _LIBRARIES:
        if name in libraries or "all" in libraries:
            try:
                LIBRARIES[name].load()
                found.append(name)
            except ImportError as error:
                if name in libraries:
                    raise UserError(f"--with {name}: {error}") from error
    return [*method_names(kinds, strategies, masked_copies), *found, CONSTANT]


def _dataset(name: str, data: "TrainingData", roles: options.ColumnRoles) -> "Dataset":
    """Return the data set to compare on: the features, target, weights and task that ``tritree fit`` would use."""
    from tritree.errors import DateTextWarning, IdentifierWarning
    from tritree.lab import Dataset

    frame = data.features.assign(**{roles.target: data.target})
    if roles.weights is not None:
        frame[roles.weights] = data.weights
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = Dataset.from_table(name, frame, roles.target, task=data.task, sample_weight=roles.weights)
    for found in caught:
        text: object = found.message
        if isinstance(text, (IdentifierWarning, DateTextWarning)):
            remedy = advise("--categorical", str(text.column))
            text = f"{text.problem}; treat it as categories with {remedy}"
        print_warning(text)
    return dataset


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
    from tritree.lab.store import FORMAT, cache_folder

    # results in an older format stay where they are
    file = cache_folder() / "compare" / f"{fingerprint}-{FORMAT}.sqlite"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return check_output(str(file), "finished results")
    except (UserError, OSError) as error:
        print_warning(f"finished results are not stored ({error}); name a file for them with --store")
        return None


def run_experiment(experiment: Any, n_jobs: int | None) -> Any:
    """Return the results of an experiment; if it is interrupted, print where the finished results are."""
    try:
        return experiment.run(-1 if n_jobs is None else n_jobs, progress=False if is_quiet() else None)
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


def _fit_command(context: typer.Context, method: str | None, tree_depth: int | None) -> str | None:
    """Return the command that fits the recommended model to the whole table, with the options of this comparison."""
    from tritree.cli.models import has_option
    from tritree.lab.methods import COMPLETE_CASE, method_spec, with_masked_copies

    spec, values = None if method is None else method_spec(method), context.params
    if spec is None or spec.strategy == COMPLETE_CASE or values["table"] == "-":
        return None
    words = ["tritree", "fit", shlex.quote(values["table"]), "--model", spec.model]
    if method != with_masked_copies(spec.model, spec.masked_copies):
        words.append(advise("--strategy", spec.strategy))
    if spec.masked_copies:
        words.append(f"--masked-copies {spec.masked_copies}")
    is_tuned = values["depth"] == "tuned"
    if spec.model == "tree" or not is_tuned:
        depth = tree_depth if is_tuned else values["depth"]
        words.append(advise("--max-depth", "none" if depth is None else str(depth)))
    groups = (options.ColumnRoles, options.TableFormat, Parameters)
    of_roles, of_format, of_model = ({field.name for field in fields(group)} for group in groups)
    for parameter in context.command.params:
        name, flag = str(parameter.name), parameter.opts[0]
        is_shared = name in of_roles | of_format or (name in of_model and has_option(spec.model, flag))
        if is_shared and options.is_given(context, name):
            value = values[name]
            if isinstance(value, bool):
                words.append(flag if value else parameter.secondary_opts[0])
                continue
            for text in map(str, value if isinstance(value, list) else [value]):
                # names of columns are as they were given, with their escapes
                is_as_given = name in of_roles and text.isprintable()
                words.append(f"{flag} {shlex.quote(text)}" if is_as_given else advise(flag, text))
    return " ".join(words)
