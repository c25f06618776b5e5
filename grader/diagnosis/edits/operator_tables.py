"""The tables of the mutation operators: functions, operators and keywords that are easily confused."""

from __future__ import annotations

import ast

#: Names of modules; `np.f(x)` cannot be replaced by `np`, as `x.f()` can by `x`.
MODULES = {"np", "torch", "math", "F", "nn", "numpy", "functional"}
#: Pairs of functions that are confused, in either direction.
PAIRS = """
    sum mean, var std, exp exp2, log log2, cumsum cumprod, min max, amin amax, minimum maximum, argmin argmax,
    any all, sin cos, tril triu, tril_indices triu_indices, zeros ones, zeros_like ones_like, zeros_ ones_,
    floor ceil, isneginf isposinf, softmax log_softmax, relu gelu, ReLU GELU, train eval, AdamW Adam,
    normal_ uniform_, logical_and logical_or, no_grad enable_grad, repeat tile, endswith startswith,
    unsqueeze squeeze, reversed list, add_ sub_
"""
PARTNERS = {one: other for a, b in map(str.split, PAIRS.split(",")) for one, other in ((a, b), (b, a))}
#: Numbers from here on are sizes, which are doubled and halved, since one more makes no difference.
SMALLEST_SIZE = 100
#: Keywords that do not change the result.
IGNORED_KEYWORDS = {"persistent", "strict"}
#: Functions for which the order of the last two arguments does not matter.
SYMMETRIC = {"swapaxes", "transpose", "minimum", "maximum", "min", "max"}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult},
    **{ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    **{ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt)},
    **{ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,)},
    **{ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)},
}
