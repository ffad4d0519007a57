"""How fast tritree is beside other libraries, measured; run with ``python -m benchmarks``."""
