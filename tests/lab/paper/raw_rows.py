"""A few made-up rows for each data set, as it is published, and what is to become of them."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pandas as pd

AUTO_MPG = """cylinders,displacement,horsepower,weight,acceleration,model,origin,class
8,307,130,3504,12,70,1,18
4,98,,2046,19,71,1,25
4,97.5,80,2126,17,72,3,25.5
"""
AUTO_MPG_CLEAN = """cylinders,displacement,horsepower,weight,acceleration,model_year,origin,y
8,307.0,130.0,3504.0,12.0,70,1,18.0
4,97.5,80.0,2126.0,17.0,72,3,25.5
"""

BLACK_FRIDAY = """User_ID,Product_ID,Gender,Age,Occupation,City_Category,Stay_In_Current_City_Years,Marital_Status,\
Product_Category_1,Product_Category_2,Product_Category_3,Purchase
1000001,P00069042,F,0-17,10,A,2,0,3,,,8370
1000002,P00285442,M,55+,16,C,4+,0,8,,,7969
1000003,P00193542,M,26-35,15,A,3,1,1,2.0,,15227
"""
BLACK_FRIDAY_CLEAN = """Gender,Age,City_Category,Stay_In_Current_City_Years,Marital_Status,y
F,0,A,2,0,8370
M,6,C,4,0,7969
M,2,A,3,1,15227
"""

CEMENT = """Cement (component 1)(kg in a m^3 mixture),Blast Furnace Slag (component 2)(kg in a m^3 mixture),\
Fly Ash (component 3)(kg in a m^3 mixture),Water  (component 4)(kg in a m^3 mixture),\
Superplasticizer (component 5)(kg in a m^3 mixture),Coarse Aggregate  (component 6)(kg in a m^3 mixture),\
Fine Aggregate (component 7)(kg in a m^3 mixture),Age (day),Concrete compressive strength(MPa. megapascals)
540,0,0,162,2.5,1040,676,28,79.98611076
190.34,0,125.18,161.85,9.88,1088.1,802.59,100,40.394
"""
CEMENT_CLEAN = """cement,blast_furnace_slag,fly_ash,water,superplasticizer,coarse_aggregate,fine_aggregate,age,y
540.0,0.0,0.0,162.0,2.5,1040.0,676.0,28,79.99
190.3,0.0,125.2,161.8,9.9,1088.1,802.6,100,40.39
"""

LIFE_EXPECTANCY = """Country,Year,Status,Life expectancy ,Adult Mortality,infant deaths,Alcohol,percentage expenditure,\
Hepatitis B,Measles , BMI ,under-five deaths ,Polio,Total expenditure,Diphtheria , HIV/AIDS,GDP,Population,\
 thinness  1-19 years, thinness 5-9 years,Income composition of resources,Schooling
