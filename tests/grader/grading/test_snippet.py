"""Tests of the code of a failing call: the lines that a report prints, and the code that runs by itself."""

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.checks.runner import Failure
from grader.grading.parameters import signatures_of, with_parameters
from grader.grading.snippet import pruned, script_of
from grader.grading.values_as_code import code_of
from grader.values.comparison import Difference
from grader.values.exchange import TRANSLATED
from grader.values.seeded import seeded
from grader.worker.calls import Call
from grader.worker.protocol.codec import Handle
from grader.worker.protocol.messages import CallOptions
from grader.worker.proxies import RemoteObject

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


SOURCE = """
def attend(q, k, v): ...

class KVCache:
    def __init__(self, width): ...
    def append(self, key, value): ...
    def __call__(self, q): ...
"""
NAMES = signatures_of(SOURCE)
CACHE = Handle(1, "KVCache")


def script(*calls, of_state=False):
    """The code for the last of the calls, in whose history there are all of them."""
    trace = [call for call in calls if not call.source and not call.is_read]
    return script_of(
        Failure(Case(0, {}), "failed", "", None, trace, history=[*calls]),
        "attention",
        NAMES,
        of_state=of_state,
    )


def snippet(*args, **kwargs):
    return script(Call("attend", list(args), kwargs)).code


def rebuilt(code):
    """Run the code with a function that keeps its arguments, and return these."""
    seen = []
    code = code.replace("from attention import attend", "")
    exec(code, {"attend": lambda *args, **kwargs: seen.append((args, kwargs))})
    return seen[0]


def test_a_tensor_without_entries_that_is_handed_on_is_not_written_out():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    outline = torch.empty(2, 3, device="meta")
    found = script(Call("attend", [ROWS], {}, outline), Call("attend", [outline.clone()], {}))
    assert found.code == ""


def test_arguments_have_their_names_and_the_rest_is_written_out():
    assert snippet(ROWS, 0.5, causal=True) == (
        "import numpy as np\n"
        "from attention import attend\n"
        "\n"
        "q = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], dtype=np.float32)\n"
        "print(attend(q, 0.5, causal=True))\n"
    )


@pytest.mark.parametrize(
    "array",
    [
        ROWS,
        ROWS.T,
        ROWS.reshape(1, 2, 3).transpose(2, 0, 1),
        np.array([np.nan, -np.inf, 0.1]),
        np.array([[True, False]]),
        np.array(3, dtype=np.int16),
        np.zeros((0, 2)),
        np.array([1j]),
        np.zeros((4, 4))[:, ::2],
        np.arange(4.0)[::-1],
        np.broadcast_to(np.float32(0.1), (2, 3)),
    ],
    ids=repr,
)
def test_an_array_is_rebuilt_with_its_digits_its_dtype_and_its_strides(array):
    code = snippet(array)
    if array.dtype.kind == "c":
        assert code == ""
        return
    (found,), _ = rebuilt(code)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert array.size == 0 or found.squeeze().strides == array.squeeze().strides


def test_a_tensor_is_rebuilt_with_its_strides():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
    (found,), _ = rebuilt(snippet(tensor))
    assert torch.equal(found, tensor)
    assert (found.dtype, found.stride()) == (tensor.dtype, tensor.stride())


def test_a_tensor_without_axes_is_rebuilt():
    torch = pytest.importorskip("torch")
    (found,), _ = rebuilt(snippet(torch.tensor(0.25, dtype=torch.float64)))
    assert (found.item(), found.dtype, found.shape) == (0.25, torch.float64, ())


def test_lists_dicts_and_infinite_numbers_are_written_out():
    value = {"a": [1, (2.5,)], "b": float("inf"), "c": None}
    assert rebuilt(snippet(value)) == ((value,), {})


@pytest.mark.parametrize(
    "value",
    [object(), np.linspace(0, 1, 2500)],
    ids=["object", "large"],
)
def test_what_code_cannot_rebuild_has_no_snippet(value):
    assert snippet(value) == ""


def test_a_tensor_with_gaps_is_rebuilt_with_its_strides():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(12.0).reshape(3, 4)[:, ::2]
    (found,), _ = rebuilt(snippet(tensor))
    assert torch.equal(found, tensor)
    assert found.stride() == tensor.stride()


def test_a_float32_has_no_more_digits_than_it_needs():
    assert "[0.1, 1e-05]" in snippet(np.array([0.1, 1e-5], dtype=np.float32))


