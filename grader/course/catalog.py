"""Find the katas of a course, their files, and the facts in their declarations.

A `KataInfo` is read from the syntax tree of a declaration, which is not executed. So listing the katas, or
finding out that one needs PyTorch, imports neither the declaration nor PyTorch.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.course import search
from grader.course.files import load_file as load_file  # other modules import these three from here
from grader.course.files import parse, read
from grader.course.files import shorten as shorten
from grader.course.syllabus import Syllabus, read_syllabus
from grader.errors import CourseError as CourseError
from grader.errors import KataError, NoSuchKata
from grader.kata import Kata
from grader.kinds import Kind, kind_of

if TYPE_CHECKING:  # importing it takes milliseconds, and listing the katas does not need it
    from grader.report import KataReport, KataStatus

#: How the statement `KATA = Kata(…)` begins and ends in a declaration that `kata new` wrote.
OPENING, CLOSING = "\nKATA = Kata(", "\n)\n"
MANIFEST = ".dojo-release.json"  # lists the files of a release
LONGEST_NAME = 100  # bytes of a kata's name, which is part of the names of its files
#: The course in the package; only in wheels that `kata wheel` builds.
INSTALLED = Path(__file__).resolve().parents[1] / "starter.zip"


def is_name(word: str) -> bool:
    """Return whether a word may be the name of a kata."""
    return word.isidentifier() and len(word.encode()) <= LONGEST_NAME


@dataclass(frozen=True)
class KataInfo:
    """The literal arguments of a kata's declaration, read without running it."""

    name: str
    track: str
    title: str
    library: str
    libraries: tuple[str, ...]
    points: float
    needs: tuple[str, ...]
    hints: tuple[str, ...]
    hint_for: dict[str, int] = field(hash=False)
    source: str
    entry_points: tuple[str, ...]
    kind: Kind
    written: dict[str, tuple[float, str]] = field(hash=False)
    ships_wrong_code: str
    draft: bool
    path: Path

    @property
    def max_score(self) -> int:
        return round(self.points * 100)

    @property
    def marked_title(self) -> str:
        """The title, with a mark if the kata is a draft."""
        return f"{self.title} (draft: unproven)" if self.draft else self.title

    def unjudged(self, status: KataStatus, message: str = "") -> KataReport:
        """Return the report of a kata whose checks were not run."""
        from grader.report import KataReport

        return KataReport(self.name, self.track, status, self.max_score, message=message)


