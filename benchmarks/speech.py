"""What the model that speaks loses where a part is left out or wrong, and how fast it writes.

    python benchmarks/speech.py [STORIES]

For each switch: how many of 200 stories that the model begins itself, drawn at temperature 1, the grammar
tells to the end, and the mean loss of the held stories. For each of the six parts: the loss with three of its
mistakes, and what the model writes then. At last the tokens a second through the sandbox, on one core.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dojo_show.answers import Answers
from dojo_show.demonstration import open_demonstration, reference_students
from dojo_show.speech import Silent, Speaker, Speech, StudentCalls, Wish, text_of
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[1]
MISTAKES = 3
SHOWN = 60  # characters of a text


def main() -> None:
    course = Course(ROOT)
    speech = open_demonstration(course).speech
    assert speech is not None
    students = reference_students(course, speech.parts)
    stories = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| left out | stories to the end | loss | after “The small boat” |\n|---|---|---|---|")
    for without in ((), *((name,) for name in speech.switches)):
        writer = speech.writer(StudentCalls(_answers(speech, students)))
        told = sum(_is_told(writer, Wish(without=without), seed) for seed in range(stories))
        name = speech.switches[without[0]].name if without else "nothing"
        print(f"| {name} | {told / stories:.0%} | {_row(writer, Wish(speech.prompt, without))}", flush=True)
    print("\n| kata | mistake | loss | after “The small boat” |\n|---|---|---|---|")
    for kata in speech.parts:
        for mistake, student in _wrong(course, kata):
            writer = speech.writer(StudentCalls(_answers(speech, {**students, kata: student})))
            print(f"| {kata} | {mistake} | {_row(writer, Wish(speech.prompt))}", flush=True)
    print(f"\n{_rate(course, speech):.0f} tokens a second through the sandbox.")


def _answers(speech: Speech, students: Any) -> Answers:
    return Answers(speech.katas, dict.fromkeys(students, "yours"), students)


def _row(writer: Any, wish: Wish) -> str:
    """Return the loss, and the beginning of what is written."""
    tokens = []
    try:
        for token in writer.write(wish):
            tokens.append(token)
        loss = f"{writer.loss(wish):.2f}"
    except Silent as reason:
        return f"none | {str(reason)[:SHOWN]} |"
    text = text_of(token for token in tokens if not token.is_given)
    return f"{loss} | …{text[:SHOWN].rstrip()} |"


def _is_told(writer: Any, wish: Wish, seed: int) -> bool:
    """Return whether a story that is drawn from the first token on is one of the grammar's."""
    grammar, start = sys.modules[f"{type(writer).__module__.rpartition('.')[0]}.grammar"], 10
    rng, model, ids = np.random.default_rng(seed), writer.model, [start]
    steps = writer._steps(wish)
    while len(ids) < model.max_len:
        logits, _, _ = steps.after(ids)
        powers = np.exp(logits.astype("f8") - logits.max())
        ids.append(int(rng.choice(len(powers), p=powers / powers.sum())))
        if ids[-1] == start:
            break
    text = b"".join(model.words[token] for token in ids).decode(errors="replace")
    return bool(grammar.is_story(text.strip("\n")))


def _wrong(course: Course, kata: str) -> Iterator[tuple[str, LocalStudent]]:
    """Yield mistakes of a kata, each as a student."""
    sources = standalone_sources(course, course.kata_info(kata), "mistakes")
    every = max(1, len(sources) // MISTAKES)
    for name in list(sources)[::every][:MISTAKES]:
        module: Any = type(sys)(f"wrong_{kata}_{name}")
        exec(compile(sources[name], f"{name}.py", "exec"), module.__dict__)
        yield name, LocalStudent(module, f"{name}.py")


def _rate(course: Course, speech: Speech) -> float:
    """Return how many tokens a second a student's functions write in their workers."""
    with tempfile.TemporaryDirectory() as folder:
        for kata in speech.parts:
            info = course.kata_info(kata)
            file = Path(folder) / info.track / f"{kata}.py"
            file.parent.mkdir(exist_ok=True)
            shutil.copy(course.solution(info, "reference"), file)
        with Speaker(Course(ROOT, Path(folder)), speech) as speaker:
            writer = speaker.writer(Wish(speech.prompt))
            began = time.perf_counter()
            new = [token for token in writer.write(Wish(speech.prompt)) if not token.is_given]
            return len(new) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