def test_an_argument_that_is_an_earlier_result_is_shown_with_the_call_that_made_it():
    split = Call("split", [ROWS, 3], {}, value=ROWS.T)
    other = Call("split", [ROWS, 1], {}, value=ROWS)
    assert script(split, other, Call("attend", [split.value], {})).lines == [
        "q = split(value, 3)",
        "attend(q)",
    ]


def test_a_part_of_an_earlier_result_has_a_name_and_the_rest_none():
    split = Call("split", [3], {}, value=(np.eye(1), np.eye(2)))
    assert script(split, Call("attend", [split.value[1]], {})).lines == ["_, q = split(3)", "attend(q)"]


def test_an_object_is_shown_with_all_calls_that_used_it():
    made = Call("KVCache", [4], {}, value=CACHE)
    append = [Call("append", [ROWS, ROWS + 1], {}, target=CACHE) for _ in range(3)]
    length = Call("length", [], {}, value=3, target=CACHE, is_read=True)
    call = Call("__call__", [ROWS], {}, target=CACHE)
    shown = script(made, *append, length, call)
    assert shown.lines == [
        "cache = KVCache(4)",
        "for _ in range(3): cache.append(key, value)",
        "cache(q)",
    ]
    assert list(shown.values) == ["key", "value", "q"]
    assert "from attention import KVCache\n" in shown.code
    assert script(made, append[0], length).lines[-1] == "cache.length"


def test_an_operator_is_shown_as_an_expression_and_its_result_named_by_its_class():
    made = Call("KVCache", [4], {}, value=CACHE)
    doubled = Call("__rmul__", [2], {}, target=CACHE, value=Handle(2, "PairOfCaches"))
    joined = Call("__sub__", [RemoteObject(None, CACHE)], {}, target=Handle(2, ""))
    assert script(made, doubled, joined).lines == [
        "cache = KVCache(4)",
        "caches = 2 * cache",
        "caches - cache",
    ]
    assert script(made, Call("__neg__", [], {}, target=CACHE)).lines[-1] == "-cache"


def test_other_values_of_one_parameter_are_numbered():
    made = Call("KVCache", [4], {}, value=CACHE)
    calls = [Call("append", [rows, ROWS], {}, target=CACHE) for rows in (ROWS, ROWS + 1)]
    assert script(made, *calls).lines[1:] == ["cache.append(key, value)", "cache.append(key_2, value)"]


def test_where_results_are_held_all_calls_are_shown():
    before, last = Call("attend", [1], {}), Call("attend", [2], {})
    assert script(before, last).lines == ["attend(2)"]
    last.options = CallOptions(hold=True)
    assert script(before, last).lines == ["attend(1)", "attend(2)"]


def test_a_module_that_was_called_in_evaluation_mode_is_shown_so():
    made = Call("KVCache", [4], {}, value=CACHE)
    call = Call("__call__", [3], {}, target=CACHE, options=CallOptions(evaluating=True))
    assert script(made, call).lines == ["cache = KVCache(4)", "cache.eval()(3)"]


def test_an_earlier_call_that_raised_is_caught():
    made = Call("KVCache", [4], {}, value=CACHE)
    refused = Call("append", [1, 2], {}, target=CACHE, error=("ValueError",))
    shown = script(made, refused, Call("append", [3, 4], {}, target=CACHE))
    assert shown.lines[1] == "with suppress(Exception): cache.append(1, 2)"
    assert "from contextlib import suppress\n" in shown.code


def test_many_calls_are_shown_with_their_ends():
    made = Call("KVCache", [4], {}, value=CACHE)
    calls = [Call("append", [number, 0], {}, target=CACHE) for number in range(20)]
    shown = script(made, *calls).shown
    assert shown[4:] == ["# 13 more calls", *(f"cache.append({number}, 0)" for number in range(16, 20))]


def test_a_text_of_the_course_is_part_of_the_code():
    source = "def scaled(width):\n    return [width]\n"
    built = Call("scaled", [2], {}, value=Handle(7, "list"), source=source)
    call = Call("attend", [RemoteObject(None, built.value)], {})
    shown = script(built, call)
    assert shown.lines == ["q = scaled(2)  # the grader's own", "attend(q)"]
    assert rebuilt(shown.code) == (([2],), {})


def test_a_function_of_the_grader_answers_what_it_answered():
    def weigh(ids):
        return ids * 2

    given = np.array([1, 2])
    call = Call("attend", [weigh], {}, answers={id(weigh): [([given], weigh(given))]})
    (found,), _ = rebuilt(script(call).code)
    np.testing.assert_array_equal(found(given), [2, 4])


