"""Pictures drawn with matplotlib, as files."""

# annotations are read by Typer when the program is built, so they are not put off here

import io
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tritree.cli.messages import Mendable
from tritree.cli.options import whole

__all__ = ["Dpi", "picture"]

Dpi = Annotated[int, typer.Option(parser=whole(10), metavar="NUMBER", help="Dots per inch of a PNG.")]


def picture(draw: Callable[[], Any], kind: str, dpi: int) -> bytes:
    """Return what is drawn with matplotlib as a file; ``draw`` returns its axes."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise Mendable(
            f"pictures are drawn with matplotlib, which cannot be imported ({error}): pip install 'tritree[plot]'"
        ) from error
    mpl.use("agg")  # a file needs no window
    from matplotlib import pyplot as plt

    buffer = io.BytesIO()
    figure = draw().figure
    figure.savefig(buffer, format=kind, dpi=dpi)
    plt.close(figure)
    return buffer.getvalue()
