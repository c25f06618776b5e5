"""Raises an error at import."""

raise RuntimeError
