"""`kata import`: draft a kata from a pytest file with its reference, or from an nbgrader notebook."""
