"""Run a student's functions, and show what they give: `grade see`, as a page and as text."""
