"""tree_verification: its cases and its laws.

The logits of a case are those of a model: a row depends on the tokens of the path to its node, so siblings
with the same token have the same row. What a law expects is computed here from the statement: paths by going
up from each node, the text by greedy decoding.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "tree_verification",
    track="serving",
    entry_points=("tree_mask", "tree_positions", "verify_tree"),
    title="A tree of guesses, one forward pass",
    source="Cai et al. 2024; Miao et al. 2024",
    axes={
        "tokens": "nodes",
        "parents": "nodes",
        "logits": "nodes+1 vocab",
        "mask": "nodes keys",
        "positions": "nodes",
        "path": "path",
        "accepted": "accepted",
    },
    bank_size=40,
    hints=(
        "Draw the tree of the statement, and write beside each node the text that ends at it. Which of the "
        "keys are in this text? And which row of the logits says whether its last token is right?",
        "A parent stands before its child. So one loop over the nodes is enough, in which each node takes "
        "from its parent what is known there, and adds itself:\n\n"
        "    parents      -1   -1    0    1    1\n"
        "    itself        0    1    2    3    4\n"
        "    sees          0    1   0 2  1 3  1 4\n"
        "    depth         0    0    1    1    1\n"
        "    right?        no  yes    ?    ?    ?\n\n"
        "What do nodes 2, 3 and 4 need from their parents to fill in the question marks? With -1 as an "
        "index Python reads the last entry: the root needs a case of its own.",
        "Mask: False [N, P + N]. For each node: True for the first P keys; its parent's row, by `or`, unless "
        "that is the root; True for key P + node. Refuse parents that are not from -1 to node - 1. "
        "Positions: P at a child of the root, else the parent's and 1. Verify:\n\n"
        "    1   the argmax of each row                             [N + 1]\n"
        "    2   for each node, in order: it is right if its parent is the\n"
        "        root or is right, and its token is the choice of row\n"
        "        parent + 1; note its depth\n"
        "    3   the first of the deepest right nodes; from there go up to\n"
        "        the root, and turn the list round                  [A]\n"
        "    4   their tokens, then the choice of row (last node) + 1,\n"
        "        or of row 0 where no node is right                 [A + 1]\n\n"
        "Give the empty path the dtype int64, else NumPy makes it a float.",
    ),
    hint_for={
        "reads_the_choice_at_the_node": 1,
        "counts_rows_without_the_root": 1,
        "sees_the_parent_alone": 2,
        "counts_nodes_as_positions": 2,
        "counts_levels_from_one": 2,
        "accepts_below_a_wrong_node": 2,
        "takes_the_last_of_equal_paths": 3,
        "returns_a_path_of_floats": 3,
    },
)


def path_to(node, parents):
    """The nodes from a child of the root down to this one."""
    path = []
    while node >= 0:
        path.append(node)
        node = int(parents[node])
    return path[::-1]


def row_after(text, vocab, seed, ties):
    """The logits after these tokens of the tree: distinct halves, or with several that are the largest."""
    rng = np.random.default_rng([seed, *(int(token) + 1 for token in text)])
    row = (rng.permutation(vocab) - vocab // 2) / 2
    if ties:
        row[rng.permutation(vocab)[: rng.integers(2, vocab + 1)]] = vocab
    return row


def logits_of(tokens, parents, vocab, seed, ties=False):
    """A row at the root, and one at each node."""
    paths = [[], *(path_to(node, parents) for node in range(len(parents)))]
    return np.array([row_after(tokens[path], vocab, seed, ties) for path in paths])


def draw_tree(rng, nodes, vocab, seed, twins, ties):
    """Tokens and parents; more than half of the guesses are right, and siblings differ, or some are alike."""
    tokens, parents = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    node = 0
    while node < nodes:
        near = max(-1, node - int(rng.integers(1, 4)))
        parent = near if rng.random() < 0.5 else int(rng.integers(-1, node))
        siblings = tokens[:node][parents[:node] == parent]
        path = path_to(parent, parents)
        row = row_after(tokens[path], vocab, seed, ties)
        others = np.flatnonzero(row == row.max()) if ties else range(vocab)
        token = row.argmax() if rng.random() < 0.6 else rng.choice(others)
        if twins and len(siblings) and rng.random() < 0.7:
            token = siblings[-1]
        if twins or token not in siblings:
            tokens[node], parents[node] = token, parent
            node += 1
    return tokens, parents


def draw_case(draw, kind="plain"):
    """A tree behind a prefix, and the logits at its nodes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    vocab, seed = draw(st.integers(3, 6)), int(rng.integers(2**16))
    nodes = 0 if kind == "empty" else draw(st.integers(3 if kind == "twins" else 1, 8))
    dtype = draw(st.float_dtypes())
    ties, which = kind == "ties", draw(st.sampled_from([0, -1]))
    while True:
        tokens, parents = draw_tree(rng, nodes, vocab, seed, kind == "twins", ties)
        logits = logits_of(tokens, parents, vocab, seed, ties).astype(dtype)
        if has_twins(tokens, parents) == (kind == "twins") == misleads(tokens, parents, logits, which):
            break
    return {
        "tokens": tokens,
        "parents": parents,
        "prefix_len": draw(st.integers(1, 4)),
        "logits": draw(st.permuted(st.just(logits))),
    }


