"""The eight data sets of the paper: their columns, where they are published, and how they are cleaned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pandas.api import types

from tritree.errors import shortened
from tritree.inspection.formatting import count
from tritree.lab.dataset import DatasetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Type of a column of the clean table.
Type = Literal["float", "int", "text"]
#: Varieties of wheat by UCI's numbers, which the author used as target.
VARIETIES = {"1": "Kama", "2": "Rosa", "3": "Canadian"}


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """A data set of the paper: the clean table that its author used, and the published (raw) table it is made from."""

    #: Name in the paper.
    title: str
    rows: int
    #: Columns of the clean table in order, the target ``y`` last.
    types: Mapping[str, Type]
    #: Where the raw table is published.
    source: str
    #: OpenML id of the raw table; None if OpenML does not have it, or not all of its rows.
    openml: int | None
    #: Raw columns needed (in lower case, without units in brackets), and their names in the clean table. A column may
    #: have several raw names, one for each place where it is published.
    names: Mapping[str, str]
    #: Changes the raw table before columns are selected and incomplete rows are dropped.
    prepare: Callable[[Any], Any] | None = None
    #: Classes of the target; empty if it is a number.
    classes: tuple[str, ...] = ()
    #: Digest of the author's own table; None if its order of rows is unknown.
    digest: str | None = None

    @property
    def header(self) -> str:
        """Return the first line of a clean file."""
        return ",".join(self.types)

    def raw_columns(self, columns: Any) -> dict[Any, str]:
        """Return those of a table's columns that belong to the raw table, with their names in the clean table."""
        found: dict[Any, str] = {}
        for column in columns:
            name = self.names.get(_normalised(column))
            if name is not None and name not in found.values():
                found[column] = name
        return found

    def missing_columns(self, columns: Any) -> list[str]:
        """Return the raw columns that a table lacks."""
        found = self.raw_columns(columns).values()
        first_names = {new: name for name, new in reversed(list(self.names.items()))}
        return [first_names[new] for new in dict.fromkeys(self.names.values()) if new not in found]

    def clean(self, raw: Any) -> Any:
        """Return the clean table made from the raw one, whose columns may be in any order, or raise a DatasetError.

        Rows keep their order, except in lymphography, where they are put into the author's.
        """
        missing = self.missing_columns(raw.columns)
        if missing:
            raise DatasetError(
                f"the raw table lacks {', '.join(map(repr, missing))}; it has "
                f"{shortened(', '.join(map(str, raw.columns)), 300)}. Expected: {self.source}"
            )
        names = self.raw_columns(raw.columns)
        table = raw[list(names)].rename(columns=names).reset_index(drop=True)
        if self.prepare is not None:
            table = self.prepare(table)
        return self.convert(table[list(self.types)].dropna())

    def convert(self, table: Any) -> Any:
        """Return a clean table with the right dtypes, or raise a DatasetError."""
        if len(table) != self.rows:
            raise DatasetError(
                f"{len(table):,} rows instead of {self.rows:,} ({self.rows:,} x {len(self.types)} with the target)"
            )
        table = table.reset_index(drop=True)
        clean = pd.DataFrame({column: _convert(table[column], kind) for column, kind in self.types.items()})
        unknown = sorted(set(clean["y"].cat.categories) - set(self.classes)) if self.classes else []
        if unknown:
            raise DatasetError(
                f"column 'y' holds {shortened(unknown[0])} instead of one of {', '.join(self.classes)}"
            )
        return clean


def _convert(column: Any, kind: Type) -> Any:
    """Return a column as categories of text, float64 or int64."""
    missing = int(column.isna().sum())
    if missing:
        raise DatasetError(f"column {column.name!r} has {count(missing, 'missing cell')} instead of none")
    if kind == "text":
        labels = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else [None]
        is_text = all(isinstance(label, str) for label in labels)
        text = column if is_text else column.astype("object").astype(str).astype("category")
        return text.cat.remove_unused_categories()
    numbers = column
    if not types.is_numeric_dtype(column.dtype):  # read as text or categories
        numbers = pd.to_numeric(column.astype("object"), errors="coerce").astype("float64")
        if numbers.isna().any():
            value = column[numbers.isna()].iloc[0]
            raise DatasetError(f"column {column.name!r} holds {shortened(value)} instead of numbers")
    fractions = numbers % 1 != 0
    if kind == "int" and fractions.any():
        raise DatasetError(f"column {column.name!r} holds {numbers[fractions].iloc[0]} instead of integers")
    return numbers.astype("float64" if kind == "float" else "int64")


def _normalised(column: Any) -> str:
    """Return the name of a raw column without what differs between copies of a table."""
    return " ".join(re.sub(r"\(.*", "", str(column)).split()).lower()


# Preparation of the raw tables


def _cement(table: Any) -> Any:
    """Return the table rounded: UCI's spreadsheet has more digits than the author's copy."""
    numbers = table.astype("float64")
    return numbers.round(1).assign(y=numbers["y"].round(2))


