"""Grading a class: whatever was handed in, judged once, kept, and looked at as a whole."""
