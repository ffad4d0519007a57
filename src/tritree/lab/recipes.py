"""The paper's eight data sets: what each looks like, where its table is published, and the way from there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types

from tritree.errors import shortened
from tritree.inspection.formatting import count
from tritree.lab import cleaning
from tritree.lab.cleaning import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RECIPES", "Recipe"]

#: What the columns of a clean table hold: any numbers, whole numbers, or text.
Kind = Literal["number", "whole", "text"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A data set of the paper: the table that its author used, and the published (raw) table it is made of."""

    #: What the paper calls it.
    title: str
    rows: int
    #: The columns of the clean table in their order, the response ``y`` last.
    kinds: Mapping[str, Kind]
    #: What the author's runs took it for.
    task: str
    #: Where the raw table is to be had, in words.
    source: str
    #: The number of the raw table at OpenML; None where OpenML does not have it, or not all of its rows.
    openml: int | None
    #: The raw columns that are needed, and what they are called from here on: in lower case, without the units in
    #: brackets. A column may have several raw names, one in each place where it is published.
    names: Mapping[str, str]
    #: What is done to the raw table before its columns are chosen and incomplete rows are dropped.
    prepare: Callable[[Any], Any] | None = None
    #: The classes of the response; none if it is a number.
    classes: tuple[str, ...] = ()
    #: The digest of the author's own table; None where its order of rows is not known.
    digest: str | None = None

    @property
    def header(self) -> str:
        """Return the first line of a clean file."""
        return ",".join(self.kinds)

    @property
    def text(self) -> list[str]:
        """Return the columns of text."""
        return [column for column, kind in self.kinds.items() if kind == "text"]

    def raw_columns(self, columns: Any) -> dict[Any, str]:
        """Return those of a table's columns that the raw table is made of, and what they are called from here on."""
        found: dict[Any, str] = {}
        for column in columns:
            name = self.names.get(_plain(column))
            if name is not None and name not in found.values():
                found[column] = name
        return found

    def lacking(self, columns: Any) -> list[str]:
        """Return the raw columns that a table would need to be the raw table."""
        found = self.raw_columns(columns).values()
        raw: dict[str, str] = {}
        for name, new in self.names.items():
            if new not in found:
                raw.setdefault(new, name)
        return list(raw.values())

    def clean(self, raw: Any) -> Any:
        """Return the clean table, made of the raw one.

        Columns that are not needed may be absent, and the others in any order. Rows keep theirs, but for lymphography,
        whose rows are put into the author's. What is not as it should be is a DataError.
        """
        lacking = self.lacking(raw.columns)
        if lacking:
            raise DataError(
                f"the raw table lacks {', '.join(map(repr, lacking))}; it has "
                f"{shortened(', '.join(map(str, raw.columns)), 300)}. Expected was {self.source}"
            )
        names = self.raw_columns(raw.columns)
        table = raw[list(names)].rename(columns=names).reset_index(drop=True)
        if self.prepare is not None:
            table = self.prepare(table)
        return self.settle(table[list(self.kinds)].dropna())

    def settle(self, table: Any) -> Any:
        """Return a clean table in the types of its kinds; a DataError says what is not as it should be."""
        if len(table) != self.rows:
            raise DataError(
                f"{len(table):,} rows where {self.rows:,} were expected ({self.rows:,} x {len(self.kinds)} with "
                "the response)"
            )
        table = table.reset_index(drop=True)
        settled = pd.DataFrame({column: _settled(table[column], kind) for column, kind in self.kinds.items()})
        unknown = sorted(set(settled["y"].cat.categories) - set(self.classes)) if self.classes else []
        if unknown:
            raise DataError(
                f"column 'y' holds {shortened(unknown[0])} where one of {', '.join(self.classes)} was expected"
            )
        return settled


def _settled(column: Any, kind: Kind) -> Any:
    """Return a column in the type of its kind: categories of text, float64 or int64."""
    holes = int(column.isna().sum())
    if holes:
        raise DataError(f"column {column.name!r} has {count(holes, 'missing cell')} where none were expected")
    if kind == "text":
        labels = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else [None]
        is_text = all(isinstance(label, str) for label in labels)
        text = column if is_text else column.astype("object").astype(str).astype("category")
        return text.cat.remove_unused_categories()
    numbers = _numbers(column)
    if kind == "number":
        return numbers.astype("float64")
    fractions = False if types.is_integer_dtype(numbers.dtype) else numbers % 1 != 0
    if np.any(fractions):
        value = numbers[fractions].iloc[0]
        raise DataError(f"column {column.name!r} holds {value} where whole numbers were expected")
    return numbers.astype("int64")


