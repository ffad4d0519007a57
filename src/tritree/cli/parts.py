"""Where the finished parts of an experiment are kept, so that a run that was stopped goes on."""

# annotations are read by Typer when the program is built, so they are not put off here

from pathlib import Path
from typing import Annotated, Any

import typer

from tritree.cli.messages import Mendable, note
from tritree.cli.places import check_output

__all__ = ["StoreFile", "cached_store", "check_store", "run_kept"]

StoreFile = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        show_default=False,
        help="Where finished parts are kept, if not in the place that is named above.",
    ),
]


def check_store(store: str | None, *others: str | None) -> Path | None:
    """Return the file that finished parts are to be kept in, or None if none is named.

    It is known to be possible before any work is done, and to be none of the other files that are read or written.
    """
    if store is None:
        return None
    if store == "-":
        raise Mendable("finished parts are kept in a file, not in the standard output; name it with --store")
    if any(other is not None and Path(other).resolve() == Path(store).resolve() for other in others):
        raise Mendable(f"{store!r} is for something else in this command; name another file with --store")
    return check_output(store, "finished parts")


def cached_store(fingerprint: str) -> Path | None:
    """Return the file in the user's cache for the parts of a table; where there can be none, say so and return None.

    The table's content tells which file it is: a table that has moved, or has another name, goes on all the same.
    """
    from tritree.lab.data import cache_folder

    place = cache_folder() / "compare" / f"{fingerprint}.sqlite"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        return check_output(str(place), "finished parts")
    except (Mendable, OSError) as error:
        note(f"warning: finished parts are not kept on disk ({error}); name a file for them with --store")
        return None


def run_kept(experiment: Any, n_jobs: int | None) -> Any:
    """Return the results of an experiment; whoever stops it is told where the finished parts are."""
    try:
        return experiment.run(-1 if n_jobs is None else n_jobs)
    except KeyboardInterrupt:
        if experiment.store is not None:
            note(f"finished parts are in {str(experiment.store)!r}; the same command goes on from there")
        raise
