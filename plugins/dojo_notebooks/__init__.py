"""Jupyter and nbgrader: write katas as notebooks, and grade the source of their cells without a kernel."""
