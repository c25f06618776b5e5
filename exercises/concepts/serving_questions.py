"""Predict what serving takes: caches, pages, shared heads, int8, drafts and LoRA.

A model of `layers` layers serves `batch` texts of `tokens` tokens each. Its attention
has `heads` query heads and kv_heads = heads / group heads of keys and values, each of
the width d_head: `group` neighbouring query heads share one head of keys and values.
Count numbers, not bytes.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row
as the line ROW does.

    row  layers  batch  tokens  heads  group  d_head  window  page
    0    6       4      31      6      2      16      24      32
    1    6       6      116     30     6      64      24      32
    2    3       2      68      20     4      32      24      16
    3    10      3      82      20     4      8       32      16
    4    3       5      63      8      2      8       32      32
    5    7       5      79      30     6      16      48      8
    6    10      4      37      20     4      8       40      8
    7    8       4      46      6      2      32      64      32

    row  head  value  largest  target  draft  rank  d_in  d_out
    0    4     0.84   0.9      0.15    0.9    2     96    240
    1    20    2.53   3.0      0.15    0.25   2     96    144
    2    9     0.3    1.5      0.24    0.2    4     128   240
    3    17    0.25   1.3      0.24    0.5    8     64    240
    4    6     -0.03  1.0      0.2     0.8    16    48    72
    5    20    2.96   3.2      0.2     0.9    2     80    192
    6    18    1.43   1.5      0.24    0.2    6     48    72
    7    4     0.64   1.3      0.08    0.6    4     80    240

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
