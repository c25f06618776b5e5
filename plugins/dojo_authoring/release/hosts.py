"""The files of platforms that are no repository: Gradescope, Classroom 50, PrairieLearn, Exercism."""

from __future__ import annotations

import ast
import html
import json
import uuid
from typing import Any

from dojo_authoring.release.repository import OPEN_KEYS, fill_template
from dojo_authoring.release.wheel import zipped
from grader.course.catalog import Course, KataInfo


def gradescope_zip(core: dict[str, bytes], visibility: str = "visible") -> bytes:
    """Return Gradescope's autograder as a zip: its scripts and the core files.

    `visibility` says when students see the tests.
    """
    texts = {"VISIBILITY": visibility, "KEY": OPEN_KEYS}
    scripts = {name: fill_template(name, **texts).encode() for name in ("setup.sh", "run_autograder")}
    return zipped({**scripts, **core}, executable=tuple(scripts))


def classroom50_bundle(core: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of an assignment's autograder for a Classroom 50 repository."""
    return {"autograder.py": fill_template("autograder.py.txt").encode(), **core}


SECONDS = 120
SPACE = uuid.UUID("5f0b0f0e-6f4c-4b0e-9a34-2f1c5b1d7d0a")  # so that a second release keeps the ids
#: Shows what was handed in and what the grader says, as PrairieLearn's own questions do.
RESULTS = (
    "<pl-submission-panel>\n  <pl-external-grader-results></pl-external-grader-results>\n"
    "  <pl-file-preview></pl-file-preview>\n</pl-submission-panel>\n"
)


def prairielearn_files(course: Course, core: dict[str, bytes], infos: list[KataInfo]) -> dict[str, bytes]:
    """Return a question per kata for `questions/`, and the folder of their common image."""
    files = _image(core, "prairielearn_run.sh", "run.sh", "COPY run.sh /dojo/run.sh")
    for info in infos:
        needed = course.with_needs([info])
        own = {
            "info.json": _json(_question(info, course.syllabus.slug)),
            "question.html": _page(course, info, needed),
        }
        own |= {"tests/kata": f"{info.name}\n"}
        own |= {f"{one.name}.py": course.stub(one).read_text("utf-8") for one in needed}
        files |= {f"questions/{info.name}/{name}": text.encode() for name, text in own.items()}
    return files


def exercism_files(course: Course, core: dict[str, bytes], infos: list[KataInfo]) -> dict[str, bytes]:
    """Return a track: its configuration, a practice exercise per kata, and the test runner."""
    copy = 'COPY bin /bin/runner\nENTRYPOINT ["sh", "/bin/runner/run.sh"]'
    files = _image(core, "exercism_run.sh", "bin/run.sh", copy)
    files["config.json"] = _json(_track(course, infos)).encode()
    for info in infos:
        needed = course.with_needs([info])
        solution = [f"{one.name}.py" for one in needed]
        meta = {
            "authors": [],
            "files": {"solution": solution, "test": [], "example": []},
            "blurb": info.title,
            "source": info.source,
        }
        own = {".meta/config.json": _json(meta), ".docs/instructions.md": _statement(course, info) + "\n"}
        own |= {f"{one.name}.py": course.stub(one).read_text("utf-8") for one in needed}
        folder = f"exercises/practice/{_slug(info)}"
        files |= {f"{folder}/{name}": text.encode() for name, text in own.items()}
    return files


def _image(core: dict[str, bytes], template: str, script: str, copy: str) -> dict[str, bytes]:
    """Return the folder from which `docker build image` makes the image."""
    files = {f"image/dojo/{name}": data for name, data in core.items()}
    files[f"image/{script}"] = fill_template(template).encode()
    files["image/Dockerfile"] = fill_template("Dockerfile", COPY=copy).encode()
    return files


def _question(info: KataInfo, image: str) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid5(SPACE, f"prairielearn/{info.name}")),
        "title": info.title,
        "topic": info.track,
        "tags": [],
        "type": "v3",
        "singleVariant": True,
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": "sh /dojo/run.sh",
            "timeout": SECONDS,
        },
    }


def _page(course: Course, info: KataInfo, needed: list[KataInfo]) -> str:
    """Return the question: the statement, an editor for each file, and the results."""
    statement = html.escape(_statement(course, info)).replace("{", "&#123;").replace("}", "&#125;")
    editors = "".join(
        f'  <pl-file-editor file-name="{one.name}.py" source-file-name="{one.name}.py"'
        ' ace-mode="ace/mode/python"></pl-file-editor>\n'
        for one in needed
    )
    text = f'<pre style="white-space: pre-wrap">{statement}</pre>'
    return f"<pl-question-panel>\n  {text}\n{editors}</pl-question-panel>\n{RESULTS}"


def _statement(course: Course, info: KataInfo) -> str:
    """Return the docstring of the stub, which is the kata's statement."""
    tree = ast.parse(course.stub(info).read_text("utf-8"))
    return ast.get_docstring(tree) or info.title


def _track(course: Course, infos: list[KataInfo]) -> dict[str, Any]:
    practice = [
        {
            "slug": _slug(info),
            "name": info.title,
            "uuid": str(uuid.uuid5(SPACE, f"exercism/{info.name}")),
            "practices": [],
            "prerequisites": [],
            "difficulty": 5,
        }
        for info in infos
    ]
    return {
        "language": course.syllabus.title,
        "slug": course.syllabus.slug,
        "active": True,
        "status": {"test_runner": True, "concept_exercises": False},
        "blurb": course.syllabus.about or course.syllabus.title,
        "version": 3,
        "test_runner": {"average_run_time": 5},
        "exercises": {"concept": [], "practice": practice},
    }


def _slug(info: KataInfo) -> str:
    return info.name.replace("_", "-")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
