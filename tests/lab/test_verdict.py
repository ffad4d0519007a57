"""The verdict says which method to use, with its reasons, its price, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from tritree.lab.ranks import judge, scenario_scores
from tritree.lab.ranks.averages import NoCommonCaseError
from tritree.lab.ranks.tables import as_text, scores_notes, scores_table

AS_IS, TEST, BOTH = "unchanged", "mcar_test", "mcar"
CONSTANT = {"constant": 0.69}


def results(
    as_is: Mapping[str, float],
    in_test: Mapping[str, float] | None = None,
    in_both: Mapping[str, float] | None = None,
    *,
    noise: float = 0.001,
    folds: int = 10,
) -> pd.DataFrame:
    """Return results of a classification in which methods have these log losses, plus noise per fold."""
    rng = np.random.default_rng(0)
    lines = [
        {"dataset": "d", "scenario": scenario, "rate": rate, "method": method, "seed": 0, "fold": fold}
        | {"rows": 50, "log_loss": loss + noise * rng.normal(), "roc_auc": 0.8, "accuracy": 0.7}
        for scenario, rate, losses in ((TEST, 0.0, as_is), (TEST, 0.3, in_test), (BOTH, 0.3, in_both))
        for method, loss in ((losses or {}) | CONSTANT if losses else {}).items()
        for fold in range(folds)
    ]
    table = pd.DataFrame(lines)
    return table.assign(loss=table["log_loss"], brier_score=table["log_loss"] / 3)


def verdict(*losses: Mapping[str, float], **options: float) -> str:
    return judge(scenario_scores(results(*losses, **options))).text


def without_numbers(text: str) -> str:
    return re.sub(r"\d\.\d+", "#", text)


def test_clear_winner() -> None:
    found = verdict(
        {"boosting": 0.35, "lightgbm": 0.4},
        {"boosting": 0.41, "lightgbm": 0.62},
        {"boosting": 0.4, "lightgbm": 0.5},
        noise=1e-6,
    )
    assert found == (
        "Use boosting: it has the lowest log loss on the table as it is (0.350; lightgbm 0.400), when fields go "
        "missing in production (0.410; lightgbm 0.620) and when values are missing in training and test (0.400; "
        "lightgbm 0.500)."
    )


def test_level_as_it_is_and_better_with_missing_values() -> None:
    found = verdict({"boosting": 0.352, "lightgbm": 0.349}, {"boosting": 0.41, "lightgbm": 0.72}, noise=0.02)
    assert without_numbers(found) == (
        "Use boosting: it has the lowest log loss when fields go missing in production (#; lightgbm #), and is level "
        "with the best in log loss on the table as it is (#; lightgbm #, not significant)."
    )


def test_differences_by_chance_are_called_that_once() -> None:
    found = verdict({"boosting": 0.40, "forest": 0.41}, {"boosting": 0.5, "forest": 0.505}, noise=0.1)
    assert without_numbers(found).startswith("Use ")
    assert found.endswith("; none of these differences is significant.")
    assert found.count("significant") == 1


def test_other_library_that_is_better_as_it_is_is_said_to_be() -> None:
    found = verdict(
        {"boosting": 0.36, "lightgbm": 0.34},
        {"boosting": 0.41, "lightgbm": 0.62},
        {"boosting": 0.4, "lightgbm": 0.5},
    )
    assert without_numbers(found).endswith(
        "But on the table as it is lightgbm is better (# against #): if no fields will go missing, use lightgbm."
    )
    assert found.startswith("Use boosting: ")


def test_other_library_that_is_better_everywhere_is_recommended() -> None:
    found = judge(
        scenario_scores(results({"boosting": 0.5, "xgboost": 0.4}, {"boosting": 0.6, "xgboost": 0.5}))
    )
    assert found.method == "xgboost"
    assert without_numbers(found.text) == (
        "Use xgboost: it has the lowest log loss on the table as it is (#; boosting #) and when fields go missing in "
        "production (#; boosting #)."
    )


def test_best_other_library_is_named_rather_than_the_runner_up() -> None:
    losses = {"boosting": 0.4, "forest": 0.45, "catboost": 0.5, "lightgbm": 0.6}
    assert "(0.400; catboost 0.500)" in verdict(losses, noise=0.0001)


def test_method_that_beats_the_constant_where_another_does_not_is_recommended() -> None:
    found = verdict({"boosting": 0.5, "forest": 0.8}, {"boosting": 2.0, "forest": 1.0}, noise=1e-6)
    assert found.startswith(
        "Use boosting: it has the lowest log loss on the table as it is (0.500; forest 0.800)."
    )
    assert "Caution: it predicts no better than a constant when fields go missing in production" in found


def test_constant_that_is_as_good_as_any_method_is_recommended_instead() -> None:
    found = judge(
        scenario_scores(results({"boosting": 0.75, "lightgbm": 0.8}, {"boosting": 0.8, "lightgbm": 0.9}))
    )
    assert found.method is None
    assert without_numbers(found.text) == (
        "Use none of these methods: on the table as it is the best of them predicts no better than a constant (log "
        "loss boosting #, constant #)."
    )


def test_method_that_is_hardly_better_than_a_constant_comes_with_a_caution() -> None:
    found = verdict({"boosting": 0.5, "forest": 0.6}, {"boosting": 0.7, "forest": 0.9})
    assert without_numbers(found).endswith(
        "Caution: it predicts no better than a constant when fields go missing in production (#; constant #)."
    )
    found = verdict({"boosting": 0.67, "forest": 0.68}, noise=0.1)
    assert "Caution: it predicts not significantly better than a constant on the table as it is" in found


COPIED = "boosting + 4 masked copies"


def test_verdict_says_where_masked_copies_pay_and_what_they_cost() -> None:
    found = verdict(
        {"boosting": 0.35, COPIED: 0.37, "tree": 0.5},
        {"boosting": 0.5, COPIED: 0.41, "tree": 0.6},
        {"boosting": 0.4, COPIED: 0.43, "tree": 0.6},
        noise=1e-6,
    )
    assert found.endswith(
        "Masked copies of boosting lower the log loss when fields go missing in production (0.500 to 0.410), and "
        "raise it on the table as it is (0.350 to 0.370) and when values are missing in training and test (0.400 to "
        "0.430)."
    )


def test_effect_of_masked_copies_is_marked_if_it_may_be_chance_or_was_not_tested() -> None:
    by_chance = verdict({"boosting": 0.4, COPIED: 0.39}, {"boosting": 0.5, COPIED: 0.45}, noise=0.1)
    assert without_numbers(by_chance).count("# to #, not significant)") == 2
    another_is_best = verdict({"boosting": 0.4, COPIED: 0.39, "forest": 0.2}, noise=1e-6)
    assert another_is_best.startswith("Use forest")
    assert (
        "Masked copies of boosting lower the log loss on the table as it is (0.400 to 0.390, not tested)."
        in (another_is_best)
    )


def test_masked_copies_are_those_of_the_recommended_strategy() -> None:
    losses = {"boosting:mia": 0.4, "boosting:mia + 1 masked copy": 0.39, "boosting:trinary": 0.3}
    found = verdict(losses | {"boosting:trinary + 1 masked copy": 0.32}, noise=1e-6)
    assert (
        "Masked copies of boosting:trinary raise the log loss on the table as it is (0.300 to 0.320)."
        in found
    )
    assert "copies of boosting:mia" not in found


def test_masked_copies_without_effect_are_not_spoken_of() -> None:
    losses = {"boosting": 0.4, COPIED: 0.4}
    lines = results(losses, noise=0)
    assert "Masked copies of" not in judge(scenario_scores(lines)).text


def test_only_method_is_compared_with_the_constant() -> None:
    found = verdict({"tree": 0.5})
    assert without_numbers(found) == (
        "tree predicts better than a constant on the table as it is (log loss #; constant #)."
    )


def test_identical_methods_are_not_ranked() -> None:
    found = verdict({"mia": 0.5, "trinary": 0.5}, {"mia": 0.6, "trinary": 0.55}, noise=0)
    assert (
        found
        == "Use trinary: it has the lowest log loss when fields go missing in production (0.550; mia 0.600)."
    )
    assert (
        verdict({"mia": 0.5, "trinary": 0.5}, noise=0)
        == "Use any of the methods: all have the same log loss."
    )


def test_method_without_results_in_a_scenario_is_not_recommended() -> None:
    table = results({"boosting": 0.4, "forest": 0.3}, {"boosting": 0.5, "forest": 0.4})
    failed = (table["method"] == "forest") & (table["rate"] > 0)
    assert judge(scenario_scores(table[~failed])).method == "boosting"


def test_metrics_are_means_over_rows_and_rates() -> None:
    table = results({"boosting": 0.4, "forest": 0.5}, {"boosting": 0.6, "forest": 0.7})
    more = table[table["rate"] > 0].assign(rate=0.5, log_loss=lambda t: t["log_loss"] + 0.1)
    table = pd.concat([table, more.assign(loss=more["log_loss"])]).reset_index(drop=True)
    table.loc[table["fold"] == 0, "rows"] = 80
    [_, found] = scenario_scores(table)
    assert found.rates == [0.3, 0.5]
    for method, part in table[table["rate"] > 0].groupby("method"):
        line = found.table.set_index("method").loc[method]
        assert line["log_loss"] == pytest.approx(np.average(part["log_loss"], weights=part["rows"]))


def test_root_mean_squared_error_is_that_of_all_rows() -> None:
    table = results({"boosting": 4.0, "forest": 9.0}).drop(
        columns=["log_loss", "roc_auc", "accuracy", "brier_score"]
    )
    table = table.assign(rmse=np.sqrt(table["loss"]), r2=0.5, mae=1.0)
    table.loc[table["fold"] == 0, ["loss", "rmse", "r2"]] = [100.0, 10.0, np.nan]
    [found] = scenario_scores(table)
    assert found.metric == "rmse"
    part = table[table["method"] == "boosting"]
    line = found.table.set_index("method").loc["boosting"]
    assert line["rmse"] == pytest.approx(np.sqrt(part["loss"].mean()))
    assert line["r2"] == 0.5


def test_best_of_each_metric_is_marked_but_never_the_constant() -> None:
    table = results({"boosting": 0.8, "forest": 0.9})
    [found] = scenario_scores(table)
    assert found.table["method"].tolist() == ["constant", "boosting", "forest"]
    shown = as_text(scores_table(found)).splitlines()
    assert shown[0] == "The table as it is"
    assert shown[1].split()[:3] == ["method", "log", "loss"]
    assert "*" not in shown[2]
    assert "*" in shown[3]


def test_notes_explain_what_is_shown() -> None:
    first, second = scores_notes(scenario_scores(results({"boosting": 0.4, "forest": 0.5})))
    assert first.startswith("AUC and accuracy: higher is better; log loss and Brier score: lower is better.")
    assert "10 folds." in first
    assert "worse: significantly worse" in second


def test_results_without_a_common_case_or_metrics_are_refused() -> None:
    table = results({"boosting": 0.4, "forest": 0.5})
    apart = table[(table["method"] == "forest") == (table["fold"] < 5)]
    with pytest.raises(NoCommonCaseError):
        scenario_scores(apart[apart["method"] != "constant"])
    with pytest.raises(ValueError, match="no metrics"):
        scenario_scores(table.drop(columns="log_loss"))
