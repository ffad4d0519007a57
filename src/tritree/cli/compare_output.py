"""What ``tritree compare`` writes: the verdict, the metrics of each scenario, and what was compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.lab.ranks import ScenarioScores, Verdict


def to_dict(
    verdict: Verdict,
    scores: Sequence[ScenarioScores],
    results: Any,
    command: str | None,
    about: dict[str, Any],
) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "verdict": verdict.text,
        "recommended": verdict.method,
        "fit": command,
        "metric": scores[0].metric,
        "scenarios": _to_dicts(scores),
        "by_rate": _by_rate(results),
        "notes": _notes(scores, about),
        "about": about,
    }


def to_text(
    verdict: Verdict, scores: Sequence[ScenarioScores], command: str | None, about: dict[str, Any]
) -> str:
    """Return a comparison as text: the verdict first, then a table per scenario."""
    from tritree.lab.ranks.tables import as_text, scores_table, wrapped

    notes = [line for note in _notes(scores, about) for line in wrapped(note)]
    facts = {
        "models": _models_text(about),
        "table": _table_text(about),
        "store": about["store"],
        "report": about["report"],
        "time": _time_text(about["seconds"]),
        "fit": command,
    }
    lines = [f"{label:<6} {text}" for label, text in facts.items() if text]
    paragraphs = ["\n".join(wrapped(verdict.text)), as_text(*map(scores_table, scores))]
    return "\n\n".join([*paragraphs, "\n".join(notes), "\n".join(lines)])


def _notes(scores: Sequence[ScenarioScores], about: dict[str, Any]) -> list[str]:
    """Return what the metrics and outcomes mean, and when masked copies, which take time, are worth comparing."""
    from tritree.lab.ranks.tables import scores_notes

    notes = scores_notes(scores)
    is_uncompared = "boosting" in about["models"] and not about["masked_copies"]
    if is_uncompared and about["missing_fraction"] and any(about["rates"]):
        notes.append(
            "The table has missing values of its own. If they mean something, such as that a test was not needed, and "
            "fields will go missing at random later, --masked-copies 4 says whether boosting should be fitted for that."
        )
    return notes


def _to_dicts(scores: Sequence[ScenarioScores]) -> list[dict[str, Any]]:
    from tritree.cli.tables import to_records

    return [
        {"scenario": one.scenario, "title": one.title, "rates": one.rates, "methods": to_records(one.table)}
        for one in scores
    ]


def _by_rate(results: Any) -> list[dict[str, Any]]:
    """Return the metrics of each scenario, rate and method."""
    from tritree.lab.ranks import scenario_scores

    return [
        {"scenario": one["scenario"], "rate": float(rate), **line}
        for rate in sorted(results["rate"].unique())
        for one in _to_dicts(scenario_scores(results[results["rate"] == rate]))
        for line in one["methods"]
    ]


def _table_text(about: dict[str, Any]) -> str:
    """Return the size and the task of a table in words."""
    fraction = about["missing_fraction"]
    missing = f"{100 * fraction:.3g}% of the values missing" if fraction else "no missing values"
    weighted = "" if about["weights"] is None else f", weighted by {about['weights']}"
    size = f"{count(about['rows'], 'row')}, {count(about['columns'], 'column')}"
    return f"{about['datasets'][0]}: {size}, {missing}{weighted}; {about['task']}: {about['reason']}"


def _models_text(about: dict[str, Any]) -> str:
    """Return the main parameters of each kind of model in words."""
    from tritree.lab.methods import method_spec
    from tritree.lab.other_libraries import LIBRARIES

    specs = {method: method_spec(method) for method in about["methods"]}
    texts = []
    for kind, facts in about["models"].items():
        n_trees = count(facts.get("n_estimators") or facts["max_iter"], "tree")
        rate = facts.get("learning_rate")
        rate_text = "" if rate is None else f", learning rate {rate:g}"
        texts.append(
            f"{kind}{_strategy(kind, specs)}: {n_trees}, {_depth_text(facts['max_depth'])}{rate_text}"
        )
    if any(spec is not None and spec.model == "tree" for spec in specs.values()):
        texts += [
            f"tree{_strategy('tree', specs)}: {_depth_text(depth)}" for depth in about["depths"].values()
        ]
    libraries = [name for name in specs if name in LIBRARIES]
    if libraries:
        texts.append(f"{', '.join(libraries)}: {'their' if len(libraries) > 1 else 'its'} own defaults")
    return "; ".join(texts)


def _strategy(kind: str, specs: dict[str, Any]) -> str:
    """Return the strategy of a kind of model whose name does not tell it."""
    return f" ({specs[kind].strategy})" if kind in specs else ""


def _depth_text(depth: int | None) -> str:
    return "unlimited depth" if depth is None else f"depth {depth}"


def _time_text(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 100 else f"{seconds:.0f} s"
