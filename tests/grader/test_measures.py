"""FLOPs and gradients."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from grader.worker.measures import with_flops, with_gradients  # noqa: E402 - torch first


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
