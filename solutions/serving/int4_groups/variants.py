"""Right answers to int4_groups in other styles."""

import numpy as np


class number_by_number:
    """Python's own numbers: round() rounds halves to even, divmod takes a byte apart."""

    @staticmethod
    def quantize_groups(weight, group_size):
        d_out, d_in = weight.shape
        if d_in % group_size != 0:
            raise ValueError(f"{group_size} does not divide {d_in}")
        groups = d_in // group_size
        codes = np.zeros((d_out, d_in), dtype=np.uint8)
        scale = np.ones((d_out, groups), dtype=weight.dtype)
        zero = np.zeros((d_out, groups), dtype=np.uint8)
        for o in range(d_out):
            for g in range(groups):
                numbers = weight[o, g * group_size : (g + 1) * group_size].tolist()
                low, high = min(0.0, *numbers), max(0.0, *numbers)
                if low == high:
                    continue
                step = (high - low) / 15
                shift = round(-low / step)
                scale[o, g], zero[o, g] = step, shift
                for i, number in enumerate(numbers):
                    codes[o, g * group_size + i] = min(15, max(0, round(number / step) + shift))
        return codes, scale, zero

    @staticmethod
    def pack_codes(codes):
        if codes.shape[1] % 2:
            raise ValueError("an odd number of codes")
        rows = [[a + 16 * b for a, b in zip(r[::2], r[1::2], strict=True)] for r in codes.tolist()]
        return np.array(rows, dtype=np.uint8)

    @staticmethod
    def unpack_codes(packed):
        rows = [[code for byte in row for code in divmod(byte, 16)[::-1]] for row in packed.tolist()]
        return np.array(rows, dtype=np.uint8)

    @staticmethod
    def int4_linear(x, packed, scale, zero):
        codes = number_by_number.unpack_codes(packed).tolist()
        size = len(codes[0]) // scale.shape[1]
        rows = [
            [(code - int(zero[o, i // size])) * float(scale[o, i // size]) for i, code in enumerate(row)]
            for o, row in enumerate(codes)
        ]
        return (x @ np.array(rows, dtype=x.dtype).T).astype(x.dtype)


class sums_of_codes:
    """The layer without a weight: sums of x times codes, less zero times the sum of x, group by group."""

    @staticmethod
    def quantize_groups(weight, group_size):
        if weight.shape[1] % group_size:
            raise ValueError
        rows = weight.astype(np.float64).reshape(-1, group_size)
        low, high = np.minimum(rows.min(1), 0), np.maximum(rows.max(1), 0)
        scale = (high - low) / 15
        scale[scale == 0] = 1
        zero = np.around(-low / scale)
        codes = np.clip(np.around(rows / scale[:, None]) + zero[:, None], 0, 15)
        shape = len(weight), -1
        return (
            codes.astype(np.uint8).reshape(weight.shape),
            scale.astype(weight.dtype).reshape(shape),
            zero.astype(np.uint8).reshape(shape),
        )

    @staticmethod
    def pack_codes(codes):
        if codes.shape[-1] & 1:
            raise ValueError
        pairs = codes.reshape(len(codes), -1, 2)
        return np.einsum("oip,p->oi", pairs, np.array([1, 16], np.uint8))

    @staticmethod
    def unpack_codes(packed):
        return np.repeat(packed, 2, axis=1) >> np.tile(np.array([0, 4], np.uint8), packed.shape[1]) & 0xF

    @staticmethod
    def int4_linear(x, packed, scale, zero):
        """Another way: sum x times codes in each group, and take away zero times the sum of x."""
        d_out, groups = scale.shape
        codes = sums_of_codes.unpack_codes(packed).reshape(d_out, groups, -1).astype(x.dtype)
        pieces = x.reshape(*x.shape[:-1], groups, -1)
        products = np.einsum("...gi,ogi->...og", pieces, codes)
        shifts = pieces.sum(-1)[..., None, :] * zero.astype(x.dtype)
        return ((products - shifts) * scale).sum(-1)


class group_by_group:
    """A loop over the groups with slices of columns; scales repeated for every input."""

    @staticmethod
    def quantize_groups(weight, group_size):
        starts, rest = range(0, weight.shape[1], group_size), weight.shape[1] % group_size
        if rest:
            raise ValueError(f"{rest} inputs are left over")
        found = []
        for start in starts:
            part = weight[:, start : start + group_size]
            low = np.fmin(part.min(axis=1), np.zeros_like(part[:, 0]))
            high = np.fmax(part.max(axis=1), np.zeros_like(part[:, 0]))
            empty = (low == 0) & (high == 0)
            scale = (high - low + 15 * empty.astype(part.dtype)) / part.dtype.type(15)
            zero = -np.rint(low / scale)
            steps = np.rint(np.divide(part, scale[:, np.newaxis])).astype(int) + zero[:, np.newaxis].astype(
                int
            )
            found.append((np.minimum(np.maximum(steps, 0), 15), scale, zero))
        codes, scales, zeros = zip(*found, strict=True)
        return [
            np.concatenate(codes, axis=1).astype("uint8"),
            np.stack(scales, axis=1),
            np.stack(zeros, axis=1).astype("uint8"),
        ]

    @staticmethod
    def pack_codes(codes):
        low, high = codes[:, 0::2].astype(int), codes[:, 1::2].astype(int)
        if low.shape != high.shape:
            raise ValueError("the last byte would be half empty")
        return (high * 16 + low).astype(np.uint8)

    @staticmethod
    def unpack_codes(packed):
        codes = np.zeros((packed.shape[0], 2 * packed.shape[1]), dtype=np.uint8)
        codes[:, 0::2] = np.bitwise_and(packed, 0b1111)
        codes[:, 1::2] = np.right_shift(packed, 4)
        return codes

    @staticmethod
    def int4_linear(x, packed, scale, zero):
        codes = group_by_group.unpack_codes(packed).astype(np.int16)
        size = codes.shape[1] // scale.shape[1]
        shifted = codes - np.repeat(zero, size, axis=1).astype(np.int16)
        return np.tensordot(x, shifted * np.repeat(scale, size, axis=1), axes=(-1, 1)).astype(x.dtype)
