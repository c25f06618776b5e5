"""Predict what the caches, the heads and the small numbers of a served model hold.

A model of `layers` layers serves `batch` texts of `tokens` tokens each. Its attention has `heads` query
heads and kv_heads = heads / group heads of keys and values, each of the width d_head: `group` neighbouring
query heads share one head of keys and values. Count single numbers, not bytes.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row as the line ROW does.

    row  layers  batch  tokens  heads  group  d_head  window  page
    0    2       3      50      8      4      16      32      16
    1    3       2      90      12     3      32      24      16
    2    4       5      70      8      2      64      16      8
    3    6       4      33      16     4      8       64      4
    4    8       2      120     12     6      16      48      32
    5    12      3      45      16     8      32      20      8
    6    5       6      100     9      3      64      40      16
    7    10      4      28      10     5      16      64      8

    row  head  value  largest  target  draft  rank  d_in  d_out
    0    5     0.3    1.1      0.12    0.4    4     64    128
    1    7     -0.5   1.7      0.6     0.35   8     96    64
    2    3     0.7    2.3      0.2     0.5    2     128   96
    3    9     -0.2   0.9      0.3     0.8    16    80    240
    4    8     0.9    2.9      0.08    0.32   4     256   64
    5    10    -1.1   3.3      0.5     0.2    8     72    144
    6    7     0.45   1.3      0.15    0.6    2     48    192
    7    6     -0.62  2.1      0.24    0.9    6     160   32

Replace each `...` by a value. Shapes and lists of indices are tuples, such as (2, 3). A number with a
fraction may be off by half a percent, and may be an expression, such as 2 / 3. Each question is one point,
and the page passes from 6 points.

Source: Kwon et al. 2023, "PagedAttention", sections 2 to 4; Ainslie et al. 2023, "GQA", section 2;
Leviathan et al. 2023 for speculative sampling; Hu et al. 2022 for LoRA; Dettmers et al. 2022 for int8.
"""

STUDENT = ""  # your login; without one your row is 0
ROW = sum(STUDENT.encode()) % 8

# How many numbers the caches of all texts hold.
CACHE = ...

# The same if the attention has a sliding window of `window` positions, and the cache keeps no more than it
# needs.
ROLLING_CACHE = ...

# The number of pages of `page` tokens that one text takes in a paged cache.
PAGES = ...

# How many slots of those pages are empty.
UNUSED_SLOTS = ...

# The head of keys and values that the query head number `head` reads; all heads count from 0.
KEY_HEAD = ...

# The integer that stands for `value` in int8, if `largest` is the largest magnitude of its row and the
# scale is largest / 127.
INT8 = ...

# In speculative sampling: the probability that a drafted token is accepted, if the target model gives it
# `target` and the draft model `draft`.
ACCEPTED = ...

# The parameters that LoRA of the rank `rank` trains beside a linear layer from d_in to d_out.
LORA = ...
