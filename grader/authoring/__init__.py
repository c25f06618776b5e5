"""Tools for those who write katas."""
