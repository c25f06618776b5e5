"""autograd_scalar: its cases and its laws.

A script is a list of steps, `[operator, operands]`. The Values are v0, v1 ... in the order in which they are
made, first one for each number; an operand that is a number is a constant.
"""

import math

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "autograd_scalar",
    track="gradients",
    entry_points=("Value", "gradients"),
    title="Autograd for numbers",
    source="Baydin, Pearlmutter, Radul and Siskind 2018",
    libraries=("numpy",),
    hints=(
        "Draw the graph of the example, with an arrow from each Value to those that it was made from, and "
        "write the derivative of the table on each arrow. Which node may pass on first, which next, and why "
        "must u wait?",
        "A Value keeps its number and, for each Value that it was made from, that Value and the derivative "
        "by it. All derivatives of the table are plain numbers that are known when the node is made:\n\n"
        "    x * y      [(x, y's number), (y, x's number)]\n"
        "    2 * x      [(x, 2)]\n"
        "    x * x      [(x, x's number), (x, x's number)]    both are added\n\n"
        "Then `gradients` does not ask by which operator a node was made. Where do the sums live, if the "
        "next call must find none of them?",
        "First the order. Without recursion it takes a stack, a list from whose end you take:\n\n"
        "    put output on the stack\n"
        "    take a node from it\n"
        "        marked as ready: write it behind the order\n"
        "        seen before:     leave it\n"
        "        else:            note it as seen, put it back marked as ready,\n"
        "                         and put on the stack what it was made from\n\n"
        "What a node was made from then stands before it. Then the sums, in a new dict from id(node) to a "
        "number: 1 for output. Go through the order from its end; each node adds, for each Value that it was "
        "made from, the derivative by it times its own sum. At the end look the inputs up, 0 for what is not "
        "there. If an operator's other side is no Value, it is a constant: it gives its number and gets no "
        "entry.",
    ),
    hint_for={
        "overwrites_instead_of_adding": 1,
        "passes_on_depth_first": 1,
        "goes_in_the_order_of_discovery": 1,
        "keeps_the_sums_on_the_nodes": 2,
        "recurses": 3,
        "walks_every_path": 3,
    },
    roundings=16,
    bank_size=52,
)

BINARY = "+", "-", "*", "/"
METHODS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv"}


def slopes_of(operator, x, y=0.0):
    """The result of a step, and its derivatives by x and by y."""
    if operator == "+":
        return x + y, 1.0, 1.0
    if operator == "-":
        return x - y, 1.0, -1.0
    if operator == "*":
        return x * y, y, x
    if operator == "/":
        return x / y, 1 / y, -x / y**2
    if operator == "neg":
        return -x, -1.0, 0.0
    if operator == "**":
        return x**y, y * x ** (y - 1), 0.0
    if operator == "exp":
        return math.exp(x), math.exp(x), 0.0
    if operator == "tanh":
        return math.tanh(x), 1 - math.tanh(x) ** 2, 0.0
    return max(x, 0.0), float(x > 0), 0.0


def forwards(numbers, steps, by="", part_of=float):
    """Each Value's number, and its derivative by the Value named `by`: forward mode."""
    found = {f"v{i}": (x, float(by == f"v{i}")) for i, x in enumerate(numbers)}
    for operator, *operands in steps:
        name, pairs = f"v{len(found)}", [found.get(part, (part, 0.0)) for part in operands]
        result, *slopes = slopes_of(operator, *(x for x, _ in pairs))
        slope = sum(dx * part_of(s) for (_, dx), s in zip(pairs, slopes, strict=False))
        found[name] = result, 1.0 if by == name else slope
    return found


def due_gradients(numbers, steps, inputs, output=""):
    """The derivatives of the output, by default of the last Value, by each input."""
    output = output or f"v{len(numbers) + len(steps) - 1}"
    return [forwards(numbers, steps, by)[output][1] for by in inputs]


def is_clear(numbers, steps):
    """Whether no derivative of the last Value is small because large parts cancel: then rounding decides."""
    last = f"v{len(numbers) + len(steps) - 1}"
    pairs = (
        [forwards(numbers, steps, by, part_of)[last][1] for part_of in (float, abs)]
        for by in forwards(numbers, steps)
    )
    return all(abs(slope) >= 1e-3 * size for slope, size in pairs)


def is_tame(operator, *operands):
    """Whether a step is defined, and neither it nor its slopes are large or on an edge."""
    if operator == "/" and abs(operands[1]) < 0.2:
        return False
    if operator == "**" and (abs(operands[0]) < 0.2 or (operands[0] < 0 and operands[1] % 1)):
        return False
    if operator == "exp" and operands[0] > 3:
        return False
    if operator == "tanh" and abs(operands[0]) > 2:
        return False
    if operator == "relu" and abs(operands[0]) < 0.1:
        return False
    return all(abs(x) < 60 for x in slopes_of(operator, *operands))


