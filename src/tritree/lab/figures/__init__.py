"""Experiments drawn with matplotlib: excess loss against missingness, and mean ranks."""

try:
    import matplotlib as mpl
except ImportError as error:
    raise ImportError(
        f"plots need matplotlib, which cannot be imported ({error}); pip install tritree[plot]"
    ) from error

from tritree.lab.figures.dots import plot_ranks
from tritree.lab.figures.looks import Look, looks
from tritree.lab.figures.panels import plot_panels

del mpl

__all__ = ["Look", "looks", "plot_panels", "plot_ranks"]
