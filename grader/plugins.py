"""The commands of `grade` and `kata` and the report formats, by the names of their entry points."""

from __future__ import annotations

_COMMANDS = "grader.cli.commands"
#: The commands of `grade`, in the order of its help; a word that is none of them is a kata to grade.
GRADE = {
    "list": f"{_COMMANDS}:list_",
    "next": f"{_COMMANDS}:next_",
    "hint": f"{_COMMANDS}:hint",
    "solution": f"{_COMMANDS}:solution",
    "again": f"{_COMMANDS}:again",
    "reset": f"{_COMMANDS}:reset",
    "start": f"{_COMMANDS}:start",
    "page": f"{_COMMANDS}:page",
    "see": f"{_COMMANDS}:see",
    "speak": f"{_COMMANDS}:speak",
    "doctor": f"{_COMMANDS}:doctor",
    "protect": f"{_COMMANDS}:protect",
    "help": f"{_COMMANDS}:help_",
}
