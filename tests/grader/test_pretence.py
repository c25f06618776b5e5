"""Life on a pretended device."""

import copy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from grader.worker.elsewhere import DEVICE, LeftBehind  # noqa: E402 - torch first
from grader.worker.pretence import Pretence  # noqa: E402 - torch first

AWAY = str(DEVICE)
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
]
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


class Masked(torch.nn.Module):
    """Adds a table of ones, a buffer or not."""

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


class TestPretence:
    def test_right_code_stays_on_the_device(self):
        got = Pretence().call(lambda a: torch.softmax(a @ a.T, -1), [x(2, 2)], {})
        assert got.device == AWAY
        assert got.shape == (2, 2)

    def test_a_mask_left_on_the_cpu_is_caught(self):
        with pytest.raises(LeftBehind):
            Pretence().call(lambda a: a + torch.ones(2, 2), [x(2, 2)], {})

    @pytest.mark.parametrize("made", MADE_ON_THE_DEVICE)
    def test_a_tensor_made_on_the_device_of_x_is_right(self, made):
        assert Pretence().call(lambda a: a + made(a), [x(2, 2)], {}).device == AWAY

    @pytest.mark.parametrize("done", DONE_THERE)
    def test_what_can_be_done_on_a_gpu_can_be_done_here(self, done):
        assert Pretence().call(done, [x(2, 2)], {}).device == AWAY

    @pytest.mark.parametrize("made", LEFT_BEHIND)
    def test_a_tensor_made_on_the_cpu_is_caught(self, made):
        with pytest.raises(LeftBehind):
            Pretence().call(lambda a: a + made(a), [x(2, 2)], {})

    def test_a_number_as_a_tensor_may_stay_on_the_cpu(self):
        Pretence().call(lambda a: a * torch.tensor(2.0), [x(2)], {})

    def test_as_tensor_leaves_a_tensor_where_it_is(self):
        assert Pretence().call(torch.as_tensor, [x(2)], {}).device == AWAY

    def test_an_embedding_whose_ids_stayed_behind_is_caught(self):
        with pytest.raises(LeftBehind):
            Pretence().call(
                lambda table: torch.nn.functional.embedding(torch.tensor([0, 1]), table), [x(2, 2)], {}
            )

    def test_a_buffer_moves_along(self):
        assert Pretence().call(Masked(registered=True), [x(2)], {}).device == AWAY

    def test_a_table_that_is_no_buffer_is_caught(self):
        with pytest.raises(LeftBehind):
            Pretence().call(Masked(registered=False), [x(2)], {})

    def test_a_method_of_a_module_finds_its_buffers_moved(self):
        Pretence().call(Masked(registered=True).step, [x(2)], {})

    def test_a_module_among_the_arguments_is_moved(self):
        Pretence().call(lambda model, a: model(a), [Masked(registered=True), x(2)], {})

    def test_a_weight_that_two_layers_share_moves_under_both_names(self):
        pair = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
        pair[1].weight = pair[0].weight
        assert Pretence().call(pair, [x(2)], {}).device == AWAY

    @pytest.mark.parametrize("mode", [torch.inference_mode, torch.enable_grad, torch.no_grad])
    def test_it_can_be_done_in_any_mode(self, mode):
        def step(layer, a):
            with mode():
                text = torch.zeros(2, 3, device=a.device)
                text[:, 1:] = layer(a)
                return text.unsqueeze(0).squeeze_(0)

        assert Pretence().call(step, [torch.nn.Linear(2, 2), x(2, 2)], {}).device == AWAY

    def test_a_loss_can_be_derived(self):
        def step(layer, a):
            with torch.enable_grad():
                weight = layer.weight.detach().clone().requires_grad_()
                torch.nn.functional.linear(a, weight).square().sum().backward()
            return weight.grad

        assert Pretence().call(step, [torch.nn.Linear(2, 2), x(2, 2)], {}).device == AWAY

    def test_a_result_on_the_cpu_is_told_as_such(self):
        assert Pretence().call(lambda a: [a, {"k": a.cpu()}], [x(2)], {})[1]["k"].device == "cpu"

    def test_results_can_be_handed_to_the_next_call(self):
        pretence = Pretence()
        first = pretence.call(lambda a: a * 2, [x(2)], {})
        assert pretence.call(lambda a, b: a + b, [first, x(2)], {}).device == AWAY

    def test_objects_are_made_as_ever(self):
        assert Pretence().call(torch.nn.Identity, [], {})(1) == 1

    def test_what_depends_on_values_can_be_asked(self):
        def choose(a):
            return a[a > 1] if a.sum().item() > 2 and a.tolist() == [1.0, 2.0] else a.unique() @ a

        assert Pretence().call(choose, [x(2)], {}).shape == (1,)

    def test_nested_arguments_move_and_numbers_stay(self):
        def look(nested, number):
            return [str(nested["a"][0].device), number]

        assert Pretence().call(look, [{"a": (x(1),)}, 3], {}) == [AWAY, 3]

    def test_the_compiler_is_not_imported(self):
        """It takes 2 s. In a process of its own, since somebody else may have imported it here."""
        told = subprocess.run([sys.executable, "-c", WHAT_IS_IMPORTED], capture_output=True, text=True)
        assert (told.stdout, told.returncode) == ("[]\n", 0), told.stderr


WHAT_IS_IMPORTED = """
import sys, torch
from grader.worker.pretence import Pretence
Pretence().call(lambda a: torch.tensor(1.0, device=a.device) * a, [torch.ones(2)], {})
print([name for name in sys.modules if name.startswith("torch._dynamo")])
"""
