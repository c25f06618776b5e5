"""Start, limit and end processes of the grader, and share tasks among them."""