Here,2015,Developing,65,263,62,,71.2,65,1154,19.1,83,6,8.16,65,0.1,584.2,33736494,17.2,17.3,0.479,10.1
Here,2014,Developing,59.9,271,64,0.01,73.5,62,492,18.6,86,58,8.18,62,0.1,612.6,327582,17.5,17.5,0.476,10
There,2015,Developed,81.5,65,0,,0,93,83,61.5,0,93,,93,0.1,,8633169,1.9,2.1,0.892,15.9
Yonder,2015,Developed,82.8,59,1,,0,,74,66.6,1,93,,93,0.1,56554.3,23789338,0.6,0.6,0.937,20.4
"""
LIFE_EXPECTANCY_CLEAN = """Status,Adult Mortality,infant deaths,percentage expenditure,Measles,BMI,under-five deaths,\
Polio,Diphtheria,HIV/AIDS,GDP,Population,thinness 1-19 years,thinness 5-9 years,Income composition of resources,\
Schooling,y
Developing,263.0,62,71.2,1154,19.1,83,6.0,65.0,0.1,584.2,33736494.0,17.2,17.3,0.479,10.1,65.0
Developed,59.0,1,0.0,74,66.6,1,93.0,93.0,0.1,56554.3,23789338.0,0.6,0.6,0.937,20.4,82.8
"""

TITANIC = """PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked
1,0,3,"Braund, Mr. Owen",male,22,1,0,A/5 21171,7.25,,S
2,1,1,"Cumings, Mrs. John",female,38,1,2,PC 17599,71.2833,C85,C
6,0,3,"Moran, Mr. James",male,,0,0,330877,8.4583,,Q
62,1,1,"Icard, Miss. Amelie",female,38,0,0,113572,80,B28,
"""
TITANIC_CLEAN = """Pclass,Sex,Age,n_family,Fare,Embarked,y
3,male,22.0,1,7.25,S,no
1,female,38.0,3,71.2833,C,yes
"""

LYMPHOGRAPHY = """lymphatics,block_of_affere,bl_of_lymph_c,bl_of_lymph_s,by_pass,extravasates,regeneration_of,\
early_uptake_in,lym_nodes_dimin,lym_nodes_enlar,changes_in_lym,defect_in_node,changes_in_node,changes_in_stru,\
special_forms,dislocation_of,exclusion_of_no,no_of_nodes_in,class
arched,yes,no,no,no,no,no,yes,1,4,round,lac_central,lacunar,stripped,vesicles,yes,yes,5,malign_lymph
deformed,no,no,no,yes,yes,yes,no,3,1,bean,lacunar,no,diluted,vesicles,no,no,7,fibrosis
displaced,no,no,no,no,no,no,yes,1,2,oval,lac_margin,lac_central,drop_like,no,yes,no,1,metastases
normal,no,no,no,no,yes,no,yes,1,2,oval,no,no,grainy,no,no,no,2,normal
"""
LYMPHOGRAPHY_CLEAN = """lymphatics,block_of_affere,block_of_lymph_c,block_of_lymph_s,by_pass,extravasates,regeneration,\
early_uptake,lymph_nodes_dimin,lymph_nodes_enlar,changes_in_lymph,defect_in_node,change_in_node,changes_in_stru,\
special_forms,dislocation,exclusion,n_nodes,y
arched,yes,no,no,no,no,no,yes,1.0,4.0,round,lac. central,lacunar,stripped,vesicles,yes,yes,180.0,malign
displaced,no,no,no,no,no,no,yes,1.0,2.0,oval,lac. marginal,lac. central,drop-like,no,yes,no,0.0,metastases
"""

BOSTON_HOUSING = """CRIM,ZN,INDUS,CHAS,NOX,RM,AGE,DIS,RAD,TAX,PTRATIO,B,LSTAT,MEDV
0.00632,18,2.31,0,0.538,6.575,65.2,4.09,1,296,15.3,396.9,4.98,24
0.02731,0,7.07,1,0.469,6.421,78.9,4.9671,2,242,17.8,396.9,9.14,21.6
"""
BOSTON_HOUSING_CLEAN = """crim,zn,indus,chas,nox,rm,age,dis,rad,tax,ptratio,b,lstat,y
0.00632,18.0,2.31,0,0.538,6.575,65.2,4.09,1,296,15.3,396.9,4.98,24.0
0.02731,0.0,7.07,1,0.469,6.421,78.9,4.9671,2,242,17.8,396.9,9.14,21.6
"""

SEEDS = """V1,V2,V3,V4,V5,V6,V7,Class
15.26,14.84,0.871,5.763,3.312,2.221,5.22,1
16.12,15,0.9,5.709,3.485,2.27,5.443,1
18.85,16.17,0.9056,6.152,3.806,2.843,6.2,2
17.63,15.98,0.8673,6.191,3.561,4.076,6.06,2
13.07,13.92,0.848,5.472,2.994,5.304,5.395,3
"""
SEEDS_CLEAN = """Area,Perimeter,Compactness,Kernel.Length,Kernel.Width,Asymmetry.Coeff,Kernel.Groove,y
15.26,14.84,0.871,5.763,3.312,2.221,5.22,Kama
17.63,15.98,0.8673,6.191,3.561,4.076,6.06,Rosa
13.07,13.92,0.848,5.472,2.994,5.304,5.395,Canadian
"""


def texts(name: str) -> tuple[str, str]:
    """Return the raw and the clean rows of a data set, as CSV."""
    return globals()[name.upper()], globals()[f"{name.upper()}_CLEAN"]


def tables(name: str) -> tuple[Any, Any]:
    """Return the raw and the clean rows of a data set."""
    raw, clean = texts(name)
    return pd.read_csv(StringIO(raw)), pd.read_csv(StringIO(clean))
