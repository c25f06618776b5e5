"""`%%kata`, `%grade` and `%hint` in a notebook. Judging is left to a process of its own: whatever a cell has
done to the kernel, the report shown is the one that `grade` gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from grader.course.catalog import Course, CourseError, KataInfo, open_course
from grader.kata import KataError
from grader.notebooks.errand import grade_source
from grader.notebooks.outputs import bundle, score_of
from grader.report import KataReport

Asked = TypeVar("Asked")


class CellFailed(Exception):
    """The cell below `%%kata` has failed, and its traceback is shown already."""

    def _render_traceback_(self) -> list[str]:
        return []


@magics_class
class KataMagics(Magics):
    """What the student's notebook can say, and the source of each kata's cell as it was last run."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.shell: Any = shell
        self.sources: dict[str, str] = {}

    @cell_magic
    def kata(self, line: str, cell: str) -> None:
        """%%kata NAME: run the cell as usual, and remember it as the answer to that kata."""
        info = _told(lambda: _course().kata_info(line.strip()))
        self.sources[info.name] = source = "\n" + cell
        if not self.shell.run_cell(source).success:
            raise CellFailed

    @magic_arguments()
    @argument("name", help="the kata")
    @argument("--score", action="store_true", help="give the score back, as nbgrader reads it")
    @argument("--key", default="", help="grade with this answer key, file or folder")
    @argument("--device", default="cpu", help="cpu or cuda")
    @line_magic
    def grade(self, line: str) -> float | None:
        """%grade NAME: grade the kata's cell, and show the report."""
        wanted = parse_argstring(self.grade, line)
        info = _told(lambda: _course().kata_info(wanted.name))
        kata = _told(lambda: self._grade(info, wanted.key, wanted.device))
        display(bundle(kata), raw=True)
        return score_of(kata) if wanted.score else None

    def _grade(self, info: KataInfo, key: str, device: str) -> KataReport:
        source = self.sources.get(info.name)
        if source is None:
            message = f"Run the cell that begins with %%kata {info.name} first."
            return info.unjudged("not_started", message)
        return grade_source(info, source, key, device)

    @line_magic
    def hint(self, line: str) -> None:
        """%hint NAME: the next hint for a kata, from a nudge to nearly the answer."""
        from grader.course.hints import next_hint

        course = _told(_course)
        info = _told(lambda: course.kata_info(line.strip()))
        print(next_hint(course, info, again="%hint"))


def _course() -> Course:
    return open_course(None)


def _told(ask: Callable[[], Asked]) -> Asked:
    """An answer, or the sentence that says why there is none, without a traceback."""
    try:
        return ask()
    except (CourseError, KataError) as error:
        raise UsageError(str(error)) from None


def load(shell: Any) -> None:
    """Give a notebook the magics; again, without forgetting what was remembered."""
    if not isinstance(shell.magics_manager.registry.get("KataMagics"), KataMagics):
        shell.register_magics(KataMagics)
