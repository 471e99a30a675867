"""Pairs and samples with the metrics numpy gives for them.

metrics_cases.py pairs|statistics writes cases to stdout, each a line of text and then raw
little-endian data:

    pairs       "NAME REFERENCE_DTYPE CANDIDATE_DTYPE COUNT REFERENCE_BYTES CANDIDATE_BYTES",
                both tensors, the 16 float64 and 5 int64 of expected_pair()
    statistics  "NAME COUNT", the float64 values, then mean and population standard deviation
"""

import math
import sys
from fractions import Fraction

import numpy as np

RNG = np.random.default_rng(2024)
SHORT = [0, 1, 2, 7, 8, 9, 31, 33, 127, 128, 129]
MIDDLE = [1000, 4097, 8191, 8192, 8193]
LONG = [16385, 20001, 65537, 100003, 10**6 + 3]


def decode_float8(bits, exponent_bits, bias, finite_only, unsigned_zero):
    """Float8 from its definition: sign, exponent and fraction fields."""
    bits = bits.astype(np.int64)
    fraction_bits = 7 - exponent_bits
    exponent = (bits >> fraction_bits) & (2**exponent_bits - 1)
    fraction = (bits & (2**fraction_bits - 1)) / 2**fraction_bits
    normal = (1 + fraction) * 2.0 ** (exponent - bias)
    value = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), normal)
    value = np.where(bits & 0x80, -value, value)
    if unsigned_zero:
        return np.where(bits == 0x80, np.nan, value)
    if finite_only:
        return np.where((bits & 0x7F) == 0x7F, np.nan, value)
    top = exponent == 2**exponent_bits - 1
    special = np.where(fraction == 0, np.copysign(np.inf, value), np.nan)
    return np.where(top, special, value)


def decode_nibbles(data, count, signed):
    nibbles = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[:count].astype(np.float64)
    return np.where(nibbles > 7, nibbles - 16, nibbles) if signed else nibbles


# dtype: (storage, elements to float64). What numpy has no dtype for is stored as its bits.
NUMPY_DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8",
                "uint64", "uint32", "uint16", "uint8", "bool"]
DECODERS = {
    "bfloat16": (np.uint16, lambda bits: (bits.astype(np.uint32) << 16).view(np.float32)),
    "float8_e4m3fn": (np.uint8, lambda bits: decode_float8(bits, 4, 7, True, False)),
    "float8_e4m3fnuz": (np.uint8, lambda bits: decode_float8(bits, 4, 8, True, True)),
    "float8_e5m2": (np.uint8, lambda bits: decode_float8(bits, 5, 15, False, False)),
    "float8_e5m2fnuz": (np.uint8, lambda bits: decode_float8(bits, 5, 16, True, True)),
}
PACKED = {"int4": True, "uint4": False}
DTYPES = NUMPY_DTYPES + list(DECODERS) + list(PACKED)


class Side:
    """One tensor of a pair: what is stored, and its elements as float64."""

    def __init__(self, dtype, stored, count):
        self.dtype, self.stored = dtype, np.ascontiguousarray(stored)
        if dtype in PACKED:
            self.values = decode_nibbles(stored, count, PACKED[dtype])
        elif dtype in DECODERS:
            self.values = DECODERS[dtype][1](stored).astype(np.float64)
        else:
            self.values = stored.astype(np.float64)


