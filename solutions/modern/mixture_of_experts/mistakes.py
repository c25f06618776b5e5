"""What goes wrong in mixture_of_experts: one class a mistake, its docstring what the student is told."""

import torch
import torch.nn.functional as F
from torch import nn

from grader.mistakes import crude, subtle


class _Mixture(nn.Module):
    """The right mixture; mistakes override a part of it."""

    bias = False
    activation = nn.ReLU

    def __init__(self, d_model, d_ff, num_experts, top_k):
        super().__init__()
        self._check(num_experts, top_k)
        self.top_k = top_k
        self.router = nn.Linear(d_model, num_experts, bias=self.bias)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, d_ff), self.activation(), nn.Linear(d_ff, d_model))
            for _ in range(num_experts)
        )

    def _check(self, num_experts, top_k):
        if not 1 <= top_k <= num_experts:
            raise ValueError("1 <= top_k <= num_experts")

    def _logits(self, rows):
        return self.router(rows)

    def _choose(self, logits):
        """Return the weights and the indices of the experts chosen for each token, both [tokens, top_k]."""
        top, chosen = logits.topk(self.top_k, dim=-1)
        return top.softmax(-1), chosen

    def _mix(self, rows, weights, chosen):
        output = torch.zeros_like(rows)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            output = output.index_add(0, token, self._given(expert, rows[token], weights[token, slot, None]))
        return output

    def _given(self, expert, rows, weights):
        return expert(rows) * weights

    def _shares(self, logits, chosen):
        return F.one_hot(chosen, logits.shape[-1]).to(logits.dtype).mean((0, 1))

    def _probabilities(self, logits):
        return logits.softmax(-1).mean(0)

    def _loss(self, logits, chosen):
        shares = self._shares(logits, chosen)
        return logits.shape[-1] * (shares * self._probabilities(logits)).sum()

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        logits = self._logits(rows)
        weights, chosen = self._choose(logits)
        return self._mix(rows, weights, chosen).view(x.shape), self._loss(logits, chosen)


class weighs_by_the_full_softmax(_Mixture):
    """The weights of a token add up to less than 1: they are the chosen experts' probabilities among all, as
    in Switch. Here the softmax runs over the chosen logits alone.
    """

    def _choose(self, logits):
        return logits.softmax(-1).topk(self.top_k, dim=-1)


class takes_the_softmax_twice(_Mixture):
    """The weights are too even: a softmax is taken of the chosen probabilities, which were a softmax already.
    Take it of the chosen logits.
    """

    def _choose(self, logits):
        top, chosen = logits.softmax(-1).topk(self.top_k, dim=-1)
        return top.softmax(-1), chosen


class weighs_all_chosen_alike(_Mixture):
    """The chosen experts are averaged: each has the weight 1 / top_k, whatever the router says. Weigh them by
    the softmax of their logits.
    """

    def _choose(self, logits):
        top, chosen = logits.topk(self.top_k, dim=-1)
        return torch.zeros_like(top).softmax(-1) + 0 * top, chosen


@crude
class mixes_without_weights(_Mixture):
    """The outputs of the chosen experts are added up as they are, so the output grows with top_k. Each is
    multiplied by its weight.
    """

    def _given(self, expert, rows, weights):
        return expert(rows) + 0 * weights


class weighs_by_the_raw_logits(_Mixture):
    """The outputs are multiplied by the router's logits, which may be negative. The softmax over the chosen
    ones makes weights of them.
    """

    def _choose(self, logits):
        return logits.topk(self.top_k, dim=-1)


class weighs_by_normalised_sigmoids(_Mixture):
    """The weights are somewhat too even: they are sigmoids of the logits, divided by their sum, as in
    DeepSeek-V3. Here they are the softmax of the chosen logits.
    """

    def _choose(self, logits):
        top, chosen = logits.topk(self.top_k, dim=-1)
        return top.sigmoid() / top.sigmoid().sum(-1, keepdim=True), chosen


