"""The grader knows no course: it names no kata, and a course of another subject has all that ours has."""

import json
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from grader.course.catalog import Course, load_file

write_files = load_file("conftest_of_the_tests", Path(__file__).parents[1] / "conftest.py").write_files

ROOT = Path(__file__).resolve().parents[2]

#: Names of katas or of their functions that mean something else in the grader.
OTHER_MEANINGS = {
    "encode": "the method of str, and the codec of the workers",
    "decode": "the method of bytes, and the codec of the workers",
    "translate": "the method of str",
    "generate": "a phase of Hypothesis",
    "gradients": "what PyTorch computes of a result",
    "Value": "an array that is shown, or none",
    "train": "the mode of a module of PyTorch",
    "LIMIT": "the keyword of SQL, and a number of characters",
    "PAGES": "the folder of the students' pages",
    "WHOLE": "hundredths to which points are rounded",
    "FORGETS": "an answer that a new kata's checks are tried on",
}
#: The same, in the search for edits, in the drafts of mistakes, and in what stands for Triton.
OF_LIBRARIES = {"softmax": "the function of PyTorch, which edits put in and take out, and of Triton"}
LIBRARIES = (
    *(ROOT / "grader/edits", ROOT / "plugins/dojo_authoring/drafted_mistakes"),
    ROOT / "grader/worker/child/kernels",
)
SUBJECT = re.compile(
    r"decoder(?![-_ ]dojo)|attention|transformer", re.IGNORECASE
)  # not the name of the package


@pytest.fixture(scope="module")
def named():
    """The names of this course's katas and of their functions that each file of the grader has."""
    katas = Course(ROOT).katas
    names = {*katas, *(name for info in katas.values() for name in info.entry_points)}
    found = (path for folder in ("grader", "plugins") for path in (ROOT / folder).rglob("*"))
    others = ("__pycache__", "vendor")  # bytecode, and what the page takes from others
    files = [path for path in found if path.is_file() and not {*others} & {*path.parts}]
    assert len(files) > 200
    return {path: names & set(re.findall(r"\w+", path.read_text(encoding="utf-8"))) for path in files}


