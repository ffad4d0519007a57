"""``tritree demo``: compare strategies and fit a tree on a data set of scikit-learn."""

from tritree.cli import options
from tritree.cli.messages import note, write_json, write_text
from tritree.cli.output import check_folder, figure_bytes, write_errors, write_file

EXAMPLES = (("tritree demo", "write everything to the folder tritree-demo"),)


def demo(*, output: options.OutputFolder = "tritree-demo", as_json: options.AsJson = False) -> None:
    """Remove values from a table, compare all strategies, and write a figure, a report, a tree and its model.

    The table is scikit-learn's diabetes data set: ten measurements of 442 patients, and how their disease progressed.

    Parameters
    ----------
    output
        Folder to write to; created if necessary.
    """
    from sklearn.datasets import load_diabetes

    from tritree import TrinaryTreeRegressor, lab
    from tritree.cli.tables import to_records
    from tritree.lab.figures import plot_curves
    from tritree.lab.ranks.names import METHODS

    folder = check_folder(output)
    table = load_diabetes(as_frame=True, scaled=False).frame
    experiment = lab.Experiment(
        datasets=[lab.Dataset.from_table("diabetes", table, "target")],
        scenarios=(lab.in_both("mcar"), lab.in_test("mcar")),
        rates=(0.1, 0.2, 0.3, 0.4, 0.5),
        methods={name: name for name in METHODS},
        folds=lab.Folds(5),
    )
    note(
        f"the diabetes data set, {len(table)} rows; 10 to 50% of its cells removed at random; "
        f"{len(experiment.methods)} methods"
    )
    results = experiment.run(-1)
    write_file(figure_bytes(lambda: plot_curves(results)[0], "png", 130), folder / "comparison.png")
    report, page, model = (folder / name for name in ("report.html", "tree.html", "diabetes.tritree"))
    with write_errors(str(report)):
        lab.write_report(results, report, title="Strategies for missing values on the diabetes data")

    amputed = lab.ampute(table.drop(columns="target"), 0.2, seed=1)
    tree = TrinaryTreeRegressor(max_depth=3).fit(amputed, table["target"])
    with write_errors(str(page)):
        tree.to_html(page, rows=amputed.head(20))
    with write_errors(str(model)):
        tree.save(model)
    files = {
        "comparison.png": "the excess loss of each method against the fraction of missing values",
        "report.html": "all results, for a browser",
        "tree.html": "an interactive tree: set any field of a row to missing",
        "diabetes.tritree": f"its model: tritree show {model}",
    }
    # last: the files are complete even if nobody reads this
    comparison = lab.compare_methods(results)
    if as_json:
        write_json(
            {"folder": folder, "files": files, "recommendation": comparison.recommendation}
            | {"methods": to_records(comparison.table)}
        )
        return
    write_text(f"{comparison}\n\nIn {folder}:")
    for name, text in files.items():
        write_text(f"  {name:<18} {text}")
