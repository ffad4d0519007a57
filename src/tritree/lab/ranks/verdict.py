"""The verdict on methods on one data set: which one to use, and why, in a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import as_name
from tritree.lab.methods import CONSTANT, method_spec, with_masked_copies
from tritree.lab.other_libraries import LIBRARIES
from tritree.lab.ranks.comparison import UNCHANGED
from tritree.lab.ranks.scores import BASELINE, lines_of, metric_format
from tritree.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from tritree.lab.ranks.scores import ScenarioScores

_NAMES = {key: name for metrics in METRICS.values() for key, name in metrics.items()}
_MAX_NAME = 40
_SAME = 1e-9  # relative difference of losses that are called the same


@dataclass(frozen=True)
class Verdict:
    """Which method to use, or None if a constant prediction is as good as any; and the reasons in words."""

    method: str | None
    text: str

    def __str__(self) -> str:
        return self.text


def judge(scores: Sequence[ScenarioScores]) -> Verdict:
    """Return the verdict on the scores of a data set in one or more scenarios.

    The method to use beats a constant prediction in the most scenarios; of several, it is worse than the best in the
    fewest, and then has the lowest loss relative to the best of each scenario, on average.
    """
    methods = [name for name in scores[0].table["method"] if name != CONSTANT]
    if not methods:
        return Verdict(None, "There is no method to compare the constant with.")
    method = min(methods, key=lambda name: _rank(scores, name))
    first = _Facts.of(scores[0], method)
    if first.best["beats_constant"] == "no":
        return Verdict(
            None,
            f"Use none of these methods: {first.scores.where} the best of them predicts no better than a constant "
            f"({_metric(first)} {first.numbers_of(first.best, first.constant)}).",
        )
    if len(methods) == 1:
        return Verdict(method, _only_method(method, first))
    facts = [_Facts.of(one, method) for one in scores if method in set(one.table["method"])]
    return Verdict(
        method,
        " ".join(
            [_reasons(method, facts), *_trade_offs(facts), *_about_copies(scores, method), *_cautions(facts)]
        ),
    )


@dataclass(frozen=True, eq=False)
class _Facts:
    """The scores of a scenario with the lines that a verdict on one method is about."""

    scores: ScenarioScores
    line: pd.Series
    others: pd.DataFrame  # methods, best first
    constant: pd.Series | None
    to_text: Callable[[float], str]

    @classmethod
    def of(cls, scores: ScenarioScores, method: str) -> _Facts:
        table = scores.table
        others = table[~table["method"].isin([method, CONSTANT])]
        constant = lines_of([scores], CONSTANT).get(scores.scenario)
        to_text = metric_format(scores.metric, table[scores.metric])
        return cls(scores, lines_of([scores], method)[scores.scenario], others, constant, to_text)

    @property
    def best(self) -> pd.Series:
        table = self.scores.table
        return table[table["outcome"] != BASELINE].iloc[0]

    @property
    def status(self) -> str:
        """Return whether the method is "lowest", "level" with the best, or "worse"; or "same" if all are identical."""
        least = self.best["loss"]
        if (self.scores.table["loss"][self.scores.table["outcome"] != BASELINE] - least).abs().max() <= (
            _SAME * abs(least)
        ):
            return "same"
        if self.line["loss"] <= least:
            return "lowest"
        return "worse" if self.line["outcome"] == "worse" else "level"

    @property
    def compared(self) -> pd.Series:
        """Return the method to name beside the method: the best one or, if it is the method itself, the next best.

        A method of tritree is compared with other libraries, if there are any, and the other way round.
        """
        if self.status == "level":
            return self.best
        is_library = self.others["method"].isin(LIBRARIES)
        across = self.others[is_library != (self.line["method"] in LIBRARIES)]
        return across.iloc[0] if is_library.any() and len(across) else self.others.iloc[0]

    @property
    def is_significant(self) -> bool:
        """Return whether the method is significantly better than the one that it is compared with."""
        return self.status == "lowest" and bool(self.compared["outcome"] == "worse")

    def numbers(self, mark: str) -> str:
        """Return the metric of both methods; ``mark`` is added to a difference by chance."""
        other = f"{self.numbers_of(self.compared)}{'' if self.is_significant else mark}"
        return f"{self.number(self.line)}; {other}"

    def number(self, line: Any) -> str:
        return self.to_text(line[self.scores.metric])

    def numbers_of(self, *lines: Any) -> str:
        return ", ".join(f"{_name(line['method'])} {self.number(line)}" for line in lines)


def _name(method: str) -> str:
    return as_name(method, _MAX_NAME)


def _metric(facts: _Facts) -> str:
    return _NAMES[facts.scores.metric]


def _rank(scores: Sequence[ScenarioScores], method: str) -> tuple[int, int, int, float]:
    """Return in how many scenarios a method failed, is useless, and is worse than the best; and its relative loss."""
    lines = lines_of(scores, method)
    n_useless = sum(line["beats_constant"] == "no" for line in lines.values())
    n_worse = sum(line["outcome"] == "worse" for line in lines.values())
    relative = []
    for one in scores:
        least = one.table["loss"][one.table["outcome"] != BASELINE].min()
        if one.scenario in lines and least > 0:
            relative.append(lines[one.scenario]["loss"] / least)
    mean = sum(relative) / len(relative) if relative else 1.0
    return len(scores) - len(lines), n_useless, n_worse, mean


def _only_method(method: str, facts: _Facts) -> str:
    if facts.constant is None:
        return f"There is nothing to choose from: {_name(method)} is the only method."
    uncertain = ", not significant" if facts.line["beats_constant"] == "not significant" else ""
    return (
        f"{_name(method)} predicts better than a constant {facts.scores.where} ({_metric(facts)} "
        f"{facts.number(facts.line)}; constant {facts.number(facts.constant)}{uncertain})."
    )


def _reasons(method: str, facts: list[_Facts]) -> str:
    """Return the sentence that recommends a method."""
    named = [one for one in facts if one.status in ("lowest", "level")]
    if not named:
        if all(one.status == "same" for one in facts):
            return f"Use any of the methods: all have the same {_metric(facts[0])}."
        return f"Use {_name(method)}: it is the best compromise."
    # said once if it is true of several differences, and of all
    once = len(named) > 1 and not any(one.is_significant for one in named)
    mark = "" if once else ", not significant"
    clauses = []
    for status, claim in (("lowest", "has the lowest"), ("level", "is level with the best in")):
        places = [f"{one.scores.where} ({one.numbers(mark)})" for one in named if one.status == status]
        if places:
            clauses.append(f"{claim} {_metric(facts[0])} {_joined(places)}")
    remark = "; none of these differences is significant" if once else ""
    return f"Use {_name(method)}: it {', and '.join(clauses)}{remark}."


def _trade_offs(facts: list[_Facts]) -> list[str]:
    """Return a sentence per scenario in which another method is better."""
    sentences = []
    for one in facts:
        if one.status != "worse":
            continue
        best = _name(one.best["method"])
        advice = f": if no fields will go missing, use {best}" if one.scores.scenario == UNCHANGED else ""
        numbers = f"{one.number(one.best)} against {one.number(one.line)}"
        sentences.append(f"But {one.scores.where} {best} is better ({numbers}){advice}.")
    return sentences


def _about_copies(scores: Sequence[ScenarioScores], method: str) -> list[str]:
    """Return a sentence on where masked copies pay, of the method or else of the best one that has them."""
    pairs = _pairs(scores[0].table["method"])
    pairs = [pair for pair in pairs if method in pair] or pairs
    if not pairs:
        return []
    plain, copied = pairs[0]
    places: dict[str, list[str]] = {"lower": [], "raise": []}
    for one in scores:
        if not {plain, copied} <= set(one.table["method"]):
            continue
        before, after = (_Facts.of(one, name) for name in (plain, copied))
        change = after.line["loss"] - before.line["loss"]
        if not abs(change) > _SAME * abs(before.line["loss"]):  # also if both are infinite
            continue
        outcomes = {before.line["outcome"], after.line["outcome"]}
        # methods are tested against the best one only
        outcome = (outcomes - {"best"}).pop() if "best" in outcomes else "not tested"
        mark = "" if outcome == "worse" else f", {outcome}"
        numbers = f"{before.number(before.line)} to {after.number(after.line)}"
        places["lower" if change < 0 else "raise"].append(f"{one.where} ({numbers}{mark})")
    metric = f"the {_NAMES[scores[0].metric]}"
    clauses: list[str] = []
    for verb, found in places.items():
        if found:
            clauses.append(f"{verb} {'it' if clauses else metric} {_joined(found)}")
    return [f"Masked copies of {_name(plain)} {', and '.join(clauses)}."] if clauses else []


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the methods that are there with masked copies and without, in the order of the names."""
    specs = {name: method_spec(name) for name in names}
    return [
        (plain, copied)
        for plain in specs
        for copied, spec in specs.items()
        if spec is not None and spec.masked_copies and copied == with_masked_copies(plain, spec.masked_copies)
    ]


def _cautions(facts: list[_Facts]) -> list[str]:
    """Return sentences on scenarios in which the method is hardly better than a constant prediction."""
    sentences = []
    for outcome, words in (("no", "no better"), ("not significant", "not significantly better")):
        found = [one for one in facts if one.line["beats_constant"] == outcome]
        # what is true of the table as it is need not be said of more missing values
        found = [one for one in found if one.scores.scenario == UNCHANGED] or found
        numbers = [
            f"{one.scores.where} ({one.number(one.line)}; constant {one.number(one.constant)})"
            for one in found
        ]
        if numbers:
            sentences.append(f"Caution: it predicts {words} than a constant {_joined(numbers)}.")
    return sentences


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
