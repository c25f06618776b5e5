"""One submission, one report."""