class Course:
    """A folder with `exercises/`, `tests/katas/` and, for an instructor, `solutions/`. With a `plan`, it has
    the katas of that plan alone, in its order, or those `chosen` of them. Raises CourseError if there is no
    folder of exercises, or no such plan."""

    def __init__(
        self, root: Path, exercises: Path | None = None, plan: str = "", chosen: tuple[str, ...] = ()
    ) -> None:
        self.root, self.plan, self.chosen = root, plan, chosen
        self.exercises = exercises or root / "exercises"
        if not self.exercises.is_dir():
            raise CourseError(f"There is no exercises folder at {shorten(self.exercises)}.")
        if plan and plan not in (plans := self.syllabus.plans):
            there = f"There are {', '.join(plans)}." if plans else "tests/katas/path.toml has no [plans]."
            raise CourseError(f"There is no plan called `{plan}`. {there}")

    @cached_property
    def syllabus(self) -> Syllabus:
        """The course's title, its tracks and the order of its katas."""
        return read_syllabus(self.root)

    @cached_property
    def katas(self) -> dict[str, KataInfo]:
        """All katas by name, in the order of the syllabus or the plan. Raises KataError, CourseError."""
        found: dict[str, KataInfo] = {}
        for info in map(read_kata_info, sorted((self.root / "tests" / "katas").glob("*/test_*.py"))):
            if info.name in found:
                places = f"{shorten(found[info.name].path)} and {shorten(info.path)}"
                raise KataError(f"Two katas are called `{info.name}`: {places}. Rename one of them.")
            self._require_track(info)
            found[info.name] = info
        if self.plan:
            kept = self.chosen or self.syllabus.plans[self.plan].katas
            return {name: found[name] for name in kept if name in found}
        ranked = sorted(found.values(), key=lambda info: self.syllabus.rank(info.track, info.name))
        return {info.name: info for info in ranked}

    def declared(self) -> dict[str, Path]:
        """Return the declarations by the names of their files, in the order of the syllabus, also those that
        a plan leaves out. None is read."""
        files = {path.stem[len("test_") :]: path for path in self.root.glob("tests/katas/*/test_*.py")}
        return dict(sorted(files.items(), key=lambda one: self.syllabus.rank(one[1].parent.name, one[0])))

    def limited_to(self, plan: str, chosen: tuple[str, ...] = ()) -> Course:
        """Return the course with the katas of a plan alone, or those chosen of them. Raises CourseError if
        there is no such plan."""
        return Course(self.root, self.exercises, plan, chosen)

    def _require_track(self, info: KataInfo) -> None:
        tracks = list(self.syllabus.path)
        if tracks and info.track not in tracks:
            raise KataError(
                f"{shorten(info.path)}: no track is called `{info.track}`; say {', '.join(tracks)}, or add a"
                " list of that name to tests/katas/path.toml."
            )
        if info.track != info.path.parent.name:
            raise KataError(
                f"{shorten(info.path)} says track={info.track!r} and lies in the folder"
                f" {info.path.parent.name}; make them one."
            )

    def kata_info(self, name: str) -> KataInfo:
        """Return the kata called `name`. Raises CourseError if there is none, with names like it."""
        declared = list(self.root.glob(f"tests/katas/*/test_{name}.py")) if is_name(name) else []
        if len(declared) == 1 and not self.plan and "katas" not in vars(self):
            info = read_kata_info(declared[0])  # reading all declarations takes as long as importing NumPy
            self._require_track(info)
            if info.name == name:
                return info
        if name in self.katas:
            return self.katas[name]
        if declared and self.plan:
            raise NoSuchKata(
                f"`{name}` is not among the katas of the plan `{self.plan}` that are taken here."
            )
        self._require_declaration(name)
        near = search.suggestion(self, name) or "`grade list` shows all katas."
        raise NoSuchKata(f"There is no kata called `{name}`. {near}")

    def katas_meant(self, word: str) -> list[KataInfo]:
        """Return the katas that a word on the command line means: one by its name, its file or an alias, in
        any spelling; all of a track or of the course. Raises CourseError, with names that are like it."""
        if is_name(word) and len(list(self.root.glob(f"tests/katas/*/test_{word}.py"))) == 1:
            return [self.kata_info(word)]
        if self.means_all(word):
            return list(self.katas.values())
        last = re.split(r"[/\\]+", word.rstrip("/\\"))[-1].casefold()
        last = Path(word).resolve().name.casefold() if last in (".", "..") else last
        name = last.removesuffix(".py").replace("-", "_")
        if info := self.katas.get(name) or search.named(self, name):
            self._require_own_file(word, info)
            return [info]
        in_track = [info for info in self.katas.values() if info.track == name and not last.endswith(".py")]
        if in_track:
            return in_track
        if last.endswith(".py"):
            inside = max((kata for kata in self.katas if kata in name), key=len, default="KATA")
            text = f"No kata is called `{name}`. Name the kata and the file:"
            raise CourseError(f"{text} grade {inside} --file {word}")
        return [self.kata_info(name)]

    def means_all(self, word: str) -> bool:
        """Return whether a word on the command line means all katas: the folder of the course or of its
        exercises, from wherever the student is."""
        folders = (self.root.resolve(), self.exercises.resolve())
        return word.rstrip("/\\") == self.exercises.name or (bool(word) and Path(word).resolve() in folders)

    def with_needs(self, infos: list[KataInfo]) -> list[KataInfo]:
        """Return the katas and all that they need, directly or indirectly. Raises KataError if a needed kata
        does not exist or the needs form a circle."""
        found = {info.name: info for info in infos}
        for info in infos:
            self._collect_needs(info, (), found)
        return list(found.values())

    def _collect_needs(self, info: KataInfo, through: tuple[str, ...], found: dict[str, KataInfo]) -> None:
        if info.name in through:
            circle = " needs ".join(f"`{name}`" for name in (*through[through.index(info.name) :], info.name))
            raise KataError(f"{circle}: nobody could begin; take one of these needs out.")
        for name in info.needs:
            if name not in found and name not in self.katas:
                raise KataError(f"`{info.name}` needs `{name}`, and there is no such kata.")
            needed = found.setdefault(name, self.kata_info(name))
            self._collect_needs(needed, (*through, info.name), found)

    def _require_own_file(self, word: str, info: KataInfo) -> None:
        """Raise CourseError if a word is the path of another file than the kata's exercise."""
        if word.endswith(".py") and os.path.lexists(word) and not _is_same(Path(word), self.stub(info)):
            raise CourseError(
                f"{word} is not the exercise of `{info.name}`. Grade it so: grade {info.name} --file {word}"
            )

    def _require_declaration(self, name: str) -> None:
        """Raise CourseError if other files of the kata exist, so that only its declaration is missing."""
        stub = next(self.exercises.glob(f"*/{name}.py"), None) if is_name(name) else None
        if stub is not None:
            expected = f"tests/katas/{stub.parent.name}/test_{name}.py"
            raise CourseError(f"`{name}` has no declaration; write {expected}.")

    def declaration(self, info: KataInfo) -> Kata:
        """Import a kata's declaration, and with it PyTorch if the kata uses it. Raises KataError."""
        module = load_file(f"dojo_{info.name}", info.path)
        kata = getattr(module, "KATA", None)
        if not isinstance(kata, Kata) or kata.name != info.name:
            raise KataError(f"{info.path.name} must bind KATA = Kata({info.name!r}, …).")
        return kata

    def shortcuts(self, kata: Kata) -> tuple[str, ...]:
        """Return the dotted names of library functions that do all of a kata: those of the syllabus, or of
        the declaration of a kata that is not in its table."""
        listed = self.syllabus.shortcuts.get(kata.name, kata.shortcuts)
        return () if isinstance(listed, str) else tuple(listed)

    def stub(self, info: KataInfo) -> Path:
        """Return the path of the student's file for a kata."""
        return self.exercises / info.track / f"{info.name}.py"

    def solution(self, info: KataInfo, part: str) -> Path:
        """Return the path of one file of a kata's solutions: `part` is "reference", "mistakes" or "variants".
        Some kinds of kata share one with the others of their track."""
        folder = self.folder(info)
        return (folder.parent if part in info.kind.shared else folder) / f"{part}.py"

    def edits(self, info: KataInfo) -> Path:
        """Return the path of the mistakes that are edits of the reference; it need not exist."""
        return self.folder(info) / "mistakes.edits"

    def mistakes(self, info: KataInfo) -> list[Path]:
        """Return the files of mistakes that exist: edits of the reference, functions, or both."""
        return [path for path in (self.edits(info), self.solution(info, "mistakes")) if path.is_file()]

    def folder(self, info: KataInfo) -> Path:
        """Return the folder of a kata's solutions."""
        return self.root / "solutions" / info.track / info.name


