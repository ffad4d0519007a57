"""Accuracy of tritree's boosting and other libraries as fields go missing: ``python -m benchmarks.accuracy``."""