def has_twins(tokens, parents):
    pairs = list(zip(tokens.tolist(), parents.tolist(), strict=True))
    return len({*pairs}) < len(pairs)


def greedy_text(tokens, parents, logits):
    """What greedy decoding writes from the root on, as far as the tree has it, and one token more."""
    rows = {(): 0} | {tuple(tokens[path_to(n, parents)].tolist()): n + 1 for n in range(len(parents))}
    text = []
    while tuple(text) in rows:
        text.append(int(logits[rows[tuple(text)]].argmax()))
    return text


def misleads(tokens, parents, logits, which):
    """Whether going down by the first right child each time (or by the last) misses the deepest one."""
    node, text = -1, []
    while True:
        choice = logits[node + 1].argmax()
        below = np.flatnonzero((parents == node) & (tokens == choice))
        if not len(below):
            return len(text) + 1 < len(greedy_text(tokens, parents, logits))
        node = int(below[which])
        text.append(choice)


@KATA.cases
def cases(draw):
    return draw_case(draw, draw(st.sampled_from([*["plain"] * 6, "twins", "twins", "ties", "empty"])))


@KATA.corner(points=0.5)
def a_tree_without_nodes(parents):
    """A tree without nodes gives the root's choice."""
    return len(parents) == 0


@KATA.corner(points=0.5)
def siblings_with_the_same_token(tokens, parents):
    """Of siblings with the same token each one is followed."""
    return has_twins(tokens, parents)


@KATA.corner(points=0.5)
def logits_that_tie(logits):
    """Of equal logits the first is the choice."""
    return bool(((logits == logits.max(-1, keepdims=True)).sum(-1) > 1).any())


def pinned(tokens, parents, prefix_len, choices, vocab=4, dtype="float32"):
    """A case whose greedy choices are given, at the root and at each node."""
    logits = -np.abs(np.arange(vocab) - np.array(choices)[:, None]).astype(dtype)
    whole = np.array(tokens, dtype=np.int64), np.array(parents, dtype=np.int64)
    return {"tokens": whole[0], "parents": whole[1], "prefix_len": prefix_len, "logits": logits}


@KATA.example
def printed():
    """The example of the statement."""
    return pinned([3, 1, 2, 2, 0], [-1, -1, 0, 1, 1], 2, [1, 2, 0, 3, 1, 2])


@KATA.example
def a_chain():
    """Three of four guesses are right."""
    return pinned([1, 2, 3, 0], [-1, 0, 1, 2], 3, [1, 2, 3, 1, 2])


@KATA.example
def no_node_is_right():
    """Below the wrong guesses all is as their parents chose it."""
    return pinned([1, 2, 3, 0, 2], [-1, -1, 0, 1, 2], 1, [0, 3, 0, 2, 1, 1], dtype="float64")


@KATA.example
def no_nodes():
    return pinned([], [], 2, [3])


@KATA.example
def the_second_of_two_equal_siblings():
    """Both are right, and below the first one nothing is."""
    return pinned([1, 1, 0, 2, 3], [-1, -1, 0, 1, 3], 2, [1, 2, 2, 1, 3, 0])


@KATA.example
def two_equal_paths():
    """Two as deep; that which ends at the smaller number began with the larger one."""
    return pinned([1, 1, 2, 2], [-1, -1, 1, 0], 1, [1, 2, 2, 3, 3])


@KATA.example
def every_logit_ties():
    case = pinned([1, 0, 2], [-1, -1, 0], 2, [0, 1, 2, 0], vocab=3)
    return {**case, "logits": np.zeros((4, 3), dtype="float32")}


@KATA.example
def logits_that_nearly_tie():
    """Token 2 leads by the ninth digit, which float32 does not hold."""
    logits = np.tile([0.0, 1.0, 1.0 + 1e-9, 0.0], (3, 1))
    return {**pinned([2, 2], [-1, 0], 1, [2, 2, 2], dtype="float64"), "logits": logits}


