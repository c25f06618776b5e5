"""Count the parameters of a GPT, part by part.

The model is a GPT: a table of token embeddings, a learned table of `positions`
positions, `layers` pre-norm blocks of causal self-attention and a feed-forward of the
width d_ff, one layer norm after the last block, and an output layer without a bias that
is tied to the token embeddings. A linear layer holds one weight for each pair of an
input and an output and, unless a question says otherwise, one bias for each output. The
heads share the width: each is d_model / heads wide.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row
as the line ROW does.

    row  vocab  positions  d_model  d_ff  heads  kv_heads  layers  weights
    0    1200   256        72       288   8      2         5       1000
    1    2000   512        80       320   16     2         6       2000
    2    800    200        96       384   16     2         5       3000
    3    2000   256        108      432   12     2         3       4000
    4    3000   256        120      480   12     2         3       5000
    5    2000   64         84       336   12     3         2       6000
    6    1200   128        72       288   8      4         3       7000
    7    1500   100        72       288   8      2         6       8000

Replace each `...` by a value. Shapes and lists of indices are tuples, such as (2, 3). A
number with a fraction may be off by half a percent, and may be an expression, such as 2
/ 3. Each question is one point, and the page passes from 6 points.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
section 2.3; Ainslie et al. 2023, "GQA", section 2; Loshchilov and Hutter 2019 for
AdamW.
"""

STUDENT = ""  # your login; without one your row is 0
ROW = sum(STUDENT.encode()) % 8

# The parameters of both embedding tables, of tokens and of positions, together.
EMBEDDINGS = ...

# The parameters of the self-attention of one block, with biases.
ATTENTION = ...

# The parameters of the feed-forward of one block, with biases.
FEED_FORWARD = ...

# The parameters of one layer norm.
LAYER_NORM = ...

# The parameters of one whole block.
BLOCK = ...

# The parameters of the whole model.
MODEL = ...

# The parameters of a grouped-query attention with `heads` query heads and `kv_heads`
# heads of keys and values, its output layer included, without biases.
GROUPED_ATTENTION = ...

# The bytes that training a model of `weights` parameters with AdamW in float32 keeps in
# memory for the weights, the gradients and the optimizer's state.
TRAINING_BYTES = ...
