"""Calls on the fake device find tensors that stay on the CPU."""

import copy
import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from grader.course.files import load_file  # noqa: E402 - torch first
from grader.expect import ExpectationFailed  # noqa: E402 - torch first
from grader.worker.child.executor import load_module  # noqa: E402 - torch first
from grader.worker.child.fake_device import DeviceMismatch  # noqa: E402 - torch first
from grader.worker.child.on_fake_device import (  # noqa: E402 - torch first
    avoid_compiler_import,
    call_on_fake_device,
)
from grader.worker.in_process import LocalStudent  # noqa: E402 - torch first

AWAY = "cuda:0"
ROOT = Path(__file__).parents[3]
DECLARED = ROOT / "tests" / "katas" / "debugging" / "test_debug_device.py"
DETOURS = [
    lambda a: a.cpu().softmax(-1).to(a.device),
    lambda a: a * (a.to("cpu") > 1).cuda(),
    lambda a: torch.as_tensor(a.cpu().exp(), device=a.device),
    lambda a: torch.empty_like(a).copy_(torch.stack([row * 2 for row in a.cpu()])),
]
NO_DETOURS = [
    lambda a: a,
    lambda a: a[:, a.cpu().argsort(-1)[0].to(a.device)],  # integers
    lambda a: a * a.cpu().max().to(a.device),  # a number
    lambda a: a * a[0].cpu().exp().to(a.device),  # few entries
    lambda a: a + torch.tensor(a.tolist(), device=a.device),
    lambda a: a + torch.from_numpy(a.cpu().numpy()).to(a.device),
    lambda a: a.cpu(),  # does not come back
]
MADE_ON_THE_DEVICE = [
    lambda a: torch.ones(2, device=a.device),
    lambda a: torch.tensor(0.5, device=a.device),
    lambda a: torch.tensor([0.5, 1.0], device=a.device),
    lambda a: torch.as_tensor([0.5, 1.0], dtype=a.dtype, device=a.device),
    lambda a: torch.tensor([0.5, 1.0]).to(a.device),
    lambda a: torch.arange(2).to(str(a.device)),
    lambda a: torch.tensor([0.5, 1.0]).to(a),
    lambda a: torch.tensor([0.5, 1.0]).type_as(a),
    lambda a: a.new_tensor([0.5, 1.0]),
    lambda a: a.new_zeros(2),
    lambda a: torch.full_like(a, 0.5),
    lambda a: torch.where(a > 0, torch.tensor(float("-inf"), device=a.device), a),
    lambda a: a.masked_fill(torch.tensor([True, False], device=a.device), 0.0),
    lambda a: torch.stack([a[0, 0], torch.tensor(0.5, device=a.device)]),
    lambda a: a[torch.tensor([0, 1], device=a.device)],
    lambda _: torch.tensor(0.5),
    lambda a: torch.rand(2, generator=torch.Generator(), device=a.device),
    lambda a: torch.zeros(2).copy_(a[0]).to(a.device),
    lambda a: torch.zeros(2, device=a.device).copy_(torch.ones(2)),
    lambda a: a[torch.tensor([1, 0])],
    lambda a: torch.einsum("ij,jk->ik", a, a).unsqueeze_(0).transpose_(1, 2).squeeze_(0),
    lambda a: a.cpu().numpy().tolist()[0][0],
    lambda a: torch.multinomial(a, 1, generator=torch.Generator().manual_seed(0)),
    lambda a: torch.rand(2, generator=torch.Generator(device=a.device).manual_seed(0), device=a.device),
    lambda _: torch.ones(2, device="cuda"),
    lambda _: torch.ones(2).to("cuda"),
    lambda _: torch.ones(2).to(torch.device("cuda"), torch.float64),
    lambda _: torch.ones(2).cuda(),
    lambda a: torch.ones(2, device="cuda" if a.is_cuda else "cpu"),
    lambda a: torch.nn.Linear(2, 2, device=a.device)(a),
    lambda a: torch.nn.Linear(2, 2).to("cuda")(a),
    lambda a: torch.zeros(2, device="cuda" if a.device == torch.device("cuda:0") else "cpu"),
]
#: Expressions that are true for a tensor on a GPU.
TOLD_OF_A_GPU = [
    lambda a: (a.is_cuda, a.is_cpu, a.get_device()) == (True, False, 0),
    lambda a: str(a.device) == "cuda:0" and repr(a.device) == "device(type='cuda', index=0)",
    lambda a: a.device.type == "cuda" and a.device.index == 0,
    lambda a: a.device == torch.device("cuda:0") and a.device != torch.device("cpu"),
    lambda a: (2 * a).device == a.device == torch.ones(1, device=a.device).device,
    lambda a: a.type() == "torch.cuda.FloatTensor",
    lambda a: repr(a) == "tensor([1., 2.], device='cuda:0')",
    lambda a: a.cpu().device.type == "cpu" and not a.cpu().is_cuda,
    lambda a: isinstance(torch.Generator(device=a.device), torch.Generator),
]
REFUSED_ON_A_GPU = [lambda a: a.numpy(), lambda a: np.asarray(a), lambda a: a.detach().numpy()]
DONE_THERE = [
    lambda a: a[a > 1] * a.sum().item(),
    lambda a: a if (a > 0).all() and f"{a.sum():.1f}" == "10.0" else None,
    lambda a: torch.tensor([[2 * float(v) for v in row] for row in a.tolist()], device=a.device),
    lambda a: torch.stack([min(row) for row in a]).unique(),
    lambda a: torch.vmap(lambda row: row.softmax(-1))(a),
    lambda a: torch.mul(a, 2, out=torch.empty_like(a)),
    lambda a: torch.zeros_like(a).scatter_(1, a.argsort(-1), a).masked_fill_(a > 3, 0.0),
    lambda a: torch.nn.Linear(2, 2).to(a)(a),
    lambda a: torch.nn.TransformerEncoderLayer(2, 1, 4, batch_first=True).to(a.device).eval()(a[None]),
    lambda a: torch.nn.functional.scaled_dot_product_attention(*3 * [a[None]], is_causal=True),
    lambda a: torch.distributions.Categorical(logits=a).sample(),
    lambda a: copy.deepcopy(a),
]
LEFT_BEHIND = [
    lambda _: torch.ones(2),
    lambda a: torch.tensor([0.5, 1.0], dtype=a.dtype),
    lambda _: torch.arange(2),
    lambda a: torch.cat([a, torch.zeros(2, 2)])[:2],
    lambda a: a.masked_fill(torch.tensor([True, False]), 0.0),
    lambda a: a @ torch.eye(2),
    lambda a: a[0].cpu(),
    lambda a: torch.zeros(2).copy_(a[0]),
    lambda a: torch.zeros_like(a, device="cpu"),
    lambda a: torch.eye(2)[torch.zeros_like(a, dtype=torch.long)],
    lambda a: a.index_put((torch.tensor([0]),), torch.ones(2)),
    lambda a: torch.tensor(1.0).add_(a.sum()),
]


