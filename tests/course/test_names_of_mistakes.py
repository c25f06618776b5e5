"""Claims about the names of this course's mistakes."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

from grader.diagnosis.several_mistakes import MOST_AT_ONCE
from grader.report import Mistake

ROOT = Path(__file__).resolve().parents[2]


def test_a_report_has_room_for_the_names_of_as_many_mistakes_as_are_joined():
    room = get_args(get_type_hints(Mistake, include_extras=True)["id"])[1].characters
    for file in sorted(ROOT.glob("solutions/*/*/mistakes.edits")):
        names = re.findall(r"^\[(\w+)\]", file.read_text(encoding="utf-8"), re.MULTILINE)
        longest = sorted(names, key=len)[-MOST_AT_ONCE:]
        assert len(" and ".join(longest)) <= room, file