def test_a_call_is_shown_with_its_values_if_they_are_few():
    assert script(Call("attend", [np.array([[0.5, np.nan]]), np.float32([2])], {})).shown == [
        "import numpy as np",
        "from attention import attend",
        "q = np.array([[0.5, np.nan]])",
        "k = np.array([2.0], dtype=np.float32)",
        "attend(q, k)",
    ]
    assert script(Call("attend", [np.linspace(0, 1, 25) ** 2], {})).shown == ["attend(q)"]
    assert script(Call("attend", [np.zeros((4, 6)) + 1 / 3] * 1 + [np.ones((4, 6)) / 7] * 2, {})).shown == [
        "attend(q, k, v)"
    ]


def test_large_arrays_that_an_expression_makes_are_shown_by_it():
    assert script(Call("attend", [np.ones((5, 5)), seeded(np.empty((5, 6)), 3)], {})).shown == [
        "import numpy as np",
        "from attention import attend",
        "q = np.full((5, 5), 1.0)",
        "k = np.random.default_rng(3).standard_normal((5, 6)).round(1)",
        "attend(q, k)",
    ]


def test_of_a_list_the_item_that_differs_is_printed():
    call = Call("attend", [1], {}, value=[0.5, 2.0])
    for where, printed in (("[1]", "attend(1)[1]"), ("result[1]", "attend(1)[1]"), ("", "attend(1)")):
        wrong = Failure(
            Case(0, {}), "failed", "", Difference("value", lambda: ("1", "2"), where), [call], history=[call]
        )
        assert script_of(wrong, "attention", NAMES).code.endswith(f"print({printed})\n")


def test_several_seeded_arrays_are_shown_by_calls_of_one_function():
    given = [seeded(np.empty(shape, np.float32), seed) for seed, shape in enumerate([(5, 6), (30,)])]
    shown = script(Call("attend", given, {})).shown
    assert shown[2:] == [
        "def r(seed, *shape):",
        "    drawn = np.random.default_rng(seed).standard_normal(shape).round(1)",
        "    return drawn.astype(np.float32)",
        "q = r(0, 5, 6)",
        "k = r(1, 30)",
        "attend(q, k)",
    ]
    for made, array in zip(rebuilt("\n".join(shown))[0], given, strict=True):
        np.testing.assert_array_equal(made, array, strict=True)


def test_seeded_weights_of_a_module_are_made_in_two_lines():
    weights = {f"layers.{n}.weight": seeded(np.empty((2, 2)), n) for n in range(4)}
    made, x = Call("KVCache", [3], {}, CACHE), np.array([1.0])
    loads = Call("load_state_dict", [weights], {"strict": False}, target=CACHE)
    shown = script(made, loads, Call("__call__", [x], {}, target=CACHE)).shown
    assert shown[-5:] == [
        "cache = KVCache(3)",
        "named = sorted(cache.named_parameters(remove_duplicate=False))",
        "weights = {name: r(i, *w.shape) for i, (name, w) in enumerate(named)}",
        "cache.load_state_dict(weights, strict=False)",
        "cache(q)",
    ]


def test_of_the_graders_own_text_the_used_part_is_shown():
    text = "import math\n\nSIZE = 3\n\ndef one():\n    return two() * SIZE\n\ndef two():\n    return 2\n"
    text += "\ndef three():\n    return math.pi\n"
    due = "SIZE = 3\ndef one():\n    return two() * SIZE\ndef two():\n    return 2"
    assert pruned(text, {"one"}) == due


def test_a_function_of_the_grader_is_shown_as_its_table():
    torch = pytest.importorskip("torch")

    def weigh(ids):
        return (
            torch.tensor([[0.6, 0.15, 0.25]]).log() if ids == [1] else torch.tensor([[0.5, 0.4, 0.1]]).log()
        )

    call = Call("attend", [weigh], {}, answers={id(weigh): [([[1]], weigh([1])), ([[1, 0]], weigh([1, 0]))]})
    shown = script(call).shown
    assert shown[2:] == [
        'q = lambda given: torch.tensor({"[1]": [[0.6, 0.15, 0.25]], "[1, 0]": [[0.5, 0.4, 0.1]]}'
        "[str(given)]).log()",
        "attend(q)",
    ]
    (found,), _ = rebuilt("\n".join(shown))
    assert torch.equal(found([1, 0]), weigh([1, 0]))
    unused = script(Call("attend", [weigh], {})).shown
    assert unused[1:] == ["q = lambda *given: None  # never called", "attend(q)"]


