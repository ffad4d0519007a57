"""Reproduction of the paper: its experiment (Section 4), its Figure 2, and the bias of its estimates (Section 3).

Nothing outside this package depends on it.
"""

from tritree.lab.paper.experiment import figure2, paper_experiment

__all__ = ["figure2", "paper_experiment"]
