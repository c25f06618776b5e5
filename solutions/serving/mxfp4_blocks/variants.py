"""Right answers to mxfp4_blocks in other styles."""

import math

import numpy as np


class nearest_in_a_table:
    """Distances to all eight sizes, those of even codes first; a logarithm in float64."""

    @staticmethod
    def encode_e2m1(x):
        order = np.array([0, 2, 4, 6, 1, 3, 5, 7], dtype=np.uint8)
        sizes = np.array([0, 1, 2, 4, 0.5, 1.5, 3, 6])
        codes = order[np.argmin(np.abs(np.abs(x)[..., None] - sizes), axis=-1)]
        return np.where(np.signbit(x), codes + 8, codes).astype(np.uint8)

    @staticmethod
    def quantize_mxfp4(x, block_size=32):
        n = x.shape[-1]
        if n % block_size != 0:
            raise ValueError(f"{block_size} does not divide {n}")
        blocks = x.reshape(*x.shape[:-1], n // block_size, block_size).astype(np.float64)
        with np.errstate(divide="ignore"):
            logarithm = np.log2(np.max(np.abs(blocks), axis=-1))
        shared = np.clip(np.floor(logarithm) - 2, -127, 127)
        codes = nearest_in_a_table.encode_e2m1(blocks / 2.0 ** shared[..., None])
        return codes.reshape(x.shape), (shared + 127).astype(np.uint8)

    @staticmethod
    def dequantize_mxfp4(codes, scales):
        sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        values = np.where(codes >= 8, -1, 1) * sizes[codes % 8]
        each = np.repeat(scales, codes.shape[-1] // scales.shape[-1], axis=-1)
        return (values * 2.0 ** (each.astype(float) - 127)).astype(np.float32)


class on_the_bits:
    """Another way: read the exponent of a float32 from its bits, and compare with the seven middles."""

    @staticmethod
    def encode_e2m1(x):
        bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
        size = (bits & 0x7FFFFFFF).view(np.float32)
        code = np.zeros(x.shape, dtype=np.uint8)
        for middle in (0.25, 1.25, 2.5, 5.0):
            code += size > middle
        for middle in (0.75, 1.75, 3.5):
            code += size >= middle
        return code | (bits >> 31 << 3).astype(np.uint8)

    @staticmethod
    def quantize_mxfp4(x, block_size=32):
        if x.shape[-1] % block_size:
            raise ValueError
        rows = np.ascontiguousarray(x).reshape(-1, block_size)
        fields = (rows.view(np.uint32) >> 23 & 0xFF).astype(np.int32).max(axis=1)
        scales = np.maximum(fields - 2, 0)
        units = rows.astype(np.float64) * np.exp2(127.0 - scales)[:, None]
        codes = on_the_bits.encode_e2m1(units.astype(np.float32))
        return codes.reshape(x.shape), scales.astype(np.uint8).reshape(*x.shape[:-1], -1)

    @staticmethod
    def dequantize_mxfp4(codes, scales):
        e, m = (codes >> 1 & 3).astype(np.int32), (codes & 1).astype(np.float32)
        sizes = np.where(e > 0, np.ldexp(1 + m / 2, e - 1), m / 2)
        signed = np.copysign(sizes, 7.5 - codes).reshape(*scales.shape, -1)
        powers = (scales.astype(np.uint32) << 23).view(np.float32)
        powers = np.where(scales == 0, np.float32(2.0**-127), powers)
        return (signed * powers[..., None]).astype(np.float32).reshape(codes.shape)


class number_by_number:
    """Python's own floats: frexp for the exponent, round() for the nearest even one."""

    @staticmethod
    def _code(number):
        size, sign = min(abs(number), 6.0), 8 if math.copysign(1, number) < 0 else 0
        if size < 2:
            return sign + round(size * 2)
        return sign + (2 + round(size) if size < 4 else 4 + round(size / 2))

    @staticmethod
    def encode_e2m1(x):
        codes = [number_by_number._code(number) for number in x.ravel().tolist()]
        return np.array(codes, dtype=np.uint8).reshape(x.shape)

    @staticmethod
    def quantize_mxfp4(x, block_size=32):
        if x.shape[-1] % block_size:
            raise ValueError("a block would be smaller")
        codes, scales, numbers = [], [], x.ravel().tolist()
        for start in range(0, len(numbers), block_size):
            block = numbers[start : start + block_size]
            largest = max(map(abs, block))
            shared = max(-127, math.frexp(largest)[1] - 3) if largest else -127
            scales.append(shared + 127)
            codes += [number_by_number._code(math.ldexp(number, -shared)) for number in block]
        return [
            np.array(codes, dtype=np.uint8).reshape(x.shape),
            np.array(scales, dtype=np.uint8).reshape(*x.shape[:-1], -1),
        ]

    @staticmethod
    def dequantize_mxfp4(codes, scales):
        sizes, size = (0, 0.5, 1, 1.5, 2, 3, 4, 6), codes.shape[-1] // scales.shape[-1]
        result = np.zeros(codes.shape, dtype=np.float32)
        for index in np.ndindex(*codes.shape):
            code, byte = int(codes[index]), int(scales[(*index[:-1], index[-1] // size)])
            result[index] = math.ldexp(sizes[code & 7], byte - 127) * (-1 if code & 8 else 1)
        return result


class by_sorted_middles:
    """searchsorted from one side and from the other; everything stays float32."""

    @staticmethod
    def encode_e2m1(x):
        middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=np.float32)
        size = np.fabs(x)
        below = np.searchsorted(middles, size, side="left")
        above = np.searchsorted(middles, size, side="right")
        even = np.where(below % 2 == 0, below, above)
        return (even + 8 * np.signbit(x)).astype(np.uint8)

    @staticmethod
    def quantize_mxfp4(x, block_size=32):
        pieces, rest = divmod(x.shape[-1], block_size)
        if rest:
            raise ValueError(f"{rest} numbers are left")
        codes, scales = [], []
        for block in np.split(x, pieces, axis=-1):
            largest = np.abs(block).max(axis=-1, keepdims=True)
            _, exponent = np.frexp(np.maximum(largest, np.float32(2.0**-140)))
            shared = np.maximum(exponent - 3, -127)
            codes.append(by_sorted_middles.encode_e2m1(np.ldexp(block, -shared)))
            scales.append(shared + 127)
        return np.concatenate(codes, axis=-1), np.concatenate(scales, axis=-1).astype(np.uint8)

    @staticmethod
    def dequantize_mxfp4(codes, scales):
        table = np.float32([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
        parts = np.split(np.take(table, codes), scales.shape[-1], axis=-1)
        shifts = np.split(np.int32(scales) - 127, scales.shape[-1], axis=-1)
        return np.concatenate([np.ldexp(a, b) for a, b in zip(parts, shifts, strict=True)], axis=-1)
