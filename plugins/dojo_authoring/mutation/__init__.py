"""`kata verify --mutate`: run a kata's checks on mutants of its reference."""
