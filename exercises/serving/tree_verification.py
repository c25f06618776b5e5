"""Tree verification: many guesses, one forward pass.

Speculative decoding guesses a few tokens and lets the large model check them in one
run. One chain of guesses ends at its first wrong token. A tree holds several guesses
for each place, and what follows them: more of it is right, and it is still one run.
Medusa's trees have about 64 nodes, each a guessed token. The text so far is the prefix,
P tokens; its last token is the root, and its children are the guesses for what comes
next. The tree comes as two lists:

    tokens[i]     the token that node i guesses
    parents[i]    the node before it: its number, which is below i, or -1 for the root

All N nodes are shown to the model at once, behind the prefix. Were they a text, each
would see the ones before it, also those of other branches. So the model needs a mask
and positions, under which each node sees what it would see if its path were the text:

    mask[i, j]    True for all P prefix tokens, and for the key P + a of each ancestor a
                  of node i and of node i itself; else False           [N, P + N]
    positions[i]  P + the number of ancestors of node i                [N]

The root is a token of the prefix, and no ancestor. The model returns logits at the root
and at each node. Row 0 is the root's, row i + 1 that of node i. The greedy choice of a
row is its argmax, of equal logits the one that stands first. A node is right if its
parent is the root or is right, and its token is the greedy choice at its parent:

    path      the nodes from a child of the root down to the deepest right node, in this
              order: A of them; of several as deep the one with the smallest number
    accepted  their tokens, and the greedy choice at the last node of the path (the
              bonus)                                                   [A + 1]

So each run gives at least one token, and the tokens are those of greedy decoding.
Where no node is right the path is empty, and the bonus is the greedy choice at the
root; so it is for a tree without nodes. Siblings may have the same token: then both are
right or both are not, and the path leads through the one below which more is right. The
path says which keys and values stay in the cache.

Example: P = 2, five nodes, four tokens in the vocabulary.

    node       0   1   2   3   4          root
    parents   -1  -1   0   1   1          ├─ 0: token 3
    tokens     3   1   2   2   0          │   └─ 2: token 2
    positions  2   2   3   3   3          └─ 1: token 1
                                              ├─ 3: token 2
    mask of node 3   1 1   0 1 0 1 0          └─ 4: token 0

The greedy choices are 1 at the root, and 2, 0, 3, 1, 2 at the nodes 0 to 4. So node 1
is right, and below it node 4; node 2 is what its parent chose, but that is wrong. The
path is [1, 4], accepted is [1, 0, 2].

Elsewhere: Medusa's own code has the first token of the model itself as node 0 of the
tree, and lists all paths down to the leaves, filled up with padding. Sampling, and its
"typical acceptance" of tokens that are no greedy choice, are left out here. SpecInfer
verifies trees as well.

What goes wrong: nodes see their siblings, or not themselves; positions count the nodes
instead of the depth; the choice is read at the node itself and not at its parent; the
search follows the first of two equal siblings only; the bonus is forgotten.

Edge cases with their own checks: a tree without nodes, logits that tie, siblings with
the same token.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Cai et al. 2024, "Medusa: Simple LLM Inference Acceleration Framework with
Multiple Decoding Heads"; Miao et al. 2024, "SpecInfer: Accelerating Large Language
Model Serving with Tree-based Speculative Inference and Verification".
"""

import numpy as np


def tree_mask(parents: np.ndarray, prefix_len: int) -> np.ndarray:
    """Say which node may attend to which key.

    parents:    int64 [N]; N may be 0.
    prefix_len: P, the number of tokens before the tree, at least 1.
    returns:    bool [N, P + N], True where the node may attend to the key.

    Raises ValueError where a parent is not below its node's own number, or is below -1.
    """
    raise NotImplementedError


def tree_positions(parents: np.ndarray, prefix_len: int) -> np.ndarray:
    """Return the position of each node.

    parents:    int64 [N], right as above: no check is needed here.
    prefix_len: P, at least 1.
    returns:    int64 [N].
    """
    raise NotImplementedError


def verify_tree(
    tokens: np.ndarray,
    parents: np.ndarray,
    logits: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the longest right path and the tokens that it gives.

    tokens:  int64 [N].
    parents: int64 [N], right as above.
    logits:  float32 or float64 [N + 1, V]; row 0 is the root's, row i + 1 that of node
             i.
    returns: (path, accepted), int64 [A] and int64 [A + 1].
    """
    raise NotImplementedError