#: What everyone makes as one node; x - y may be x + -1 * y, in three nodes, and x / y too. So a known mistake
#: and code in another style have the same wrong answers.
SIMPLE = ["*", "+", "*", "+", "tanh", "exp", "relu", "**"]
EVERY = [*SIMPLE, "-", "/", "neg", "-", "/"]


def draw_script(draw, left=False, operators=SIMPLE, most_numbers=3):
    """Numbers and steps; later steps take what was made last more often than the rest."""
    some = st.sampled_from([2.0, 3.0, -1.5, 0.5, -2.0, 1.25])
    numbers = draw(st.lists(some, min_size=1, max_size=most_numbers))
    steps = []
    for _ in range(draw(st.integers(2, 6))):
        known = {name: x for name, (x, _) in forwards(numbers, steps).items()}
        names = [*known, *list(known)[-2:] * 2]
        operator = draw(st.sampled_from(operators))
        operands = [draw(st.sampled_from(names))]
        if operator == "**":
            operands.append(draw(st.sampled_from([2, 3, -1, 0.5, -2.0, 1])))
        elif operator in BINARY:
            operands.append(draw(st.sampled_from([*names, *names, 2, 0.5, -3.0])))
            if left and isinstance(operands[1], str):
                operands = [draw(st.sampled_from([2, 1, 0.5, -3.0])), operands[1]]
        if is_tame(operator, *(known.get(part, part) for part in operands)):
            steps.append([operator, *operands])
    return (numbers, steps) if steps and is_clear(numbers, steps) else (numbers, [["*", "v0", "v0"]])


KINDS = (*["plain"] * 5, "left", "left", "minus", "minus", "between", "between", "zero", "large")


@KATA.cases
def cases(draw):
    """Plain scripts ask for the numbers at the start; others for anything, or have edges."""
    kind = draw(st.sampled_from(KINDS))
    operators = EVERY if kind in ("left", "minus") else SIMPLE
    numbers, steps = draw_script(draw, left=kind == "left", operators=operators)
    inputs = [f"v{i}" for i in range(len(numbers))]
    if kind == "between":
        every = [f"v{i}" for i in range(len(numbers) + len(steps))]
        inputs = [*draw(st.lists(st.sampled_from(every), min_size=1, max_size=3)), every[-2]]
    if kind in ("zero", "large"):
        special = [draw(st.sampled_from([1000.0, -1000.0, 400.0]))] if kind == "large" else [0.0]
        at, numbers = f"v{len(numbers)}", [*numbers, *special]
        steps = [
            ["tanh" if kind == "large" else "relu", at],
            ["*", f"v{len(numbers)}", "v0"],
            ["+", at, "v0"],
        ]
        steps += [["+", f"v{len(numbers) + 1}", f"v{len(numbers) + 2}"]]
        inputs = [*inputs, at]
    return {"numbers": numbers, "steps": steps, "inputs": inputs}


def has_a_constant_on_the_left(steps):
    return any(operator in BINARY and not isinstance(first, str) for operator, first, *_ in steps)


@KATA.corner(points=0.5)
def constants_on_the_left(steps):
    """A constant may stand on the left: 2 * x, 1 + x, 1 - x, 2 / x."""
    return has_a_constant_on_the_left(steps)


@KATA.corner(points=0.5)
def differences_and_quotients(steps):
    """Differences, quotients and -x have their derivatives by both sides."""
    return any(operator in ("-", "/", "neg") for operator, *_ in steps) and not has_a_constant_on_the_left(
        steps
    )


@KATA.corner(points=0.5)
def inputs_made_on_the_way(numbers, inputs):
    """Any Value may be an input: one made on the way, the output itself, one that it was not made from."""
    return any(int(name[1:]) >= len(numbers) for name in inputs)


@KATA.corner(points=0.5)
def relu_of_exactly_zero(numbers, steps):
    """The ReLU of exactly 0 has the derivative 0."""
    found = forwards(numbers, steps)
    return any(operator == "relu" and found[first][0] == 0 for operator, first, *_ in steps)


@KATA.corner(points=0.5)
def tanh_of_large_numbers(numbers, steps):
    """The tanh of a large number is 1 or -1, its derivative 0."""
    found = forwards(numbers, steps)
    return any(operator == "tanh" and abs(found[first][0]) > 300 for operator, first, *_ in steps)


def pinned(numbers, *steps, inputs=()):
    names = list(inputs) or [f"v{i}" for i in range(len(numbers))]
    return {"numbers": numbers, "steps": [list(step) for step in steps], "inputs": names}


