"""Print requirements of pyproject.toml: ``requirements.py [--lowest] {build,run,EXTRA} ...``."""

import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str], *, lowest: bool) -> list[str]:
    """Return the requirements of the groups; with ``lowest`` every lower bound becomes the version itself."""
    settings = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    known = {"build": settings["build-system"]["requires"], "run": project["dependencies"]}
    known |= project["optional-dependencies"]
    found = [requirement for group in groups for requirement in known[group]]
    return [requirement.replace(">=", "==") for requirement in found] if lowest else found


if __name__ == "__main__":
    arguments = sys.argv[1:]
    print(*requirements([a for a in arguments if a != "--lowest"], lowest="--lowest" in arguments))
