"""Read a course and submissions from disk."""
