"""See runner.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # test helpers, as in conftest.py

from attack.runner import main

sys.exit(main())
