"""parameter_count: its cases and its laws."""

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KEYS = {
    "token_embedding",
    "self_attention",
    "cross_attention",
    "feed_forward",
    "layer_norms",
    "layer",
    "stack",
    "output_projection",
    "total",
}

KATA = Kata(
    "parameter_count",
    track="blocks",
    entry_points=("parameter_count",),
    title="Where the numbers of a decoder are",
    source="Vaswani et al. 2017, sections 3.1 to 3.4; Press and Wolf 2017",
    libraries=("numpy",),
    hints=(
        "Write a function for one linear layer first: its weights and its biases. How often does the decoder "
        "use it, and from which width to which?",
        "Count the linear layers of an attention (four, all of them d_model wide) and of a feed-forward "
        "(two, d_ff between them), and the numbers in a layer norm (two vectors).",
        "Attention: four linear layers from d_model to d_model. Feed-forward: one to d_ff, one back. Norms: "
        "three times two times d_model. Sum them, with attention taken twice, for the layer; times "
        "num_layers for the stack; add the embedding and, if not tied, a linear layer from d_model to "
        "vocab_size.",
    ),
    bank_size=48,
)


def sizes(draw):
    """The sizes of a decoder; the widths divide by the heads, and d_ff is seldom four times d_model."""
    num_heads = draw(st.integers(1, 4))
    return {
        "vocab_size": draw(st.sampled_from([5, 7, 10, 100, 50257])),
        "d_model": num_heads * draw(st.sampled_from([1, 2, 3, 8, 64])),
        "num_heads": num_heads,
        "d_ff": draw(st.sampled_from([3, 8, 12, 16, 100, 2048])),
        "num_layers": draw(st.integers(1, 6)),
    }


@KATA.cases
def cases(draw):
    return {**sizes(draw), "tied": draw(st.booleans())}


def printed(tied):
    """The sizes of the printed table."""
    widths = {"vocab_size": 1000, "d_model": 128, "num_heads": 4, "d_ff": 512, "num_layers": 2}
    return {**widths, "tied": tied}


@KATA.corner(points=0.5)
def large_model(d_model, num_layers):
    """Counts beyond what 32 bits hold are exact."""
    return 16 * d_model**2 * num_layers > 2**31


@KATA.example
def as_large_as_gpt_3():
    widths = {"vocab_size": 50_257, "d_model": 12_288, "num_heads": 96, "d_ff": 49_152, "num_layers": 96}
    return {**widths, "tied": True}


@KATA.example
def large_and_untied():
    widths = {"vocab_size": 256_000, "d_model": 18_432, "num_heads": 48, "d_ff": 73_728, "num_layers": 118}
    return {**widths, "tied": False}


@KATA.example
def printed_and_tied():
    return printed(tied=True)


@KATA.example
def printed_and_untied():
    return printed(tied=False)


@KATA.observe
def observe(student, tied, **sizes):
    """A tied output is asked for by leaving it out, so that the default is judged too."""
    return {"result": student.parameter_count(**sizes, **({} if tied else {"tied": False}))}


def counted(student, **sizes):
    """The counts, once they are a dict of integers under the right keys."""
    counts = student.parameter_count(**sizes)
    due = isinstance(counts, dict) and set(counts) == KEYS
    keys = sorted(map(str, counts)) if isinstance(counts, dict) else type(counts).__name__
    expect.true(due, f"The result must be a dict with the keys {sorted(KEYS)}, and is {keys}.")
    for name, count in counts.items():
        kind = "i" if type(count) is int else getattr(getattr(count, "dtype", None), "kind", "")
        integer = kind in ("i", "u")
        expect.true(integer, f"Every count must be an integer; {name!r} is {count!r}.")
    return {name: int(count) for name, count in counts.items()}


@KATA.law(points=1)
def test_parts_add_up(student, vocab_size, d_model, num_heads, d_ff, num_layers, tied):
    """The parts add up to the layer, the layers to the stack, and all to the total."""
    counts = counted(
        student,
        vocab_size=vocab_size,
        d_model=d_model,
        num_heads=num_heads,
        d_ff=d_ff,
        num_layers=num_layers,
        tied=tied,
    )
    parts = ("self_attention", "cross_attention", "feed_forward", "layer_norms")
    expect.equal(counts["layer"], sum(counts[name] for name in parts), "layer, the sum of its four parts,")
    expect.equal(counts["stack"], num_layers * counts["layer"], f"stack, {num_layers} times layer,")
    ends = counts["token_embedding"] + counts["output_projection"]
    expect.equal(counts["total"], ends + counts["stack"], "total, embedding, stack and output together,")


def with_other_heads(draw):
    drawn = sizes(draw)
    others = [heads for heads in range(1, drawn["d_model"] + 1) if drawn["d_model"] % heads == 0]
    return {**drawn, "other_heads": draw(st.sampled_from(others))}


@KATA.law(points=1, cases=with_other_heads)
def test_heads_cost_nothing(student, vocab_size, d_model, num_heads, d_ff, num_layers, other_heads):
    """The number of heads changes no count."""
    sizes = {"vocab_size": vocab_size, "d_model": d_model, "d_ff": d_ff, "num_layers": num_layers}
    before = counted(student, **sizes, num_heads=num_heads)
    after = counted(student, **sizes, num_heads=other_heads)
    expect.equal(after, before, f"the counts for num_heads={other_heads}, against those for {num_heads},")


@KATA.law(points=1, cases=sizes)
def test_tying_saves_the_projection(student, vocab_size, d_model, num_heads, d_ff, num_layers):
    """Tying saves a linear layer from d_model to vocab_size and nothing else."""
    sizes = {
        "vocab_size": vocab_size,
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "num_layers": num_layers,
    }
    tied, untied = (counted(student, **sizes, tied=choice) for choice in (True, False))
    saved = d_model * vocab_size + vocab_size
    expect.equal(tied["output_projection"], 0, "output_projection, when tied,")
    due = {**tied, "output_projection": saved, "total": tied["total"] + saved}
    expect.equal(untied, due, "the counts when untied")


@KATA.law(points=0.5)
def test_printed_totals(student):
    """The printed decoder has 657,152 parameters when tied, and 786,152 when not."""
    table = {
        "token_embedding": 128_000,
        "self_attention": 66_048,
        "cross_attention": 66_048,
        "feed_forward": 131_712,
        "layer_norms": 768,
        "layer": 264_576,
        "stack": 529_152,
    }
    tied = {**table, "output_projection": 0, "total": 657_152}
    untied = {**table, "output_projection": 129_000, "total": 786_152}
    expect.equal(counted(student, **printed(tied=True)), tied, "the printed table, tied,")
    expect.equal(counted(student, **printed(tied=False)), untied, "the printed table, untied,")
