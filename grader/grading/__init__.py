"""Grade submissions: one report for each."""
