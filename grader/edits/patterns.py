"""Code that a search for a mistake adds to a submission, as patterns such as `({0}) / {n}`.

Common patterns come first. `{0}` is the expression that is changed, `{n}` a name, `{m}` another name, `{p}` a
parameter.
"""

from __future__ import annotations

#: Keywords that have other names in the other library.
OTHER_WORDS = {"axis": "dim", "dim": "axis", "keepdims": "keepdim", "keepdim": "keepdims"}
AXIS, KEPT = {"numpy": "axis", "torch": "dim"}, {"numpy": "keepdims=True", "torch": "keepdim=True"}
INFINITE = {"numpy": "-np.inf", "torch": "float('-inf')"}
#: What is added with a name, the most common first.
WITH_NAME = (
    *("({0}) / {n}", "({0}) * {n}", "({0}) + {n}", "({0}) - {n}", "({0}) @ {n}", "{n} @ ({0})"),
    *("{n} - ({0})", "{n} / ({0})", "{n} ** ({0})"),
    "({0}) @ {n}.swapaxes(-1, -2)",
    *("({0}) / {n} ** 0.5", "({0}) * {n} ** 0.5", "({0}) / {n}.shape[-1] ** 0.5", "({0}) / {n}.shape[-1]"),
)
#: What is added with an entry of the arguments, which is often a weight.
WITH_WEIGHTS = ("{n}", "({0}) @ {n}", "({0}) * {n}", "({0}) + {n}")
SELDOM_WITH_NAME = (
    *("({0}) ** {n}", "({0})[{n}]", "{n}[{0}]", "({0}) & {n}", "({0}) | {n}"),
    *("({0}) < {n}", "({0}) > {n}", "({0}) / len({n})", "min({0}, {n}.shape[-1])", "({0}) * (1 - {n})"),
    *("({0}, {n})", "({n}, {0})"),
)
#: What is added with a name that is no array.
SELDOM_WITH_NUMBER = (
    *("({0})[:{n}]", "({0})[{n}:]", "({0}) and {n}", "({0}) or {n}", "({0})[:, :{n}]", "({0})[..., :{n}]"),
    *("min({0}, {n})", "max({0}, {n})"),
)
#: What is put in place of a value with a name that is never read and another name `{m}`.
WITH_TWO_NAMES = (
    *("{n}({m})", "{n} @ {m}.swapaxes(-1, -2)", "{m} @ {n}.swapaxes(-1, -2)", "{n} @ {m}", "{m} @ {n}"),
    *("{n} @ {m}.swapaxes(-1, -2) / ({0})", "{m} @ {n}.swapaxes(-1, -2) / ({0})", "{n} * {m} / ({0})"),
    *("{n} @ {m} + ({0})", "{m} @ {n} + ({0})"),
)
WITH_TWO_NAMES_IN = {
    "numpy": ("{m}[{n}]", "({0}) @ {m}[{n}]", "({0}) * {m}[{n}]", "np.where({m} < {n}, -np.inf, {m})"),
    "torch": (
        *("{m}[{n}]", "({0}) @ {m}[{n}]", "({0}) * {m}[{n}]", "{m}.masked_fill({m} < {n}, float('-inf'))"),
        "{m}.masked_fill({n}, float('-inf'))",
    ),
}
SELDOM_WITH_NAME_IN = {
    "numpy": (
        *("np.where({n}, {0}, -np.inf)", "np.where({n}, -np.inf, {0})", "np.where({n}, {0}, 0.0)"),
        *("({0}).astype({n}.dtype)", "np.where({0}, {n}, -np.inf)", "np.where({0}, -np.inf, {n})"),
    ),
    "torch": (
        *("({0}).masked_fill(~{n}, float('-inf'))", "({0}).masked_fill({n}, float('-inf'))", "({0}).to({n})"),
        *("({n}).masked_fill({0}, float('-inf'))", "({n}).masked_fill(~({0}), float('-inf'))"),
        *("({0}).masked_fill(~{n}, 0.0)", "torch.where({n}, {0}, 0.0)", "{n}({0})"),
    ),
}
#: What is added without a name.
ALONE = {
    "numpy": (
        *("-({0})", "~({0})", "({0}).T", "({0}).swapaxes(-1, -2)", "({0}).copy()"),
        *("({0}) - ({0}).max(axis=-1, keepdims=True)", "({0}) / ({0}).sum(axis=-1, keepdims=True)"),
        *("({0}) + 1", "({0}) - 1", "1 - ({0})", "({0}) + 1e-5", "({0}) ** 2", "np.exp({0})", "np.sqrt({0})"),
        *("({0}).mean(axis=-1, keepdims=True)", "({0}).sum(axis=-1, keepdims=True)", "1 + ({0})"),
        *("({0}) - ({0}).mean(axis=-1, keepdims=True)", "({0}).mean()", "({0}).sum()"),
        *("({0}).max(axis=-1, keepdims=True)", "np.tril({0})", "np.triu({0}, 1)", "({0}).argmax()"),
        "({0}).reshape(*({0}).shape[:-2], -1)",
    ),
    "torch": (
        *("-({0})", "~({0})", "({0}).T", "({0}).transpose(-2, -1)", "({0}).transpose(1, 2)", "({0}).clone()"),
        *("({0}) - ({0}).amax(dim=-1, keepdim=True)", "({0}) / ({0}).sum(dim=-1, keepdim=True)"),
        *("({0}) + 1", "({0}) - 1", "1 - ({0})", "({0}) + 1e-5", "({0}) ** 2", "({0}).softmax(dim=-1)"),
        *("({0}).exp()", "({0}).sqrt()", "({0}).detach()", "({0}).amax(dim=-1, keepdim=True)"),
        *("({0}).tril()", "({0}).triu(1)", "({0}).argmax(dim=-1)", "({0}).sin()", "({0}).cos()"),
        *("({0}).flatten(-2)", "({0}).mean()", "({0}).sum()"),
    ),
}
SELDOM_ALONE = {
    "numpy": (
        *("np.log({0})", "np.abs({0})", "np.tanh({0})"),
        *("({0}).swapaxes(1, 2)", "({0}).transpose(0, 2, 1, 3)"),
        *("np.maximum({0}, 0)", "({0}).astype(np.float64)", "np.asarray({0})"),
    ),
    "torch": ("({0}).log()", "({0}).abs()", "torch.relu({0})", "torch.sigmoid({0})", "({0}).contiguous()"),
}
SELDOM = (
    *("({0}).sum(-1)", "({0}).mean(-1)", "({0}) * 2", "({0}) * 3", "({0}) * 4", "({0}) / 2", "not ({0})"),
    *("1 / ({0})", "float({0})", "int({0})", "({0}) + 2", "max({0}, 1)", "({0}).clip(0)", "({0}).clip(0, 1)"),
    *(f"({{0}}) + {size}" for size in ("1e-6", "1e-8", "1e-9", "1e-12")),
)
AXES = ("-1", "0", "1", "-2")
INDICES = (
    *("-1", "0", "..., -1", "..., None", ":, None", "None", "1:", ":1", ":-1", ":, -1"),
    *("..., -1:", "..., :-1", "..., 1:", ":, None, None"),
)
LESS_ITS_MAXIMUM = {
    "numpy": "{0} - {0}.max(axis=-1, keepdims=True)",
    "torch": "{0} - {0}.amax(dim=-1, keepdim=True)",
}
#: Reductions whose result is often taken from the array, or divides it.
REDUCED = ("sum", "mean", "max", "amax", "norm")
REDUCTIONS = ("sum", "mean", "max", "min", "prod")
#: Which positions are later than each of a sequence.
LATER = {
    "numpy": "np.triu(np.ones(({n}, {n}), dtype=bool), 1)",
    "torch": "torch.ones({n}, {n}, dtype=torch.bool, device={p}.device).triu(1)",
}
#: Functions that work along an axis, functions that make an array, and what others may lack.
ALONG_AN_AXIS = """
    all any amax amin argmax argmin argsort cat concatenate cumprod cumsum expand_dims flip gather log_softmax
    logsumexp max mean median min norm prod repeat softmax sort split squeeze stack std sum topk unbind var
"""
MAKING = "arange array asarray empty eye full linspace ones tensor tri zeros"
#: Members that every module of PyTorch has.
OF_MODULES = """
    add_module apply buffers children eval load_state_dict modules named_buffers named_modules
    named_parameters parameters register_buffer register_parameter state_dict to train training zero_grad
"""
KEYWORDS_OF = {
    **dict.fromkeys(("var", "std"), ("correction=0",)),
    **dict.fromkeys(("tri", "tril", "triu"), ("diagonal=1", "k=1")),
    **{"Linear": ("bias=False",), "sum": ("dtype=np.float64",)},
}