@KATA.example
def worked_example():
    return pinned([2.0, 3.0], ("*", "v0", "v1"), ("+", "v2", "v0"), ("*", "v2", "v3"))


@KATA.example
def the_sides_exchanged():
    return pinned([2.0, 3.0], ("*", "v0", "v1"), ("+", "v0", "v2"), ("*", "v3", "v2"))


@KATA.example
def worked_example_on_the_way():
    steps = ("*", "v0", "v1"), ("+", "v2", "v0"), ("*", "v2", "v3")
    return pinned([2.0, 3.0], *steps, inputs=("v3", "v2"))


@KATA.example
def a_square():
    return pinned([3.0], ("*", "v0", "v0"))


@KATA.example
def used_by_two():
    """Each of two results has its own way back to the same number."""
    return pinned([2.0], ("exp", "v0"), ("tanh", "v0"), ("*", "v1", "v2"))


@KATA.example
def a_quotient():
    return pinned([2.0, 5.0], ("/", "v0", "v1"))


@KATA.example
def a_difference():
    return pinned([2.0, 4.0], ("-", "v0", "v1"), ("neg", "v2"), ("*", "v3", "v0"))


@KATA.example
def a_quotient_by_a_whole_number():
    return pinned([3.0], ("/", "v0", 2), ("*", "v1", "v0"))


@KATA.example
def a_root():
    return pinned([2.0, 3.0], ("**", "v0", 0.5), ("*", "v2", "v1"))


@KATA.example
def a_square_of_zero():
    return pinned([0.0, 3.0], ("**", "v0", 2), ("*", "v2", "v1"), ("+", "v3", "v0"))


@KATA.example
def a_power_below_zero():
    return pinned([-2.0], ("**", "v0", -3))


@KATA.example
def both_sides_of_the_relu():
    return pinned([2.0, -2.0], ("relu", "v0"), ("relu", "v1"), ("+", "v2", "v3"))


@KATA.example
def one_minus_x():
    return pinned([3.0], ("-", 1, "v0"), ("*", "v1", "v0"))


@KATA.example
def one_over_x():
    """Squared at the end, so that the derivative shows the number too."""
    return pinned([4.0], ("/", 2, "v0"), ("*", 3, "v1"), ("+", 0.5, "v2"), ("*", "v3", "v3"))


@KATA.example
def a_value_that_the_output_was_not_made_from():
    return pinned([2.0, 5.0], ("*", "v0", "v1"), ("exp", "v0"), inputs=("v0", "v1", "v2", "v3"))


def played(student, numbers, steps):
    """The Values of a script by name."""
    values = {f"v{i}": student.Value(x) for i, x in enumerate(numbers)}
    for operator, *operands in steps:
        values[f"v{len(values)}"] = applied(operator, [values.get(part, part) for part in operands])
    return values


def applied(operator, parts):
    """One step, as Python calls it: a constant on the left leaves it to the right side."""
    first = parts[0]
    if operator in ("exp", "tanh", "relu"):
        return getattr(first, operator)()
    if operator == "neg":
        return first.__neg__()
    if operator == "**":
        return first.__pow__(parts[1])
    if isinstance(first, int | float):
        return getattr(parts[1], f"__r{METHODS[operator]}__")(first)
    return getattr(first, f"__{METHODS[operator]}__")(parts[1])


def last_of(values):
    return values[f"v{len(values) - 1}"]


@KATA.observe
def observe(student, numbers, steps, inputs):
    """The derivatives of the last Value."""
    values = played(student, numbers, steps)
    return {"result": student.gradients(last_of(values), [values[name] for name in inputs])}


def leaf_cases(draw):
    numbers, steps = draw_script(draw, left=draw(st.booleans()), operators=EVERY)
    return {"numbers": numbers, "steps": steps}


@KATA.law(points=0.5, cases=leaf_cases)
def test_numbers_are_computed_forwards(student, numbers, steps):
    """Every Value has the number that plain arithmetic gives."""
    values, due = played(student, numbers, steps), forwards(numbers, steps)
    items = [value.item() for value in values.values()]
    expect.close(items, [x for x, _ in due.values()], "the list of all items", dtype="float32")


def reused(draw):
    """A Value of which one step takes both sides, or of which several steps are made."""
    x = draw(st.sampled_from([3.0, -2.0, 0.5, 1.5]))
    steps = draw(
        st.sampled_from(
            [
                [["+", "v0", "v0"]],
                [["*", "v0", "v0"]],
                [["*", "v0", "v0"], ["*", "v1", "v0"]],
                [["exp", "v0"], ["+", "v1", "v0"]],
                [["+", "v0", "v0"], ["+", "v1", "v1"]],
                [["tanh", "v0"], ["*", "v1", "v0"]],
                [["**", "v0", 3], ["*", "v0", 2], ["+", "v1", "v2"]],
            ]
        )
    )
    return {"numbers": [x], "steps": steps}