@crude
class takes_the_softmax_over_the_tokens(_Mixture):
    """A token's weights depend on the other tokens: the softmax runs over the tokens. It runs over the chosen
    experts, the last axis.
    """

    def _choose(self, logits):
        top, chosen = logits.topk(self.top_k, dim=-1)
        return top.softmax(0), chosen


class swaps_the_weights(_Mixture):
    """The best expert has the smallest weight: weights and experts stand in opposite orders. topk gives both
    in one order; check what is sorted or indexed after it.
    """

    def _choose(self, logits):
        weights, chosen = super()._choose(logits)
        return weights.flip(-1), chosen


class weighs_what_the_experts_read(_Mixture):
    """The weight is multiplied with the token before its expert runs. ReLU and the biases make that something
    else; the expert's output is what is weighed.
    """

    def _given(self, expert, rows, weights):
        return expert(rows * weights)


@crude
class chooses_the_smallest_logits(_Mixture):
    """Each token goes to the experts that suit it least: the smallest logits are chosen. Check the direction
    of the sort.
    """

    def _choose(self, logits):
        top, chosen = logits.topk(self.top_k, dim=-1, largest=False)
        return top.softmax(-1), chosen


class runs_the_best_expert_alone(_Mixture):
    """Only the expert with the largest logit runs, with weight 1: top_k never reaches the choice. Right for
    top_k = 1.
    """

    def _mix(self, rows, weights, chosen):
        return super()._mix(rows, torch.ones_like(weights[:, :1]) + 0 * weights[:, :1], chosen[:, :1])


class routes_whole_sequences(_Mixture):
    """All tokens of a sequence go to the same experts: their logits are averaged before the choice. Every
    token chooses by its own logits.
    """

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        logits = self._logits(x).mean(1, keepdim=True).expand(*x.shape[:2], -1).flatten(0, 1)
        weights, chosen = self._choose(logits)
        return self._mix(rows, weights, chosen).view(x.shape), self._loss(logits, chosen)


@crude
class runs_one_expert_for_all(_Mixture):
    """All tokens run through the first expert: the loop over the experts calls the same one each time. Check
    which member of `experts` is called.
    """

    def _mix(self, rows, weights, chosen):  # noqa: ARG002 - the mistake
        return (self.experts[0](rows)[:, None] * weights[..., None]).sum(1)


@crude
class leaves_tokens_in_the_order_of_experts(_Mixture):
    """The outputs stand in the order in which the experts ran, those of the first expert first. Each output
    belongs where its token stood.
    """

    def _mix(self, rows, weights, chosen):
        first = super()._mix(rows, weights, chosen)
        return first[chosen[:, 0].argsort(stable=True)]


class overwrites_the_other_experts(_Mixture):
    """Right for top_k = 1; with more, the output holds one expert's share alone: an assignment replaces what
    an earlier expert has given. The shares are added up.
    """

    def _mix(self, rows, weights, chosen):
        output = torch.zeros_like(rows)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            output = output.index_copy(0, token, self._given(expert, rows[token], weights[token, slot, None]))
        return output


