"""`grade speak`: the text that a student's functions write, what can be left out, and what stops it."""

import importlib
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from dojo_show.answers import Answers
from dojo_show.command import _likeliest
from dojo_show.demonstration import open_demonstration, read_recording, reference_students, speech_in
from dojo_show.sections import Section
from dojo_show.speech import DIGITS, Silent, StudentCalls, Token, Wish, prompt_of, section_of, text_of
from grader.cli.grade import grade as command
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.errors import CourseError
from grader.texts.escaping import CONTROL_PICTURES
from grader.worker.in_process import LocalStudent

pytestmark = pytest.mark.slow  # each lets the model write a text

ROOT = Path(__file__).resolve().parents[3]
SEE = open_demonstration(Course(ROOT))
SPEECH = SEE.speech
HOME = SPEECH.writer.__module__.rpartition(".")[0]
GRAMMAR, MODEL = (importlib.import_module(f"{HOME}.{name}") for name in ("grammar", "model"))
RECORDED = read_recording(SEE)["speech"]
PARTS = tuple(SPEECH.parts)
#: Answers in the styles of public code, by the way of writing that takes them.
STYLES = [
    (way, file)
    for way, kata in (("cache", "kv_cache"), ("whole", "mini_gpt"))
    for file in sorted(Path(__file__).parents[2].glob(f"grader/public_styles/{kata}/*.py"))
]
#: What is written after this takes less time than the whole.
LONG = " ".join(RECORDED["text"].split()[:55])


@pytest.fixture(scope="module")
def references():
    return reference_students(Course(ROOT), SPEECH.parts)


@pytest.fixture
def writer(references):
    """`writer(layer_norm=student)` writes with the references, but for these katas."""

    def of(**others):
        students = {**references, **others}
        return SPEECH.writer(StudentCalls(Answers(SPEECH.katas, dict.fromkeys(students, "yours"), students)))

    return of


def student(source):
    module = type(np)("student")
    exec(source, module.__dict__)
    return LocalStudent(module, "student.py")


def with_few_texts(own):
    """The writer with three held texts; fifty take seconds."""
    own.model = replace(own.model, held=own.model.held[:3])
    return own


def text(writer, *wish, **more):
    return text_of(writer.write(Wish(*wish, **more)))


# --- the stories ---


def test_the_grammar_reads_what_it_tells():
    rng = random.Random(7)
    stories = {GRAMMAR.tell(rng) for _ in range(500)}
    assert len(stories) == 500
    assert all(map(GRAMMAR.is_story, stories))
    story = min(stories)
    assert not GRAMMAR.is_story(story[:-1])
    assert not GRAMMAR.is_story(f"{story} The end.")


def test_the_grammar_refuses_a_story_whose_hero_changes():
    story = (
        "The small boat lived at the pier. At noon, the wizard promised a red hat to anyone who could count"
        ' the stars. "Nobody can count the stars," said the frog. But the boat asked for advice. At last it'
        " could count the stars, and everybody in the castle cheered. So the wizard gave the red hat to the"
        " small boat. Now the hat is at the pier, and the frog often comes to see it."
    )
    assert GRAMMAR.is_story(story)
    assert not GRAMMAR.is_story(story.replace("to the small boat", "to the small ship"))
    assert not GRAMMAR.is_story(story.replace("Now the hat", "Now the cup"))


def test_the_vocabulary_is_that_of_the_kata():
    model = MODEL.read_model()
    reference = reference_students(Course(ROOT), {"byte_pair_encoding": ()})["byte_pair_encoding"]
    for some in (RECORDED["text"], "Übung 北京 \x00", "", "aaaa"):
        ids = model.encode(some)
        assert ids == reference.encode(some, [*model.merges])
        assert b"".join(model.words[token] for token in ids).decode() == some


# --- what is written ---


def test_the_references_write_what_is_recorded(writer):
    assert text(writer(), SPEECH.prompt) == RECORDED["text"]
    assert GRAMMAR.is_story(RECORDED["text"])