def _titanic(table: Any) -> Any:
    """Return the table with the size of the family, and the target as text."""
    family = pd.to_numeric(table["SibSp"]) + pd.to_numeric(table["Parch"])
    return table.assign(n_family=family, y=_replace(table["y"], {"0": "no", "1": "yes"}))


def _black_friday(table: Any) -> Any:
    """Return the table with age groups and years in the city as ordinal numbers."""
    ordered = {
        "Age": ("0-17", "18-25", "26-35", "36-45", "46-50", "51-55", "55+"),
        "Stay_In_Current_City_Years": ("0", "1", "2", "3", "4+"),
    }
    numbers = {
        column: _replace(table[column], dict(zip(labels, range(len(labels)), strict=True)))
        for column, labels in ordered.items()
    }
    return table.assign(**numbers)


def _seeds(table: Any) -> Any:
    """Return the author's rows, with the names of the varieties.

    In UCI's file two tabs follow a number of at most three characters. A widely used copy, also the author's, has lost
    the 11 rows with such a number.
    """
    measured = table.drop(columns="y").astype("float64")
    is_there = measured.map(lambda value: len(f"{value:g}") > 3).all(axis=1)
    return table.assign(y=_replace(table["y"], VARIETIES | _same("Kama", "Rosa", "Canadian")))[is_there]


def _lymphography(table: Any) -> Any:
    """Return the rows of the two common classes with the author's labels, in his order."""
    lacunae = _same("no", "lacunar") | {"lac_margin": "lac. marginal", "lac_central": "lac. central"}
    structures = _same("no", "grainy", "coarse", "diluted", "reticular", "stripped", "faint")
    classes = _same("normal", "metastases", "fibrosis") | {"malign_lymph": "malign"}
    table = table.assign(
        defect_in_node=_replace(table["defect_in_node"], lacunae),
        change_in_node=_replace(table["change_in_node"], lacunae),
        changes_in_stru=_replace(table["changes_in_stru"], structures | {"drop_like": "drop-like"}),
        n_nodes=45.0 * (pd.to_numeric(table["n_nodes"]) - 1),  # groups 1 to 8, in the author's unit
        y=_replace(table["y"], classes),
    )
    table = table[table["y"].isin(("metastases", "malign"))]
    if len(table) != len(_UCI_ORDER):
        return table
    # as in UCI's file and the author's folds; OpenML has the rows shuffled
    as_text = {column: str for column in table if not pd.api.types.is_numeric_dtype(table[column])}
    by_value = table.astype(as_text).sort_values(sorted(table.columns)).index
    return table.loc[by_value[list(_UCI_ORDER)]]


def _replace(column: Any, values: Mapping[str, Any]) -> Any:
    """Return a column with its values replaced; missing ones stay, unknown ones raise a DatasetError."""
    new = {}
    for value in column.dropna().unique():  # codes may have been read as numbers
        is_code = isinstance(value, float) and value.is_integer()
        new[value] = values.get(str(int(value)) if is_code else str(value).strip("'\" "))
    unknown = [value for value, replacement in new.items() if replacement is None]
    if unknown:
        raise DatasetError(
            f"column {column.name!r} holds {shortened(unknown[0])} instead of one of {', '.join(values)}"
        )
    return column.astype(object).map(new)


def _same(*values: str) -> dict[str, str]:
    return {value: value for value in values}


#: For each row of UCI's lymphography file, without the two rare classes, its position among these rows sorted by all
#: columns, in the order of their names.
# fmt: off
_UCI_ORDER = (
    63, 112, 137, 9, 13, 29, 92, 101, 100, 14, 128, 89, 99, 8, 86, 95, 74, 23, 94, 31, 60, 111, 98, 43, 20, 49, 3,
    77, 37, 97, 21, 56, 76, 110, 133, 50, 25, 58, 15, 135, 118, 114, 45, 129, 54, 122, 120, 30, 64, 12, 109, 126,
    16, 39, 115, 139, 134, 7, 127, 6, 96, 73, 59, 10, 130, 27, 48, 81, 35, 113, 11, 36, 132, 119, 61, 65, 67, 80,
    46, 124, 53, 116, 82, 78, 105, 42, 136, 123, 125, 17, 0, 38, 75, 103, 71, 68, 55, 79, 33, 108, 51, 106, 90, 66,
    102, 83, 28, 26, 41, 44, 5, 19, 1, 121, 32, 117, 18, 22, 140, 24, 72, 34, 88, 70, 4, 69, 104, 138, 40, 84, 62,
    141, 52, 87, 93, 2, 85, 107, 57, 91, 47, 131,
)
# fmt: on

# The data sets


def _types(header: str, *, ints: str = "", text: str = "") -> dict[str, Type]:
    """Return the types of the columns in a header; float if not listed."""
    return {
        column: "int" if column in ints.split(",") else "text" if column in text.split(",") else "float"
        for column in header.split(",")
    }


def _names(*columns: str) -> dict[str, str]:
    """Return the raw names of columns that keep their names."""
    return {_normalised(column): column for column in columns}


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

