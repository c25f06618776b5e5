"""`kata verify --mutate`: wrong versions of a reference, made by itself."""
