"""Bias of leaf estimates under missing values (the paper's Section 3): simulated, and by formulas.

`simulate` fits trees to simulated tables of the section's example; `bias_table` compares their estimates of a and b
with the derived expectations, `bias_text` and `plot_bias` show them. The formulas are `expected`,
`route_probabilities` and `limits`; `printed` has those of the paper.
"""

from tritree.lab.paper.bias.example import Estimates
from tritree.lab.paper.bias.expectation import Printed, expected, limits, printed, route_probabilities
from tritree.lab.paper.bias.plot import plot_bias
from tritree.lab.paper.bias.simulation import STRATEGIES, bias_table, bias_text, simulate

__all__ = [
    "STRATEGIES",
    "Estimates",
    "Printed",
    "bias_table",
    "bias_text",
    "expected",
    "limits",
    "plot_bias",
    "printed",
    "route_probabilities",
    "simulate",
]
