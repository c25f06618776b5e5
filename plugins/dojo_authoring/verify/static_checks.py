"""The checks of `kata verify` that run no code: files, signatures, points, prerequisites and texts."""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dojo_authoring.assist.drafts import MARK_OF_VARIANT, VARIANT_DRAFTS
from dojo_authoring.verify.locations import (
    answer_files,
    files_of,
    judged_files,
    line_of_definition,
    place,
    public_definitions,
)
from dojo_authoring.verify.record import record_path
from dojo_show.demonstration import open_demonstration
from grader.checks.kata_checks import AGREEMENT, LEAST_AGREEMENT, points_of_builtin
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.course.files import parse, read
from grader.course.general_mistakes import GENERAL
from grader.course.mistake_edits import read_drafts, read_edits
from grader.course.renaming import RENAMED_FILE as RENAMED
from grader.course.secret_seed import PLACE
from grader.kata import Corner, Kata, KataError, Law
from grader.plugins import COMMANDS_GROUP, ours
from grader.reading.parts import open_questions
from grader.reading.rules import first_use, shortcut_in
from grader.reading.shape import text_digest
from grader.texts.phrases import counted

PARTS = ("reference", "mistakes", "variants")
TODO = re.compile(r"TODO:? *(?P<what>.*?)[,. ]*(?:[\"'][\"',.)\]} ]*)?$")  # without the end of its literal


def unwritten(paths: list[Path], course: Course) -> tuple[list[str], list[str]]:
    """Return the TODOs of some files in two lists: those that keep code from running, and others."""
    code: list[str] = []
    rest: list[str] = []
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = TODO.search(line)
            if found:
                todo = f"{place(course, path, number)}: {found['what'] or 'finish this'}."
                (code if "raise NotImplementedError" in line else rest).append(todo)
    return code, rest


#: Other files of a kata: mistakes as edits, equivalent mutants, the table of mistakes, the answer in PyTorch
#: of a NumPy kata.
OPTIONAL = ("mistakes.edits", "equivalent.toml", "mistakes.md", "in_torch.py", VARIANT_DRAFTS)
STATEMENT_LENGTH = 400
STUB_COLUMNS = 88
HINTS_DUE = 3
FULL = 0.85  # the least part of a plan's hours that its katas take


def gaps(course: Course, info: KataInfo) -> list[str]:
    """Return messages about what keeps the reference from being judged, in the order in which to mend it.

    Raises KataError if a file cannot be parsed.
    """
    if missing := missing_files(course, info):
        return missing
    for path in judged_files(course, info):
        parse(path)
    code, _ = unwritten(judged_files(course, info), course)
    return code or [
        *_gaps_of_signatures(course, info),
        *_gaps_of_names(course, info),
        *_gaps_of_points(course, info),
        *_gaps_of_asserts(course, info),
        *_gaps_of_needs(course, info, "reference"),
        *_gaps_of_shortcuts(course, info),
    ]


def gaps_of_answers(course: Course, info: KataInfo) -> list[str]:
    """Return messages about what keeps the mistakes and variants from being judged. Raises KataError."""
    paths = answer_files(course, info)
    if missing := _missing(course, paths):
        return missing
    for path in paths:
        if path.suffix == ".py":
            parse(path)
    code, _ = unwritten(paths, course)
    return code or [
        *_gaps_of_edits(course, info),
        *_gaps_of_needs(course, info, "variants"),
        *_gaps_of_definitions(course, info),
        *_gaps_of_hinted_mistakes(course, info),
    ]


def missing_files(course: Course, info: KataInfo) -> list[str]:
    """Return a message for each file that does not exist and without which nothing can be judged."""
    return _missing(course, judged_files(course, info))


def _missing(course: Course, paths: list[Path]) -> list[str]:
    return [f"{place(course, path)} is missing; write it." for path in paths if not path.is_file()]


def unfinished(course: Course, info: KataInfo) -> list[str]:
    """Return messages about the texts that a kata still lacks, though it can be judged."""
    if missing_files(course, info):
        return []
    there = [path for path in files_of(course, info) if path.is_file()]
    _, rest = unwritten(there, course)
    return [*rest, *_gaps_of_statement(course, info), *_gaps_of_digest(course, info), *_gaps_of_hints(info)]