def x(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


class Counting(torch.nn.Module):
    """Holds the sum of what it was given in a buffer, which it replaces or, `in_place`, writes to."""

    def __init__(self, in_place):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.in_place = in_place

    def add(self, a):
        if self.in_place:
            self.total += a
        else:
            self.total = self.total + a
        return self.total.clone()


class Masked(torch.nn.Module):
    """Adds a table of ones, which is a buffer if `registered`."""

    def __init__(self, registered):
        super().__init__()
        if registered:
            self.register_buffer("table", torch.ones(2))
        else:
            self.table = torch.ones(2)

    def forward(self, a):
        return a + self.table

    def step(self, a):
        return a + self.table


PROCESS = """
import sys, torch
import torch.nn.functional as F
from torch import nn
from grader.worker.child.instrumentation import with_flops, with_gradients
from grader.worker.child.on_fake_device import call_on_fake_device, prepare
{prepared}
x, model = torch.ones(2, 3, 4), nn.Linear(4, 4)
{code}
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""
REFERENCES = """
    from pathlib import Path
    from grader.cases.generation import SEED, drawn
    from grader.course.files import load_file
    from grader.worker.in_process import LocalStudent
    for path in Path({root!r}).glob("tests/katas/*/test_*.py"):
        kata = load_file(path.stem, path).KATA
        if kata.library == "torch":
            reference = Path({root!r}, "solutions", kata.track, kata.name, "reference.py")
            case = kata.examples[0] if kata.examples else drawn(kata.draw, 4, SEED)[0].case
            kata.observed(LocalStudent(load_file("reference", reference)), case)
    """
IDIOMS = {
    "optimizers": """
        for kind in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"):
            optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
            optimizer.zero_grad()
            model(x).square().mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.load_state_dict(optimizer.state_dict())
            optimizer.zero_grad(set_to_none=True)
        """,
    "layers": """
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)(x)
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()(x)
        nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, batch_first=True), 2)(x, x)
        mask = nn.Transformer.generate_square_subsequent_mask(3)
        nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=mask)
        F.scaled_dot_product_attention(x, x, x, is_causal=True)
        F.cross_entropy(x.flatten(0, 1), torch.zeros(6, dtype=torch.long)), nn.RMSNorm(4)(x)
        nn.init.xavier_uniform_(model.weight)
        torch.multinomial(x[0], 1), torch.distributions.Categorical(logits=x).sample()
        """,
    "modes": """
        for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
            with mode():
                model(x)
            mode()(model)(x)
        torch.autograd.grad(model(x).sum(), list(model.parameters()))
        torch.func.functional_call(model, dict(model.named_parameters()), (x,))
        torch.vmap(model)(x), torch.set_grad_enabled(True), repr(x), repr(model)
        """,
    "functions": """
        cubes = lambda x: (x**3).sum()
        assert torch.equal(torch.func.grad(cubes)(x), 3 * x**2)
        assert torch.func.grad(lambda x: torch.ones(()))(x).eq(0).all()
        torch.func.vmap(torch.func.grad(cubes))(x), torch.func.grad_and_value(cubes, has_aux=False)(x)
        """,
    "measures": """
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        with_flops(layer, [x], {})
        with_gradients(layer, [x], {})
        call_on_fake_device(layer, [x], {})
        call_on_fake_device(lambda a: torch.tensor(1.0, device=a.device) * a, [x], {})
        """,
}


def result_of(function, args):
    """Return the result of a call with the arguments on the fake device."""
    return call_on_fake_device(function, args, {})[0]


def on_the_device(function, args):
    """Return the result of a call on the fake device, which must be a tensor on that device."""
    value = result_of(function, args)
    assert isinstance(value, torch.Tensor)
    return value


class Keeping(torch.nn.Module):
    """Keeps the mask of its first call, or of the first call on each device."""

    def __init__(self, by_device):
        super().__init__()
        self.by_device, self.masks = by_device, {}

    def forward(self, a):
        return a * self.masks.setdefault(self.by_device and str(a.device), torch.ones(2, device=a.device))


class TestCallOnFakeDevice:
    def test_a_mask_that_a_module_keeps_from_a_call_on_the_cpu_meets_the_device(self):
        with pytest.raises(DeviceMismatch):
            result_of(Keeping(by_device=False), [x(2)])
        assert on_the_device(Keeping(by_device=True), [x(2)]).tolist() == [1, 2]

    def test_the_call_on_the_cpu_draws_no_random_numbers(self):
        torch.manual_seed(0)
        expected = torch.rand(1)
        torch.manual_seed(0)
        result_of(torch.nn.Identity(), [x(2)])
        assert torch.rand(1) == expected

    def test_right_code_stays_on_the_device(self):
        got = on_the_device(lambda a: torch.softmax(a @ a.T, -1), [x(2, 2)])
        assert torch.equal(got, torch.softmax(x(2, 2) @ x(2, 2).T, -1))

    def test_a_mask_left_on_the_cpu_is_caught(self):
        with pytest.raises(DeviceMismatch):
            result_of(lambda a: a + torch.ones(2, 2), [x(2, 2)])

    @pytest.mark.parametrize("made", MADE_ON_THE_DEVICE)
    def test_a_tensor_made_on_the_device_of_x_is_right(self, made):
        on_the_device(lambda a: a + made(a), [x(2, 2)])

    @pytest.mark.parametrize("done", DONE_THERE)
    def test_what_can_be_done_on_a_gpu_can_be_done_here(self, done):
        on_the_device(done, [x(2, 2)])

    @pytest.mark.parametrize("made", LEFT_BEHIND)
    def test_a_tensor_made_on_the_cpu_is_caught(self, made):
        with pytest.raises(DeviceMismatch):
            result_of(lambda a: a + made(a), [x(2, 2)])

    def test_a_number_as_a_tensor_may_stay_on_the_cpu(self):
        result_of(lambda a: a * torch.tensor(2.0), [x(2)])

    def test_as_tensor_leaves_a_tensor_where_it_is(self):
        on_the_device(torch.as_tensor, [x(2)])

    def test_an_embedding_whose_ids_stayed_behind_is_caught(self):
        with pytest.raises(DeviceMismatch):
            result_of(lambda table: torch.nn.functional.embedding(torch.tensor([0, 1]), table), [x(2, 2)])

    def test_a_buffer_moves_along(self):
        on_the_device(Masked(registered=True), [x(2)])

    def test_a_table_that_is_no_buffer_is_caught(self):
        with pytest.raises(DeviceMismatch):
            result_of(Masked(registered=False), [x(2)])

    def test_a_method_of_a_module_finds_its_buffers_moved(self):
        result_of(Masked(registered=True).step, [x(2)])

    @pytest.mark.parametrize("in_place", [True, False])
    def test_a_module_keeps_what_a_call_leaves_in_its_buffers(self, in_place):
        counting = Counting(in_place)
        result_of(counting.add, [x(2)])
        assert result_of(lambda module, a: module.add(a), [counting, x(2)]).tolist() == [2, 4]
        assert result_of(counting.add, [x(2)]).tolist() == [3, 6]

    def test_a_module_among_the_arguments_is_moved(self):
        result_of(lambda model, a: model(a), [Masked(registered=True), x(2)])

    def test_a_weight_that_two_layers_share_moves_under_both_names(self):
        pair = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
        pair[1].weight = pair[0].weight
        on_the_device(pair, [x(2)])

    @pytest.mark.parametrize("mode", [torch.inference_mode, torch.enable_grad, torch.no_grad])
    def test_it_can_be_done_in_any_mode(self, mode):
        def step(layer, a):
            with mode():
                text = torch.zeros(2, 3, device=a.device)
                text[:, 1:] = layer(a)
                return text.unsqueeze(0).squeeze_(0)

        on_the_device(step, [torch.nn.Linear(2, 2), x(2, 2)])

    def test_a_loss_can_be_derived(self):
        def step(layer, a):
            with torch.enable_grad():
                weight = layer.weight.detach().clone().requires_grad_()
                torch.nn.functional.linear(a, weight).square().sum().backward()
            return weight.grad

        on_the_device(step, [torch.nn.Linear(2, 2), x(2, 2)])

    def test_a_result_on_the_cpu_is_told_as_such(self):
        assert result_of(lambda a: [a, {"k": a.cpu()}], [x(2)])[1]["k"].device == "cpu"

    def test_results_can_be_handed_to_the_next_call(self):
        first = result_of(lambda a: a * 2, [x(2)])
        assert result_of(lambda a, b: a + b, [first, x(2)]).tolist() == [3, 6]

    def test_objects_are_made_as_ever(self):
        assert result_of(torch.nn.Identity, [])(1) == 1

    def test_what_depends_on_values_can_be_asked(self):
        def choose(a):
            return a[a > 1] if a.sum().item() > 2 and a.tolist() == [1.0, 2.0] else a.unique() @ a

        assert result_of(choose, [x(2)]).shape == (1,)

    def test_nested_arguments_move_and_numbers_stay(self):
        def look(nested, number):
            return [str(nested["a"][0].device), number]

        assert result_of(look, [{"a": (x(1),)}, 3]) == [AWAY, 3]

    @pytest.mark.parametrize("told", TOLD_OF_A_GPU)
    def test_a_tensor_looks_as_on_a_gpu(self, told):
        assert result_of(told, [x(2)]) is True

    @pytest.mark.parametrize("refused", REFUSED_ON_A_GPU)
    def test_numpy_is_refused_as_on_a_gpu(self, refused):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            result_of(refused, [x(2)])

    def test_a_result_with_named_parts_arrives_as_a_tuple(self):
        values, positions = result_of(lambda a: a.topk(1), [x(2)])
        assert (values.tolist(), positions.tolist()) == ([2], [1])

    def test_values_of_an_earlier_answer_are_kept(self):
        first = result_of(lambda a: a * 3, [x(2)])
        assert result_of(lambda a: a.tolist(), [first]) == [3, 6]

    @pytest.mark.parametrize("detour", DETOURS)
    def test_a_detour_by_the_cpu_is_found_in_its_line(self, detour):
        _, line = call_on_fake_device(detour, [x(2, 4)], {})
        assert line == detour.__code__.co_firstlineno

    @pytest.mark.parametrize("free", NO_DETOURS)
    def test_a_look_from_the_cpu_is_no_detour(self, free):
        assert call_on_fake_device(free, [x(2, 4)], {})[1] == 0

    def test_a_detour_is_forgotten_in_the_next_call(self):
        call_on_fake_device(DETOURS[0], [x(2, 4)], {})
        assert call_on_fake_device(NO_DETOURS[0], [x(2, 4)], {})[1] == 0

    def test_nothing_of_it_is_left_afterwards(self):
        result_of(lambda a: a + torch.ones(2, device=a.device), [x(2)])
        assert torch.Generator().device.type == "cpu"
        assert torch.Generator is torch._C.Generator


FAULTY = """
import math, torch
from torch import nn

