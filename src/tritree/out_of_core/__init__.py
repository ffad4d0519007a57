"""Tables larger than memory: read batch by batch to fit a model, and predicted batch by batch."""