#: The data sets by name, in the order of the paper's table. OpenML ids were looked up in its list of data sets, with
#: names, versions, rows, columns and missing cells; ``source`` has name and version.
SPECS: Mapping[str, DatasetSpec] = {
    "auto_mpg": DatasetSpec(
        title="Auto MPG",
        rows=392,
        types=_types(
            "cylinders,displacement,horsepower,weight,acceleration,model_year,origin,y",
            ints="cylinders,model_year,origin",
        ),
        source="OpenML's autoMpg, version 1 (398 x 8): UCI Auto MPG",
        openml=196,
        names=_names("cylinders", "displacement", "horsepower", "weight", "acceleration", "origin")
        | {"model": "model_year", "model year": "model_year", "class": "y", "mpg": "y"},
        digest="acb79f9e4ded946384d3d24ebb58c6c0",
    ),
    # OpenML's black_friday (41540) has the 166,821 rows without a missing product category only
    "black_friday": DatasetSpec(
        title="Black Friday",
        rows=550_068,
        types=_types(
            "Gender,Age,City_Category,Stay_In_Current_City_Years,Marital_Status,y",
            ints="Age,Stay_In_Current_City_Years,Marital_Status,y",
            text="Gender,City_Category",
        ),
        source="train.csv (550,068 x 12) of https://www.kaggle.com/datasets/sdolezel/black-friday",
        openml=None,
        names=_names("Gender", "Age", "City_Category", "Stay_In_Current_City_Years", "Marital_Status")
        | {"purchase": "y"},
        prepare=_black_friday,
    ),
    "cement": DatasetSpec(
        title="Cement",
        rows=1_030,
        types=_types(
            "cement,blast_furnace_slag,fly_ash,water,superplasticizer,coarse_aggregate,fine_aggregate,age,y",
            ints="age",
        ),
        source="OpenML's Concrete_Data, version 1 (1,030 x 9): UCI Concrete Compressive Strength",
        openml=4353,
        names=_names("cement", "water", "superplasticizer", "age")
        | {"blast furnace slag": "blast_furnace_slag", "fly ash": "fly_ash"}
        | {"coarse aggregate": "coarse_aggregate", "fine aggregate": "fine_aggregate"}
        | {"concrete compressive strength": "y", "strength": "y"},
        prepare=_cement,
        digest="9dd9cd5912df241e24eeab4c2ee922e6",
    ),
    # OpenML's WHO-national-life-expectancy (43505) is another table
    "life_expectancy": DatasetSpec(
        title="Life Expectancy",
        rows=138,
        types=_types(_LIFE, ints="infant deaths,Measles,under-five deaths", text="Status"),
        source="'Life Expectancy Data.csv' (2,938 x 22) of "
        "https://www.kaggle.com/datasets/kumarajarshi/life-expectancy-who",
        openml=None,
        names=_names(*_LIFE.removesuffix(",y").split(","), "Year") | {"life expectancy": "y"},
        prepare=lambda table: table[pd.to_numeric(table["Year"]) == 2015],
        digest="d95569b7df0e83e0ec3902cd79525f03",
    ),
    # OpenML's data sets called Titanic are other passengers (40945) or have missing ages filled in (42638)
    "titanic": DatasetSpec(
        title="Titanic",
        rows=712,
        types=_types(
            "Pclass,Sex,Age,n_family,Fare,Embarked,y", ints="Pclass,n_family", text="Sex,Embarked,y"
        ),
        source="OpenML's train, version 2 (891 x 12): train.csv of https://www.kaggle.com/c/titanic",
        openml=42603,
        names=_names("Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked") | {"survived": "y"},
        prepare=_titanic,
        classes=("no", "yes"),
        digest="f97f449046bfff5a32ab45cfbe38a4f4",
    ),
    "lymphography": DatasetSpec(
        title="Lymphography",
        rows=142,
        types=_types(
            _LYMPH,
            text=",".join(set(_LYMPH.split(",")) - {"lymph_nodes_dimin", "lymph_nodes_enlar", "n_nodes"}),
        ),
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
        prepare=_lymphography,
        classes=("metastases", "malign"),
        digest="64915f6cb69c1d7876bdb1618eb4d2d7",
    ),
    "boston_housing": DatasetSpec(
        title="Boston Housing",
        rows=506,
        types=_types(f"{_BOSTON},y", ints="chas,rad,tax"),
        source="OpenML's boston, version 1 (506 x 14)",
        openml=531,
        names=_names(*_BOSTON.split(",")) | {"medv": "y"},
        digest="9d188fba4b4af971bcafd0d3c44e6f2c",
    ),
    "seeds": DatasetSpec(
        title="Wheat seeds",
        rows=199,
        types=_types(f"{_SEEDS},y", text="y"),
        source="OpenML's seeds, version 1 (210 x 8): UCI Seeds",
        openml=1499,
        names={f"v{i}": column for i, column in enumerate(_SEEDS.split(","), start=1)}
        | _names(*_SEEDS.split(","))
        | {"class": "y", "type": "y", "y": "y"},
        prepare=_seeds,
        classes=tuple(VARIETIES.values()),
        digest="22aaadfba96e28865ad0a4a12d36815e",
    ),
}