def _numbers(column: Any) -> Any:
    """Return a column as numbers, which may have been read as text, or as categories of either."""
    if types.is_numeric_dtype(column.dtype):
        return column
    numbers = pd.to_numeric(column.astype("object"), errors="coerce").astype("float64")
    if numbers.isna().any():
        value = column[numbers.isna()].iloc[0]
        raise DataError(f"column {column.name!r} holds {shortened(value)} where numbers were expected")
    return numbers


def _plain(column: Any) -> str:
    """Return a raw column's name without what differs from one copy of a table to the next."""
    return " ".join(re.sub(r"\(.*", "", str(column)).split()).lower()


def _kinds(header: str, *, whole: str = "", text: str = "") -> dict[str, Kind]:
    """Return the kinds of the columns in a header; what is neither whole nor text is a number."""
    kinds: dict[str, Kind] = dict.fromkeys(header.split(","), "number")
    for column in kinds:
        if column in whole.split(","):
            kinds[column] = "whole"
        elif column in text.split(","):
            kinds[column] = "text"
    return kinds


def _names(*columns: str) -> dict[str, str]:
    """Return the raw names of columns that keep their names."""
    return {_plain(column): column for column in columns}


_LIFE = (
    "Status,Adult Mortality,infant deaths,percentage expenditure,Measles,BMI,under-five deaths,Polio,Diphtheria,"
    "HIV/AIDS,GDP,Population,thinness 1-19 years,thinness 5-9 years,Income composition of resources,Schooling,y"
)
_LYMPH = (
    "lymphatics,block_of_affere,block_of_lymph_c,block_of_lymph_s,by_pass,extravasates,regeneration,early_uptake,"
    "lymph_nodes_dimin,lymph_nodes_enlar,changes_in_lymph,defect_in_node,change_in_node,changes_in_stru,special_forms,"
    "dislocation,exclusion,n_nodes,y"
)
_BOSTON = "crim,zn,indus,chas,nox,rm,age,dis,rad,tax,ptratio,b,lstat"
_SEEDS = "Area,Perimeter,Compactness,Kernel.Length,Kernel.Width,Asymmetry.Coeff,Kernel.Groove"

