"""Loops forever at import."""

while True:
    pass
