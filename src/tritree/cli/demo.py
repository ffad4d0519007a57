"""``tritree demo``: how well models predict as fields go missing, on a data set of scikit-learn."""

import shlex
from typing import TYPE_CHECKING, Any

from tritree.cli import options
from tritree.cli.messages import note, write_json, write_text
from tritree.cli.output import check_folder, figure_bytes, write_errors, write_file

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

EXAMPLES = (("tritree demo", "write everything to the folder tritree-demo"),)

_BOOSTING, _TREE, _HIST = "tritree boosting", "tritree tree", "HistGradientBoosting"
_RATES = (0.0, 0.1, 0.3, 0.5)
_TARGET = "diagnosis"
_FILES = {
    "robustness.png": "these numbers as a picture",
    "what-if.html": "change any field of a row, or set it to missing, and watch the prediction",
    "breast-cancer.tritree": "the model",
    "breast-cancer.csv": "the rows that it was trained on",
    "new-rows.csv": "rows to predict, with 30 % of the fields missing",
}


def demo(*, output: options.OutputFolder = "tritree-demo", as_json: options.AsJson = False) -> None:
    """Train on complete rows, predict rows with missing fields, and compare with other libraries, in half a minute.

    The table is scikit-learn's breast cancer data: 30 measurements of 569 tumours, benign or malignant. The folder gets
    a picture, an interactive page, a model file and tables to try the other commands on.

    Parameters
    ----------
    output
        Folder to write to; created if necessary.
    """
    folder = check_folder(output)
    table = _read_table()
    note(f"comparing models on the breast cancer data, {len(table)} rows; this takes half a minute")
    losses = _cross_validate(table)
    with write_errors(output):
        _write_files(table, losses, folder)
    # last: the files are complete even if nobody reads this
    if as_json:
        by_rate = {name: dict(zip(map(str, _RATES), row, strict=True)) for name, *row in losses.itertuples()}
        write_json({"folder": folder, "files": _FILES, "log_loss": by_rate})
    else:
        write_text("\n\n".join([_losses_text(losses), _files_text(output), _commands_text(folder)]))


def _read_table() -> "pd.DataFrame":
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    names = {name: name.replace(" ", "_") for name in data.feature_names}
    table: pd.DataFrame = data.frame.drop(columns="target").rename(columns=names)
    return table.assign(**{_TARGET: data.target_names[data.target]})


def _cross_validate(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the log loss of each model by the fraction of fields that are missing in the test rows, best first."""
    from tritree import lab
    from tritree.cli.compare import run_experiment
    from tritree.lab.other_libraries import LIBRARIES
    from tritree.lab.ranks import losses

    methods = {_BOOSTING: "boosting", _TREE: "tree", _HIST: "hist"}
    if LIBRARIES["lightgbm"].is_installed():
        methods["LightGBM"] = "lightgbm"
    experiment = lab.Experiment(
        datasets=lab.Dataset.from_table("breast cancer", table, _TARGET),
        scenarios="mcar_test",
        rates=_RATES,
        methods=methods,
        folds=3,
    )
    means = losses(run_experiment(experiment, None)).pivot_table(
        index="method", columns="rate", values="loss"
    )
    return means.sort_values(_RATES[-1])


def _write_files(table: "pd.DataFrame", losses: "pd.DataFrame", folder: "Path") -> None:
    from tritree import TrinaryBoostingClassifier, lab
    from tritree.cli.fit_record import FitRecord
    from tritree.cli.tables import table_bytes
    from tritree.lab.robustness import plot_robustness

    def draw() -> Any:
        ax = plot_robustness(losses.T, highlight=[_BOOSTING, _TREE])
        ax.set_ylabel("log loss (lower is better)")
        ax.set_title("Breast cancer data: trained on complete rows", loc="left")
        return ax

    write_file(figure_bytes(draw, "png", 130), folder / "robustness.png")
    new_rows = table.tail(20)
    train = table.drop(index=new_rows.index)
    new_rows = lab.ampute(new_rows.drop(columns=_TARGET), 0.3, seed=0)
    write_file(table_bytes(train), folder / "breast-cancer.csv")
    write_file(table_bytes(new_rows), folder / "new-rows.csv")
    model = TrinaryBoostingClassifier(random_state=0).fit(train.drop(columns=_TARGET), train[_TARGET])
    model.to_html(folder / "what-if.html", rows=new_rows.head(5), max_nodes=40_000)
    record = FitRecord(_TARGET, task="classification")  # as of tritree fit
    model.save(folder / "breast-cancer.tritree", metadata=record.to_metadata())


def _losses_text(losses: "pd.DataFrame") -> str:
    """Return the losses as a table, and what they say in a sentence."""
    width = max(map(len, losses.index))
    lines = [
        "Log loss as fields go missing in the rows to predict (lower is better; 3-fold cross-validation):",
        "",
        " " * width + "".join(f"{f'{rate:.0%}':>8}" for rate in losses.columns),
        *(f"{name:<{width}}" + "".join(f"{loss:8.3f}" for loss in row) for name, *row in losses.itertuples()),
    ]
    first, last = (losses[rate] for rate in (_RATES[0], _RATES[-1]))
    return "\n".join(lines) + (
        f"\n\nWith half of the fields missing, the log loss of {_BOOSTING} goes from {first[_BOOSTING]:.3f} to "
        f"{last[_BOOSTING]:.3f},\nthat of {_HIST} of scikit-learn from {first[_HIST]:.3f} to {last[_HIST]:.3f}."
    )


def _files_text(folder: str) -> str:
    return "\n".join([f"In {folder}:", *(f"  {name:<22} {text}" for name, text in _FILES.items())])


def _commands_text(folder: "Path") -> str:
    model, rows, table = (
        shlex.quote(str(folder / name))
        for name in ("breast-cancer.tritree", "new-rows.csv", "breast-cancer.csv")
    )
    commands = (
        f"tritree predict {model} {rows}",
        f"tritree explain {model} {rows} 0",
        f"tritree compare {table} --target {_TARGET} --with hist",
    )
    return "\n".join(["Next, try:", *(f"  {command}" for command in commands)])
