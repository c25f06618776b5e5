"""The largest tensor that a call makes, the numbers that it writes, and the memory of an object."""

import functools
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from grader.worker.child.memory import elements_held, is_entangled, with_tensors_made  # noqa: E402 - torch first


def x(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def made_by(function, *args):
    """The elements of the largest tensor made, and the numbers written."""
    written, elements, _, _ = with_tensors_made(function, list(args), {})[1]
    return elements, written


class Sly(torch.Tensor):
    """A tensor that pretends to have no elements."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in ("numel", "untyped_storage", "element_size"):
            return 0
        return super().__torch_function__(func, types, args, kwargs or {})


#: Functions of a 2x3 tensor, with the elements of the largest tensor made and the numbers written.
OPERATIONS = {
    "a new tensor": (lambda a: a + 1, 6, 6),
    "a mask": (lambda _: torch.ones(4, 4, dtype=torch.bool), 16, 16),
    "views": (lambda a: a.mT.reshape(3, 2).expand(50, 3, 2)[0].flatten(), 6, 6),
    "views alone": (lambda a: a.view(3, 2).T.expand(50, 2, 3)[:, 0], 0, 0),
    "in place": (lambda a: a.mul_(2).add_(1), 0, 12),
    "a part in place": (lambda a: a[:1].mul_(2), 0, 3),
    "a buffer": (lambda a: torch.add(a, 1, out=torch.empty(2, 3)), 6, 12),
    "a buffer that grows": (lambda a: torch.add(a, 1, out=torch.empty(0)), 6, 6),
    "a part of a buffer": (lambda _: torch.empty(9)[:2], 9, 9),
    "a part of what is larger": (lambda a: torch.cat([a, a])[:1], 12, 12),
    "several results": (lambda a: a.topk(2), 4, 8),
    "lists": (lambda a: torch.stack([a, a, a]), 18, 18),
    "a sparse tensor": (lambda _: torch.eye(3).to_sparse(), 9, 18),
    "a subclass": (lambda a: (a.as_subclass(Sly) + 1)[:1], 6, 6),
    "einsum": (lambda a: torch.einsum("ij,kl->ijkl", a, a), 36, 36),
    "inference": (torch.inference_mode()(lambda a: (a @ a.T).softmax(-1)), 4, 8),
    "NumPy": (lambda a: torch.from_numpy(a.numpy() @ a.numpy().T), 0, 0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_new_tensors_count_by_their_storage_and_views_nothing(name):
    function, elements, written = OPERATIONS[name]
    assert made_by(function, x(2, 3)) == (elements, written)


def test_the_largest_tensor_has_its_shape_and_its_operation():
    value, counted = with_tensors_made(torch.matmul, [x(2, 4, 3), x(2, 3, 5)], {})
    assert counted == [40, 40, [2, 4, 5], "aten.bmm"]
    assert value.shape == (2, 4, 5)


def test_the_first_of_the_largest_is_named():
    assert with_tensors_made(lambda a: (a + 1).exp(), [x(2)], {})[1] == [4, 2, [2], "aten.add"]


def test_a_call_runs_without_gradients():
    value, _ = with_tensors_made(lambda a: a * 2, [x(2).requires_grad_()], {})
    assert not value.requires_grad


def test_a_fused_attention_writes_fewer_numbers_than_there_are_scores():
    q = x(1, 2, 96, 2) / 400
    scores, written = made_by(lambda q: (q @ q.mT).softmax(-1) @ q, q)
    assert scores == 2 * 96 * 96 < written
    assert made_by(lambda q: torch.nn.functional.scaled_dot_product_attention(q, q, q), q)[1] < scores


class Holder:
    """An object with one attribute."""

    def __init__(self, held):
        self.held = held


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held


def closure_over(tensor):
    return lambda: tensor


def itself():
    holder = Holder([x(3)])
    holder.held.append(holder)
    return holder


SHARED = x(4)
#: Objects, with the elements that they hold.
HOLDERS = {
    "nothing": (Holder(None), 0),
    "a tensor": (Holder(x(2, 3)), 6),
    "nested": (Holder({"k": [(x(2), x(3))], 1: {"v": x(4)}}), 9),
    "slots": (Slotted(x(3)), 3),
    "a view": (Holder(x(10)[:1]), 10),
    "two views of one tensor": (Holder([SHARED[:1], SHARED[1:]]), 4),
    "a module": (Holder(torch.nn.Linear(2, 3)), 9),
    "a method": (Holder(Holder(x(5)).__init__), 5),
    "a closure": (Holder(closure_over(x(5))), 5),
    "a partial": (Holder(functools.partial(print, x(5))), 5),
    "itself": (itself(), 3),
    "other dtypes": (Holder([x(3).double(), x(3).bool()]), 6),
    "a class": (Holder(type("Class", (), {"held": x(3)})), 0),
    "a function": (Holder(made_by), 0),
    "a Python module": (Holder(types.ModuleType("held")), 0),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_an_object_holds_every_tensor_that_it_leads_to(name):
    holder, elements = HOLDERS[name]
    assert elements_held(holder, types.SimpleNamespace(__name__="submission")) == elements


CACHES = {
    "arrays": "import numpy as np\nclass Cache:\n    def __init__(self): self.held = [np.ones((4, 32))[:1]]",
    "bytes": "class Cache:\n    def __init__(self): self.held = bytes(4 * 128)",
    "text": "class Cache:\n    def __init__(self): self.held = 4 * 128 * 'x'",
    "an array of the standard library": "from array import array\n"
    "class Cache:\n    def __init__(self): self.held = array('f', range(128))",
    "a list": "class Cache:\n    def __init__(self): self.held = [1.5] * 128",
    "nested lists": "class Cache:\n    def __init__(self): self.held = [[1.5] * 8 for _ in range(16)]",
    "a global": "import torch\nHELD = []\nclass Cache:\n    def __init__(self): HELD.append(torch.ones(128))",
    "a class": "import torch\nclass Cache:\n    def __init__(self): Cache.held = torch.ones(128)",
    "a default": "import torch\ndef keep(x, held=[]): held.append(x)\n"
    "class Cache:\n    def __init__(self): keep(torch.ones(128))",
}


@pytest.mark.parametrize("place", CACHES)
def test_numbers_count_wherever_a_submission_keeps_them(meet_locally, place):
    student = meet_locally(CACHES[place])
    assert student.memory_of(student.Cache()) == 128


def test_a_statement_in_the_file_does_not_count(meet_locally):
    text = "x" * 4000
    student = meet_locally(f'"""{text}"""\n\nclass Cache:\n    """{text}"""\n    held = 1')
    assert student.memory_of(student.Cache()) == 0


def test_sizes_and_positions_do_not_count(meet_locally):
    student = meet_locally("class Cache:\n    def __init__(self): self.window, self.at = 4, list(range(40))")
    assert student.memory_of(student.Cache()) == 0


def test_an_object_that_keeps_a_supplied_function_does_not_hold_all_others(meet_locally):
    student = meet_locally(
        """
        class Keeper:
            def __init__(self, function, tensor=None): self.held = [function, tensor]
        """
    )
    large, small = student.Keeper(print, x(1000)), student.Keeper(lambda: None, x(2))
    assert [student.memory_of(large), student.memory_of(small)] == [1000, 2]


#: Arrays, and whether writing into one of their entries changes another.
ENTRIES = {
    "an array": (np.zeros((2, 3)), False),
    "a transposed slice": (np.zeros((4, 6, 2))[::-2, 1::3].T, False),
    "axes of length one": (np.zeros((1, 3))[:, None], False),
    "no entries": (np.lib.stride_tricks.as_strided(np.zeros(3), (0, 3), (0, 8)), False),
    "what is read-only": (np.broadcast_to(np.zeros(3), (2, 3)), False),
    "windows": (np.lib.stride_tricks.sliding_window_view(np.zeros(5), 3, writeable=True)[::-1], True),
    "one row many times": (np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8)), True),
}


@pytest.mark.parametrize(("array", "entangled"), ENTRIES.values(), ids=ENTRIES)
def test_entries_with_the_same_memory_are_found(array, entangled):
    assert is_entangled([np.zeros(2), array], []) is entangled
    assert not is_entangled(array, [[array]])
