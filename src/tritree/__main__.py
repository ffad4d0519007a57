"""The command line: ``python -m tritree`` is ``tritree``."""

import sys

from tritree.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