def test_the_references_have_the_loss_that_is_recorded(writer):
    assert writer().loss(Wish()) == pytest.approx(RECORDED["loss"], abs=0.01)


@pytest.mark.parametrize("kata", PARTS)
def test_every_variant_of_a_part_writes_the_same(writer, kata):
    sources = standalone_sources(Course(ROOT), Course(ROOT).kata_info(kata), "variants")
    assert sources
    for name, source in sources.items():
        assert text(writer(**{kata: student(source)}), SPEECH.prompt) == RECORDED["text"], name


@pytest.mark.parametrize("name", SPEECH.switches)
def test_the_loss_rises_where_a_part_is_left_out(writer, name):
    assert with_few_texts(writer()).loss(Wish(without=(name,))) > 2 * RECORDED["loss"]


def test_a_token_says_what_it_was_chosen_from(writer):
    tokens = list(writer().write(Wish(SPEECH.prompt)))
    given = [token for token in tokens if token.is_given]
    assert text_of(given) == SPEECH.prompt
    for token in tokens[len(given) :]:
        shares = [share for _, share in token.likeliest]
        assert len(shares) == 5
        assert shares == sorted(shares, reverse=True)
        assert token.likeliest[0][0] == token.text


def test_each_head_reads_its_own_weights(writer):
    """The weights that the student's function says are those of scores, scaled, masked and normalised."""
    own, ids = writer(), [token.id for token in writer().write(Wish("Once a shy girl"))][:12]
    found = own.weights(ids, Wish())
    model = MODEL.read_model()
    assert found.shape == (model.num_layers, model.num_heads, 13, 13)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    assert not np.triu(found, 1).any()
    x = model["embed.token_embed.weight"][[10, *ids]] + model["embed.pos_embed.weight"][:13]
    normed = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    normed = normed * model["blocks.0.ln1.weight"] + model["blocks.0.ln1.bias"]
    qkv = np.split(normed @ model["blocks.0.attn.qkv.weight"].T, 3, -1)
    q, k = (part.reshape(13, 4, 16).swapaxes(0, 1) for part in qkv[:2])
    scores = np.where(np.tri(13, dtype=bool), q @ k.swapaxes(1, 2) / 4, -np.inf)
    np.testing.assert_allclose(found[0], np.exp(scores) / np.exp(scores).sum(-1, keepdims=True), atol=1e-5)


def test_a_section_holds_the_weights_as_digits():
    tokens = [Token(1, "a"), Token(2, " b", ((" b", 0.75), ("c", 0.25)))]
    weights = np.array([[[[1, 0, 0], [0.5, 0.5, 0], [0.0, 1.0, 0.0]]]])
    section = section_of("Title", ["One."], tokens, weights)
    assert section == Section("speak", "Title", ["One."], data=section.data)
    assert section.data["tokens"] == ["a", " b"]
    assert section.data["likeliest"] == [(), ((" b", 0.75), ("c", 0.25))]
    assert section.data["weights"] == [[[DIGITS[61], DIGITS[30] * 2, f"0{DIGITS[61]}0"]]]


# --- other ways and settings ---


@pytest.fixture(scope="module")
def torch_writer(references):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    students = references | reference_students(Course(ROOT), SPEECH.more)
    return SPEECH.writer(StudentCalls(Answers(SPEECH.katas, dict.fromkeys(students, "yours"), students)))


@pytest.mark.parametrize("way", SPEECH.ways)
def test_other_ways_write_the_same(torch_writer, way):
    assert text(torch_writer, LONG, way=way) == RECORDED["text"]


@pytest.mark.parametrize(("way", "file"), STYLES, ids=lambda part: getattr(part, "stem", part))
def test_public_styles_write_the_same(references, way, file):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    students = references | {file.parent.name: student(file.read_text())}
    own = SPEECH.writer(StudentCalls(Answers(SPEECH.katas, dict.fromkeys(students, "yours"), students)))
    assert text(own, SPEECH.prompt, way=way) == RECORDED["text"]


