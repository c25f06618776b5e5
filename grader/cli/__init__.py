"""The commands `grade` and `kata`."""
