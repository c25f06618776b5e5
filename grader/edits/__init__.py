"""Small changes of a source text: mutants of a reference are made by them, and mistakes are repaired."""
