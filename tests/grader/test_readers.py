"""Every place of the project that parses, tokenizes or matches a text, with the process that it runs in.

A text can be made that takes hours, all memory or all of the stack of Python's parser, of `ast.unparse`, of a
pattern or of `difflib`. No such place works on a whole text of a student's in a process that keeps points, or
that serves a page, an editor or an assistant: those ask a reader. `benchmarks/readers.py` measures the worst
texts. Git has a test of its own. `test_who_parses.py` lets the processes say themselves what they parse.
"""

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("ast", "tokenize", "re", "difflib")
RUN = ("compile", "exec", "eval")

READER = "a reader or a worker that has loaded nothing, with 20 seconds and 512 MiB; a student's text"
WORKER = "the worker, in its sandbox; a student's text"
JUDGE = (
    "a process that judges, under its limits: a grader of a class and the search for a group of its files,"
    " which the process of the class starts; the judge of a page, of an editor or of an assistant; or the"
    " command of one student. A student's text, if its record is plain"
)
ANSWERS = "a process that judges, under its limits; what the worker answers, cut to the limits of a frame"
REPORT = "any; the report, which is bounded"
COURSE = "any; the course's own files"
AUTHOR = "the commands of an instructor; the course's own files"
NAMES = "the process of a class; names of files, each of at most 255 bytes or 100 levels, and numbers in them"
TABLES = "the process of a class; the instructor's own tables and policy"
MINE = (
    "the student's own command, or the judge of their own page, editor or assistant: a process beside that;"
    " the student's own text. It keeps nobody else's points, and can hang nobody else"
)
HOMEWORK = "the audit; a homework that is copied, or what its forks answer, after a reader has parsed it"

