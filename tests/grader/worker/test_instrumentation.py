"""FLOPs are counted, and gradients are computed."""

import contextlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from grader.worker.child.instrumentation import anatomy, with_flops, with_gradients  # noqa: E402 - torch first


def x(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


ATTENTIONS = [
    torch.nn.functional.scaled_dot_product_attention,
    lambda q, k, v: (q @ k.mT / 2).softmax(-1) @ v,
    lambda q, k, v: torch.stack([torch.stack([k[0, h] @ row for row in q[0, h]]) for h in range(2)]) @ v[0],
    torch.inference_mode()(torch.nn.functional.scaled_dot_product_attention),
]
#: Functions of a 3x3 matrix, with their numbers of multiplications.
PRODUCTS = {
    "mm": (lambda a: a @ a, 27),
    "bmm": (lambda a: torch.bmm(a[None], a[None]), 27),
    "mv": (lambda a: a @ a[0], 9),
    "dot": (lambda a: a[0] @ a[0], 3),
    "vdot": (lambda a: torch.vdot(a[0], a[0]), 3),
    "inner": (lambda a: torch.inner(a, a), 27),
    "outer": (lambda a: torch.outer(a[0], a[0]), 9),
    "kron": (lambda a: torch.kron(a, a), 81),
    "addmm": (lambda a: torch.addmm(a, a, a), 27),
    "addmm_": (lambda a: a.clone().addmm_(a, a), 27),
    "addmv": (lambda a: torch.addmv(a[0], a, a[0]), 9),
    "addr": (lambda a: torch.addr(a, a[0], a[0]), 9),
    "baddbmm": (lambda a: torch.baddbmm(a[None], a[None], a[None]), 27),
    "addbmm": (lambda a: torch.addbmm(a, a[None], a[None]), 27),
    "addcmul": (lambda a: torch.addcmul(a, a, a), 9),
    "addcdiv": (lambda a: torch.addcdiv(a, a, a), 9),
    "lerp": (lambda a: torch.lerp(a, a, a), 9),
    "cdist": (lambda a: torch.cdist(a, a), 27),
    "pdist": (lambda a: torch.pdist(a), 9),
    "einsum": (lambda a: torch.einsum("ij,kj->ik", a, a), 27),
    "tensordot": (lambda a: torch.tensordot(a, a, 1), 27),
    "chain_matmul": (lambda a: torch.linalg.multi_dot([a, a, a]), 54),
    "matrix_power": (lambda a: torch.linalg.matrix_power(a, 2), 27),
    "matrix_exp": (lambda a: torch.linalg.matrix_exp(a), 27),
    "vecdot": (lambda a: torch.linalg.vecdot(a, a), 9),
    "cross": (lambda a: torch.linalg.cross(a, a), 9),
    "linear": (lambda a: torch.nn.functional.linear(a, a, a[0]), 27),
    "bilinear": (lambda a: torch.nn.functional.bilinear(a[0], a[0], a[None]), 9),
    "conv1d": (lambda a: torch.nn.functional.conv1d(a[None], a[:, :, None]), 27),
    "cosine_similarity": (lambda a: torch.cosine_similarity(a, a), 9),
    "multi_head_attention": (lambda a: torch.nn.MultiheadAttention(3, 1).eval()(a, a, a)[0], 5 * 27),
    "foreach_mul": (lambda a: torch._foreach_mul([a, a], [a, a]), 18),
    "trapezoid": (lambda a: torch.trapezoid(a, a), 6),
}
COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
#: Operations that only read a shape, create new numbers of a given shape, or take a tensor out of its graph.
MAKE_ANEW = (
    *("empty", "new_empty", "zeros", "ones", "full", "rand", "new_", "resize", "is_same_size", "set"),
    "detach",
)
COUNTED = """
import sys, torch
from grader.worker.child.instrumentation import with_flops
layer = torch.nn.TransformerEncoderLayer(2, 1, 4, batch_first=True)
for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
    with_flops(mode()(lambda a: layer(a) @ a.mT), [torch.ones(1, 3, 2)], {})
print([name for name in sys.modules if name in ("torch._dynamo", "sympy")])
"""


def basic_operations():
    """Yield PyTorch's basic operations whose arguments without defaults are tensors."""
    # `dir(torch.ops.aten)` has those alone that something has used
    every = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names()]
    for name in sorted({name.partition(".")[0] for name in every if "::" not in name}):
        for overload in getattr(getattr(torch.ops.aten, name), "overloads", list)():
            with contextlib.suppress(RuntimeError):  # some exist only for TorchScript
                operation = getattr(getattr(torch.ops.aten, name), overload)
                required = [a for a in operation._schema.arguments if not a.has_default_value()]
                simple = required and all(str(a.type) == "Tensor" for a in required)
                composite = torch._C._dispatch_has_kernel_for_dispatch_key(operation.name(), COMPOSITE)
                if simple and not composite and not name.strip("_").startswith(MAKE_ANEW):
                    yield operation