def test_a_cache_saves_operations(torch_writer):
    rates = torch_writer.rates([10] * 20, Wish(way="cache"))
    assert [*rates] == ["with the cache", "all again"]
    assert 5 * rates["with the cache"][1] < rates["all again"][1]


def test_settings_choose_among_the_tokens(torch_writer):
    for settings in (
        {"temperature": 0.0},
        {"top_k": 1, "temperature": 1.5},
        {"top_p": 0.05, "temperature": 1.0},
    ):
        assert text(torch_writer, LONG, settings=settings) == RECORDED["text"]
    prompt = " ".join(LONG.split()[:8])
    drawn = [text(torch_writer, prompt, settings={"temperature": 1.0, "seed": seed}) for seed in (1, 1, 200)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_cache_that_cannot_be_made_stops_the_text(references):
    made = student("class KVCache:\n    def __init__(self): raise RuntimeError('none')\n")
    students = references | {"kv_cache": made}
    own = SPEECH.writer(StudentCalls(Answers(SPEECH.katas, dict.fromkeys(students, "yours"), students)))
    with pytest.raises(Silent) as stopped:
        text(own, "The shy", way="cache")
    assert str(stopped.value) == "cached_attention stopped the text. RuntimeError: none"


def test_a_way_leaves_no_part_out(torch_writer):
    with pytest.raises(Silent, match="Only the parts can be left out"):
        list(torch_writer.write(Wish(way="cache", without=("mask",))))


# --- what stops it ---


@pytest.mark.parametrize(
    ("kata", "source", "reason"),
    [
        (
            "layer_norm",
            "def layer_norm(x, *_): return x * float('nan')",
            "layer_norm stopped the text. It returned NaN.",
        ),
        (
            "layer_norm",
            "def layer_norm(x, *_): return x[0]",
            "layer_norm stopped the text. It returned the shape [3, 64], and [1, 3, 64] is needed.",
        ),
        (
            "layer_norm",
            "def layer_norm(x, *_): return 1 / 0",
            "layer_norm stopped the text. ZeroDivisionError: division by zero",
        ),
        (
            "causal_mask",
            "def causal_mask(q, k=None): return [[True]]",
            "causal_mask stopped the text. It returned an object of type list, and an array is needed.",
        ),
        (
            "next_token",
            "import numpy as np\ndef next_token(h, w): return np.zeros(768), np.zeros(768), 9999",
            "next_token stopped the text. It returned the id 9999 of 768 tokens.",
        ),
        (
            "next_token",
            "import numpy as np\ndef next_token(h, w): return np.zeros(768), np.zeros(768), np.inf",
            "next_token stopped the text. It returned the id inf of 768 tokens.",
        ),
        (
            "next_token",
            "import numpy as np\ndef next_token(h, w): return np.zeros(768), np.full(768, 1e9), 1",
            "next_token stopped the text. Its probabilities do not lie between 0 and 1.",
        ),
        (
            "next_token",
            "import numpy as np\ndef next_token(h, w): return np.zeros(768), np.full(768, -np.inf), 1",
            "next_token stopped the text. Its probabilities do not lie between 0 and 1.",
        ),
    ],
)
def test_what_a_function_returns_can_stop_the_text(writer, kata, source, reason):
    with pytest.raises(Silent) as stopped:
        text(writer(**{kata: student(source)}), "The shy")
    assert str(stopped.value) == reason


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (
            Wish(without=("x\x1b",)),
            "There is no part to leave out named `x␛`; say mask, scale, positions, norm, heads.",
        ),
        (Wish(way="x"), "There is no way to write named `x`; say cache, whole."),
        (
            Wish(settings={"x": 1.0}),
            "There is no setting named `x`; say temperature, top_k, top_p, min_p, seed.",
        ),
        (Wish(settings={"top_k": 0.0}), "top_k must lie between 1 and 40; it is 0."),
        (Wish(settings={"top_p": float("nan")}), "top_p must lie between 0.05 and 1; it is nan."),
    ],
)
def test_what_the_course_does_not_know_is_refused(wish, message):
    with pytest.raises(CourseError) as refused:
        SPEECH.require(wish)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("", ""),
        (" The  boat \n", "The boat"),
        ("a\x1b[31mb", "a␛[31mb"),
        ("x" * 100_000, "x" * 2000),
        ("北京", "北京"),
    ],
)
def test_a_prompt_is_one_line_of_a_bounded_length(prompt, read):
    assert prompt_of(prompt) == read
    assert ord("\x1b") in CONTROL_PICTURES


