"""Predict the losses and steps of a training run, and find the fault behind a symptom.

A GPT with a vocabulary of `vocab` tokens is trained on batches of `batch` sequences.
Each sequence has `tokens` ids: the model reads all but the last, and predicts all but
the first. The loss is the mean cross- entropy in natural logarithms; `pads` of the
batch's targets are padding, which the loss leaves out. The learning rate rises in a
straight line from 0 at step 0 to `peak` at step `warmup`. The gradients' norm over all
parameters is clipped at `limit`.

The column `symptoms` names three of these, in the order of the questions:

    P  The training loss falls close to 0 within a few hundred steps; generated
       text is babble.
    Q  One prompt gives other logits at each call, though nothing is sampled.
    R  The loss of the untrained model is several times that of a uniform guess.
    S  The loss is NaN from the first batch on that has a sequence of padding alone.
    T  All parameters but those of the output layer keep their first values.
    U  Training and generation without a cache are right. With a cache the text differs
       from the second new token on.

These are the faults. Each of them explains exactly one of the symptoms:

    A  The causal mask lets each query see one token too many.
    B  The model was left in training mode, so that dropout is active.
    C  The token embeddings, tied to the output layer, are initialised with a standard
       deviation of 1.
    D  A row of scores is masked with -inf throughout.
    E  The hidden states are detached before the output layer.
    F  Each new token gets the position 0.

Write your login into STUDENT: it chooses your row of numbers. `grade` computes the row
as the line ROW does.

    row  vocab  batch  tokens  pads  loss  step  warmup  peak    norm  limit  symptoms
    0    50     8      17      5     2.1   30    100     0.001   4.0   0.5    PQR
    1    100    4      33      7     3.2   250   1000    0.0006  0.5   2.0    STU
    2    200    16     9       11    1.7   40    200     0.002   2.5   2.0    RPS
    3    400    6      21      9     2.6   120   400     0.0004  8.0   0.4    UQT
    4    1000   12     13      6     3.7   75    500     0.003   0.8   1.6    QSP
    5    2000   32     26      20    1.4   600   1500    0.0008  5.0   2.5    TRU
    6    5000   10     41      13    2.9   90    300     0.0005  3.2   0.8    SUQ
    7    8000   24     11      15    2.3   500   2000    0.0012  0.6   1.5    PTR

Replace each `...` by a value. Shapes and lists of indices are tuples, such as (2, 3). A
number with a fraction may be off by half a percent, and may be an expression, such as 2
/ 3. Each question is one point, and the page passes from 6 points.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 5; Pascanu et al.
2013, "On the difficulty of training recurrent neural networks", algorithm 1, for
clipping.
"""

STUDENT = ""  # your login; without one your row is 0
ROW = sum(STUDENT.encode()) % 8

# The loss of a model that gives every token the same probability.
LOSS_AT_START = ...

# The perplexity that belongs to a loss of `loss`.
PERPLEXITY = ...

# The number of predictions whose cross-entropies one batch averages.
TERMS_OF_THE_LOSS = ...

# The learning rate at step `step`.
LEARNING_RATE = ...

# The factor that clipping multiplies every gradient by, if their norm is `norm`.
CLIPPING_FACTOR = ...

# The letter of the fault that causes the first symptom.
FIRST_FAULT = ...

# The letter of the fault that causes the second symptom.
SECOND_FAULT = ...

# The letter of the fault that causes the third symptom.
THIRD_FAULT = ...