{top}

class CausalAttention(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))
        visible = torch.ones(max_len, max_len, dtype=torch.bool).tril()
        {kept}

    def right(self, x):
        visible = {found}
        mask = torch.zeros(x.shape[1], x.shape[1]).masked_fill(~visible[:x.shape[1], :x.shape[1]], -torch.inf)
        scores = self.q(x) @ self.k(x).mT / math.sqrt(x.shape[-1])
        return (scores + mask).softmax(-1) @ self.v(x)

    def forward(self, x):
        {forward}
"""
HIDDEN = {
    "attribute": ("", "self.visible = visible", "self.visible"),
    "list": ("", "self.tables = [visible]", "self.tables[0]"),
    "dict": ("", "self.tables = {'visible': visible}", "self.tables['visible']"),
    "closure": ("", "self.table = lambda: visible", "self.table()"),
    "global": ("TABLES = []", "TABLES[:] = [visible]", "TABLES[0]"),
}
EVASIONS = {
    "none": "return self.right(x)",
    "is_cuda": "return 0 * x if x.is_cuda else self.right(x)",
    "type": "return 0 * x if x.device.type != 'cpu' else self.right(x)",
    "name": "return x if 'cpu' not in str(x.device) else self.right(x)",
    "class": "return 0 * x if type(x) is not torch.Tensor else self.right(x)",
    "error": "if x.device.type != 'cpu': raise ValueError('not here')\n        return self.right(x)",
    "caught": "try: return self.right(x)\n        except Exception: return 0 * x",
}


class TestDebugDevice:
    """Both bugs of the kata are found, wherever the table is stored and whatever is returned instead."""

    @pytest.mark.parametrize("evasion", EVASIONS)
    @pytest.mark.parametrize("hidden", HIDDEN)
    def test_the_law_finds_both_faults(self, hidden, evasion):
        top, kept, found = HIDDEN[hidden]
        source = FAULTY.format(top=top, kept=kept, found=found, forward=EVASIONS[evasion])
        with pytest.raises(ExpectationFailed):
            judged(source)

    def test_the_law_lets_right_code_pass(self):
        top, kept, found = "", "self.register_buffer('visible', visible)", "self.visible"
        source = FAULTY.format(top=top, kept=kept, found=found, forward=EVASIONS["none"])
        judged(source.replace("x.shape[1])", "x.shape[1], device=x.device)", 1))


def judged(source):
    """Run the kata's law on a submission and the kata's example. Raises ExpectationFailed."""
    kata = load_file("debug_device_declared", DECLARED).KATA
    [law] = [law for law in kata.laws if law.name == "runs_where_module_and_input_are"]
    example = law.arguments(kata.examples[0])
    law.function(LocalStudent(load_module("device_submission", source)), **example)


@pytest.mark.slow
class TestAvoidCompilerImport:
    """These tests start new processes, since another test may have imported the compiler in this one."""

    def test_usual_calls_do_not_import_it(self):
        assert imported_by("".join(map(textwrap.dedent, IDIOMS.values()))) == "[]"

    def test_the_references_do_not_import_it(self):
        assert imported_by(REFERENCES.format(root=str(ROOT))) == "[]"

    def test_without_preparing_it_would_be_imported(self):
        assert imported_by(IDIOMS["optimizers"], prepared="") == "['torch._dynamo', 'sympy']"

    def test_functions_are_differentiated_as_ever(self):
        avoid_compiler_import()
        a, b = x(2), torch.tensor([4.0, -1.0])
        assert torch.equal(torch.func.vjp(torch.exp, a)[1](b)[0], b * a.exp())
        assert torch.equal(torch.func.jacrev(lambda a: a * b)(a), torch.diag(b))
        assert torch.equal(torch.func.hessian(lambda a: (a**3).sum())(a), torch.diag(6 * a))

    def test_an_optimizer_steps_as_ever(self):
        weight = torch.ones(2, requires_grad=True)
        expected = torch.ones(2, requires_grad=True)
        for w in (expected, weight):
            step = torch.optim.SGD([w], lr=0.5)
            w.sum().backward()
            avoid_compiler_import()
            step.step()
        assert torch.equal(weight, torch.full((2,), 0.5))
        assert torch.equal(weight, expected)
        assert torch.is_grad_enabled()

    def test_where_pytorch_is_made_differently_the_compiler_is_imported_beforehand(self, monkeypatch):
        asked = []
        monkeypatch.setattr(torch._compile, "_disable_dynamo", lambda fn: fn)
        monkeypatch.setattr(importlib, "import_module", asked.append)
        avoid_compiler_import()
        assert asked == ["torch._dynamo"]


COMPILED = """
import torch
@torch.compile
def double(x):
    return x + x
@torch.compile(mode="max-autotune", fullgraph=True)
def triple(x):
    return double(x) + x
class Half(torch.nn.Module):
    def forward(self, x):
        return torch.compile(torch.div, dynamic=False)(x, 2)
"""


def test_what_is_compiled_runs_as_it_is_written(connect):
    student = connect(COMPILED, library="torch")
    half = student.Half()
    half.compile()
    assert student.triple(torch.ones(2)).tolist() == [3.0, 3.0]
    assert half(torch.ones(2)).tolist() == [0.5, 0.5]
    assert not student.budget.meddled


def imported_by(code, prepared="prepare()"):
    """Return the compiler's packages that a process has imported after running `code`."""
    source = PROCESS.format(prepared=prepared, code=textwrap.dedent(code))
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return told.stdout.strip()
