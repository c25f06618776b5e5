"""scaled_init: its cases and its laws.

Weights are random, so what is compared is their size. A matrix of 4096 normal numbers shows its standard
deviation to 1.1 per cent, and every bound here lies at least 6.5 such errors away: fewer than one right
answer in a thousand million is refused.
"""

import math

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "scaled_init",
    track="modules",
    entry_points=("scaled_init_",),
    title="Weights that suit the depth",
    source="Radford et al. 2019, section 2.3",
    library="torch",
    grades_device=False,
    bank_size=16,
    hints=(
        "Two questions for each parameter: what kind of layer does it belong to, and what is its full "
        "name? One walk through the model answers both. Which method gives modules with their names?",
        "Inside torch.no_grad() the methods that end in an underscore write into the tensor that is "
        "there. Then ask what happens to a matrix that two layers share: which of them comes last?",
        "Go through named_modules. For a linear layer compare its name with .weight behind it to the four"
        " endings, draw the weight with std or with std over the root of 2 * num_layers, and set the bias"
        " to zero if there is one. Afterwards draw the weights of all embeddings with std, tied ones "
        "included.",
    ),
)

#: A model that is never called, only initialised. `sizes` tells of a vector that is one number this number,
#: and else the standard deviation over `std`, to the nearest power of the fourth root of two (of four and
#: negative, for the few numbers of a vector): the depths of the bank lie on these steps. A `seed` makes the
#: numbers of a wrong answer the same in each call, whose size may lie between two steps.
MODEL = """
import math

import torch
from torch import nn

def size(tensor, std):
    if tensor.ndim == 1 and (tensor == tensor[0]).all():
        return float(tensor[0])
    ratio, steps = float(tensor.std()) / std, 4 if tensor.ndim == 2 else 0.5
    rounded = 2.0 ** (round(steps * math.log2(ratio)) / steps) if 0 < ratio < math.inf else ratio
    return rounded if tensor.ndim == 2 else -rounded

class Head(nn.Linear):
    pass

def attention(width, last):
    layers = {"qkv": nn.Linear(width, width, bias=False), last: nn.Linear(width, width)}
    return nn.ModuleDict(layers)

def two_layers(width):
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

class Block(nn.Module):
    def __init__(self, width, style, part):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = attention(width, "out" if style == "ffn" else "out_proj")
        setattr(self, style, two_layers(width))
        if part == "look-alikes":
            self.attn["checkout"] = nn.Linear(width, width)
            self.adapter = two_layers(width)
            self.submlp = two_layers(width)

class Model(nn.Module):
    def __init__(self, blocks, style, part, dtype, seed=None, width=64):
        super().__init__()
        if seed is not None:
            # torch.manual_seed keeps a stack of calls each time, in case a GPU is used later
            torch.default_generator.manual_seed(seed)
        if part == "tied before":
            self.lm = nn.ModuleDict({"out": nn.Linear(width, width)})
        self.embed = nn.ModuleDict({name: nn.Embedding(width, width) for name in ("tokens", "places")})
        self.blocks = nn.ModuleList(Block(width, style, part) for _ in range(blocks))
        self.ln_f = nn.LayerNorm(width)
        self.head = (Head if part == "subclass" else nn.Linear)(width, width)
        if part == "tied behind":
            self.lm = nn.ModuleDict({"out": nn.Linear(width, width, bias=False)})
        if part in ("tied before", "tied behind"):
            self.lm["out"].weight = self.embed["tokens"].weight
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias = nn.Parameter(torch.linspace(-0.25, 0.5, width))
            if isinstance(module, nn.LayerNorm) and part == "trained norms":
                nn.init.constant_(module.weight, 1.5)
                nn.init.constant_(module.bias, -0.25)
        self.to(getattr(torch, dtype))
        self.held = dict(self.named_parameters(remove_duplicate=False))

    def sizes(self, std):
        now = dict(self.named_parameters(remove_duplicate=False))
        return {name: size(p.detach().double(), std) for name, p in now.items()}

    def replaced(self):
        now = dict(self.named_parameters(remove_duplicate=False))
        return [name for name, held in self.held.items() if now.get(name) is not held]

    def frozen(self):
        return [name for name, p in self.named_parameters() if not (p.is_leaf and p.requires_grad)]
"""

#: What a model has besides: nothing, or one of the corners.
PARTS = ("tied before", "tied behind", "look-alikes", "subclass", "trained norms")
RESIDUAL = (".out.weight", ".out_proj.weight", ".mlp.2.weight", ".ffn.2.weight")


@KATA.cases
def cases(draw, depths=(1, 2, 4, 8, 16), parts=("",) * 4 + PARTS):
    """How the model is built, and the arguments; std is left out now and then."""
    std = draw(st.sampled_from([None, 0.02, 0.5, 3.0]))
    case = {
        "blocks": draw(st.integers(1, 2)),
        "style": draw(st.sampled_from(["mlp", "ffn"])),
        "part": draw(st.sampled_from(parts)),
        "dtype": draw(st.float_dtypes()),
        "num_layers": draw(st.sampled_from(depths)),
    }
    return {**case, "options": {} if std is None else {"std": std}}


def pinned(part, num_layers, style="mlp"):
    return {
        "blocks": 1,
        "style": style,
        "part": part,
        "dtype": "float32",
        "num_layers": num_layers,
        "options": {"std": 0.5},
    }


@KATA.example
def a_head_tied_to_the_embedding():
    return pinned("tied behind", 8)


@KATA.example
def layers_with_similar_names():
    return pinned("look-alikes", 4, "ffn")


@KATA.example
def a_head_of_another_class():
    return pinned("subclass", 2)


