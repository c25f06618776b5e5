"""What goes wrong in scaled_init, and what its student is told."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle

_RESIDUAL = (".out.weight", ".out_proj.weight", ".mlp.2.weight", ".ffn.2.weight")


def _normal(tensor, std):
    tensor.normal_(0.0, std)


def _zero(tensor):
    tensor.zero_()


def _depth(num_layers):
    return math.sqrt(2 * num_layers)


def _ends_in_one_of(name):
    return name.endswith(_RESIDUAL)


def _is_linear(module):
    return isinstance(module, nn.Linear)


@torch.no_grad()
def _init(
    model,
    num_layers,
    std,
    *,
    fill=_normal,
    fill_bias=_zero,
    depth=_depth,
    is_residual=_ends_in_one_of,
    is_linear=_is_linear,
    embeddings=True,
):
    """Right, but for the part that is given."""
    for name, module in model.named_modules():
        if is_linear(module):
            small = std / depth(num_layers)
            fill(module.weight, small if is_residual(f"{name}.weight") else std)
            if module.bias is not None:
                fill_bias(module.bias)
    for module in model.modules():
        if isinstance(module, nn.Embedding) and embeddings:
            fill(module.weight, std)


@crude
def forgets_the_residual_projections(model, num_layers, std=0.02):
    """All weights have the same standard deviation: the layers that write to the stream are not made smaller.
    Which names does your condition find? Print them.
    """
    _init(model, num_layers, std, is_residual=lambda _: False)


def counts_one_sum_a_layer(model, num_layers, std=0.02):
    """The residual projections are too large by sqrt(2): they are divided by sqrt(num_layers). A layer adds
    to the stream twice.
    """
    _init(model, num_layers, std, depth=math.sqrt)


def forgets_the_root(model, num_layers, std=0.02):
    """The residual projections are too small: they are divided by 2 * num_layers itself. It is variances that
    add up, so the standard deviation is divided by the root.
    """
    _init(model, num_layers, std, depth=lambda n: 2 * n)


def scales_every_linear_layer(model, num_layers, std=0.02):
    """All linear layers are divided by sqrt(2 * num_layers), queries and keys too. Only those that write to
    the stream are.
    """
    _init(model, num_layers, std, is_residual=lambda _: True)


def leaves_out_the_feed_forward(model, num_layers, std=0.02):
    """The last layer of mlp or ffn is as large as all others: only the attention's output is recognised. Both
    write to the stream.
    """
    _init(model, num_layers, std, is_residual=lambda name: name.endswith(_RESIDUAL[:2]))


@subtle
def leaves_out_the_dot(model, num_layers, std=0.02):
    """Layers such as `attn.checkout` are made smaller too: their names end in `out.weight`, and a dot belongs
    in front of it.
    """
    _init(model, num_layers, std, is_residual=lambda name: name.endswith(tuple(e[1:] for e in _RESIDUAL)))


@subtle
def takes_every_third_layer_of_a_sequence(model, num_layers, std=0.02):
    """Every layer whose name ends in `.2.weight` is made smaller, whatever sequence it belongs to. Only mlp
    and ffn write to the stream.
    """

    def is_residual(name):
        return name.endswith((*_RESIDUAL[:2], ".2.weight"))

    _init(model, num_layers, std, is_residual=is_residual)


def takes_std_for_a_variance(model, num_layers, std=0.02):
    """The weights are far too large: the normal distribution was given the root of std, as if std were a
    variance.
    """
    _init(model, num_layers, std, fill=lambda tensor, std: tensor.normal_(0.0, math.sqrt(std)))


@subtle
def draws_from_a_uniform_distribution(model, num_layers, std=0.02):
    """The standard deviation is right, and no weight is larger than 1.8 of it: the numbers are uniform. They
    are to be normal.
    """

    def fill(tensor, std):
        tensor.uniform_(-std * math.sqrt(3), std * math.sqrt(3))

    _init(model, num_layers, std, fill=fill)


@crude
def lets_the_width_decide(model, num_layers, std=0.02):
    """The size of the weights follows from their shape, and std is not looked at: that is Xavier's
    initialisation, or Kaiming's.
    """

    def fill(tensor, _):
        nn.init.xavier_normal_(tensor)

    _init(model, num_layers, std, fill=fill)


@subtle
def ignores_std(model, num_layers, std=0.02):  # noqa: ARG001 - the mistake
    """The weights have 0.02 whatever std says. With the default that is right."""
    _init(model, num_layers, 0.02)


def adds_to_the_old_weights(model, num_layers, std=0.02):
    """The weights are larger than std: the new numbers are added to the old ones. They take their place."""

    def fill(tensor, std):
        tensor.add_(torch.randn_like(tensor) * std)

    _init(model, num_layers, std, fill=fill)


def draws_with_a_mean(model, num_layers, std=0.02):
    """The weights are not centred at zero: mean and standard deviation are in each other's place, or both are
    std.
    """
    _init(model, num_layers, std, fill=lambda tensor, std: tensor.normal_(std, std))


def draws_the_same_numbers_everywhere(model, num_layers, std=0.02):
    """Layers of one shape get the same numbers: the random generator is seeded before each of them. Two
    layers that start alike are not two.
    """

    def fill(tensor, std):
        tensor.normal_(0.0, std, generator=torch.Generator().manual_seed(0))

    _init(model, num_layers, std, fill=fill)


def leaves_the_biases(model, num_layers, std=0.02):
    """The biases of linear layers keep the numbers they had. They are set to zero."""
    _init(model, num_layers, std, fill_bias=lambda _: None)


def draws_the_biases(model, num_layers, std=0.02):
    """The biases of linear layers are drawn like the weights. They are set to zero."""
    _init(model, num_layers, std, fill_bias=lambda bias: bias.normal_(0.0, std))


def leaves_the_embeddings(model, num_layers, std=0.02):
    """Embeddings keep their old numbers, with a standard deviation of 1: only linear layers are drawn."""
    _init(model, num_layers, std, embeddings=False)


@subtle
def resets_the_layer_norms(model, num_layers, std=0.02):
    """Layer norms are set to one and zero. That is how they are born; here they are left as they are."""
    _init(model, num_layers, std)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.reset_parameters()


def draws_the_layer_norms(model, num_layers, std=0.02):
    """The weights of layer norms are drawn like all others, so that the stream nearly vanishes behind each.
    Ask what kind of layer a parameter belongs to.
    """
    _init(model, num_layers, std)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.normal_(0.0, std)


@subtle
def replaces_the_parameters(model, num_layers, std=0.02):
    """The numbers are right and the Parameters are new ones: an optimiser made before goes on changing the
    old. Write into the tensors that are there.
    """
    owners = {}
    _init(model, num_layers, std)
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            fresh = owners.setdefault(id(parameter), nn.Parameter(parameter.detach().clone()))
            setattr(module, name, fresh)


@subtle
def breaks_the_tie(model, num_layers, std=0.02):
    """A head that was tied to the embedding is so no longer: each layer is given a Parameter of its own.
    Write into the tensors that are there.
    """
    _init(model, num_layers, std)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight = nn.Parameter(module.weight.detach().clone())


@subtle
def scales_a_tied_weight(model, num_layers, std=0.02):
    """A head that is tied to the embedding and goes by the name of a residual projection makes the embedding
    small: it is drawn last, as a linear layer. A tied matrix is an embedding weight.
    """
    _init(model, num_layers, std)
    with torch.no_grad():
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear) and _ends_in_one_of(f"{name}.weight"):
                module.weight.normal_(0.0, std / _depth(num_layers))


@subtle
def misses_kinds_of_linear_layers(model, num_layers, std=0.02):
    """Subclasses of nn.Linear are passed over: the type is compared for equality. A kind of linear layer is a
    linear layer.
    """
    _init(model, num_layers, std, is_linear=lambda module: type(module) is nn.Linear)


def needs_a_bias(model, num_layers, std=0.02):
    """A linear layer that was made with bias=False ends in an error: its bias is None."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    _init(model, num_layers, std)


@subtle
def seeds_the_generator(model, num_layers, std=0.02):
    """Every model of one build gets the same numbers: the random generator is seeded inside the function.
    Seeding is for the caller, who may want several models.
    """
    torch.manual_seed(0)
    _init(model, num_layers, std)