def todos_of_draft(course: Course, info: KataInfo) -> list[str]:
    """Return the TODOs in the files of a draft that students get: its declaration and its stub."""
    return unwritten([info.path, course.stub(info)], course)[1] if info.draft else []


def drafted_mistakes(course: Course, info: KataInfo) -> list[str]:
    """Return the note about the drafts among the mistakes, if there are any, and one about each of them whose
    edit does not apply. No draft is a known mistake: it is in no answer key and no report."""
    path, reference = course.edits(info), course.solution(info, "reference")
    drafts = read_drafts(path)
    if not drafts:
        return []
    where, found = place(course, path, drafts[0].line), counted(len(drafts), "draft")
    notes = [
        f"{where}: {found} of mistakes, which no student is told; mend the sentence of each, and take the"
        " word `draft` away, or delete it."
    ]
    for draft in drafts if reference.is_file() else ():
        try:
            draft.applied(read(reference))
        except KataError as error:
            notes.append(str(error))
    return notes


def drafted_variants(course: Course, info: KataInfo) -> list[str]:
    """Return the note about the drafts of variants, if there are any. No command runs them."""
    path = course.folder(info) / VARIANT_DRAFTS
    count = read(path).splitlines().count(MARK_OF_VARIANT) if path.is_file() else 0
    if not count:
        return []
    return [
        f"{place(course, path)}: {counted(count, 'draft')} of variants; move those that you keep into"
        " variants.py, and delete the others."
    ]


def _gaps_of_statement(course: Course, info: KataInfo) -> list[str]:
    tree, where = parse(course.stub(info)), place(course, course.stub(info), 1)
    found = []
    if len(ast.get_docstring(tree) or "") < STATEMENT_LENGTH:
        found.append(
            f"{where}: the docstring is no statement yet ({STATEMENT_LENGTH} characters are needed)."
        )
    found += _gaps_of_long_lines(course, course.stub(info))
    found += _gaps_of_stray_items(course, course.stub(info))
    if "grader" in _imported(tree):
        found.append(f"{where}: the stub imports the grader; a student's file must stand alone.")
    if f"grade.{info.name}" in ours(COMMANDS_GROUP):
        found.append(f"{where}: `grade {info.name}` is a command; give the kata another name: kata rename.")
    if info.name not in course.syllabus.order:
        found.append("tests/katas/path.toml does not list it; put it where it is best learnt.")
    if course.syllabus.katas and info.name not in course.syllabus.katas:
        found.append("tests/katas/path.toml says no minutes and no difficulty; add a line to [katas].")
    if course.syllabus.skills and info.name not in course.syllabus.skills:
        found.append("tests/katas/path.toml does not say what it trains; add a line to [skills].")
    return found