@pytest.mark.parametrize("prompt", ["", "x" * 2000, "北京 🥋", '"' * 500])
def test_any_prompt_is_gone_on_with(writer, prompt):
    tokens = list(writer().write(Wish(prompt)))
    assert any(not token.is_given for token in tokens)
    assert len(tokens) < MODEL.read_model().max_len


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nothing", "one byte"])
def test_weights_that_were_changed_are_refused(tmp_path, monkeypatch, damage):
    for name in ("model.npz", "model.json"):
        shutil.copy(MODEL.HERE / name, tmp_path / name)
    data = bytearray((tmp_path / "model.npz").read_bytes())
    data[5000] ^= 1
    (tmp_path / "model.npz").write_bytes(damage if isinstance(damage, bytes) else bytes(data))
    _is_refused(tmp_path, monkeypatch)


@pytest.mark.parametrize("known", ["", "[]", "{}", json.dumps({"digest": 1})])
def test_a_list_of_the_model_that_was_changed_is_refused(tmp_path, monkeypatch, known):
    shutil.copy(MODEL.HERE / "model.npz", tmp_path / "model.npz")
    (tmp_path / "model.json").write_text(known)
    _is_refused(tmp_path, monkeypatch)


def _is_refused(folder, monkeypatch):
    monkeypatch.setattr(MODEL, "HERE", folder)
    with pytest.raises(CourseError) as refused:
        MODEL.read_model.__wrapped__()
    assert str(refused.value) == (
        "The weights of the model that speaks are not as they came. Write or install the course again."
    )


# --- the command ---


@pytest.fixture
def own_course(tmp_path, monkeypatch):
    """A student's copy in which these katas hold this text, or the reference."""
    monkeypatch.setenv("COLUMNS", "80")
    course = Course(ROOT)
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises")
    for name in ("tests", "solutions", "see"):
        (tmp_path / name).symlink_to(ROOT / name)

    def write(*katas, **others):
        for kata in (*katas, *others):
            info = course.kata_info(kata)
            source = others.get(kata) or course.solution(info, "reference").read_text()
            (tmp_path / "exercises" / info.track / f"{kata}.py").write_text(source)
        return tmp_path

    return write


def speak(folder, *words):
    return CliRunner().invoke(command, ["--speak", "--course", str(folder), *words])


def test_until_its_parts_pass_each_option_is_shown_or_said_to_wait(own_course):
    result = speak(own_course(), "--without", "mask")
    assert "Without the mask: each token also sees those behind it" in result.stdout.replace("\n", " ")
    assert "One morning, the fisher promised a golden" in result.stdout
    result = speak(own_course(), "once", "--with", "cache", "--without", "mask", "--without", "norm")
    told = 'this has no effect: "once", --with cache, --without mask and --without norm.'
    assert told in result.stdout.replace("\n", " ")


