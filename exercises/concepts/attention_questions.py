"""Predict the shapes and the masks of attention, without running it.

A decoder generates text with a cache. The cache holds the keys and values of `cached`
earlier tokens; `queries` new tokens come in, as x [batch, queries, d_model], and their
keys and values are added to the cache. The attention has `heads` heads, which share the
width: d_head = d_model / heads. Tokens are counted from 0, so the new ones stand at the
positions cached, cached + 1 and so on. All questions about one query are about the new
token number `query`, which is counted from 0 among the new ones.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row
as the line ROW does.

    row  batch  heads  queries  cached  d_model  query  window  pads
    0    5      8      4        7       112      1      3       2
    1    7      8      5        9       80       1      4       3
    2    3      4      5        9       80       1      5       2
    3    3      4      5        8       40       1      5       2
    4    5      2      6        8       24       1      4       3
    5    2      8      5        9       96       1      5       3
    6    3      6      5        9       144      1      4       2
    7    3      4      5        8       56       1      5       2

Replace each `...` by a value. Shapes and lists of indices are tuples, such as (2, 3). A
number with a fraction may be off by half a percent, and may be an expression, such as 2
/ 3. Each question is one point, and the page passes from 6 points.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 to 3.2.3 and
3.5.
"""

STUDENT = ""  # your login; without one your row is 0
ROW = sum(STUDENT.encode()) % 8

# The shape of the queries after the projection and the split into heads, in the order
# of the paper's formula: batch, heads, tokens, width.
SHAPE_OF_Q = ...

# The shape of the scores Q Kᵀ, before the softmax.
SHAPE_OF_SCORES = ...

# The number that the scores are divided by.
SCALE = ...

# How many rows of weights the softmax makes, each of which sums to one.
ROWS_THAT_SUM_TO_ONE = ...

# The positions of all keys that the query may see under the causal mask, in rising
# order.
VISIBLE_KEYS = ...

# The same with a sliding window: the query sees the last `window` positions, its own
# included.
WINDOW_KEYS = ...

# Now without a cache: a prompt fills cached + queries positions, and the first `pads`
# of them hold padding. The positions that the token at position cached + query may see
# under the causal mask, in rising order.
UNPADDED_KEYS = ...

# The position that the positional encoding uses for that same token, if the first word
# behind the padding has position 0.
POSITION_ID = ...