def random_bits(dtype, count):
    """Any pattern the dtype has, NaN and infinity included."""
    if dtype == "bool":
        return Side(dtype, RNG.integers(0, 2, count).astype(bool), count)
    if dtype in PACKED:
        return Side(dtype, RNG.integers(0, 256, (count + 1) // 2, dtype=np.uint8), count)
    storage = DECODERS[dtype][0] if dtype in DECODERS else np.dtype(dtype)
    raw = RNG.bytes(count * np.dtype(storage).itemsize)
    return Side(dtype, np.frombuffer(raw, storage), count)


def ulp_steps(side):
    bits = side.stored.view(np.int16 if side.stored.itemsize == 2 else np.int32).astype(np.int64)
    magnitude = bits & (2 ** (8 * side.stored.itemsize - 1) - 1)
    return np.where(bits < 0, -magnitude, magnitude)


def expected_ulp(reference, candidate):
    """Largest and 99.9th percentile; -1 where the pair has no distance in ulps."""
    if reference.dtype != candidate.dtype or reference.dtype not in ("float32", "float16", "bfloat16"):
        return [-1.0, -1.0]
    if len(reference.values) == 0:
        return [0.0, 0.0]
    if np.isnan(reference.values).any() or np.isnan(candidate.values).any():
        return [np.nan, np.nan]
    distance = np.sort(np.abs(ulp_steps(reference) - ulp_steps(candidate)))
    return [float(distance[-1]), float(distance[math.ceil(Fraction(999, 1000) * len(distance)) - 1])]


def decibels(signal, noise):
    """With the C library's log10: numpy's own differs between CPUs in the last bit."""
    ratio = np.inf if noise == 0 else signal / noise
    return 10 * (math.log10(ratio) if ratio > 0 else np.log10(ratio))


def cosine(dot, reference_norm, candidate_norm, noise):
    if noise == 0:
        return 1.0
    if np.isnan(dot):
        return np.nan
    if reference_norm == 0 or candidate_norm == 0:
        return 0.0
    return dot / (reference_norm * candidate_norm)


def expected_pair(reference, candidate):
    r, c = reference.values, candidate.values
    d = r - c
    signal, noise = np.sum(r * r), np.sum(d * d)
    if len(r) == 0:
        floats = [0.0] * 7 + [np.inf, np.inf, 1.0, 0.0, 0.0, 0.0, 1.0]
        return floats + expected_ulp(reference, candidate), [-1, 0, 0, 0, 0]
    floats = [signal, np.sum(c * c), np.sum(r * c), noise, np.sum(np.abs(d)),
              np.max(np.abs(r)), np.max(np.abs(d)),
              decibels(signal, noise),
              decibels(np.square(np.max(np.abs(r))), np.mean(d * d)),
              cosine(np.sum(r * c), np.sqrt(signal), np.sqrt(np.sum(c * c)), noise),
              np.mean(d * d), np.mean(np.abs(d)),
              0.0 if noise == 0 else np.sqrt(noise) / np.sqrt(signal),
              cosine(np.dot(r, c), np.linalg.norm(r), np.linalg.norm(c), noise)]
    counts = [np.argmax(np.abs(d)), np.isnan(r).sum(), np.isinf(r).sum(),
              np.isnan(c).sum(), np.isinf(c).sum()]
    return floats + expected_ulp(reference, candidate), counts


def write_pair(name, reference, candidate):
    floats, counts = expected_pair(reference, candidate)
    sides = [reference.stored.tobytes(), candidate.stored.tobytes()]
    sys.stdout.buffer.write(
        f"{name} {reference.dtype} {candidate.dtype} {len(reference.values)} "
        f"{len(sides[0])} {len(sides[1])}\n".encode())
    for data in [*sides, np.array(floats, np.float64), np.array(counts, np.int64)]:
        sys.stdout.buffer.write(data)


def float_pairs(dtype, count):
    """Named pairs of every kind that asks for care."""
    limits = np.finfo(dtype)
    normal = RNG.standard_normal(count)
    near = normal + 0.01 * RNG.standard_normal(count)
    spread = normal * 2.0 ** RNG.integers(limits.minexp // 2, limits.maxexp // 2, count)
    denormal = RNG.integers(-1000, 1000, count) * float(limits.smallest_subnormal)
    huge = normal / 8 * float(limits.max)
    zeros = np.zeros(count)
    yield "normal", normal, near
    yield "unrelated", normal, RNG.standard_normal(count)
    yield "offset", 1e3 + normal, 1e3 + near
    yield "identical", normal, normal
    yield "opposite", normal, -normal
    yield "spread", spread, spread * (1 + 1e-3 * normal)
    yield "denormal", denormal, denormal[::-1]
    yield "huge", huge, -huge
    yield "zeros", zeros, -zeros
    yield "constant", zeros + 0.1, zeros + 0.3
    yield "reference_zero", zeros, near
    yield "candidate_zero", normal, zeros
    if count == 0:
        return
    for value in (np.nan, np.inf, -np.inf):
        broken = near.copy()
        broken[RNG.integers(0, count, 3)] = value
        yield f"candidate_{value}", normal, broken
        yield f"reference_{value}", broken, normal
        yield f"both_{value}", broken, broken


def write_float_pairs(dtype, count):
    for name, reference, candidate in float_pairs(dtype, count):
        write_pair(name, Side(dtype, reference.astype(dtype), count),
                   Side(dtype, candidate.astype(dtype), count))


def write_pairs():
    for count in SHORT + MIDDLE:
        for dtype in ("float64", "float32", "float16"):
            write_float_pairs(dtype, count)
        for dtype in DTYPES:
            side = random_bits(dtype, count)
            write_pair("any_bits", side, random_bits(dtype, count))
            write_pair("any_bits_identical", side, side)
    for count in SHORT + [1000]:
        for dtype in DTYPES:
            for other in DTYPES:
                write_pair("mixed", random_bits(dtype, count), random_bits(other, count))
    for count in LONG:
        normal = RNG.standard_normal(count)
        near = normal + 0.01 * RNG.standard_normal(count)
        for dtype in ("float64", "float32", "float16"):
            write_pair("long", Side(dtype, normal.astype(dtype), count),
                       Side(dtype, near.astype(dtype), count))
        bits = [(v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for v in (normal, near)]
        write_pair("long", *(Side("bfloat16", b, count) for b in bits))
        scaled = [np.rint(v * 40).clip(-128, 127).astype(np.int8) for v in (normal, near)]
        write_pair("long", *(Side("int8", s, count) for s in scaled))


def write_statistics():
    for case in range(2000):
        count = int(RNG.integers(1, 60)) if case % 20 else int(RNG.integers(60, 20001))
        spread = int(RNG.choice([0, 3, 60, 600]))
        values = RNG.standard_normal(count) * 2.0 ** RNG.integers(-spread, spread + 1, count)
        values += RNG.choice([0.0, 1.0, 1e6, -1e15])
        if case % 5 == 0:
            values = RNG.integers(-50, 50, count) * 5e-324
        sys.stdout.buffer.write(f"{case} {count}\n".encode())
        for data in (values, np.array([np.mean(values), np.std(values)])):
            sys.stdout.buffer.write(data.astype(np.float64).tobytes())


if __name__ == "__main__":
    np.seterr(all="ignore")  # overflow and NaN are what many cases are about
    {"pairs": write_pairs, "statistics": write_statistics}[sys.argv[1]]()
