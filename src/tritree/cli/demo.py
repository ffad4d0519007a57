"""``tritree demo``: the main job on data that comes with scikit-learn."""

# annotations are read by Typer when the program is built, so they are not put off here

from typing import Annotated, Any

import typer

from tritree.cli.messages import note, put
from tritree.cli.pictures import picture
from tritree.cli.places import made_folder, write_place

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = (("tritree demo", "everything goes to the folder tritree-demo"),)

Folder = Annotated[
    str, typer.Option("--output", "-o", metavar="FOLDER", help="Where all of it goes; made if need be.")
]


def demo(output: Folder = "tritree-demo") -> None:
    """Make holes in a table, compare all strategies, and keep a figure, a report, a tree's page and a model.

    The table is the diabetes data of scikit-learn: what was measured on 442 patients, and how their disease went on.
    """
    from tritree import TrinaryTreeRegressor
    from tritree.lab import ampute, compare_methods, write_report
    from tritree.lab.figures import plot_panels

    folder = made_folder(output)
    table, experiment = _experiment()
    n_methods = len(experiment.methods)
    note(
        f"the diabetes data, {len(table)} rows; 10 to 50 % of its cells removed, by chance; {n_methods} methods"
    )
    results = experiment.run(-1)
    put(str(compare_methods(results)))
    drawn = picture(lambda: plot_panels(results)[0], "png", 130)
    write_place(drawn, folder / "comparison.png", str(folder / "comparison.png"))
    write_report(results, folder / "report.html", title="Strategies for missing values on the diabetes data")

    holed = ampute(table.drop(columns="target"), 0.2, seed=1)
    tree = TrinaryTreeRegressor(max_depth=3).fit(holed, table["target"])
    tree.to_html(folder / "tree.html", rows=holed.head(20))
    tree.save(folder / "diabetes.tritree")
    put(f"\nIn {folder}:")
    for name, words in (
        ("comparison.png", "the excess loss of each method, the more fields are missing"),
        ("report.html", "all of it, to be read in a browser"),
        ("tree.html", "a tree to walk through; set any field of a row to missing"),
        ("diabetes.tritree", f"its model: tritree show {folder / 'diabetes.tritree'}"),
    ):
        put(f"  {name:<18} {words}")


def _experiment() -> tuple[Any, Any]:
    from sklearn.datasets import load_diabetes

    from tritree.lab import Dataset, Experiment, Folds, in_both, in_test
    from tritree.lab.ranks.names import METHODS

    table = load_diabetes(as_frame=True, scaled=False).frame
    return table, Experiment(
        datasets=[Dataset.of("diabetes", table, "target")],
        scenarios=(in_both("mcar"), in_test("mcar")),
        rates=(0.1, 0.2, 0.3, 0.4, 0.5),
        methods={name: name for name in METHODS},
        folds=Folds(5),
    )