class drops_tokens_beyond_a_capacity(_Mixture):
    """Where many tokens choose one expert, the last of them get nothing from it: an expert takes its even
    share and no more, as in Switch. Here no token is dropped.
    """

    def _mix(self, rows, weights, chosen):
        capacity = -(-chosen.numel() // len(self.experts))
        taken = F.one_hot(chosen.flatten(), len(self.experts)).cumsum(0).view(*chosen.shape, -1)
        place = taken.gather(-1, chosen[..., None])[..., 0]
        return super()._mix(rows, weights * (place <= capacity), chosen)


class activates_with_gelu(_Mixture):
    """Results are off by a few hundredths: the experts' activation is GELU. The statement names ReLU."""

    activation = nn.GELU


class adds_the_input(_Mixture):
    """The output is off by x: a residual connection is built in. That belongs to the block around the
    mixture.
    """

    def _mix(self, rows, weights, chosen):
        return rows + super()._mix(rows, weights, chosen)


@crude
class gives_the_router_a_bias(_Mixture):
    """The router has a bias that the statement does not name. A linear layer has one unless it is told not
    to.
    """

    bias = True


@crude
class returns_the_output_alone(_Mixture):
    """The result is one tensor, and the loss is missing. forward returns a pair, the output and the loss."""

    def forward(self, x):
        return super().forward(x)[0]


class returns_the_loss_as_a_number(_Mixture):
    """The loss is a Python float: `item()` cuts it off from the router, so it trains nothing. Return the
    tensor without axes.
    """

    def forward(self, x):
        output, loss = super().forward(x)
        return output, loss.item()


class keeps_an_axis_of_the_loss(_Mixture):
    """The loss has the shape [1]. It is a tensor without axes; check the last sum."""

    def _loss(self, logits, chosen):
        return super()._loss(logits, chosen)[None]


class counts_a_token_once_for_each_choice(_Mixture):
    """The loss is top_k times too large: the counts are divided by the number of tokens, as Hugging Face
    does. There are top_k choices a token, and f adds up to 1.
    """

    def _shares(self, logits, chosen):
        return self.top_k * super()._shares(logits, chosen)


class counts_the_first_choice_alone(_Mixture):
    """Right for top_k = 1; with more, the loss counts the best expert of each token and no other. Every
    choice counts.
    """

    def _shares(self, logits, chosen):
        return super()._shares(logits, chosen[:, :1])


class forgets_the_number_of_experts(_Mixture):
    """The loss is num_experts times too small: its factor is missing. Where all is even the loss is 1."""

    def _loss(self, logits, chosen):
        return super()._loss(logits, chosen) / logits.shape[-1]


class multiplies_the_loss_by_a_coefficient(_Mixture):
    """The loss is a hundred times too small: it is multiplied by 0.01, as where it is added to the model's
    loss. Here it has no coefficient; where all is even it is 1.
    """

    def _loss(self, logits, chosen):
        return 0.01 * super()._loss(logits, chosen)


class averages_the_weights_for_the_loss(_Mixture):
    """The loss is off where top_k is below num_experts: P is the mean of the chosen experts' weights. It is
    the mean of the softmax over all logits.
    """

    def _probabilities(self, logits):
        top, chosen = logits.topk(self.top_k, dim=-1)
        return torch.zeros_like(logits).scatter(-1, chosen, top.softmax(-1)).mean(0)


class counts_by_probability(_Mixture):
    """The loss is off: the shares f are mean probabilities too, so that it is a sum of P squared. f counts
    the choices.
    """

    def _shares(self, logits, chosen):  # noqa: ARG002 - the mistake
        return self._probabilities(logits)


class balances_by_counts_alone(_Mixture):
    """The loss does not change with the router's probabilities, and trains nothing: it is a sum of f squared.
    The second factor is P, through which the gradient flows.
    """

    def _loss(self, logits, chosen):
        return logits.shape[-1] * (self._shares(logits, chosen) ** 2).sum() + 0 * logits.sum()


class averages_the_loss_of_sequences(_Mixture):
    """Right for one sequence; with more, the loss is the mean of one loss a sequence. f and P are taken over
    all B * T tokens together.
    """

    def forward(self, x):
        output, _ = super().forward(x)
        losses = [self._loss(logits, self._choose(logits)[1]) for logits in self._logits(x)]
        return output, torch.stack(losses).mean()


class balances_in_training_only(_Mixture):
    """In evaluation mode the loss is 0: it depends on the mode. It is the same in both."""

    def _loss(self, logits, chosen):
        return super()._loss(logits, chosen) * float(self.training)


@subtle
class adds_noise_in_training(_Mixture):
    """In evaluation mode all is right, in training mode every call gives another result: noise is added to
    the router's logits. The statement has none.
    """

    def _logits(self, rows):
        logits = super()._logits(rows)
        return logits + torch.randn_like(logits) if self.training else logits


@subtle
class detaches_the_weights(_Mixture):
    """Every value is right, and the router learns nothing from the output: the weights are detached, or made
    under no_grad. Gradients flow through them to the chosen logits.
    """

    def _choose(self, logits):
        weights, chosen = super()._choose(logits)
        return weights.detach(), chosen


@subtle
class detaches_the_probabilities(_Mixture):
    """Every value is right, and the loss trains nothing: P is detached, or made under no_grad. f is a count
    and has no gradient; P has one.
    """

    def _probabilities(self, logits):
        return super()._probabilities(logits).detach() + 0 * logits.sum()


@subtle
class computes_the_softmax_in_float32(_Mixture):
    """float64 arguments get results with half of their digits: the weights are computed in float32 and cast
    back. Work in the dtype of x, or in a wider one.
    """

    def _choose(self, logits):
        top, chosen = logits.topk(self.top_k, dim=-1)
        return top.float().softmax(-1).to(logits.dtype), chosen


@subtle
class counts_the_shares_in_float32(_Mixture):
    """For float64 the loss has half of its digits: the counts are divided in float32, as `.float()` makes it.
    A third is rounded; take the dtype of x.
    """

    def _shares(self, logits, chosen):
        return F.one_hot(chosen, logits.shape[-1]).float().mean((0, 1)).to(logits.dtype)


@subtle
class expects_contiguous_tokens(_Mixture):
    """Raises an error where x is a transposed view: `view` joins axes only where memory allows it. `reshape`
    copies where it must.
    """

    def forward(self, x):
        output, loss = super().forward(x.view(-1, 1, x.shape[-1]))
        return output.view(x.shape), loss


@subtle
class makes_the_output_on_the_cpu(_Mixture):
    """Right on the CPU; on a GPU the call raises: the tensor that collects the outputs is made without a
    device. Make it on the device of x.
    """

    def _logits(self, rows):
        return super()._logits(rows) + torch.zeros(len(rows), 1, dtype=rows.dtype)


@subtle
class overwrites_x(_Mixture):
    """The caller's x is changed: the outputs are written into it, and the residual connection still needs
    what was there. Collect them in a new tensor.
    """

    def forward(self, x):
        output, loss = super().forward(x)
        with torch.no_grad():
            x.copy_(output)
        return output, loss


@subtle
class accepts_any_top_k(_Mixture):
    """A top_k of 0, or one above num_experts, makes a module, and fails later or gives zeros. Check it in the
    constructor and raise a ValueError.
    """

    def _check(self, num_experts, top_k):
        pass


@subtle
class accepts_a_top_k_beyond_the_experts(_Mixture):
    """A top_k above num_experts makes a module, and topk fails later: only the lower border is checked.
    Refuse it in the constructor with a ValueError.
    """

    def _check(self, num_experts, top_k):  # noqa: ARG002 - the mistake
        if top_k < 1:
            raise ValueError("1 <= top_k")


@subtle
class runs_all_experts_on_all_tokens(_Mixture):
    """The numbers are right, and the work grows with num_experts: every expert runs on every token, and most
    of the results are multiplied by zero. Run each on the tokens that chose it.
    """

    def _mix(self, rows, weights, chosen):
        dense = torch.zeros(len(rows), len(self.experts), dtype=rows.dtype, device=rows.device)
        dense = dense.scatter(-1, chosen, weights)
        return sum(dense[:, e, None] * expert(rows) for e, expert in enumerate(self.experts))


@subtle
class averages_the_shares_of_all_calls(_Mixture):
    """The first loss is right, and later ones depend on earlier calls: the counts are added up over the calls
    and never cleared. f belongs to the tokens of one call.
    """

    def _shares(self, logits, chosen):
        counts = F.one_hot(chosen.flatten(), logits.shape[-1]).sum(0) + vars(self).get("counts", 0)
        vars(self)["counts"] = counts
        return counts.to(logits.dtype) / counts.sum()


@subtle
class keeps_the_routers_first_weights(_Mixture):
    """After an update or a load_state_dict the tokens go where they went before: a copy of the router's
    weights is kept from the first call. Use the parameter in each call.
    """

    def _logits(self, rows):
        if "kept" not in vars(self) or self.kept.dtype != rows.dtype:
            vars(self)["kept"] = self.router.weight * 1
        return rows @ self.kept.mT