def is_free(operation):
    """Return True if an operation on matrices creates new floating numbers but counts 0 FLOPs."""
    count = sum(not a.has_default_value() for a in operation._schema.arguments)
    args = [torch.eye(4) for _ in range(count)]
    try:
        value, flops = with_flops(operation, args, {})
    except (RuntimeError, IndexError, TypeError, ValueError):
        return False
    if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
        return not flops  # a sparse tensor has no storage of its own
    shares = isinstance(value, torch.Tensor) and any(
        value.untyped_storage().data_ptr() == arg.untyped_storage().data_ptr() for arg in args
    )
    numbers = isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel()
    return bool(numbers) and not flops and (operation._schema.is_mutable or not shares)


class TestFlops:
    def test_a_matrix_product_counts_two_for_each_multiplication(self):
        value, flops = with_flops(torch.matmul, [x(2, 3), x(3, 4)], {})
        assert flops == 2 * 2 * 3 * 4
        assert value.shape == (2, 4)

    def test_the_same_product_written_elementwise_counts_the_same(self):
        _, flops = with_flops(lambda a, b: (a[:, :, None] * b).sum(1), [x(2, 3), x(3, 4)], {})
        assert flops == 2 * 2 * 3 * 4

    def test_calls_are_counted_each_by_itself(self):
        assert with_flops(torch.matmul, [x(2, 2), x(2, 2)], {})[1] == 16
        assert with_flops(torch.matmul, [x(2, 2), x(2, 2)], {})[1] == 16

    @pytest.mark.parametrize("attend", ATTENTIONS)
    def test_attention_counts_its_scores_and_its_mixing(self, attend):
        q, k = x(1, 2, 3, 4), x(1, 2, 5, 4)
        products = 2 * (2 * 3 * 5 * 4) * 2
        assert products <= with_flops(attend, [q, k, k], {})[1] <= 2 * products

    @pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
    def test_the_mode_changes_no_count(self, mode):
        @mode()
        def layer(a, w):
            return torch.nn.functional.linear(torch.matmul(a, w), w)

        assert with_flops(layer, [x(2, 3, 4), x(4, 4)], {})[1] == 2 * (2 * 6 * 4 * 4)

    @pytest.mark.parametrize("product", PRODUCTS)
    def test_every_product_counts_each_multiplication(self, product):
        run, multiplications = PRODUCTS[product]
        assert with_flops(run, [x(3, 3)], {})[1] >= multiplications

    @pytest.mark.parametrize(
        ("move", "elements"),
        [
            (lambda a: a.reshape(-1).view(3, 2).T.expand(5, 2, 3)[0], 0),
            (lambda _: torch.zeros(4, 5), 0),
            (lambda _: torch.ones(4, 4, dtype=torch.bool).tril() & (torch.arange(4) > 1), 0),
            (lambda a: a.clone(), 6),
            (lambda a: torch.cat([a, a]), 12),
            (lambda a: a.sum(), 6),
            (lambda a: a.softmax(-1), 6),
            (lambda a: torch.zeros(1, 3).expand(2, 3) + a, 6),
            (lambda a: a[torch.tensor([0])], 6),
        ],
    )
    def test_one_look_at_each_element_counts_one_and_a_view_nothing(self, move, elements):
        assert with_flops(move, [x(2, 3)], {})[1] == elements

    def test_an_unknown_product_counts_its_result_times_the_largest_axis(self):
        assert with_flops(lambda a: torch.linalg.solve(a, a), [x(4, 4) + torch.eye(4)], {})[1] >= 4**3

    def test_no_operation_on_floating_numbers_is_free(self):
        """This runs every basic operation that accepts matrices as its only arguments."""
        free = [str(operation) for operation in basic_operations() if is_free(operation)]
        assert free == []

    @pytest.mark.slow
    def test_counting_does_not_import_the_compiler(self):
        """The import takes seconds. This test needs a new process, since another one may have imported it."""
        told = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True)
        assert (told.stdout, told.returncode) == ("[]\n", 0), told.stderr


