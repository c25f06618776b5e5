"""FLOPs, gradients, and life on a pretended device."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from grader.worker.measures import Pretence, with_flops, with_gradients  # noqa: E402 - torch first

AWAY = torch.device(Pretence.DEVICE)
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
    lambda a: torch.tensor(0.5),
]
LEFT_BEHIND = [
    lambda a: torch.ones(2),
    lambda a: torch.tensor([0.5, 1.0], dtype=a.dtype),
    lambda a: torch.arange(2),
    lambda a: torch.cat([a, torch.zeros(2, 2)])[:2],
    lambda a: a.masked_fill(torch.tensor([True, False]), 0.0),
    lambda a: a @ torch.eye(2),
]


def x(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


class TestFlops:
    def test_a_matrix_product_counts_two_for_each_multiplication(self):
        value, flops = with_flops(torch.matmul, [x(2, 3), x(3, 4)], {})
        assert flops == 2 * 2 * 3 * 4
        assert value.shape == (2, 4)

    def test_the_same_product_written_elementwise_counts_half(self):
        _, flops = with_flops(lambda a, b: (a[:, :, None] * b).sum(1), [x(2, 3), x(3, 4)], {})
        assert flops == 2 * 3 * 4

    def test_calls_are_counted_each_by_itself(self):
        assert with_flops(torch.matmul, [x(2, 2), x(2, 2)], {})[1] == 16
        assert with_flops(torch.matmul, [x(2, 2), x(2, 2)], {})[1] == 16

    def test_moving_data_costs_nothing(self):
        assert with_flops(lambda a: a.reshape(-1).flip(0), [x(2, 3)], {})[1] == 0


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


def mismatch():
    from torch._subclasses.fake_tensor import FakeTensorDeviceMismatchError

    return pytest.raises(FakeTensorDeviceMismatchError)


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
        with mismatch():
            Pretence().call(lambda a: a + torch.ones(2, 2), [x(2, 2)], {})

    @pytest.mark.parametrize("made", MADE_ON_THE_DEVICE)
    def test_a_tensor_made_on_the_device_of_x_is_right(self, made):
        assert Pretence().call(lambda a: a + made(a), [x(2, 2)], {}).device == AWAY

    @pytest.mark.parametrize("made", LEFT_BEHIND)
    def test_a_tensor_made_on_the_cpu_is_caught(self, made):
        with mismatch():
            Pretence().call(lambda a: a + made(a), [x(2, 2)], {})

    def test_a_number_as_a_tensor_may_stay_on_the_cpu(self):
        Pretence().call(lambda a: a * torch.tensor(2.0), [x(2)], {})

    def test_as_tensor_leaves_a_tensor_where_it_is(self):
        assert Pretence().call(torch.as_tensor, [x(2)], {}).device == AWAY

    def test_an_embedding_whose_ids_stayed_behind_is_caught(self):
        with mismatch():
            Pretence().call(
                lambda table: torch.nn.functional.embedding(torch.tensor([0, 1]), table), [x(2, 2)], {}
            )

    def test_a_buffer_moves_along(self):
        assert Pretence().call(Masked(registered=True), [x(2)], {}).device == AWAY

    def test_a_table_that_is_no_buffer_is_caught(self):
        with mismatch():
            Pretence().call(Masked(registered=False), [x(2)], {})

    def test_a_method_of_a_module_finds_its_buffers_moved(self):
        Pretence().call(Masked(registered=True).step, [x(2)], {})

    def test_a_module_among_the_arguments_is_moved(self):
        Pretence().call(lambda model, a: model(a), [Masked(registered=True), x(2)], {})

    def test_a_weight_that_two_layers_share_moves_under_both_names(self):
        pair = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
        pair[1].weight = pair[0].weight
        assert Pretence().call(pair, [x(2)], {}).device == AWAY

    def test_results_can_be_handed_to_the_next_call(self):
        pretence = Pretence()
        first = pretence.call(lambda a: a * 2, [x(2)], {})
        assert pretence.call(lambda a, b: a + b, [first, x(2)], {}).device == AWAY

    def test_objects_are_made_as_ever(self):
        assert Pretence().call(torch.nn.Identity, [], {})(1) == 1

    def test_what_depends_on_values_is_not_blamed_on_the_device(self):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - PyTorch's own, of many kinds
            Pretence().call(lambda a: a.sum().item(), [x(2)], {})
        assert "DeviceMismatch" not in type(caught.value).__name__

    def test_nested_arguments_move_and_numbers_stay(self):
        def look(nested, number):
            return [nested["a"][0].device, number]

        assert Pretence().call(look, [{"a": (x(1),)}, 3], {}) == [AWAY, 3]
