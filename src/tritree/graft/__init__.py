"""Third branches for models of other libraries."""