class TestGradients:
    def test_every_floating_argument_has_one(self):
        value, found = with_gradients(lambda a, b, n: a * b * n, [x(2), x(2)], {"n": 3})
        assert found.keys() == {"args[0]", "args[1]"}
        assert value.tolist() == [3, 12]

    def test_keyword_arguments_go_by_their_names(self):
        _, found = with_gradients(lambda a: 2 * a, [], {"a": x(2)})
        assert found.keys() == {"a"}

    def test_they_are_those_of_a_fixed_projection(self):
        _, one = with_gradients(lambda a: 2 * a, [x(3)], {})
        _, two = with_gradients(lambda a: a + a, [x(3)], {})
        assert torch.equal(one["args[0]"], two["args[0]"])
        assert bool((one["args[0]"] != 0).all())

    def test_a_detached_argument_has_zeros(self):
        _, found = with_gradients(lambda a, b: a.detach() * b, [x(2), x(2)], {})
        assert not found["args[0]"].any()
        assert found["args[1]"].all()

    def test_a_result_made_anew_has_zeros(self):
        _, found = with_gradients(lambda a: torch.tensor(a.tolist()), [x(2)], {})
        assert found["args[0]"].tolist() == [0, 0]

    def test_parameters_have_theirs(self):
        layer = torch.nn.Linear(2, 1)
        _, found = with_gradients(layer, [x(1, 2)], {})
        assert found.keys() == {"args[0]", "weight", "bias"}

    def test_a_frozen_parameter_has_zeros(self):
        layer = torch.nn.Linear(2, 1)
        layer.bias.requires_grad_(False)
        _, found = with_gradients(layer, [x(1, 2)], {})
        assert found["bias"].tolist() == [0]

    def test_infinite_results_pull_at_nothing(self):
        _, found = with_gradients(lambda a: a.masked_fill(a > 1, -torch.inf), [x(2)], {})
        assert torch.isfinite(found["args[0]"]).all()

    def test_several_results_add_up(self):
        _, found = with_gradients(lambda a: (a, [2 * a]), [x(2)], {})
        _, alone = with_gradients(lambda a: 3 * a, [x(2)], {})
        assert torch.allclose(found["args[0]"], alone["args[0]"])

    def test_the_callers_tensors_are_left_alone(self):
        mine = x(2)
        with_gradients(lambda a: a * 2, [mine], {})
        assert not mine.requires_grad
        assert mine.grad is None

    @pytest.mark.parametrize(
        "function", [lambda a: a.tolist(), torch.nn.Identity], ids=["no tensor", "a class"]
    )
    def test_where_there_is_nothing_to_derive_there_is_none(self, function):
        assert with_gradients(function, [x(2)], {})[1] is None

    def test_integers_are_not_differentiated(self):
        _, found = with_gradients(lambda ids, table: table[ids], [torch.tensor([1]), x(2, 2)], {})
        assert found.keys() == {"args[1]"}


def test_a_large_buffer_is_left_out_of_the_anatomy():
    module = torch.nn.Linear(2, 2)
    module.register_buffer("mask", torch.ones(1024, 1024))
    module.register_buffer("scale", torch.ones(3))
    assert list(anatomy(module)["buffers"]) == ["scale"]
