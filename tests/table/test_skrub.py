"""skrub's transformers prepare tables for the estimators; missing values stay missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from tritree import TrinaryBoostingRegressor, TrinaryForestRegressor, TrinaryTreeRegressor

skrub = pytest.importorskip("skrub", reason="skrub is not installed")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 1000, 300), "D"),
        "city": RNG.choice(["Basel", "Bern", "Geneva"], 300),
        "area": RNG.normal(100, 20, 300),
    }
)
TARGET = FRAME["sold"].dt.month + 3.0 * (FRAME["city"] == "Bern") + FRAME["area"] / 20
FRAME = FRAME.mask(RNG.random(FRAME.shape) < 0.1)
ESTIMATORS = [
    TrinaryTreeRegressor(max_depth=4),
    TrinaryForestRegressor(n_estimators=5, random_state=0),
    TrinaryBoostingRegressor(max_iter=30, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("text", ["passthrough", None], ids=["text as it is", "text encoded"])
def test_table_vectorizer_works_in_a_pipeline(text: str | None, estimator: Any) -> None:
    options = {} if text is None else {"low_cardinality": text, "high_cardinality": text}
    pipeline = make_pipeline(skrub.TableVectorizer(**options), clone(estimator)).fit(FRAME, TARGET)
    assert pipeline.score(FRAME, TARGET) > 0.5
    features = list(pipeline[-1].feature_names_in_)
    assert "sold_month" in features
    assert ("city" in features) == (text is not None)
    assert np.isfinite(pipeline.predict(FRAME.assign(sold=pd.NaT, city=None))).all()


def test_datetime_encoder_gives_the_parts_that_date_parts_does() -> None:
    pipeline = make_pipeline(
        skrub.TableVectorizer(
            datetime=skrub.DatetimeEncoder(resolution="month", add_total_seconds=False),
            low_cardinality="passthrough",
        ),
        TrinaryTreeRegressor(max_depth=4),
    ).fit(FRAME, TARGET)
    own = TrinaryTreeRegressor(max_depth=4, date_parts=["month"]).fit(FRAME, TARGET)
    used = [
        {node["split"]["name"] for node in tree.to_dict()["nodes"] if node["split"]}
        for tree in (pipeline[-1], own)
    ]
    assert "sold_month" in used[0]
    assert "sold.month" in used[1]
