"""Predict what serving takes: caches, pages, shared heads, int8, drafts and LoRA.

A model of `layers` layers serves `batch` texts of `tokens` tokens each. Its attention
has `heads` query heads and kv_heads = heads / group heads of keys and values, each of
the width d_head: `group` neighbouring query heads share one head of keys and values.
Count numbers, not bytes.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row
as the line ROW does.

    row  layers  batch  tokens  heads  group  d_head  window  page
    0    5       6      47      28     4      64      24      32
    1    5       2      41      42     6      16      24      8
    2    5       4      94      14     2      64      32      8
    3    4       5      33      14     2      16      40      8
    4    10      4      109     30     6      8       24      16
    5    10      3      102     20     4      64      48      16
    6    5       4      77      42     6      16      48      32
    7    4       3      33      42     6      32      48      16

    row  head  value  largest  target  draft  rank  d_in  d_out
    0    14    1.05   1.5      0.15    0.9    2     96    240
    1    30    2.03   3.0      0.15    0.25   2     96    144
    2    12    0.8    0.9      0.24    0.2    4     128   240
    3    11    1.31   1.7      0.24    0.5    8     64    240
    4    9     1.59   1.7      0.2     0.8    16    48    72
    5    12    0.85   0.9      0.2     0.9    2     80    192
    6    24    0.87   0.9      0.24    0.2    6     48    72
    7    39    1.11   1.5      0.08    0.6    4     80    240

Replace each `...` by a value. Shapes and lists of indices are tuples, such as (2, 3). A
number with a fraction may be off by half a percent, and may be an expression, such as 2
/ 3. Each question is one point, and the page passes from 6 points.

Source: Kwon et al. 2023, "PagedAttention", sections 2 to 4; Ainslie et al. 2023, "GQA",
section 2; Leviathan et al. 2023 for speculative sampling; Hu et al. 2022 for LoRA;
Dettmers et al. 2022 for int8.
"""

STUDENT = ""  # your login; without one your row is 0
ROW = sum(STUDENT.encode()) % 8

# How many numbers the caches of all texts hold.
CACHE = ...

# The same if the attention has a sliding window of `window` positions, the query's own
# included, and each cache keeps only the last `window` tokens of its text.
ROLLING_CACHE = ...

# The number of pages of `page` tokens that one text takes in a paged cache.
PAGES = ...

# How many slots of those pages are empty; a slot holds one token.
UNUSED_SLOTS = ...

# The head of keys and values that the query head number `head` reads; all heads count
# from 0.
KEY_HEAD = ...

# The integer that stands for `value` in int8, if `largest` is the largest magnitude of
# its row and the scale is largest / 127.
INT8 = ...

# In speculative sampling: the probability that a drafted token is accepted, if the
# target model gives it the probability `target` and the draft model the probability
# `draft`.
ACCEPTED = ...

# The number of parameters that LoRA of the rank `rank` trains beside a linear layer
# from d_in to d_out.
LORA = ...