#: The data sets by name, in the order of the paper's table. Numbers at OpenML were looked up in a list of its data
#: sets with their names, versions, rows, columns and missing cells; each is named with its version in ``source``.
RECIPES: Mapping[str, Recipe] = {
    "auto_mpg": Recipe(
        title="Auto MPG",
        rows=392,
        kinds=_kinds(
            "cylinders,displacement,horsepower,weight,acceleration,model_year,origin,y",
            whole="cylinders,model_year,origin",
        ),
        task="regression",
        source="OpenML's autoMpg, version 1 (398 x 8): UCI Auto MPG",
        openml=196,
        names=_names("cylinders", "displacement", "horsepower", "weight", "acceleration", "origin")
        | {"model": "model_year", "model year": "model_year", "class": "y", "mpg": "y"},
        digest="acb79f9e4ded946384d3d24ebb58c6c0",
    ),
    # OpenML's black_friday (41540) has the 166,821 rows without a missing product category only
    "black_friday": Recipe(
        title="Black Friday",
        rows=550_068,
        kinds=_kinds(
            "Gender,Age,City_Category,Stay_In_Current_City_Years,Marital_Status,y",
            whole="Age,Stay_In_Current_City_Years,Marital_Status,y",
            text="Gender,City_Category",
        ),
        task="regression",
        source="train.csv (550,068 x 12) of https://www.kaggle.com/datasets/sdolezel/black-friday",
        openml=None,
        names=_names("Gender", "Age", "City_Category", "Stay_In_Current_City_Years", "Marital_Status")
        | {"purchase": "y"},
        prepare=cleaning.black_friday,
    ),
    "cement": Recipe(
        title="Cement",
        rows=1_030,
        kinds=_kinds(
            "cement,blast_furnace_slag,fly_ash,water,superplasticizer,coarse_aggregate,fine_aggregate,age,y",
            whole="age",
        ),
        task="regression",
        source="OpenML's Concrete_Data, version 1 (1,030 x 9): UCI Concrete Compressive Strength",
        openml=4353,
        names=_names("cement", "water", "superplasticizer", "age")
        | {"blast furnace slag": "blast_furnace_slag", "fly ash": "fly_ash"}
        | {"coarse aggregate": "coarse_aggregate", "fine aggregate": "fine_aggregate"}
        | {"concrete compressive strength": "y", "strength": "y"},
        prepare=cleaning.cement,
        digest="9dd9cd5912df241e24eeab4c2ee922e6",
    ),
    # OpenML's WHO-national-life-expectancy (43505) is another table
    "life_expectancy": Recipe(
        title="Life Expectancy",
        rows=138,
        kinds=_kinds(_LIFE, whole="infant deaths,Measles,under-five deaths", text="Status"),
        task="regression",
        source="'Life Expectancy Data.csv' (2,938 x 22) of "
        "https://www.kaggle.com/datasets/kumarajarshi/life-expectancy-who",
        openml=None,
        names=_names(*_LIFE.removesuffix(",y").split(","), "Year") | {"life expectancy": "y"},
        prepare=cleaning.life_expectancy,
        digest="d95569b7df0e83e0ec3902cd79525f03",
    ),
    # OpenML's data sets called Titanic are other passengers (40945) or have missing ages filled in (42638)
    "titanic": Recipe(
        title="Titanic",
        rows=712,
        kinds=_kinds(
            "Pclass,Sex,Age,n_family,Fare,Embarked,y", whole="Pclass,n_family", text="Sex,Embarked,y"
        ),
        task="classification",
        source="OpenML's train, version 2 (891 x 12): train.csv of https://www.kaggle.com/c/titanic",
        openml=42603,
        names=_names("Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked") | {"survived": "y"},
        prepare=cleaning.titanic,
        classes=("no", "yes"),
        digest="f97f449046bfff5a32ab45cfbe38a4f4",
    ),
    "lymphography": Recipe(
        title="Lymphography",
        rows=142,
        kinds=_kinds(
            _LYMPH,
            text=",".join(set(_LYMPH.split(",")) - {"lymph_nodes_dimin", "lymph_nodes_enlar", "n_nodes"}),
        ),
        task="classification",
        source="OpenML's lymph, version 1 (148 x 19): UCI Lymphography",
        openml=10,
        names=_names("lymphatics", "block_of_affere", "by_pass", "extravasates", "defect_in_node")
        | _names("changes_in_stru", "special_forms")
        | {"bl_of_lymph_c": "block_of_lymph_c", "bl_of_lymph_s": "block_of_lymph_s"}
        | {"regeneration_of": "regeneration", "early_uptake_in": "early_uptake"}
        | {"lym_nodes_dimin": "lymph_nodes_dimin", "lym_nodes_enlar": "lymph_nodes_enlar"}
        | {"changes_in_lym": "changes_in_lymph", "changes_in_node": "change_in_node"}
        | {"dislocation_of": "dislocation", "exclusion_of_no": "exclusion"}
        | {"no_of_nodes_in": "n_nodes", "class": "y"},
        prepare=cleaning.lymphography,
        classes=("metastases", "malign"),
        digest="64915f6cb69c1d7876bdb1618eb4d2d7",
    ),
    "boston_housing": Recipe(
        title="Boston Housing",
        rows=506,
        kinds=_kinds(f"{_BOSTON},y", whole="chas,rad,tax"),
        task="regression",
        source="OpenML's boston, version 1 (506 x 14)",
        openml=531,
        names=_names(*_BOSTON.split(",")) | {"medv": "y"},
        digest="9d188fba4b4af971bcafd0d3c44e6f2c",
    ),
    "seeds": Recipe(
        title="Wheat seeds",
        rows=199,
        kinds=_kinds(f"{_SEEDS},y", text="y"),
        task="regression",
        source="OpenML's seeds, version 1 (210 x 8): UCI Seeds",
        openml=1499,
        names={f"v{i}": column for i, column in enumerate(_SEEDS.split(","), start=1)}
        | _names(*_SEEDS.split(","))
        | {"class": "y", "type": "y", "y": "y"},
        prepare=cleaning.seeds,
        classes=tuple(cleaning.VARIETIES.values()),
        digest="22aaadfba96e28865ad0a4a12d36815e",
    ),
}
