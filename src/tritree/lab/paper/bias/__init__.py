"""The paper's Section 3 as a tool: what fitted stumps estimate, beside what they are to estimate on average.

`simulate` draws tables of the section's example and fits trees to them, `bias_table` holds their estimates of a and b
against the derived expectations, `bias_text` and `plot_bias` show it. The formulas are `expected`, `ways` and `limits`;
`printed` is what the paper prints.
"""

from tritree.lab.paper.bias.example import Estimates
from tritree.lab.paper.bias.formulas import expected, limits, ways
from tritree.lab.paper.bias.paper import Printed, printed
from tritree.lab.paper.bias.plot import plot_bias
from tritree.lab.paper.bias.simulation import ALL, simulate
from tritree.lab.paper.bias.table import bias_table
from tritree.lab.paper.bias.text import bias_text

__all__ = [
    "ALL",
    "Estimates",
    "Printed",
    "bias_table",
    "bias_text",
    "expected",
    "limits",
    "plot_bias",
    "printed",
    "simulate",
    "ways",
]
