"""Errors in a course; every command prints their messages, each of which is a sentence."""


class CourseError(Exception):
    """A file or a name in the course is wrong; the message says which one, and what would be right."""


class KataError(Exception):
    """A kata's declaration is wrong; the message says what is wrong and how to correct it."""


def reason_of(error: OSError) -> str:
    """Return why a file cannot be read or written, as the end of a sentence."""
    return (error.strerror or "unknown error").lower()
