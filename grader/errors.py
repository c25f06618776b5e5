"""Errors in a course and its files; every command prints their messages, each of which is a sentence."""


class CourseError(Exception):
    """A file or a name in the course is wrong; the message says which one, and what would be right."""


class NoSuchKata(CourseError):
    """No kata of the course has this name."""


class KataError(Exception):
    """A kata's declaration is wrong; the message says what is wrong and how to correct it."""


def reason_of(error: OSError) -> str:
    """Return why a file cannot be read or written, as the end of a sentence."""
    reason = error.strerror or "unknown error"
    return reason[:1].lower() + reason[1:]


def too_new(label: str, version: object, known: int) -> str:
    """Return why a file of a later version of its format is refused, as a sentence; "" if it is of none."""
    if type(version) is int and version > known:
        return f"{label} was written by a newer version of the grader: upgrade the grader."
    return ""