#: By module: what it uses, and the process and the text.
PLACES = {
    "grader/checks/error_words": ("re", ANSWERS),
    "grader/cli/console": ("re", REPORT),
    "grader/course/catalog": ("ast re", COURSE),
    "grader/course/files": ("ast re", COURSE),
    "grader/course/git": ("re", "any; a word of a command of ours, or a line of what Git says"),
    "grader/course/search": ("difflib re", "the student's own command or page; a word that was typed"),
    "grader/course/known_solutions": ("ast compile difflib exec re", COURSE),
    "grader/course/mistake_edits": ("ast difflib re", COURSE),
    "grader/course/renaming": ("difflib", "the student's own command; 20,000 characters of a statement"),
    "grader/course/shown_solutions": ("ast", COURSE),
    "grader/course/syllabus": ("re", COURSE),
    "grader/course/torch_words": ("re", "any; a statement, or a report, which is bounded"),
    "grader/diagnosis/compared_failures": ("re", JUDGE),
    "grader/diagnosis/hidden": ("ast", JUDGE),
    "grader/diagnosis/known_mistakes": ("compile", JUDGE),
    "grader/diagnosis/proved_places": ("ast", JUDGE),
    "grader/diagnosis/recording": ("ast", JUDGE),
    "grader/diagnosis/repair": ("ast re", JUDGE),
    "grader/drawing/__init__": ("re", COURSE),
    "grader/drawing/statement": ("re", COURSE),
    "grader/edits/additions": ("ast", JUDGE),
    "grader/edits/candidates": ("ast", JUDGE),
    "grader/edits/context": ("ast", JUDGE),
    "grader/edits/expression_operators": ("ast", JUDGE),
    "grader/edits/mutants": ("ast", JUDGE),
    "grader/edits/state_operators": ("ast re", JUDGE),
    "grader/edits/statement_operators": ("ast", JUDGE),
    "grader/edits/unused": ("ast re", JUDGE),
    "grader/edits/walk": ("ast difflib", JUDGE),
    "grader/edits/writing": ("ast", JUDGE),
    "plugins/dojo_authoring/assist/judging": ("ast re", "the judge of drafts, which is confined; a proposal"),
    "plugins/dojo_authoring/assist/server": ("re", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/candidates": ("ast re", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/changes": ("ast difflib", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/entries": ("ast re", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/judging": ("ast", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/rewrites": ("ast re", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/sentences": ("ast re", AUTHOR),
    "plugins/dojo_authoring/drafted_mistakes/table": ("ast re", AUTHOR),
    "plugins/dojo_authoring/mutation/page": ("re", AUTHOR),
    "plugins/dojo_authoring/mutation/runner": ("re", AUTHOR),
    "plugins/dojo_authoring/documentation": ("ast re", AUTHOR),
    "plugins/dojo_authoring/formulas": ("re", COURSE),
    "plugins/dojo_authoring/overview": ("ast", AUTHOR),
    "plugins/dojo_authoring/statement": ("ast re", AUTHOR),
    "plugins/dojo_authoring/release/hosts": ("ast", AUTHOR),
    "plugins/dojo_authoring/release/wheel": ("re", AUTHOR),
    "plugins/dojo_authoring/release/writing": ("re", AUTHOR),
    "plugins/dojo_authoring/renaming": ("ast re", AUTHOR),
    "plugins/dojo_authoring/scaffold/declaration": ("re", AUTHOR),
    "plugins/dojo_authoring/scaffold/imported": ("ast re", AUTHOR),
    "plugins/dojo_authoring/scaffold/prompts": ("ast re", AUTHOR),
    "plugins/dojo_authoring/scaffold/signatures": ("ast re", AUTHOR),
    "plugins/dojo_authoring/scaffold/syllabus_entry": ("re", AUTHOR),
    "plugins/dojo_authoring/scaffold/writer": ("ast difflib re", AUTHOR),
    "plugins/dojo_authoring/verify/judged": ("re", AUTHOR),
    "plugins/dojo_authoring/verify/locations": ("ast", AUTHOR),
    "plugins/dojo_authoring/verify/static_checks": ("ast re", AUTHOR),
    "plugins/dojo_classroom/best_files": ("re", NAMES),
    "plugins/dojo_classroom/collector": ("re", NAMES),
    "plugins/dojo_classroom/class_page": ("ast", "the process of a class; a stub of the course"),
    "plugins/dojo_classroom/gradebooks": ("re", REPORT),
    "plugins/dojo_classroom/store": ("difflib", "an instructor's command; the ids of a class"),
    "plugins/dojo_classroom/student_page": ("re", NAMES),
    "plugins/dojo_classroom/platform_filenames": ("re", NAMES),
    "plugins/dojo_classroom/policy": ("re", TABLES),
    "plugins/dojo_classroom/roster": ("re", TABLES),
    "plugins/dojo_classroom/times": ("re", "the process of a class; a line of what Git says"),
    "plugins/dojo_editor/lsp/connection": ("re", "the language server; the head of a message"),
    "plugins/dojo_editor/lsp/findings": ("re", "the language server; a line of an open text, or a report"),
    "plugins/dojo_notebooks/notebook": ("ast", AUTHOR),
    "plugins/dojo_notebooks/preview": ("ast", AUTHOR),
    "plugins/dojo_notebooks/solution": ("ast", AUTHOR),
    "plugins/dojo_notebooks/statement": ("re", COURSE),
    "plugins/dojo_page/judge": ("ast", f"{MINE}; at most 64 KiB that the student has typed"),
    "plugins/dojo_page/returning": ("re", "the page; a file that is the user's alone"),
    "plugins/dojo_page/statement": ("re", COURSE),
    "plugins/dojo_puzzle/judging": ("ast compile re", f"{COURSE}, or a report"),
    "plugins/dojo_puzzle/lines": ("ast tokenize", COURSE),
    "plugins/dojo_review/faults": ("ast re", MINE),
    "plugins/dojo_review/laws": ("ast", MINE),
    "plugins/dojo_review/versions": ("ast", MINE),
    "grader/formats/account": ("re", REPORT),
    "grader/grading/easier_case": ("re", ANSWERS),
    "grader/grading/missing_return": ("ast", JUDGE),
    "grader/grading/pictures": ("re", ANSWERS),
    "grader/grading/report_builder": ("ast re", JUDGE),
    "grader/grading/parameters": ("ast", JUDGE),
    "grader/grading/place_of_difference": ("ast re", ANSWERS),
    "grader/grading/snippet": ("ast re", JUDGE),
    "grader/grading/submission_run": (
        "difflib re",
        "a process that judges; names of a student's functions",
    ),
    "grader/reading/answers": ("ast", READER),
    "grader/reading/cells": ("re", READER),
    "grader/reading/drafts": ("ast", READER),
    "grader/reading/forms": ("ast", READER),
    "grader/reading/looks": ("ast", READER),
    "grader/reading/lookups": ("ast difflib", READER),
    "grader/reading/parts": ("ast", READER),
    "grader/reading/places": ("ast re", READER),
    "grader/reading/rules": ("ast", READER),
    "grader/reading/shape": ("ast", READER),
    "grader/reading/source": (
        "ast re tokenize",
        f"{READER}; two lines of it elsewhere",
    ),
    "grader/texts/escaping": ("re", REPORT),
    "grader/texts/sentences": ("re", REPORT),
    "grader/texts/wrapping": ("re", REPORT),
    "grader/worker/child/executor": ("compile exec", WORKER),
    "grader/worker/child/fake_device": ("re", WORKER),
    "grader/worker/child/instrumentation": ("re", WORKER),
    "grader/worker/child/on_fake_device": ("re", WORKER),
    "grader/worker/client": ("re", ANSWERS),
    "grader/worker/process": ("re", ANSWERS),
    "grader/worker/protocol/codec": ("re", ANSWERS),
    "plugins/dojo_audit/audit": ("ast re", HOMEWORK),
    "plugins/dojo_audit/drafting": ("ast", HOMEWORK),
    "plugins/dojo_audit/driver": ("ast compile eval exec re", "a confined fork; the tests of a homework"),
    "plugins/dojo_audit/homework": ("re", HOMEWORK),
    "plugins/dojo_audit/report": ("re", HOMEWORK),
    "plugins/dojo_audit/search": ("re", HOMEWORK),
    "plugins/dojo_audit/versions": ("ast", "a process of a version, which is confined; its source"),
    "plugins/dojo_audit/writing": ("ast re", HOMEWORK),
    "see/speech/grammar": ("re", COURSE),
    "see/speech/train": ("re", COURSE),
}
#: Who calls the functions of a reader itself, and on what. All others ask a child process.
CALLERS = {
    "grader/course/files": "decodes",
    "grader/course/submission": "decodes",
    "grader/diagnosis/repair": "a judging process, on a candidate of a plain text",
    "plugins/dojo_authoring/release/writing": "a digest of the text",
    "plugins/dojo_authoring/verify/static_checks": "the course's own files",
    "plugins/dojo_classroom/found_files": "the largest notebook, in bytes",
    "plugins/dojo_classroom/judge_seekers": "words that are looked for in the bytes",
    "plugins/dojo_notebooks/autograding": "the names of cells, and the words of `%grade`",
    "plugins/dojo_notebooks/magics": "the student's own kernel",
    "grader/worker/child/main": "the worker, before it has loaded anything",
    "grader/worker/child/reader": "the reader",
    "grader/worker/own_process": "a browser's worker, in the student's own page",
    "grader/worker/reader": "an error of the reader",
    "plugins/dojo_audit/homework": "an error of the reader",
}


@functools.cache
def modules():
    """Return the syntax trees of the project's modules, by name."""
    files = [file for top in ("grader", "plugins", "see") for file in (ROOT / top).rglob("*.py")]
    return {file.relative_to(ROOT).with_suffix("").as_posix(): ast.parse(file.read_text()) for file in files}


def uses(tree):
    """Return what a module uses of the tools that parse, match or run a text."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & {*TOOLS}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} & {*TOOLS}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & {*RUN}
    return " ".join(sorted(found))


def test_every_place_that_parses_or_matches_a_text_is_listed_with_its_process():
    found = {name: used for name, tree in modules().items() if (used := uses(tree))}
    assert found == {name: used for name, (used, _) in PLACES.items()}


def test_who_calls_the_functions_of_a_reader_itself_is_listed():
    found = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        if (node.module or "").startswith("grader.reading") and not name.startswith("grader/reading/")
    }
    assert found == CALLERS.keys()


def test_a_class_reaches_nothing_that_parses_a_students_own_text():
    mine = {name for name, (_, where) in PLACES.items() if where.startswith(MINE)}
    trees, left, seen = modules(), ["plugins/dojo_classroom/run", "plugins/dojo_classroom/task"], set()
    while left:
        name = left.pop()
        if name in trees and name not in seen:
            seen.add(name)
            for node in ast.walk(trees[name]):
                if isinstance(node, ast.ImportFrom):
                    path = (node.module or "").replace(".", "/")
                    left += [path, *(f"{path}/{alias.name}" for alias in node.names)]
    assert len(mine) == 4
    assert not mine & seen
    assert len(seen) > 50


@pytest.mark.parametrize(
    ("source", "used"),
    [("import ast, os", "ast"), ("from re import sub", "re"), ("eval(x)", "eval"), ("re.compile('a')", "")],
)
def test_what_a_module_uses_is_seen(source, used):
    assert uses(ast.parse(source)) == used