def test_arguments_that_tell_no_answers_apart_are_left_out_of_a_table():
    def score(ids, rows):
        return float(len(ids) * len(rows))

    call = Call("attend", [score], {}, answers={id(score): [([[1], [3]], 1.0), ([[2], [3]], 1.0)]})
    assert script(call).shown[1] == 'q = lambda given, *others: {"[1]": 1.0, "[2]": 1.0}[str(given)]'


def test_an_identity_matrix_is_shown_as_one():
    call = Call("attend", [np.eye(2), np.eye(3, dtype=np.float32)], {})
    assert "q = np.eye(2)" in script(call).shown
    assert "k = np.eye(3, dtype=np.float32)" in script(call).shown
    assert code_of(np.eye(2) * -0.0) == "np.array([[-0.0, -0.0], [-0.0, -0.0]], dtype=np.float64)"
    assert code_of(np.eye(2, dtype=np.int64)).startswith("np.array(")


def test_a_function_of_several_arguments_is_shown_as_its_table():
    def score(ids, rows):
        return float(len(ids) * len(rows))

    ids = np.array([1, 2])
    answers = [([ids, [3]], 2.0), ([ids, [3, 4]], 4.0)]
    call = Call("attend", [score], {}, answers={id(score): answers})
    shown = script(call).shown
    assert shown[1] == (
        'q = lambda given_1, given_2: {"[[1, 2], [3]]": 2.0, "[[1, 2], [3, 4]]": 4.0}'
        "[str([given_1.tolist(), given_2])]"
    )
    (found,), _ = rebuilt("\n".join(shown))
    assert found(ids, [3]) == 2.0


def test_many_arrays_of_one_value_share_a_short_name():
    weights = {name: np.ones((1, 2)) for name in "qkvo"}
    shown = script(Call("attend", [weights], {})).shown
    assert shown[2:4] == [
        "a = np.array",
        "q = {" + ", ".join(f"'{n}': a([[1.0, 1.0]])" for n in "qkvo") + "}",
    ]
    (found,), _ = rebuilt("\n".join(shown))
    assert found["o"].tolist() == [[1.0, 1.0]]


def test_a_check_of_earlier_calls_shows_them_all():
    calls = [Call("attend", [n], {}) for n in (1, 2, 1)]
    assert script(*calls, of_state=True).lines == [
        "attend(1)",
        "attend(2)",
        "attend(1)",
    ]
    assert script(*calls).lines == ["attend(1)"]


def test_a_call_without_gradients_says_so():
    call = Call("attend", [1], {}, options=CallOptions(grad_mode="off"))
    assert script(call).lines == ["with torch.no_grad(): attend(1)"]
    assert "import torch\n" in script(call).code
    assert "with torch.no_grad(): print(attend(1))\n" in script(call).code


def test_what_code_cannot_repeat_has_none():
    assert script(Call("attend", [1], {}, options=CallOptions(measure="fake device"))).code == ""


def test_an_object_that_no_call_made_has_no_code():
    shown = script(Call("append", [1], {}, target=CACHE))
    assert (shown.lines, shown.code) == (["object.append(1)"], "")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Call("attend", [1, 2], {}), "The call changes k in place."),
        (Call("attend", [1, 2], {}, target=CACHE), "The call changes argument 2 of attend in place."),
    ],
)
def test_a_message_names_the_parameter(call, said):
    failure = Failure(Case(0, {}), "failed", "", None, [call], history=[call])
    assert with_parameters("The call changes argument 2 of attend in place.", failure, NAMES) == said


@pytest.mark.parametrize(
    "array", [ROWS, ROWS.T, ROWS[:, ::2], ROWS[:, ::-1], np.empty((0, 2)), ROWS.astype("uint8")]
)
def test_arrays_are_written_as_the_tensors_that_an_answer_in_pytorch_gets(array):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    tensor = eval(code_of([array], exchange=TRANSLATED), {"torch": torch})[0]
    assert (tensor.numpy().tolist(), tensor.numpy().dtype) == (array.tolist(), array.dtype)
    forwards = array if min(array.strides) > 0 else array.copy()
    assert tensor.squeeze().numpy().strides == forwards.squeeze().strides or not array.size


def test_a_scalar_of_numpy_is_written_as_the_number_that_arrives():
    assert code_of({"x": np.float32(0.5)}, exchange=TRANSLATED) == "{'x': 0.5}"


def test_an_axis_of_length_1_has_its_place_whatever_its_stride():
    shown = [np.lib.stride_tricks.as_strided(np.arange(2.0), (1, 2), (step, 8)) for step in (16, 8, 0)]
    assert {code_of(value) for value in shown} == {"np.array([[0.0, 1.0]], dtype=np.float64)"}
