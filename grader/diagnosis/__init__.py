"""Which mistake explains a failure."""
