"""tritree's boosting beside other libraries as fields go missing: ``python -m benchmarks.accuracy``."""
