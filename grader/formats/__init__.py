"""Formats: pure functions from a report to text. They import the report alone."""