@KATA.law(points=0.5, cases=reused)
def test_several_uses_add_up(student, numbers, steps):
    """The derivative by a Value that is used several times is the sum over its uses."""
    values = played(student, numbers, steps)
    found = student.gradients(last_of(values), [values["v0"]])
    what = "gradients(output, [x]) for an x that is used several times"
    expect.close(found, due_gradients(numbers, steps, ["v0"]), what, dtype="float32")


def late_uses(draw):
    """A Value u that the output takes at once, and once more by a longer way, in any order of the sides."""
    x, y = draw(st.sampled_from([2.0, -1.5])), draw(st.sampled_from([3.0, 0.5]))
    way = draw(
        st.sampled_from(
            [
                [["+", "v2", "v0"]],
                [["tanh", "v2"], ["+", "v3", "v1"]],
                [["+", "v2", "v2"], ["*", "v3", "v1"], ["+", "v4", "v2"]],
            ]
        )
    )
    last, operator = f"v{2 + len(way)}", draw(st.sampled_from(["*", "+"]))
    sides = ["v2", last] if draw(st.booleans()) else [last, "v2"]
    return {"numbers": [x, y], "steps": [["*", "v0", "v1"], *way, [operator, *sides]]}


@KATA.law(points=0.5, cases=late_uses)
def test_a_node_waits_for_all_its_parts(student, numbers, steps):
    """A Value passes its derivative on when all that were made from it have passed on theirs."""
    values = played(student, numbers, steps)
    found = student.gradients(last_of(values), [values["v0"], values["v1"]])
    what = "gradients(output, [x, y]), where output takes x * y at once and by a longer way,"
    expect.close(found, due_gradients(numbers, steps, ["v0", "v1"]), what, dtype="float32")


def asked_again(draw):
    """Steps from one number, to which the last one goes back."""
    numbers, steps = draw_script(draw, most_numbers=1)
    return {"numbers": numbers, "steps": [*steps, ["*", f"v{len(numbers) + len(steps) - 1}", "v0"]]}


@KATA.law(points=0.5, cases=asked_again)
def test_each_call_begins_anew(student, numbers, steps):
    """A second call, for the same output or for another one, finds what a first call would find."""
    names, values = [f"v{i}" for i in range(len(numbers))], played(student, numbers, steps)
    inputs, last = [values[name] for name in names], len(values) - 1
    with student.holding_results():  # a report then prints the calls before
        for at, which in ((last, "the output"), (last - 1, "the Value before"), (last, "the output again")):
            found = student.gradients(values[f"v{at}"], inputs)
            due = due_gradients(numbers, steps, names, f"v{at}")
            expect.close(found, due, f"what gradients returns for {which}", dtype="float32")
        found = student.gradients(values[f"v{last - 1}"], [values[f"v{last}"]])
        expect.close(found, [0.0], "the derivative of the Value before by the output", dtype="float32")


#: A chain of sums, beside the submission: as calls of its own it would take too long.
CHAIN = """
def chain(x, length):
    y = x
    for _ in range(length):
        y = y + x
    return y
"""


@KATA.law(points=0.5)
def test_a_deep_graph_has_its_gradients(student):
    """A chain of 5,000 nodes has its gradients."""
    x = student.Value(2.0)
    end = student.build(CHAIN, "chain", x, 5000)
    what = "gradients(end, [x]), where y = y + x was computed 5,000 times from y = x,"
    expect.close(student.gradients(end, [x]), [5001.0], what, dtype="float32")


#: Numbers that count the arithmetic done with them.
COUNTED = """
class Counted(float):
    operations = 0


def counting(name):
    plain = getattr(float, name)

    def operate(self, *others):
        Counted.operations += 1
        result = plain(self, *others)
        return Counted(result) if isinstance(result, float) else result

    return operate


for side in ("", "r"):
    for operator in ("add", "sub", "mul", "truediv", "pow"):
        name = f"__{side}{operator}__"
        setattr(Counted, name, counting(name))


def squared(x, times):
    for _ in range(times):
        x = x * x
    return x


def operations():
    done, Counted.operations = Counted.operations, 0
    return done
"""


@KATA.law(points=0.5)
def test_each_node_is_worked_on_once(student):
    """The work grows with the number of nodes, not with that of the paths."""
    x = student.Value(student.build(COUNTED, "Counted", 1.0))
    end = student.build(COUNTED, "squared", x, 12)
    student.build(COUNTED, "operations")
    student.gradients(end, [x])
    done = student.build(COUNTED, "operations")
    told = f"After x = x * x, 12 times, gradients may take 120 operations with the numbers. It takes {done}."
    expect.true(done <= 120, told)
