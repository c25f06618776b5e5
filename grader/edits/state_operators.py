"""Mutation operators for what calls keep: buffers, state that is not registered, and modes of a module.

Such mutants fail only in a second call, of another size, dtype or device or in another mode, or whose result
is still held.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from grader.edits.context import (
    ExpressionContext,
    Family,
    NodeReplacer,
    each,
    expression,
    first_argument,
    name_of,
    names_in,
    statements,
    with_part,
)

#: Functions that make a table or a mask from sizes.
MAKERS = {"arange", "tri", "ones", "zeros", "eye", "empty", "full", "full_like"}
#: Functions that make an array to write into.
SCRATCH = {"zeros", "empty", "full", "new_zeros", "new_empty", "new_full"}
LIKE = ("zeros_like", "empty_like", "full_like")
EMPTY = {"[]", "{}", "set()"}


def kept_forever(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call for all later calls."""
    if around.where and name_of(node) in MAKERS:
        yield kept(node, around)


def kept_and_cut(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call, and cut it for smaller ones."""
    if around.where and is_a_table(node):
        yield cut(node, kept(node, around))


def kept_while_large_enough(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the table of the first call for all sizes up to its own, ignoring dtype and device."""
    if around.where and is_a_table(node) and any(map(follows_an_argument, node.keywords)):
        largest = expression(f"max({ast.unparse(kept(node, around))}, {ast.unparse(node)}, key=len)")
        yield cut(node, largest)


def kept_by_size(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Cache a table by its size for all modules, ignoring dtype and device."""
    if around.where and name_of(node) in MAKERS and any(map(follows_an_argument, node.keywords)):
        yield kept(node, by=ast.unparse(ast.Tuple(node.args, ast.Load())))


def kept_by_shape(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Cache a result of `astype` or `to` by its shape, ignoring its dtype."""
    given = [first_argument(node), *(keyword.value for keyword in node.keywords if keyword.arg == "dtype")]
    if name_of(node) in ("astype", "to") and any(
        one is not None and ast.unparse(one).endswith(".dtype") for one in given
    ):
        yield kept(node, around, by=f"{ast.unparse(node)}.shape")


def mask_kept_by_shape(node: ast.Assign | ast.Return, around: ExpressionContext) -> Iterator[ast.AST]:
    """Yield a mask that is computed once for each shape, though it depends on the values of an argument."""
    value = node.value
    is_compared = isinstance(value, ast.Compare) and getattr(value.left, "id", "") in around.parameters
    if value and (is_compared or _joins_masks(value)):
        yield with_part(node, "value", _by_shape(value, around))


def filled_mask_kept_by_shape(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Compute the mask of `masked_fill` or `where` once for each shape."""
    mask = first_argument(node)
    if name_of(node) in ("masked_fill", "where") and isinstance(mask, ast.Compare | ast.BinOp):
        yield with_part(node, "args", [_by_shape(mask, around), *node.args[1:]])


def default_that_collects(node: ast.FunctionDef, _: ExpressionContext) -> Iterator[ast.AST]:
    """Make an empty list, dict or set the default of an argument, which all calls share."""
    for assign in (n for n in ast.walk(node) if isinstance(n, ast.Assign)):
        if ast.unparse(assign.value) in EMPTY and isinstance(assign.targets[0], ast.Name):
            changed: Any = NodeReplacer({ast.unparse(assign): ast.Pass()}).of(node)
            changed.args.kwonlyargs.append(ast.arg(assign.targets[0].id))
            changed.args.kw_defaults.append(assign.value)
            yield changed


def table_kept_by_arguments(node: ast.FunctionDef, around: ExpressionContext) -> Iterator[ast.AST]:
    """Return one table for all calls with the same numbers."""
    inner = list(ast.walk(node))
    arrays = {ast.unparse(n.value) for n in inner if isinstance(n, ast.Attribute | ast.Subscript)}
    makes_a_table = any(isinstance(n, ast.Call) and name_of(n) in MAKERS for n in inner)
    takes_numbers = around.parameters and not around.parameters & arrays
    if around.is_entry and takes_numbers and makes_a_table and not around.in_module:
        yield with_part(node, "decorator_list", [expression("__import__('functools').cache")])


def one_buffer(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Write each result into one array that all calls return."""
    for before, statement, after in each(body):
        if around.is_entry and isinstance(statement, ast.Return) and _makes_an_array(statement.value, body):
            buffer = kept(ast.Name("result"), around, by="(result.shape, result.dtype)")
            refill = f"result = {ast.unparse(statement.value)}\nkept = {ast.unparse(buffer)}"
            yield [*before, *statements(f"{refill}\nkept[...] = result\nreturn kept"), *after]


def scratch_kept(body: list[ast.stmt], around: ExpressionContext) -> Iterator[list[ast.stmt]]:
    """Write into an array of an earlier call, without clearing it."""
    for before, statement, after in each(body):
        if isinstance(statement, ast.Assign) and around.where and _is_written(statement, after):
            made = ast.unparse(statement.value)
            array = kept(statement.value, around, by=f"(({made}).shape, ({made}).dtype)")
            yield [*before, with_part(statement, "value", array), *after]


BUFFERS = Family(
    "buffers",
    (
        (ast.Call, kept_forever),
        (ast.Call, kept_and_cut),
        (ast.Call, kept_while_large_enough),
        (ast.Call, kept_by_size),
        (ast.Call, kept_by_shape),
        (ast.Call, filled_mask_kept_by_shape),
        (ast.Assign, mask_kept_by_shape),
        (ast.Return, mask_kept_by_shape),
        (ast.FunctionDef, default_that_collects),
        (ast.FunctionDef, table_kept_by_arguments),
    ),
    (one_buffer, scratch_kept),
)


def kept(value: ast.expr, around: ExpressionContext | None = None, by: str = "") -> ast.expr:
    """Return an expression for the value of the first call (per key), kept in the module or in the file."""
    cache = "vars(self)" if around and around.runs_in_a_mode else "globals()"
    key = f"repr({by})" if by else "'kept'"
    return expression(f"{cache}.setdefault({key}, {ast.unparse(value)})")


def follows_an_argument(keyword: ast.keyword) -> bool:
    return isinstance(keyword.value, ast.Attribute) and keyword.value.attr in ("dtype", "device")


def is_a_table(node: ast.Call) -> bool:
    """Return whether the call makes a table or a mask whose arguments are its sizes, each written out."""
    is_range = name_of(node) == "arange" and len(node.args) > 1
    is_maker = name_of(node) in MAKERS - {"full", "full_like"} and bool(node.args) and not is_range
    return is_maker and not any(isinstance(size, ast.Starred) for size in table_sizes(node))


def table_sizes(node: ast.Call) -> list[ast.expr]:
    """Return the sizes with which a call makes a table."""
    return node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args


def cut(node: ast.Call, table: ast.expr) -> ast.expr:
    """Return an expression that cuts the table to the sizes with which the call makes one."""
    is_square = name_of(node) in ("eye", "tri") and len(node.args) == 1
    axes = table_sizes(node) * 2 if is_square else table_sizes(node)
    return expression(f"{ast.unparse(table)}[{', '.join(f':{ast.unparse(size)}' for size in axes)}]")


def _by_shape(mask: ast.expr, around: ExpressionContext) -> ast.expr:
    return kept(mask, around, by=f"({ast.unparse(mask)}).shape")


def _joins_masks(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd | ast.BitOr)


def _makes_an_array(value: ast.expr | None, body: list[ast.stmt]) -> TypeGuard[ast.expr]:
    made = [n for n in body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    names = {target.id for n in made for target in n.targets if isinstance(target, ast.Name)}
    return isinstance(value, ast.BinOp | ast.Call | ast.Compare) or getattr(value, "id", "") in names


def _is_written(made: ast.Assign, after: list[ast.stmt]) -> bool:
    """Return whether later statements write into the array that the statement makes."""
    call, name = made.value, ast.unparse(made.targets[0])
    if not isinstance(call, ast.Call) or name_of(call) not in (*SCRATCH, *LIKE):
        return False
    written = [n for statement in after for n in ast.walk(statement) if isinstance(n, ast.Subscript)]
    return any(isinstance(n.ctx, ast.Store) and ast.unparse(n.value) == name for n in written)


TABLE_SIZE = 1024  # of a table made in `__init__` if there is no `max_len`


def length_kept_forever(node: ast.Assign, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the length of the first call."""
    if around.method not in ("", "__init__") and _is_length(node.value):
        yield with_part(node, "value", kept(node.value, around))


def root_kept_forever(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Keep the root of a width from the first call, except in modules, which have one width."""
    if ast.unparse(node.func) == "math.sqrt" and around.method not in ("", "__init__"):
        yield kept(node)


def not_registered(node: ast.Expr, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a buffer by a plain attribute, which `to()` does not move, or by a parameter."""
    call = node.value
    if isinstance(call, ast.Call) and name_of(call) == "register_buffer":
        name, table = ast.literal_eval(call.args[0]), ast.unparse(call.args[1])
        yield from statements(f"self.{name} = {table}")
        yield from statements(f"self.{name} = nn.Parameter({table})")


def buffer_in_a_dict(node: ast.ClassDef, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a buffer by an entry of a dict, which `to()` does not move."""
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call) and name_of(n) == "register_buffer"):
        name, table = ast.literal_eval(call.args[0]), ast.unparse(call.args[1])
        (entry,) = statements(f"self.tables = {{{name!r}: {table}}}")
        yield NodeReplacer(
            {ast.unparse(call): entry, f"self.{name}": expression(f"self.tables[{name!r}]")}
        ).of(node)


def modules_in_a_list(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a ModuleList by a plain list, whose parameters are not registered."""
    if around.in_module and name_of(node) == "ModuleList":
        yield with_part(node, "func", ast.Name("list"))


def made_in_advance(node: ast.ClassDef, around: ExpressionContext) -> Iterator[ast.AST]:
    """Make a table in `__init__`, without the input's dtype and device, and cut it in `forward`."""
    start = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    if start is None or not around.in_module:
        return
    size = "max_len" if "max_len" in {arg.arg for arg in start.args.args} else str(TABLE_SIZE)
    for method in (f for f in node.body if isinstance(f, ast.FunctionDef) and f is not start):
        for assign in (n for n in method.body if isinstance(n, ast.Assign)):
            table, cut = _made_with_size(assign.value, size)
            if table:
                shorter = with_part(assign, "value", expression(f"self.kept[{cut}]"))
                yield _with_statement_in_init(node, f"self.kept = {table}", {ast.unparse(assign): shorter})


def shared_by_instances(node: ast.ClassDef, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace an attribute of the instance by one of the class."""
    if around.in_module:
        return
    stored = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    for name in dict.fromkeys(ast.unparse(n) for n in stored):
        shared = expression(name.replace("self.", f"{node.name}."))
        yield NodeReplacer({name: shared}).of(node)


STATE = Family(
    "state",
    (
        (ast.Call, root_kept_forever),
        (ast.Call, modules_in_a_list),
        (ast.Assign, length_kept_forever),
        (ast.Expr, not_registered),
        (ast.ClassDef, buffer_in_a_dict),
        (ast.ClassDef, made_in_advance),
        (ast.ClassDef, shared_by_instances),
    ),
)


def _is_length(value: ast.expr) -> bool:
    """Return whether the value is `x.shape`, an entry of it, `len(x)`, or a tuple of these."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_length, value.elts))
    return bool(re.fullmatch(r"len\(\w+\)|\w+\.shape(\[[^]]*\])?", ast.unparse(value)))


def _made_with_size(value: ast.expr, size: str) -> tuple[str, str]:
    """Return the source of a table of that size and of the slice to use; empty if it needs other values."""
    makers = [n for n in ast.walk(value) if isinstance(n, ast.Call) and name_of(n) in MAKERS]
    lengths = {ast.unparse(arg) for call in makers for arg in call.args}
    if len(makers) != 1 or len(lengths) != 1 or first_argument(makers[0]) is None:
        return "", ""
    maker = makers[0]
    plain = [keyword for keyword in maker.keywords if not follows_an_argument(keyword)]
    made = ast.Call(maker.func, [expression(size)] * len(maker.args), plain)
    text = ast.unparse(value).replace(ast.unparse(maker), ast.unparse(made))
    axes = 2 if name_of(maker) == "eye" else len(maker.args)
    cut = ", ".join(f":{length}" for length in list(lengths) * axes)
    return (text, cut) if names_in(expression(text)) <= {"torch", size} else ("", "")


def _with_statement_in_init(node: ast.ClassDef, statement: str, others: dict[str, ast.AST]) -> ast.AST:
    """Return the class with one more statement in `__init__` and with some nodes replaced."""
    changed = NodeReplacer(others).of(node)
    for method in ast.iter_child_nodes(changed):
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            method.body += statements(statement)
    return changed


#: Calls that mask positions.
MASKING = {"masked_fill", "tril", "triu"}
EACH_MODE = "self.training", "not self.training"


def masked_in_one_mode(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Apply a mask in only one mode."""
    if around.runs_in_a_mode and name_of(node) in MASKING and isinstance(node.func, ast.Attribute):
        yield from _in_one_mode(node, node.func.value)


def sublayer_in_one_mode(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Call a normalization in only one mode, and dropout only in evaluation."""
    called = ast.unparse(node.func)
    if around.runs_in_a_mode and called.startswith("self.") and len(node.args) == 1 and first_argument(node):
        if called == "self.dropout":
            yield expression(f"{ast.unparse(node.args[0])} if self.training else {ast.unparse(node)}")
        elif name_of(node).startswith(("norm", "ln")):
            yield from _in_one_mode(node, node.args[0])


def added_in_one_mode(node: ast.BinOp, around: ExpressionContext) -> Iterator[ast.AST]:
    """Add a sublayer or a table in only one mode."""
    if around.runs_in_a_mode and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name):
        yield from _in_one_mode(node, node.left)


def checked_in_one_mode(node: ast.If, around: ExpressionContext) -> Iterator[ast.AST]:
    """Test a condition in only one mode."""
    if around.runs_in_a_mode:
        for mode in EACH_MODE:
            yield with_part(node, "test", expression(f"({ast.unparse(node.test)}) and {mode}"))


def mode_not_restored(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Set a fixed mode after the call instead of restoring the earlier one."""
    if name_of(node) == "train" and node.args and isinstance(node.func, ast.Attribute):
        yield with_part(node, "args", [])
        yield ast.Call(ast.Attribute(node.func.value, "eval", ast.Load()), [], [])


MODES = Family(
    "modes",
    (
        (ast.Call, masked_in_one_mode),
        (ast.Call, sublayer_in_one_mode),
        (ast.Call, mode_not_restored),
        (ast.BinOp, added_in_one_mode),
        (ast.If, checked_in_one_mode),
    ),
)


def _in_one_mode(node: ast.expr, otherwise: ast.expr) -> Iterator[ast.AST]:
    for mode in EACH_MODE:
        yield expression(f"{ast.unparse(node)} if {mode} else {ast.unparse(otherwise)}")
