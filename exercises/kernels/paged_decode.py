"""A step of decoding as a kernel: keys and values lie in pages.

In a step of decoding each sequence has one new query, which attends to all its tokens,
the new one included. The step takes as long as its keys and values take to load, so
each is loaded once, from where it lies. That is a page of a common pool, as in
`paged_kv_cache`, which calls it a block. A table says which pages a sequence has:

    token t of sequence s    is in page table[s, t // page_size] at place t % page_size
    length tokens            need ceil(length / page_size) pages

A program has one sequence and one head. It goes over the pages in the order of the
table. The softmax is that of `online_softmax`, and the output is corrected together
with the sum:

    query    = load from q                                 [d_head]
    length   = load from lengths                           one number
    for each page of the sequence:
        page     = load from the table                     one number
        filled   = the positions of its places < length    [page_size]
        keys     = load from the page, where filled        [page_size, d_head]
        values   = load from the page, where filled        [page_size, d_head]
        scores   = keys query / sqrt(d_head)               [page_size]
                   where filled, else -inf
        maximum' = max(maximum, the largest score)         one number
        powers   = exp(scores - maximum')                  [page_size]
        change   = exp(maximum - maximum')                 one number
        sum'     = change * sum + the sum of powers        one number
        output'  = change * output + powers values         [d_head]
    store output / sum

The maximum begins with -inf, sum and output with 0. Scores are the sum along d_head of
the keys times the query: tl.dot needs 16 numbers to add up, and d_head may be less.

The last page is seldom full. Its other places hold what earlier sequences have left, or
NaN where nothing was written. They are not loaded; and since 0 * NaN is NaN, a masked
value needs an `other`. A row of the table is longer than most sequences need. Its other
entries are numbers of no page, and are not loaded either.

Example: d_head = 4, one head, pages of 2 places, lengths = [3, 2].

    page                          0      1      2      3
    place                         0 1    0 1    0 1    0 1
    program 0, table [3, 1, .]           2 .           0 1
    program 1, table [0, ., .]    0 1

A digit is a token that is loaded, and `.` what is not. All numbers are 0 but those in
column 0: both queries are 2, so that a score is 2 / sqrt(4) = 1 times the key. In
sequence 0 the keys are [0, 0.693, 1.386], the logarithms of 1, 2 and 4, and the values
[2, 3, 5]:

    page   scores          maximum   change   sum                      output
    3      [0, 0.693]      0.693     0        1/2 + 1 = 1.5            1/2 * 2 + 3 = 4
    1      [1.386, -inf]   1.386     1/2      1/2 * 1.5 + 1 = 1.75     1/2 * 4 + 5 = 7
    stored                                                             7 / 1.75 = 4

In sequence 1 the keys are [0, 0] and the values [1, 5], so that the result is 3. Its
page is full, and the next entry of the table is not its own.

Entry (p, i, h, c) of k_pages lies `p * stride(0) + i * stride(1) + h * stride(2) + c`
entries behind the first. A pool may have its heads before its places, or keys and
values of a page side by side: use the strides. The table has a stride(0) of its own.

Of each token of the sequence, key and value of the head are loaded once; of the table
one entry a page; the length and the query once. With length = 1,000, d_head = 64 and
pages of 16, a program loads at most 512,000 bytes of keys and values, 63 * 4 = 252 of
the table, 4 of the length and 256 of the query, and stores 256. No load takes more than
page_size tokens, and none takes what belongs to no sequence.

A try (neither Triton nor a GPU is needed, see `masked_add`):

    from grader.kernels import DeviceArray
    numbers = np.random.default_rng(0).standard_normal((2, 4, 2, 1, 4), np.float32)
    k_pages, v_pages = DeviceArray(numbers[0], "k"), DeviceArray(numbers[1], "v")
    q = DeviceArray(np.ones((2, 1, 4), np.float32), "q")
    table = DeviceArray(np.array([[3, 1, 99], [0, 99, 99]], np.int32), "table")
    lengths = DeviceArray(np.array([3, 2], np.int32), "lengths")
    out = DeviceArray.empty((2, 1, 4), "float32", "out")
    paged_decode(q, k_pages, v_pages, table, lengths, out)
    print(out.numpy())

Elsewhere: one program has all heads of a sequence, or the query heads that share a key
head. vLLM turns the number of a page into int64, since a pool may have more than 2^31
entries. Both are right here. For long sequences, several programs share one, and a
second kernel joins their results.

What goes wrong: the table is left out, or read in the row of another sequence; the last
page is left out, or taken as full; one more page is read where the last one is full;
the mask compares places and not positions; masked values are undefined; sum or output
is not corrected; a masked score is 0; the table is read for each token; the query is
loaded for each page; the strides of the pool are guessed.

Edge cases with their own checks: a single token, a last page that is full, a page that
two sequences share, pages that lie apart or have their heads before their places,
scores in the thousands.

Source: Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving
with PagedAttention", sections 4.1 and 4.3; Milakov and Gimelshein 2018, "Online
normalizer calculation for softmax", section 3.
"""

import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    lengths_ptr,
    out_ptr,
    scale,
    PAGE: tl.constexpr,
    D: tl.constexpr,
):
    """Store the result of one sequence and one head: the code of one program.

    q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, out_ptr: pointers to the first entry of
           each array.
    scale: 1 / sqrt(d_head).
    PAGE:  page_size.
    D:     d_head.

    The strides of the arrays are missing here: add what you need.
    """
    raise NotImplementedError


def paged_decode(q, k_pages, v_pages, table, lengths, out) -> None:
    """Write softmax(q k^T / sqrt(d_head)) v of each sequence and head to `out`.

    q, out:           float32 [sequences, heads, d_head] on the device, contiguous.
    k_pages, v_pages: float32 [pages, page_size, heads, d_head] on the device, with the
                      same strides; stride(3) is 1. page_size and d_head are powers of
                      two; the number of heads is any.
    table:            int32 [sequences, most pages of a sequence] on the device;
                      stride(1) is 1. Entries behind the last page of a sequence are any
                      number.
    lengths:          int32 [sequences] on the device, how many tokens each has, at
                      least 1.
    returns:          nothing: the results are in `out`.
    """
    raise NotImplementedError