def test_no_file_of_the_grader_names_a_kata(named):
    allowed = {
        path: {*OTHER_MEANINGS, *(OF_LIBRARIES if {*LIBRARIES} & {*path.parents} else ())} for path in named
    }
    found = {path.relative_to(ROOT): names - allowed[path] for path, names in named.items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_every_other_meaning_is_still_in_use(named):
    assert set().union(*named.values()) == {*OTHER_MEANINGS, *OF_LIBRARIES}


CENTERS = {
    "exercises/clusters/move_centers.py": '''
        """One step of k-means: every center moves to the mean of its points.

        Each point belongs to the center with the smallest Euclidean distance. The new
        center is the mean of its points; a center without points stays where it is.
        `points` is [n, d], `centers` is [k, d], and the result is [k, d], with the dtype
        of `points`.

        Example: the points 0, 2 and 10 and the centers 1 and 9 give the centers 1 and 10.

        What goes wrong: a center without points becomes NaN, or clusters swap their centers.

        Source: Lloyd 1982, section 2.
        """

        import numpy as np


        def move_centers(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
            """Return the means of the clusters.

            points:   [n, d], float32 or float64.
            centers:  [k, d], float32 or float64.
            returns:  [k, d], the dtype of points.
            """
            raise NotImplementedError
    ''',
    "tests/katas/clusters/test_move_centers.py": '''
        """move_centers: its cases and its laws."""

        import numpy as np

        from grader import expect
        from grader import strategies as st
        from grader.kata import Kata

        KATA = Kata(
            "move_centers",
            track="clusters",
            entry_points=("move_centers",),
            title="Centers move to their means",
            source="Lloyd 1982, section 2",
            hints=(
                "Which center is nearest to the first point of the example?",
                "An array [n, k] of distances has a smallest entry in each row.",
                "For each center, take the mean of the points whose row has its smallest entry there.",
            ),
            axes={"points": "n d", "centers": "k d"},
            bank_size=16,
        )


        @KATA.cases
        def cases(draw):
            n, k, d = draw(st.integers(1, 6)), draw(st.integers(2, 3)), draw(st.integers(2, 3))
            dtype = draw(st.float_dtypes())
            return {
                "points": draw(st.normal_arrays((n, d), dtype)),
                "centers": draw(st.normal_arrays((k, d), dtype)),
            }


        @KATA.corner(points=1)
        def without_points(points, centers):
            """A center without points stays where it is."""
            return len(points) < len(centers)


        @KATA.law(points=2)
        def test_moving_all_moves_the_result(student, points, centers):
            """Points and centers that move together give centers that move with them."""
            moved = student.move_centers(points + 4, centers + 4)
            expect.close(moved, student.move_centers(points, centers) + 4, "the centers", roundings=4)


        @KATA.law(points=1)
        def test_the_example_of_the_statement(student):
            """The points 0, 2 and 10 with the centers 1 and 9 give the centers 1 and 10."""
            points, centers = np.array([[0.0], [2.0], [10.0]]), np.array([[1.0], [9.0]])
            expect.close(student.move_centers(points, centers), np.array([[1.0], [10.0]]), "the centers")
    ''',
    "solutions/clusters/move_centers/reference.py": '''
        """Lloyd 1982, section 2."""

        import numpy as np


        def move_centers(points, centers):
            gaps = points[:, None] - centers  # [n, k, d]
            nearest = (gaps**2).sum(axis=-1).argmin(axis=-1)  # [n]
            moved = centers.astype(points.dtype)  # [k, d]
            for center in np.unique(nearest):
                moved[center] = points[nearest == center].mean(axis=0)
            return moved
    ''',
    "solutions/clusters/move_centers/mistakes.py": '''
        """What goes wrong in move_centers: one function a mistake, its docstring what the student is told."""

        import numpy as np
        from reference import move_centers as _move_centers


        def _nearest(points, centers):
            return ((points[:, None] - centers) ** 2).sum(axis=-1).argmin(axis=-1)


        def _means(points, centers, nearest):
            moved = centers.astype(points.dtype)
            for center in np.unique(nearest):
                moved[center] = points[nearest == center].mean(axis=0)
            return moved


        def takes_the_farthest(points, centers):
            """Each point goes to the center that is farthest away: the largest distance is taken. Check
            argmax and argmin."""
            return _means(points, centers, ((points[:, None] - centers) ** 2).sum(axis=-1).argmax(axis=-1))


        def sums_the_points(points, centers):
            """A center with several points flies off: it is their sum. Divide by how many there are."""
            nearest, moved = _nearest(points, centers), centers.astype(points.dtype)
            for center in np.unique(nearest):
                moved[center] = points[nearest == center].sum(axis=0)
            return moved


        def forgets_the_square(points, centers):
            """Points go to the wrong center where differences cancel: they are added with their signs.
            Square them first."""
            return _means(points, centers, (points[:, None] - centers).sum(axis=-1).argmin(axis=-1))


        def sets_empty_centers_to_zero(points, centers):
            """A center without points jumps to the origin: no points have the sum zero. Leave it there."""
            moved, nearest = _move_centers(points, centers), _nearest(points, centers)
            moved[[center for center in range(len(centers)) if center not in nearest]] = 0
            return moved


        def counts_the_old_center(points, centers):
            """Each center stays short of its mean: its old place counts as one of its points. Average the
            points alone."""
            moved, nearest = centers.astype(points.dtype), _nearest(points, centers)
            for center in np.unique(nearest):
                own = points[nearest == center]
                moved[center] = (own.sum(axis=0) + moved[center]) / (len(own) + 1)
            return moved


        def leaves_the_centers(points, centers):
            """The centers do not move: the means are computed and not returned."""
            return centers.astype(points.dtype)


        def moves_the_first_center_alone(points, centers):
            """Only the first center moves: the loop ends too early. Check where it returns."""
            moved = centers.astype(points.dtype)
            moved[0] = _move_centers(points, centers)[0]
            return moved
    ''',
    "solutions/clusters/move_centers/variants.py": '''
        """Right answers to move_centers in other styles."""

        import numpy as np
        from reference import move_centers as _move_centers


        def loops_over_points(points, centers):
            """Another way: a list of points for each center."""
            own = [[] for _ in centers]
            for point in points:
                own[int(np.argmin([((point - center) ** 2).sum() for center in centers]))].append(point)
            means = [np.mean(mine, axis=0) if mine else old for mine, old in zip(own, centers)]
            return np.array(means, dtype=points.dtype)


        def multiplies_by_the_membership(points, centers):
            """A matrix of ones says which point belongs where."""
            nearest = np.linalg.norm(points[:, None] - centers, axis=-1).argmin(axis=-1)
            own = (nearest[None] == np.arange(len(centers))[:, None]).astype(points.dtype)
            count = own.sum(axis=-1, keepdims=True)
            return np.where(count > 0, own @ points / np.maximum(count, 1), centers).astype(points.dtype)


        def in_float64(points, centers):
            """Widened at the door, cast back at the end."""
            return _move_centers(points.astype(np.float64), centers).astype(points.dtype)
    ''',
}
QUEUE = {
    "exercises/queues/ring_queue.py": '''
        """First in, first out, with room for a few: a full queue drops the oldest to make room.

        `push` adds a number at the end. If the queue holds `size` numbers already, the
        oldest one is dropped first. `pop` removes the oldest number and returns it; an
        empty queue raises ValueError.

        Example: a queue of size 2 to which 1, 2 and 3 were pushed gives 2, then 3, and then
        raises ValueError.

        What goes wrong: the newest number is dropped, or comes out first, as in a stack.

        Source: Knuth 1997, section 2.2.1.
        """


        class Queue:
            """Holds at most `size` numbers."""

            def __init__(self, size: int) -> None:
                raise NotImplementedError

            def push(self, number: float) -> None:
                """Add a number, and drop the oldest one if the queue is full."""
                raise NotImplementedError

            def pop(self) -> float:
                """Remove the oldest number and return it."""
                raise NotImplementedError
    ''',
    "tests/katas/queues/test_ring_queue.py": '''
        """ring_queue: its cases and its laws."""

        import numpy as np

        from grader import expect
        from grader import strategies as st
        from grader.kata import Kata

        KATA = Kata(
            "ring_queue",
            track="queues",
            entry_points=("Queue",),
            title="First in, first out",
            source="Knuth 1997, section 2.2.1",
            hints=(
                "Write down what a queue of size 2 holds after each step of the example.",
                "Where does a new number go, and from which end is one removed?",
                "Before you add to a full queue, remove the number at the front.",
            ),
            bank_size=16,
        )


        @KATA.cases
        def cases(draw):
            size = draw(st.integers(1, 4))
            numbers = draw(st.normal_arrays((draw(st.integers(1, 6)),), "float64"))
            return {"size": size, "numbers": numbers, "pops": draw(st.integers(1, min(size, len(numbers))))}


        @KATA.observe
        def observe(student, size, numbers, pops):
            """What comes out, after a push in between as well."""
            queue = student.Queue(size)
            for number in numbers.tolist():
                queue.push(number)
            popped = [queue.pop() for _ in range(pops)]
            queue.push(9.0)
            return {"popped": np.array(popped), "after another push": queue.pop()}


        @KATA.law(points=2)
        def test_two_queues_share_nothing(student):
            """Two queues do not share their numbers."""
            first, second = student.Queue(2), student.Queue(2)
            first.push(1.0)
            second.push(2.0)
            expect.equal(second.pop(), 2.0, "what the second queue gives")


        @KATA.law(points=2)
        def test_an_empty_queue_refuses(student):
            """An empty queue refuses to give a number."""
            expect.refuses(student.Queue(3).pop, why="the queue is empty")
    ''',
    "solutions/queues/ring_queue/reference.py": '''
        """Knuth 1997, section 2.2.1."""


        class Queue:
            def __init__(self, size):
                self.size, self.numbers = size, []

            def push(self, number):
                if len(self.numbers) == self.size:
                    self.numbers.pop(0)
                self.numbers.append(number)

            def pop(self):
                if not self.numbers:
                    raise ValueError("the queue is empty")
                return self.numbers.pop(0)
    ''',
    "solutions/queues/ring_queue/mistakes.py": '''
        """What goes wrong in ring_queue: one class a mistake, its docstring what the student is told."""

        from reference import Queue as _Queue


        class pops_the_newest(_Queue):
            """The number that was added last comes out first: this is a stack. Remove from the front."""

            def pop(self):
                if not self.numbers:
                    raise ValueError
                return self.numbers.pop()


        class drops_the_newest(_Queue):
            """A full queue keeps its old numbers and ignores the new one. Drop the oldest to make room."""

            def push(self, number):
                if len(self.numbers) < self.size:
                    self.numbers.append(number)


        class never_drops(_Queue):
            """The queue holds more than its size: nothing is dropped when it is full."""

            def push(self, number):
                self.numbers.append(number)


        class holds_one_too_few(_Queue):
            """A number is dropped one push too early. Compare the count with the size, not with size - 1."""

            def push(self, number):
                if len(self.numbers) >= max(1, self.size - 1):
                    self.numbers.pop(0)
                self.numbers.append(number)


        class holds_one_too_many(_Queue):
            """The queue drops its oldest number one push too late. Look at the count before you add."""

            def push(self, number):
                if len(self.numbers) > self.size:
                    self.numbers.pop(0)
                self.numbers.append(number)


        class does_not_remove(_Queue):
            """`pop` gives the same number again and again: it is read and not removed."""

            def pop(self):
                if not self.numbers:
                    raise ValueError
                return self.numbers[0]


        class gives_nothing_when_empty(_Queue):
            """An empty queue returns None. Raise ValueError, so that the caller notices."""

            def pop(self):
                return self.numbers.pop(0) if self.numbers else None


        class shares_its_numbers(_Queue):
            """A second queue has the numbers of the first: the list is the class's. Make it in __init__."""

            HELD = []

            def __init__(self, size):
                self.size, self.numbers = size, self.HELD
    ''',
    "solutions/queues/ring_queue/variants.py": '''
        """Right answers to ring_queue in other styles."""

        from collections import deque


        class uses_a_deque:
            """Another way: a deque of limited length drops the oldest by itself."""

            def __init__(self, size):
                self.numbers = deque(maxlen=size)

            def push(self, number):
                self.numbers.append(number)

            def pop(self):
                if not self.numbers:
                    raise ValueError
                return self.numbers.popleft()


        class writes_in_a_ring:
            """A list of fixed length, with the place of the oldest number and the count."""

            def __init__(self, size):
                self.places, self.first, self.count = [0.0] * size, 0, 0

            def push(self, number):
                if self.count == len(self.places):
                    self.pop()
                self.places[(self.first + self.count) % len(self.places)] = number
                self.count += 1

            def pop(self):
                if not self.count:
                    raise ValueError
                number = self.places[self.first]
                self.first, self.count = (self.first + 1) % len(self.places), self.count - 1
                return number


        class cuts_a_list:
            """The last `size` numbers of a longer list."""

            def __init__(self, size):
                self.size, self.numbers = size, []

            def push(self, number):
                self.numbers = [*self.numbers, number][-self.size :]

            def pop(self):
                if not self.numbers:
                    raise ValueError
                number, *self.numbers = self.numbers
                return number
    ''',
}
SYLLABUS = {
    "tests/katas/path.toml": """
        title = "Algorithms by Hand"

        [path]
        clusters = ["move_centers"]
        queues = ["ring_queue"]
    """,
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course of k-means and a queue, in which every kata is verified."""
    folder = tmp_path_factory.mktemp("algorithms")
    write_files(folder, {**SYLLABUS, **CENTERS, **QUEUE})
    assert run(folder, "kata", "verify").endswith("Every kata is ready.\n")
    return folder


PROGRAMS = {"grade": "grader.cli.grade", "kata": "grader.cli.kata"}


def run(folder, program, *words, code=0, packages=ROOT):
    """Return what a command prints in this folder. Nothing of it may speak of our course's subject."""
    start = f"from {PROGRAMS[program]} import {program}; {program}()"
    environment = {**os.environ, "PYTHONPATH": str(packages), "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", start, *map(str, words)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert not SUBJECT.search(said), said
    return said if code else done.stdout


def texts_of(folder):
    """Return the texts of a folder by their paths. None of them may speak of our course's subject."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".whl", ".key")]
    found = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}
    assert {name for name, text in found.items() if SUBJECT.search(text)} == set()
    return found


def write_right(folder, name):
    """Write the right answer to a kata into a folder and return its text."""
    (text,) = (text for path, text in {**CENTERS, **QUEUE}.items() if path.endswith(f"{name}/reference.py"))
    write_files(folder, {f"{name}.py": text})
    return (folder / f"{name}.py").read_text()


@pytest.mark.slow
def test_katas_are_listed_graded_and_explained(course, tmp_path):
    assert "· move_centers" in run(course, "grade", "list")
    assert "Not started yet" in run(course, "grade", "move_centers", code=1)
    code, answer = write_right(tmp_path, "move_centers"), tmp_path / "move_centers.py"
    assert "10 / 10" in run(course, "grade", "move_centers", "--file", answer)
    answer.write_text(code.replace(".mean(axis=0)", ".sum(axis=0)"))
    assert "it is their sum" in run(course, "grade", "move_centers", "--file", answer, code=1)
    run(course, "grade", "move_centers", "--file", answer, "--format", "html", "--output", "r.html", code=1)
    assert not SUBJECT.search((course / "r.html").read_text())
    write_right(tmp_path, "ring_queue")
    assert "10 / 10" in run(course, "grade", "ring_queue", "--file", tmp_path / "ring_queue.py")


@pytest.mark.slow
def test_messages_name_a_kata_of_this_course(course):
    assert "grade hint move_centers." in run(course, "grade", "hint", code=4)
    said = run(course, "grade", "--file", "x.py", code=4)
    assert "grade move_centers --file my_move_centers.py." in said
    assert "a queue of size 2" in run(course, "grade", "hint", "ring_queue")


@pytest.mark.slow
def test_a_course_without_a_demonstration_says_so(course):
    told = "The course has nothing to see: its path.toml names no folder with `see`.\n"
    assert run(course, "grade", "see", code=4).endswith(told)
    assert run(course, "kata", "record-see", code=4).endswith(told)


@pytest.mark.slow
def test_the_sample_of_the_docs_shows_what_this_course_makes(tmp_path):
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    (sample,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "SEE = " in code)
    titled = {"tests/katas/path.toml": 'see = "see"\n' + textwrap.dedent(SYLLABUS["tests/katas/path.toml"])}
    write_files(tmp_path, {**CENTERS, **QUEUE, **titled, "see/__init__.py": sample})
    assert "not yours yet: grade move_centers" in run(tmp_path, "grade", "see", "--text")
    assert run(tmp_path, "kata", "record-see") == "1 steps are in recording.json.\n"
    recorded = run(tmp_path, "grade", "see", "--text", "steps")
    (tmp_path / "exercises/clusters/move_centers.py").write_text(write_right(tmp_path, "move_centers"))
    own = run(tmp_path, "grade", "see", "--text", "steps")
    assert own == recorded.replace("   not yours yet: grade move_centers", "")
    assert re.search(r"a │ +1.*\n.*b │ +10", own)


@pytest.mark.slow
def test_a_release_speaks_of_this_course(course, tmp_path):
    out = {name: tmp_path / name for name in ("classroom50", "prairielearn", "exercism")}
    hosts = [word for name, path in out.items() for word in (f"--{name}", path)]
    hosts += ["--host", "actions", "--host", "classroom", "--gradescope", tmp_path / "gradescope.zip"]
    said = run(course, "kata", "release", tmp_path / "release", *hosts)
    assert "docker build --tag algorithms-by-hand" in said
    with zipfile.ZipFile(tmp_path / "gradescope.zip") as archive:
        archive.extractall(tmp_path / "gradescope")
    texts = texts_of(tmp_path / "release")
    assert texts["README.md"].startswith("# Algorithms by Hand\n")
    assert json.loads(texts[".devcontainer/devcontainer.json"])["name"] == "Algorithms by Hand"
    for path in (*out.values(), tmp_path / "gradescope"):
        texts_of(path)
    track = json.loads((out["exercism"] / "config.json").read_text())
    assert (track["language"], track["slug"]) == ("Algorithms by Hand", "algorithms-by-hand")
    question = json.loads((out["prairielearn"] / "questions/move_centers/info.json").read_text())
    assert question["externalGradingOptions"]["image"] == "algorithms-by-hand"
    (tmp_path / "release/exercises/queues/ring_queue.py").write_text(write_right(tmp_path, "ring_queue"))
    assert "10 / 10" in run(tmp_path / "release", "grade", "ring_queue")


@pytest.mark.slow
def test_a_wheel_starts_this_course(course, tmp_path):
    run(course, "kata", "wheel", tmp_path / "dist")
    (wheel,) = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "packages")
    (about,) = (tmp_path / "packages").glob("*.dist-info/METADATA")
    assert not SUBJECT.search(about.read_text())
    run(tmp_path, "grade", "start", "mine", packages=tmp_path / "packages")
    assert texts_of(tmp_path / "mine")["README.md"].startswith("# Algorithms by Hand\n")
    (tmp_path / "mine/exercises/queues/ring_queue.py").write_text(write_right(tmp_path, "ring_queue"))
    said = run(tmp_path / "mine", "grade", "ring_queue", packages=tmp_path / "packages")
    assert "10 / 10" in said


@pytest.mark.slow
def test_an_nbgrader_course_has_the_name_of_this_course(course, tmp_path):
    pytest.importorskip("nbformat", reason="nbformat is not installed")
    run(course, "kata", "notebooks", tmp_path / "notebooks")
    settings = texts_of(tmp_path / "notebooks")["nbgrader_config.py"]
    assert 'course_id = "algorithms-by-hand"' in settings


@pytest.mark.slow
def test_a_class_is_graded(course, tmp_path):
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/ring_queue.py").write_text(write_right(tmp_path, "ring_queue"))
    run(course, "kata", "grade", tmp_path / "class", "--output", tmp_path / "grades", "--graders", 1)
    pages = {path.name: path.read_text() for path in (tmp_path / "grades").rglob("*.html")}
    assert pages
    assert not SUBJECT.search("".join(pages.values()))


@pytest.mark.slow
def test_no_help_text_speaks_of_our_course(tmp_path):
    run(tmp_path, "grade", "--help")
    commands = re.findall(r"^  ([a-z-]+)  ", run(tmp_path, "kata", "--help"), re.MULTILINE)
    assert {"verify", "new", "release"} <= set(commands)
    for command in commands:
        run(tmp_path, "kata", command, "--help")