@KATA.example
def norms_that_have_learnt():
    return pinned("trained norms", 2, "ffn")


@KATA.corner(points=0.5)
def tied_weights(part):
    """A matrix that is tied to an embedding has an embedding's size."""
    return part.startswith("tied")


@KATA.corner(points=0.5)
def names_that_look_alike(part):
    """A name that lacks the dot, or has another layer in front, makes no residual projection."""
    return part == "look-alikes"


@KATA.corner(points=0.5)
def subclasses_of_linear(part):
    """A subclass of nn.Linear is a linear layer."""
    return part == "subclass"


@KATA.corner(points=0.5)
def trained_norms(part):
    """Layer norms that have learnt something keep it."""
    return part == "trained norms"


def initialised(student, blocks, style, part, dtype, num_layers, options):
    """The grader's model after the call, and its parameters by name."""
    model = student.build(MODEL, "Model", blocks, style, part, dtype)
    student.scaled_init_(model, num_layers, **options)
    return model, student.anatomy(model)["parameters"]


def is_matrix(name, tensor):
    """The weight of a linear or an embedding layer."""
    return name.endswith("weight") and tensor.ndim == 2


def due_std(name, num_layers, std=0.02):
    """The standard deviation that the weight of this name is to have."""
    return std / math.sqrt(2 * num_layers) if name.endswith(RESIDUAL) else std


@KATA.observe
def observe(student, blocks, style, part, dtype, num_layers, options):
    """Every vector that is one number, and the size of everything else, in units of `std`."""
    model = student.build(MODEL, "Model", blocks, style, part, dtype, seed=0)
    student.scaled_init_(model, num_layers, **options)
    return {"sizes": model.sizes(options.get("std", 0.02))}


def any_model(draw):
    """Cases with and without ties."""
    return cases(draw, parts=("", "tied before", "tied behind"))


@KATA.law(points=0.5, cases=any_model)
def test_parameters_stay_the_same(student, blocks, style, part, dtype, num_layers, options):
    """The model keeps its Parameters, their dtype and their gradients; only the numbers are new."""
    model, found = initialised(student, blocks, style, part, dtype, num_layers, options)
    replaced, frozen = model.replaced(), model.frozen()
    one = f"`{replaced[0]}` is not" if replaced else "One is not"
    expect.true(not replaced, f"Every Parameter must be the one that it was. {one}.")
    expect.true(not frozen, f"Every Parameter must still take gradients. `{(frozen or [''])[0]}` does not.")
    wrong = [name for name, tensor in found.items() if str(tensor.dtype) != f"torch.{dtype}"]
    expect.true(not wrong, f"Every Parameter must be {dtype} as before. `{(wrong or [''])[0]}` is not.")


def any_depth(draw):
    """Cases of depths that lie on no half step."""
    return cases(draw, depths=(1, 3, 5, 6, 12, 48), parts=("",))


@KATA.law(points=1, cases=any_depth)
def test_weights_have_their_size(student, blocks, style, part, dtype, num_layers, options):
    """Every matrix has the standard deviation that its kind asks for."""
    _, found = initialised(student, blocks, style, part, dtype, num_layers, options)
    for name, tensor in found.items():
        if is_matrix(name, tensor):
            due, has = due_std(name, num_layers, **options), float(tensor.double().std())
            within = abs(has / due - 1) < 6.5 / math.sqrt(2 * tensor.numel())
            said = f"With num_layers={num_layers} and std={options.get('std', 0.02):g}"
            told = "larger" if has > due else "smaller"
            expect.true(within, f"{said} `{name}` has a standard deviation of {due:.3g}; it is {told}.")


@KATA.law(points=1)
def test_weights_are_normal(student, blocks, style, part, dtype, num_layers, options):
    """The weights are normal numbers around zero: 68 in a hundred are less than one standard deviation."""
    import torch

    _, found = initialised(student, blocks, style, part, dtype, num_layers, options)
    matrices = [tensor.double() for name, tensor in found.items() if is_matrix(name, tensor)]
    units = torch.cat([(tensor / tensor.std()).flatten() for tensor in matrices])
    error = 6.5 / math.sqrt(4096 * len({float(tensor.sum()) for tensor in matrices}))
    mean, inside = float(units.mean()), float((units.abs() < 1).double().mean())
    side = "larger" if mean > 0 else "smaller"
    expect.true(abs(mean) < error, f"The mean of all weights is 0; it is {side}.")
    expect.true(
        abs(inside - 0.6827) < error / 2,
        "Of normal numbers 68.3 % are less than one standard deviation; here it is "
        f"{'more' if inside > 0.6827 else 'fewer'}.",
    )


@KATA.law(points=0.5)
def test_draws_are_independent(student, blocks, style, part, dtype, num_layers, options):
    """No two matrices have the same numbers, up to their size."""
    _, found = initialised(student, blocks, style, part, dtype, num_layers, options)
    seen = {}
    for name, tensor in found.items():
        if is_matrix(name, tensor):
            first = tuple(round(float(x), 3) for x in (tensor / tensor.std())[0, :6])
            expect.true(first not in seen, f"`{seen.get(first)}` and `{name}` have the same numbers.")
            seen[first] = name


@KATA.law(points=0.5)
def test_each_call_draws_anew(student, blocks, style, part, dtype, num_layers, options):
    """Two models that are built alike get numbers of their own."""
    arguments = blocks, style, part, dtype, num_layers, options
    (_, first), (_, second) = (initialised(student, *arguments) for _ in range(2))
    for name, tensor in first.items():
        same = is_matrix(name, tensor) and bool((tensor == second[name]).all())
        expect.true(not same, f"A second call must draw other numbers. `{name}` has those of the first.")