def test_until_its_parts_pass_a_recorded_text_is_shown(own_course):
    result = speak(own_course("layer_norm", "feed_forward"))
    assert result.exit_code == 0
    assert result.stdout.replace("\n", " ").startswith(
        "4 katas to go until your functions write a text: token_embedding, causal_mask, multi_head_attention,"
        " next_token. Next: grade token_embedding  Recorded, from the course's own functions:  The small boat"
    )
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_student_s_functions_write_in_their_workers(own_course):
    result = speak(own_course(*PARTS), "The", "small", "boat", "--inside")
    written, _, inside = result.stdout.partition("\n\n")
    assert " ".join(written.split()) == RECORDED["text"]
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert inside.startswith("lived\n  lived")
    assert result.stdout.endswith(
        "Mean loss on texts that the model was not trained on: 0.30; with all parts right\nit is 0.30.\n"
    )


def test_a_function_that_fails_writes_with_mine_alone(own_course):
    folder = own_course(
        *(set(PARTS) - {"causal_mask"}),
        causal_mask="import numpy as np\n\ndef causal_mask(q, k=None):\n    return np.ones((q, q), bool)\n",
    )
    assert speak(folder).stdout.startswith("1 kata to go until your functions write a text: causal_mask.")
    broken = speak(folder, "--mine", SPEECH.prompt).stdout
    without = speak(own_course("causal_mask"), SPEECH.prompt, "--without", "mask").stdout
    assert "Without the mask: each token also sees those behind it" in without
    assert broken.split("\n\n")[0] == without.split("\n\n")[0]
    assert broken.splitlines()[-2:] == without.splitlines()[-2:]  # the loss


def test_a_function_that_sleeps_or_prints_stops_the_text(own_course):
    folder = own_course(
        *(set(PARTS) - {"layer_norm"}),
        layer_norm="def layer_norm(x, gamma, beta, eps=1e-5):\n    print('!' * 10)\n    while True: pass\n",
    )
    result = speak(folder, "--mine", "The shy")
    assert result.exit_code == 0
    assert " ".join(result.stdout.split()) == (
        "The shy layer_norm stopped the text. No answer within 2 seconds of computing, in line 3."
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--with", "top_k=a"), "`--with top_k=a` needs a number behind the `=`."),
        (("--with", "cache", "--with", "whole"), "`--with` takes one way to write at a time."),
        (
            ("--without", "x"),
            "There is no part to leave out named `x`; say mask, scale, positions, norm, heads.",
        ),
    ],
)
def test_wrong_options_get_one_sentence(own_course, words, message):
    result = speak(own_course(), *words)
    assert (result.exit_code, result.stderr) == (4, f"{message}\n")


@pytest.mark.parametrize("option", ["--inside", "--without=mask", "--with=cache"])
def test_its_options_go_with_it_alone(option):
    result = CliRunner().invoke(command, [option])
    name = option.partition("=")[0]
    assert result.stderr == f"`{name}` goes with `grade speak`: grade speak {name}.\n"


def test_a_course_that_lacks_a_part_says_so(own_course):
    folder = own_course()
    (folder / "tests").unlink()
    shutil.copytree(ROOT / "tests" / "katas", folder / "tests" / "katas")
    (folder / "tests/katas/blocks/test_layer_norm.py").unlink()
    path = folder / "tests/katas/path.toml"
    path.write_text(
        "".join(line for line in path.read_text().splitlines(True) if not line.startswith("layer_norm ="))
    )
    result = speak(folder)
    assert result.exit_code == 4
    assert result.stderr == "This course lacks katas whose functions write a text: layer_norm.\n"
    assert speech_in(Course(folder)) is None


def test_a_course_without_a_text_says_so(tiny_course):
    result = CliRunner().invoke(command, ["--speak", "--course", str(tiny_course.root)])
    assert result.exit_code == 4
    assert result.stderr == "The course has nothing to see: its path.toml names no folder with `see`.\n"
    assert speech_in(tiny_course) is None


@pytest.mark.parametrize("share", [1e9, float("inf"), float("nan"), -1e9])
def test_a_share_that_is_none_has_no_bar(share):
    view = SimpleNamespace(paint=lambda text, _: text, ascii_only=True)
    lines = list(_likeliest([Token(1, " a", ((" b", share),))], view))
    assert lines[0] == "a"
    assert "#" not in lines[1]
