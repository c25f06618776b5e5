"""Jupyter and nbgrader: katas as notebooks, graded from the source of their cells and never by a kernel."""
