"""Is never done with being imported."""

while True:
    pass
