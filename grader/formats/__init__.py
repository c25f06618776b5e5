"""Render a report as text for terminals, files and hosts; formats import nothing but the report."""
