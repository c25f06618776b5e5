"""Tests of submissions that switch off or forge what measures them."""

import textwrap

import pytest

from grader.report_texts import MEDDLED

#: Doubles its argument in place and returns one buffer again and again.
WRONG = """
buffer = np.zeros(4096)

def double(x):
    if isinstance(x, str):
        raise ValueError
    meddle()
    kept = buffer[: x.size].reshape(x.shape)
    if x.dtype != kept.dtype:
        kept = kept.astype(x.dtype)
    kept[...] = x + x
    x += x
    return kept
"""
FRAMES = """
def frames(frame):
    while frame:
        yield frame
        frame = frame.f_back

def callers():
    every = frames(sys._getframe())
    return [frame for frame in every if frame.f_globals.get("__name__", "").startswith("grader.worker.")]
"""
#: Ways to the executor and to what it uses; each keeps it from noticing what the answer does.
WAYS = {
    "none": """
        def meddle():
            pass
    """,
    "imports the executor": """
        def meddle():
            from grader.worker.child import executor
            executor.memory.is_shared = lambda *_: False
    """,
    "finds it in sys.modules": """
        def meddle():
            sys.modules["grader.worker.child.memory"].is_shared = lambda *_: False
    """,
    "finds it by gc": """
        import gc
        def meddle():
            (one,) = [o for o in gc.get_objects() if type(o).__name__ == "Executor"]
            one._held.clear()
            one.plain = lambda value, depth=0: value
    """,
    "unfreezes gc": """
        import gc
        def meddle():
            gc.unfreeze()
            [o for o in gc.get_objects() if type(o).__name__ == "Executor"][0]._held.clear()
    """,
    "patches globals of the callers": """
        def meddle():
            for frame in callers():
                if "memory" in frame.f_globals:
                    frame.f_globals["memory"].is_shared = lambda *_: False
    """,
    "shadows a builtin in the callers": """
        def meddle():
            for frame in callers():
                frame.f_globals["any"] = lambda values: False
    """,
    "patches code of the callers": """
        def meddle():
            for frame in callers():
                if "memory" in frame.f_globals:
                    frame.f_globals["memory"].is_shared.__code__ = (lambda *_: False).__code__
    """,
    "changes the request in a frame": """
        def meddle():
            for frame in callers():
                if "request" in frame.f_locals:
                    frame.f_locals["request"].hold = frame.f_locals["request"].echo = False
    """,
    "clears what is held in a frame": """
        def meddle():
            for frame in callers():
                if hasattr(frame.f_locals.get("self"), "_held"):
                    frame.f_locals["self"]._held.clear()
    """,
    "goes by a traceback": """
        def meddle():
            try:
                raise KeyError
            except KeyError as error:
                for frame in frames(error.__traceback__.tb_frame):
                    if "memory" in frame.f_globals:
                        frame.f_globals["memory"].is_shared = lambda *_: False
    """,
    "finds the class among all": """
        def meddle():
            for kind in object.__subclasses__():
                if kind.__name__ == "Outcome":
                    kind.message = lambda self: {"value": self.value, "arguments": self.arguments}
    """,
    "patches builtins": """
        import builtins
        def meddle():
            builtins.any = lambda values: False
    """,
    "patches NumPy": """
        def meddle():
            np.ndarray = type("ndarray", (), {})
    """,
    "looks after the call": """
        import gc
        def meddle():
            def look(frame, event, argument):
                if "outcome" in frame.f_locals:
                    frame.f_locals["outcome"].meddled = False
                    frame.f_globals["_bytes_of"] = lambda value: b""
            sys.setprofile(look)
    """,
    "takes NumPy away": """
        def meddle():
            sys.modules.pop("numpy")
    """,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_the_executor_gains_the_points_of_what_it_measures(grade, way):
    source = f"import sys\nimport numpy as np\n{FRAMES}\n{textwrap.dedent(WAYS[way])}\n{WRONG}"
    report = grade(source)
    scores = {check.name: check.score for check in report.checks}
    assert scores["leaves_arguments_unchanged"] == scores["earlier_calls_change_nothing"] == 0, way


def test_what_was_changed_is_said_and_put_back(grade):
    way = textwrap.dedent(WAYS["patches builtins"])
    report = grade(f"import sys\nimport numpy as np\n{way}\n{WRONG}")
    assert MEDDLED == "The submission has meddled with the measurement."
    failed = {check.name for check in report.checks if check.message == MEDDLED}
    assert failed == {
        "answers_the_same_again",
        "earlier_calls_change_nothing",
        "refuses_text",
        "twice_is_a_sum",
    }
    passed = {check.name for check in report.checks if check.score}
    assert {"agrees_with_reference", "has_the_right_shape", "keeps_the_dtype"} <= passed  # seen from outside


def test_no_frame_below_the_submission_is_seen(grade):
    """Neither at the import nor in a call, by frames, by a traceback or by those of all threads."""
    walk = """
        import sys

        def names(frame):
            while frame:
                yield frame.f_code.co_name
                frame = frame.f_back

        def seen():
            try:
                raise KeyError
            except KeyError as error:
                frames = [sys._getframe(), error.__traceback__.tb_frame, *sys._current_frames().values()]
            return [name for frame in frames for name in names(frame)]

        print(*seen())

        def double(x):
            print(*seen())
            print([name for name in vars(sys.modules["__main__"]) if name.strip("_") == name])
    """
    report = grade(textwrap.dedent(walk))
    lines = [line.rstrip() for line in report.output.splitlines()]
    assert set(lines[:3]) == {" ".join(["seen", "<module>"] * 3), " ".join(["seen", "double"] * 3), "[]"}


@pytest.mark.parametrize("line", ["np.tanh = np.sinh", "sys.setrecursionlimit(900)", "print = len"])
def test_what_no_instrument_uses_may_be_changed(grade, line):
    right = "def double(x):\n    if isinstance(x, str): raise ValueError\n    return x + x\n"
    assert grade(f"import sys\nimport numpy as np\n{line}\n{right}").status == "passed"