def _is_same(path: Path, other: Path) -> bool:
    return path.parent.resolve() / path.name == other.parent.resolve() / other.name


def open_course(
    folder: Path | None, exercises: Path | None = None, *, shipped: bool = True, start: Path | None = None
) -> Course:
    """Return the course in `folder`, or the one that `find_course` finds from `start`, or else from the
    current folder, if `folder` is None. Raises CourseError if there is no course."""
    if folder is None:
        start = start or Path.cwd()
        root = find_course(start, shipped=shipped)
        return Course(root, exercises or _exercises_here(root, start))
    if not (folder / "tests" / "katas").is_dir():
        raise CourseError(
            f"There is no course in {folder}: it has no folder tests/katas."
            f" Start one: kata new --course {shlex.quote(str(folder))} TRACK/NAME"
        )
    return Course(folder, exercises)


def _exercises_here(root: Path, start: Path) -> Path | None:
    """Return the folder of exercises at or above `start` that goes before the one of an installed course;
    None if the course lies there itself."""
    above = (start, *start.parents)
    if root in above:
        return None
    tracks = [path.name for path in (root / "tests" / "katas").iterdir() if path.is_dir()]
    found = (folder / "exercises" for folder in above)
    return next((folder for folder in found if any((folder / track).is_dir() for track in tracks)), None)


def find_course(start: Path, *, shipped: bool = True) -> Path:
    """Return the nearest folder at or above `start` that contains `tests/katas`, or else, with `shipped`, the
    folder that the grader is installed in. Raises CourseError if neither is a course."""
    installed = [Path(__file__).resolve().parents[2]] if shipped else []
    for folder in (start, *start.parents, *installed):
        if (folder / "tests" / "katas").is_dir():
            return folder
    if shipped and INSTALLED.is_file():
        raise CourseError("There is no dojo in this folder. Begin one:  grade start my-dojo")
    raise CourseError(
        "There is no course here: no folder `tests/katas` at or above this one. Name one with --course DIR."
    )


