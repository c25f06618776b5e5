"""A product with weights of four bits, which are unpacked in the program.

A model that writes one token at a time multiplies a few rows of x by all of its
weights, and waits for the weights. In four bits they are a quarter of what they are in
float16. That helps only if they stay packed in memory: the kernel loads bytes, makes
numbers of them in the program, multiplies, and forgets them.

A weight is a whole number q from -8 to 7 times a scale. A group of `group` neighbours
along K, in one column, shares a scale. q + 8 is a code from 0 to 15: four bits, a
nibble. A byte holds the codes of two neighbours along K, that of the even k in the low
nibble:

    packed[p, n]  = (q[2p, n] + 8) + 16 * (q[2p + 1, n] + 8)      uint8 [K / 2, N]
    weight[k, n]  = q[k, n] * scales[k // group, n]               [K, N]
    out           = x weight                                      [M, N]

The kernel is that of `tiled_matmul`: a program has block_m rows and block_n columns of
`out`, takes K in tiles of block_k, and adds up in float32. Here block_k divides
`group`, so a tile lies in one group and needs one scale for each of its columns:

    for every tile of k, from `begin` on:
        p       = begin / 2 + arange(0, block_k / 2)      rows of packed
        byte    = load(packed)                            [block_k / 2, block_n] uint8
        scale   = load(scales)                            [1, block_n]
        even    = (byte & 15, as a float, - 8) * scale    weights of k = 2p
        odd     = (byte >> 4, as a float, - 8) * scale    weights of k = 2p + 1
        acc     = acc + x[:, 2p] even + x[:, 2p + 1] odd  [block_m, block_n]

A sum over k is the sum over the even k and that over the odd k, so the weights need not
be brought back into their order: two products of half a tile are enough, which tl.dot
takes from 16 k on. In uint8, 3 - 8 is 251. What is masked in x must be 0: a masked byte
of 0 has the weights -8.

Example: x [2, 40], packed [20, 3] and scales [2, 3], with group = 32, block_m = 2,
block_n = 2 and block_k = 32. Program (0, 0) has columns 0 and 1, (0, 1) has column 2,
and both take two tiles:

    k of x              0 to 31    32 to 39
    rows of packed      0 to 15    16 to 19
    row of scales       0          1

    every row of packed is [163, 136, 240]:    scales [[0.5, 1, 1],
    codes  3 10    8 8     0 15                        [1,   1, 0.5]]
    q     -5  2    0 0    -8  7

Row 0 of x has 1 everywhere, row 1 has 1 at the even k and 0 at the odd ones:

    out = [[-36, 0, -18], [-60, 0, -144]]

The first is 16 * (-5 + 2) * 0.5 + 4 * (-5 + 2) * 1 = -36.

Bound: a program loads each number of its rows of x once, each byte of its columns once,
and for each tile one scale a column, also at the edges:

    loads     2 * block_m * K + block_n * K / 2 + 2 * block_n * cdiv(K, block_k) bytes
              for each of the cdiv(M, block_m) * cdiv(N, block_n) blocks
    stores    4 * M * N bytes: every output once

In the example 416 bytes are loaded at most, 160 + 40 + 8 a block, and 24 are stored.
Weights of float16 would take 160 bytes a block in place of 48.

Neither Triton nor a GPU is needed: `grader.kernels` runs this file in NumPy, checks
each load and store, and counts the bytes. A try:

    from grader.kernels import DeviceArray
    x = DeviceArray(np.ones((2, 40), np.float16), "x")
    packed = DeviceArray(np.full((20, 3), 163, np.uint8), "packed")
    scales = DeviceArray(np.ones((2, 3), np.float16), "scales")
    out = DeviceArray.empty((2, 3), "float32", "out")
    int4_matmul(x, packed, scales, out, 32, 2, 2, 32)
    print(out.numpy())

Where public code differs: llama.cpp's Q4_0 has the code q + 8 too, with the first half
of a group in the low nibbles and the second in the high ones. GPTQ and AWQ put eight
codes into 32 bits and have zero points. Kernels for GPTQ load a word and a scale for
each k and leave it to the cache that most are the same; here each load counts.
PyTorch's tritonbench joins both nibbles to one tile in the order of k: as right.

What goes wrong: the nibbles in each other's place; no - 8, or in uint8; nibbles that
are read as signed numbers; the scale of a wrong group, since k was counted in bytes or
in tiles; bytes masked by K, or numbers by K / 2; x that is not masked; bytes loaded for
each nibble; scales loaded for each number; sums in float16.

Edge cases with their own checks: groups of several tiles, a last tile that is not full,
blocks that are larger than the arrays.

Source: Frantar et al. 2023, "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers", section 5 (practical speedups, grouping); Lin et al. 2024,
"AWQ: Activation-aware Weight Quantization for On-Device LLM Compression and
Acceleration", section 4.
"""

import triton
import triton.language as tl


@triton.jit
def int4_kernel(
    x_ptr,
    packed_ptr,
    scales_ptr,
    out_ptr,
    M,
    N,
    K,
    group,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Compute a block of BLOCK_M times BLOCK_N outputs: the code of one program.

    x_ptr, packed_ptr, scales_ptr, out_ptr: pointers to the first entry of each array.
    M, N, K:          x is [M, K], packed is [K / 2, N] and out is [M, N].
    group:            how many k share a row of scales.
    BLOCK_M, BLOCK_N: the rows and the columns of a block of outputs.
    BLOCK_K:          the k of one tile.
    """
    raise NotImplementedError


def int4_matmul(
    x,
    packed,
    scales,
    out,
    group: int,
    block_m: int,
    block_n: int,
    block_k: int,
) -> None:
    """Write x times the packed weights to `out`, with a program for each block.

    x:                float16 [M, K] on the device, K even.
    packed:           uint8 [K / 2, N] on the device, any bytes.
    scales:           float16 [cdiv(K, group), N] on the device.
    out:              float32 [M, N] on the device. What is in it counts for nothing.
    group:            how many k share a scale, a multiple of block_k. The last group
                      may have fewer.
    block_m, block_n: rows and columns of a block of outputs, powers of two from 1.
    block_k:          how many k a tile has, a power of two from 32.
    returns:          nothing: the product is in `out`, added up in float32.

    All arrays are contiguous. M and N are at least 1, K at least 2, and all may be
    smaller than the blocks. The kernel may have other parameters than those above.
    """
    raise NotImplementedError
