"""The front end ranks katas as the grader does."""

import json
import shutil
import subprocess
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from dojo_page.protocol import Words
from grader.course import search
from grader.course.catalog import Course

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
QUERIES = tomllib.loads((ROOT / "tests/grader/course/search_queries.toml").read_text(encoding="utf-8"))
OTHERS = ["", "a", "attention", "cache kv", "one token", "norm back", "SOFTMAX  cross", "4", "modern", "--"]
SCRIPT = """
import { readFileSync } from "node:fs";
const { found } = await import(process.argv[1]);
const { katas, queries } = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(queries.map((query) => found(katas, query).map((one) => one.name))));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
def test_the_front_end_finds_the_same_katas_in_the_same_order(tmp_path):
    module = shutil.copy(ROOT / "plugins/dojo_page/front/search.js", tmp_path / "search.mjs")
    katas = [
        {"name": info.name, "words": asdict(Words(*search.words_of(COURSE, info)))}
        for info in COURSE.katas.values()
    ]
    queries = [*QUERIES, *OTHERS]
    told = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, Path(module).as_uri()],
        input=json.dumps({"katas": katas, "queries": queries}),
        capture_output=True,
        text=True,
        check=True,
    )
    for query, names in zip(queries, json.loads(told.stdout), strict=True):
        assert names == [info.name for info in search.found(COURSE, query)], query
