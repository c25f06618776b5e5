"""Predict what temperature and filters do to the distribution of the next token.

A language model gives the `logits` of the next token; token ids count from 0. Use
Python for the exponentials. Every question starts from these logits anew, and every
filter works on the probabilities at temperature 1. Where a filter removes tokens, the
others are normalised again, so that they sum to one.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row
as the line ROW does.

    row  logits                            temperature  k  p     min_p  penalty  seen
    0    (3.0, 2.8, -1.4, 0.9, 1.9, 2.3)   2.5          2  0.85  0.25   1.2      2
    1    (2.5, -0.5, 2.9, 1.1, -0.2, 1.8)  0.5          2  0.85  0.3    1.25     3
    2    (1.5, -0.6, 0.6, 2.9, 2.2)        1.6          3  0.85  0.2    1.25     1
    3    (2.1, 2.7, 0.4, -1.4, 1.6, 1.3)   1.6          4  0.75  0.3    1.8      0
    4    (-2.0, 2.5, 0.8, 3.1, 2.0, -1.4)  1.6          2  0.7   0.2    1.25     2
    5    (-1.4, 2.4, 2.3, -1.1, 3.0, 1.6)  1.6          2  0.8   0.3    1.3      3
    6    (2.0, 1.5, -0.8, 1.8, 0.7, 2.5)   1.6          4  0.85  0.2    1.6      0
    7    (-1.0, 0.8, 1.5, 2.7, -0.8, 0.6)  0.8          2  0.7   0.25   1.3      4

Replace each `...` by a value. Shapes and lists of indices are tuples, such as (2, 3). A
number with a fraction may be off by half a percent, and may be an expression, such as 2
/ 3. Each question is one point, and the page passes from 6 points.

Source: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration",
sections 3.1 and 4.2; Fan et al. 2018 for top-k; Nguyen et al. 2024 for min-p; Keskar
et al. 2019 for the repetition penalty.
"""

STUDENT = ""  # your login; without one your row is 0
ROW = sum(STUDENT.encode()) % 8

# The id of the token that greedy decoding chooses.
GREEDY = ...

# The probability of that token.
PROBABILITY = ...

# Its probability at the temperature `temperature`.
AT_TEMPERATURE = ...

# Its probability after a top-k filter with `k`, at temperature 1.
AFTER_TOP_K = ...

# The ids that a top-p filter with `p` keeps, in rising order.
NUCLEUS = ...

# The ids that a min-p filter with `min_p` keeps, in rising order.
AFTER_MIN_P = ...

# The logit of the token `seen` after a repetition penalty of `penalty`.
PENALISED = ...

# The probability that every token approaches as the temperature grows without bound.
LIMIT = ...