def is_release(folder: Path) -> bool:
    """Return whether the folder is a student's copy of a course."""
    return (folder / MANIFEST).is_file()


def read_kata_info(path: Path) -> KataInfo:
    """Read the literal arguments of `KATA = Kata(…)` in a declaration. Raises CourseError, KataError."""
    call = _parse_statement_only(read(path)) or _kata_call(parse(path))
    if call is None:
        raise KataError(f"{path.name} must bind KATA = Kata(…) at its top level.")
    wanted = {field.name for field in fields(KataInfo)} - {"path", "name", "kind"}
    given = wanted | {"questions", "kind_name"}
    found = {name: value for name, value in _defaults().items() if name in given}
    found["name"] = ast.literal_eval(call.args[0])
    for keyword in call.keywords:
        if keyword.arg in given:
            found[keyword.arg] = _literal(keyword, path)
    kind = _kind_of(found, path)
    found |= {"kind": kind, "points": kind.points(found), "entry_points": kind.entry_points(found)}
    missing = wanted - found.keys() | (set() if found["entry_points"] else {"entry_points"})
    if missing:
        raise KataError(f"{path.name}: Kata(…) lacks {', '.join(sorted(missing))}.")
    for name in ("needs", "hints", "entry_points", "libraries"):
        if isinstance(found[name], str):  # a tuple of one item was written without its comma
            raise KataError(f'{path.name}: {name} is one text; write {name}=("…",), with a comma.')
    found["libraries"] = _libraries(found, path)
    if isinstance(found["points"], bool | str) or not found["points"] > 0:
        raise KataError(f"{path.name}: points={found['points']!r} must be a number above 0.")
    if found["points"] % 0.5:
        raise KataError(f"{path.name}: points={found['points']!r} must be whole or half points.")
    return KataInfo(path=path, **{name: found[name] for name in (*wanted, "name", "kind")})


def _defaults() -> dict[str, Any]:
    """Return the arguments of `Kata` that a declaration need not give."""
    found = {field.name: field.default for field in fields(Kata) if field.default is not MISSING}
    made = {f.name: f.default_factory() for f in fields(Kata) if f.default_factory is not MISSING}
    return found | made


def _libraries(found: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Return the libraries in which a kata may be answered, its own first. Raises KataError."""
    own, others = found["library"], tuple(found["libraries"])
    if own == "numpy" and found["kind"].is_code and not (others or found["ships_wrong_code"]):
        return (own, "torch")
    if others and own not in others:
        raise KataError(f"{path.name}: libraries={others!r} lacks the kata's own, {own!r}.")
    if own == "torch" and set(others) - {own}:
        raise KataError(f"{path.name}: a PyTorch kata is answered in PyTorch alone; leave out libraries.")
    if unknown := set(others) - {"numpy", "torch"}:
        raise KataError(f"{path.name}: libraries={others!r} has {min(unknown)!r}; say numpy or torch.")
    return (own, *(name for name in others if name != own))


def _kind_of(found: dict[str, Any], path: Path) -> Kind:
    """Return the kind of a declaration with these arguments. Raises KataError if they do not fit it."""
    if not isinstance(found["written"], dict):
        raise KataError(f'{path.name}: written must be a dict: {{"WHY": (3, "…")}}.')
    try:
        kind = kind_of(found)
        kind.require_valid(found)
    except KataError as error:
        raise KataError(f"{path.name}: {error}") from None
    return kind


def _parse_statement_only(source: str) -> ast.Call | None:
    """Return the call in `KATA = Kata(…)`, or None if the text does not show where the statement begins and
    ends. Parsing the whole file would take ten times as long."""
    _, *rest = source.split(OPENING)
    if len(rest) != 1:
        return None
    arguments, closing, _ = rest[0].partition(CLOSING)
    try:
        return _kata_call(ast.parse(OPENING + arguments + closing))
    except SyntaxError:
        return None


def _kata_call(tree: ast.Module) -> ast.Call | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names == ["KATA"] and node.value.args:
                return node.value
    return None


def _literal(keyword: ast.keyword, path: Path) -> Any:
    try:
        return ast.literal_eval(keyword.value)
    except ValueError:
        raise KataError(f"{path.name}: {keyword.arg} must be a literal, so that it can be listed.") from None