@KATA.observe
def observe(student, tokens, parents, prefix_len, logits):
    """The answer of each part under its own name; what is no pair as it came."""
    mask, positions = student.tree_mask(parents, prefix_len), student.tree_positions(parents, prefix_len)
    answer = student.verify_tree(tokens, parents, logits)
    seen = {"mask": mask, "positions": positions}
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {**seen, "path": answer[0], "accepted": answer[1]}
    return {**seen, "verified": answer}


def verified(student, tokens, parents, logits):
    """(path, accepted) as lists, once they are a pair of arrays of one axis."""
    answer = student.verify_tree(tokens, parents, logits)
    pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect.true(pair, "The result of verify_tree must be the pair (path, accepted).")
    rows = all(getattr(part, "ndim", None) == 1 for part in answer)
    expect.true(rows, "path and accepted must be arrays of one axis.")
    return tuple([int(number) for number in part] for part in answer)


def trees(draw):
    return draw_case(draw)


@KATA.law(points=1, cases=trees)
def test_each_path_is_as_if_alone(student, parents, prefix_len):
    """Attention under the mask gives each node what its path gives alone behind the prefix."""
    size = prefix_len + len(parents)
    mask = student.tree_mask(parents, prefix_len)
    shape = tuple(getattr(mask, "shape", ()))
    due = (len(parents), size)
    expect.true(shape == due, f"The mask must have the shape {due}; it has {shape}.")
    expect.true(np.isin(mask, (0, 1)).all(), "The mask must hold nothing but True and False.")
    weights = np.exp(np.random.default_rng(size).uniform(-1, 1, size))
    values = 10.0 ** np.arange(size)
    for node, row in enumerate(mask.astype(bool)):
        keys = [*range(prefix_len), *(prefix_len + other for other in path_to(node, parents))]
        found = (weights * values)[row].sum() / max(weights[row].sum(), 1e-9)
        expected = (weights * values)[keys].sum() / weights[keys].sum()
        seen = np.flatnonzero(row).tolist()
        told = f"Node {node} sees the keys {seen}; those of its text are {keys}, which give another result."
        expect.true(bool(np.isclose(found, expected, rtol=1e-9)), told)


@KATA.law(points=0.5, cases=trees)
def test_positions_count_up_along_each_path(student, parents, prefix_len):
    """Along the path to each node the positions are prefix_len, prefix_len + 1, and so on."""
    positions = student.tree_positions(parents, prefix_len)
    shape = tuple(getattr(positions, "shape", ()))
    expect.true(shape == parents.shape, f"The positions must have the shape {parents.shape}; it is {shape}.")
    for node in range(len(parents)):
        path = path_to(node, parents)
        due = list(range(prefix_len, prefix_len + len(path)))
        found = [int(positions[other]) for other in path]
        expect.equal(found, due, f"the list of positions along the path {path}")


@KATA.law(points=1, cases=trees)
def test_accepted_is_what_greedy_decoding_writes(student, tokens, parents, logits):
    """The accepted tokens are those of greedy decoding, as far as the tree has them, and one more."""
    _, accepted = verified(student, tokens, parents, logits)
    text = greedy_text(tokens, parents, logits)
    expect.equal(accepted, text, "the list of accepted tokens, against the text of greedy decoding,")


@KATA.law(points=0.5, cases=trees)
def test_path_leads_down_from_the_root(student, tokens, parents, logits):
    """Each node of the path is a child of the one before, and the tokens are those of greedy decoding."""
    path, _ = verified(student, tokens, parents, logits)
    inside = all(0 <= node < len(parents) for node in path)
    expect.true(inside, f"A path holds numbers of nodes, from 0 to {len(parents) - 1}; it is {path}.")
    before = [-1, *path[:-1]] if path else []
    expect.equal([int(parents[node]) for node in path], before, f"the list of parents of the path {path}")
    text = greedy_text(tokens, parents, logits)
    expect.equal([int(tokens[node]) for node in path], text[:-1], f"the list of tokens of the path {path}")


def wrong_trees(draw):
    """A right tree with one parent that is none."""
    case = draw_case(draw)
    parents, node = case["parents"].copy(), draw(st.integers(0, len(case["parents"]) - 1))
    wrong = [-2, node, *range(node + 1, len(parents))]
    parents[node] = draw(st.sampled_from(wrong))
    return {"parents": parents, "prefix_len": case["prefix_len"], "node": node}


@KATA.law(points=0.5, cases=wrong_trees)
def test_refuses_a_parent_that_does_not_stand_before(student, parents, prefix_len, node):
    """tree_mask raises a ValueError where a parent is not from -1 to its node's number minus 1."""
    why = f"node {node} has the parent {parents[node]}"
    expect.refuses(student.tree_mask, parents, prefix_len, why=why)
