"""What is wrong with a course: the errors that every command tells as one sentence."""


class CourseError(Exception):
    """A file or a name is wrong; the sentence says which, and what would be right."""


class KataError(Exception):
    """A kata is declared wrongly; the sentence says what and how to mend it."""
