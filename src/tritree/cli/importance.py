"""``tritree importance``: which columns a model depends on."""

from typing import Any

from tritree.cli import options
from tritree.cli.messages import progress, write_json, write_text
from tritree.inspection.formatting import as_name, count, pad, width_of

EXAMPLES = (
    ("tritree importance houses.tritree", "the columns, most important first"),
    ("tritree importance houses.tritree -o importance.png", "as a figure; .svg and .pdf, too"),
    ("tritree importance houses.tritree --json", "as JSON"),
)

#: Length of the longest bar.
_BAR = 30


def importance(
    model: options.ModelFile,
    *,
    output: options.OutputFile = None,
    max_columns: options.MaxColumns = 20,
    dpi: options.Dpi = 110,
    n_jobs: options.NJobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the importance of the columns: by how much their splits reduce the training loss, as fractions.

    Parameters
    ----------
    output
        Figure to draw: .png, .svg or .pdf. An existing file is replaced.
    max_columns
        Maximum number of columns to show. JSON has all of them.
    """
    from tritree.cli.models import open_model
    from tritree.cli.output import (
        FIGURE_FORMATS,
        check_format,
        check_json_output,
        check_output,
        figure_bytes,
        write_output,
    )

    form = None if output is None else check_format(output, None, FIGURE_FORMATS, has_option=False)
    file = check_output(output, "the figure", model)
    check_json_output(as_json and form is not None, file, "the figure")
    opened = open_model(model, n_jobs=n_jobs)
    with progress("computing importances"):
        values = opened.feature_importances_.tolist()
    names = [str(name) for name in opened._feature_names()]
    found = sorted(zip(names, values, strict=True), key=lambda pair: -pair[1])
    if form is not None:
        draw: Any = lambda: opened.plot_importance(max_columns=max_columns)  # noqa: E731
        write_output(figure_bytes(draw, form, dpi), file, output, "the figure")
    if as_json:
        write_json([{"column": name, "importance": value} for name, value in found])
    elif form is None:
        write_text(_to_text(found, max_columns))


def _to_text(found: list[tuple[str, float]], max_columns: int) -> str:
    """Return importances as bars; columns without importance are counted, not shown."""
    used = [(as_name(name), value) for name, value in found if value > 0]
    if not used:
        return "no column has importance: the model has no split"
    width = max(width_of(name) for name, _ in used[:max_columns])
    longest = used[0][1]
    lines = [
        f"{pad(name, width)}  {value:6.1%}  {'━' * max(1, round(_BAR * value / longest))}"
        for name, value in used[:max_columns]
    ]
    if rest := used[max_columns:]:
        lines.append(f"{count(len(rest), 'more column')}: {sum(value for _, value in rest):.1%}")
    if unused := len(found) - len(used):
        lines.append(f"{count(unused, 'column')} without importance")
    return "\n".join(lines)