def _gaps_of_long_lines(course: Course, stub: Path) -> list[str]:
    """Return a message for each line of a stub that is too long for half a screen."""
    return [
        f"{place(course, stub, number)}: the line has {len(line)} columns; wrap it at {STUB_COLUMNS}."
        for number, line in enumerate(stub.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > STUB_COLUMNS
    ]


ITEM = re.compile(r"(?:\d+\.|[-+*]) ")


def _gaps_of_stray_items(course: Course, stub: Path) -> list[str]:
    """Return a message for each line of a stub that begins like an item of a list, in a paragraph that does
    not: a page would make a list of it."""
    found, begins = [], True
    in_list = False
    for number, line in enumerate(stub.read_text(encoding="utf-8").splitlines(), 1):
        is_item = bool(ITEM.match(line))
        if begins:
            in_list = is_item
        elif is_item and not in_list:
            begin = f'{place(course, stub, number)}: begins with "{line.split()[0]} "'
            found.append(f"{begin}, which a page takes for a list; wrap it elsewhere.")
        begins = not line.strip()
    return found


def _gaps_of_digest(course: Course, info: KataInfo) -> list[str]:
    expected = text_digest(course.stub(info).read_text(encoding="utf-8"))
    if info.ships_wrong_code and info.ships_wrong_code != expected:
        return [f'its stub has changed; write ships_wrong_code="{expected}" in its declaration.']
    return []


def _imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


def _gaps_of_hints(info: KataInfo) -> list[str]:
    if len(info.hints) < HINTS_DUE:
        return [f"{len(info.hints)} hints; {HINTS_DUE} are needed, from a nudge to nearly the answer."]
    return []


def _gaps_of_hinted_mistakes(course: Course, info: KataInfo) -> list[str]:
    """Return a message for each mistake that `hint_for` names and that, or whose hint, does not exist."""
    where, path = place(course, info.path), course.solution(info, "mistakes")
    mistakes = {node.name for node in public_definitions(path)} if path.is_file() else set()
    mistakes |= {mistake.name for mistake in read_edits(course.edits(info))} | GENERAL.keys()
    unknown = [name for name in info.hint_for if name not in mistakes]
    beyond = [name for name, number in info.hint_for.items() if not 1 <= number <= len(info.hints)]
    return [
        f"{where}: hint_for names `{name}`, and there is no such mistake; mend the name." for name in unknown
    ] + [
        f"{where}: hint_for gives `{name}` hint {info.hint_for[name]} of {len(info.hints)};"
        " give it one that exists."
        for name in beyond
    ]


def _gaps_of_questions(course: Course, info: KataInfo) -> list[str]:
    """Return a message for each question that lacks its line in the stub or its function in the reference,
    and for each written answer that lacks its line."""
    stub, reference = course.stub(info), course.solution(info, "reference")
    asked, answered = open_questions(parse(stub)), _signatures(parse(reference))
    return [
        f"{place(course, path)}: the question `{name}` has no {what}; write it."
        for path, names, found, what in (
            (stub, (*info.entry_points, *info.written), asked, "line `… = ...`"),
            (reference, info.entry_points, answered, "function"),
        )
        for name in names
        if name not in found
    ]


def _gaps_of_signatures(course: Course, info: KataInfo) -> list[str]:
    if not info.kind.is_code:
        return _gaps_of_questions(course, info)
    stub, reference = course.stub(info), course.solution(info, "reference")
    shown, expected = _signatures(parse(stub)), _signatures(parse(reference))
    lacking = [
        f"{place(course, path)}: there is no `{name}`, which entry_points names; write it."
        for path, found in ((stub, shown), (reference, expected))
        for name in info.entry_points
        if name not in found
    ]
    return lacking or [
        f"{place(course, stub, line_of_definition(stub, name))}: `{name}` is {shown[name]} in the stub and"
        f" {expected[name]} in the reference; make them one."
        for name in info.entry_points
        if shown[name] != expected[name]
    ]


def _signatures(tree: ast.Module) -> dict[str, str]:
    """Return the parameter names and defaults of each function, and of each class's public methods."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = _parameters(node)
        elif isinstance(node, ast.ClassDef):
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            public = [m for m in methods if not m.name.startswith("_") or m.name in ("__init__", "__len__")]
            shown = [m.name + _parameters(m) for m in public if len(m.args.args) > 1 or m.name != "__init__"]
            found[node.name] = "; ".join(sorted(shown))
    return found


def _parameters(node: ast.FunctionDef) -> str:
    """Return the parameters as source, without annotations."""
    bare = copy.deepcopy(node.args)
    for argument in ast.walk(bare):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return f"({ast.unparse(bare)})"


def _gaps_of_names(course: Course, info: KataInfo) -> list[str]:
    """Return a message for each name that several laws share."""
    laws = Counter(law.name for law in course.declaration(info).laws)
    return [
        f"{place(course, info.path, line_of_definition(info.path, f'test_{name}'))}: {times} laws are called"
        f" `{name}`; rename all but one."
        for name, times in laws.items()
        if times > 1
    ]


def _gaps_of_points(course: Course, info: KataInfo) -> list[str]:
    kata, where = course.declaration(info), place(course, info.path)
    if not kata.kind.is_code:  # each constant is one point
        return []
    if kata.draw is None:
        return [f"{where}: it draws no cases; decorate a function with @KATA.cases."]
    nothing = [*_gaps_of_worth(course, info, kata)]
    spent = sum(law.points for law in kata.laws) / 100
    agreement = points_of_builtin(kata)[AGREEMENT]
    if agreement < LEAST_AGREEMENT:
        free = info.points - spent - agreement / 100
        return nothing or [
            f"{where}: its laws are worth {spent:g} of {info.points:g} points and the free checks {free:g};"
            f" leave at least {LEAST_AGREEMENT / 100:g} for agreeing with the reference."
        ]
    return nothing


def _gaps_of_worth(course: Course, info: KataInfo, kata: Kata) -> Iterator[str]:
    """Yield a message for each law or corner that is worth nothing, or no whole or half points."""
    parts: list[tuple[str, str, Law | Corner]] = [("law", f"test_{law.name}", law) for law in kata.laws]
    parts += [("corner", corner.name, corner) for corner in kata.corners]
    for kind, function, part in parts:
        where = place(course, info.path, line_of_definition(info.path, function))
        worth = f"{where}: the {kind} `{part.name}` is worth {part.points / 100:g} points"
        if part.points <= 0:
            yield f"{worth}; give it some."
        elif part.points % 50:
            yield f"{worth}; give it whole or half points."


def _gaps_of_asserts(course: Course, info: KataInfo) -> list[str]:
    """Return a message for each bare assertion: its failure would be told as an unusable result."""
    said = "a bare assertion has no sentence for the student; use expect.true, expect.equal or expect.close."
    return [
        f"{place(course, info.path, node.lineno)}: {said}"
        for node in ast.walk(parse(info.path))
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and _is_assertion(node))
    ]


def _is_assertion(call: ast.Call) -> bool:
    """True for a call of `np.testing` or `torch.testing`."""
    return re.match(r"(np|numpy|torch)\.testing\.", ast.unparse(call.func)) is not None


def _gaps_of_edits(course: Course, info: KataInfo) -> Iterator[str]:
    """Yield a message for each edit of the reference that does not apply, and for a name that two have."""
    reference, path = read(course.solution(info, "reference")), course.solution(info, "mistakes")
    lines = {node.name: node.lineno for node in public_definitions(path)} if path.is_file() else {}
    for mistake in read_edits(course.edits(info)):
        where = f"{place(course, mistake.path, mistake.line)}: `{mistake.name}`"
        if mistake.name in lines:
            yield str(mistake.taken(path, lines[mistake.name]))
        if mistake.name in info.entry_points:
            yield f"{where} is the name of an entry point; name the mistake by what goes wrong."
        try:
            mistake.applied(reference)
        except KataError as error:
            yield str(error)


def _gaps_of_needs(course: Course, info: KataInfo, part: str) -> list[str]:
    try:
        course.with_needs([info])
    except KataError as error:
        return [f"{place(course, info.path)}: {error}"]
    return [
        f"{place(course, course.solution(info, part), found[1])}: the {part} breaks a rule of its own kata:"
        f" it uses {found[0]}."
        for rule in course.declaration(info).rules
        for found in [first_use(parse(course.solution(info, part)), rule.forbidden)]
        if found
    ]


def _gaps_of_shortcuts(course: Course, info: KataInfo) -> list[str]:
    """Return a message if the syllabus has a table of shortcuts without this kata, and for each right answer
    that would get a note."""
    if not info.kind.is_code:
        return []
    listed = course.syllabus.shortcuts
    if listed and info.name not in listed:
        return [
            f"tests/katas/path.toml: [shortcuts] lacks `{info.name}`; list what of a library does all of it,"
            " or write in a sentence why nothing does."
        ]
    names = course.shortcuts(course.declaration(info))
    paths = [course.solution(info, part) for part in ("reference", "variants", "in_torch")]
    return [
        f"{place(course, path, used[1])}: {used[0]} is a shortcut of this kata, and right answers that use it"
        " get a note; write this one without, or take it out of the shortcuts."
        for path in paths
        if path.is_file()
        for used in [shortcut_in(parse(path), names, info.library)]
        if used
    ]


def _gaps_of_definitions(course: Course, info: KataInfo) -> list[str]:
    """Return messages about duplicate names, and about mistakes with a wrong name or no docstring."""
    found = _gaps_of_levels(course, info)
    for part in ("mistakes", "variants"):
        path = course.solution(info, part)
        if not path.is_file():
            continue
        names = Counter(node.name for node in public_definitions(path))
        for node in public_definitions(path):
            where = f"{place(course, path, node.lineno)}: `{node.name}`"
            if names[node.name] > 1:
                found.append(
                    f"{where} is defined {names[node.name]} times; the last hides the others. Rename."
                )
            elif part == "mistakes" and node.name in info.entry_points:
                found.append(f"{where} is the name of an entry point; name the mistake by what goes wrong.")
            elif part == "mistakes" and not ast.get_docstring(node):
                found.append(f"{where} has no docstring; say symptom, cause and what to check.")
    return found


def _gaps_of_levels(course: Course, info: KataInfo) -> list[str]:
    """Return a message for each set of names that once said the level of mistakes."""
    path = course.solution(info, "mistakes")
    if not path.is_file():
        return []
    return [
        f"{place(course, path, node.lineno)}: `{name}` is not read; write @{name.lower()} above each of these"
        " mistakes, from grader.mistakes."
        for node in parse(path).body
        if isinstance(node, ast.Assign)
        for name in map(ast.unparse, node.targets)
        if name in ("CRUDE", "SUBTLE")
    ]


def unknown_names(course: Course) -> list[str]:
    """Return a message for each name in path.toml that is not a kata."""
    return [
        f"tests/katas/path.toml lists `{name}`, and there is no such kata; write it, or take the name out."
        for name in course.syllabus.order
        if name not in course.katas
    ]


def untrained_skills(course: Course) -> list[str]:
    """Return a message for each skill that no kata trains."""
    trained = {skill for listed in course.syllabus.skills.values() for skill in listed}
    return [
        f"tests/katas/path.toml: no kata trains `{skill}`; add it to a kata in [skills], or take it out."
        for skill in course.syllabus.skill_names
        if skill not in trained
    ]


def unkept_plans(course: Course) -> list[str]:
    """Return a message for each plan whose katas take more than its hours, or far less, or need others."""
    found = []
    for name, plan in course.syllabus.plans.items():
        where = f"tests/katas/path.toml: the plan `{name}`"
        infos = [course.katas[kata] for kata in plan.katas if kata in course.katas]
        minutes = sum(effort.minutes for kata, effort in course.syllabus.katas.items() if kata in plan.katas)
        if not FULL * plan.hours * 60 <= minutes <= plan.hours * 60:
            hours = f"{plan.hours:g} hours are {plan.hours * 60:g}"
            found.append(f"{where} takes {minutes} minutes, and {hours}; change its katas or its hours.")
        found += [
            f"{where} lacks `{need}`, which `{info.name}` needs; add it."
            for info in infos
            for need in info.needs
            if need not in plan.katas
        ]
    return found


def unknown_in_see(course: Course) -> list[str]:
    """Return a message for each function that `grade see` calls and the course lacks."""
    if not course.syllabus.see:
        return []
    try:
        katas = open_demonstration(course).katas
    except (CourseError, KataError) as error:
        return [str(error)]
    known = {name: info.entry_points for name, info in course.katas.items()}
    return [
        f"{course.syllabus.see}/ names `{function}` of `{kata}`, which is not there; mend the name."
        for kata, functions in katas.items()
        for function in functions
        if function not in known.get(kata, ())
    ]


def stray_files(course: Course) -> list[str]:
    """Return a message for each file of exercises, solutions or declarations that belongs to no kata."""
    known = {course.root / "tests" / "katas" / name for name in ("path.toml", "conftest.py")}
    known |= {record_path(course), course.root / RENAMED, course.root / PLACE}
    for info in course.katas.values():
        known |= {course.stub(info), info.path, *(course.solution(info, part) for part in PARTS)}
        known |= {course.folder(info) / name for name in OPTIONAL}
    folders = (course.exercises, course.root / "solutions", course.root / "tests" / "katas")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    strays = [path for path in found if path not in known and "__pycache__" not in path.parts]
    return [f"{shorten(path)} belongs to no kata; move or remove it." for path in sorted(strays)]
