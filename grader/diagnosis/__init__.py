"""Find the known mistake that explains a failure."""
