"""Changes to bytes that bring out faults of readers: flips, cuts, repeats, splices, odd numbers, compression, encodings."""

import gzip
import lzma
import re
from collections.abc import Callable, Sequence
from random import Random

NUMBERS = (
    b"0", b"-1", b"1", b"2", b"255", b"256", b"65535", b"2147483647", b"2147483648", b"-2147483649", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"1" + b"0" * 30, b"9" * 5000, b"1e999", b"-0.0", b"nan", b"inf", b"1.5",
    b"0x10", b"1_000", b"+1", "²".encode(), "٣".encode(), "½".encode(), "一".encode(),
)  # fmt: skip
SPECIAL = (
    b"\0", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b"\xff", b"\xc3", b"\xe2\x80\xa8", "\u00a0".encode(), "\u0085".encode(),
    b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1c", b"\x0c", "é".encode(), "\U0001f600".encode(), b"\\", b'"', b"'",
    b"(", b")", b"[", b"]", b"{", b"}", b"#", b"/", b"=", b",", b"_", b"-", b"*",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+")
_MOST = 1 << 18  # bytes of an input


def place(random: Random, data: bytes) -> int:
    return random.randint(0, len(data))


def piece(random: Random, data: bytes) -> tuple[int, int]:
    start = place(random, data)
    return start, min(len(data), start + int(random.expovariate(0.1)) + 1)


def _flip(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 5, 20))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = piece(random, data)
    return data[:start] + random.randbytes(end - start) + data[end:]


def _delete(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = piece(random, data)
    return data[:start] + data[end:]


def _cut(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    at = place(random, data)
    return data[:at] if random.random() < 0.8 else data[at:]


def _insert(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    at = place(random, data)
    return (
        data[:at]
        + random.choice((random.choice(SPECIAL), random.choice(NUMBERS), random.choice(tokens)))
        + data[at:]
    )


def _copy(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = piece(random, data)
    at = place(random, data)
    return data[:at] + data[start:end] + data[at:]


def _repeat(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = piece(random, data)
    times = random.choice((2, 2, 5, 5, 50, 500))
    if random.random() < 0.005:
        times = _MOST // max(1, end - start)
    return data[:start] + data[start:end] * times + data[end:]


def _lines(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    if random.random() < 0.3:
        del lines[one]
    return b"\n".join(lines)


def _number(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data[: 1 << 14]))
    if not found:
        return _insert(random, data, tokens)
    chosen = random.choice(found)
    return data[: chosen.start()] + random.choice(NUMBERS) + data[chosen.end() :]


def _packed(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    packed = gzip.compress(data, 1) if random.random() < 0.7 else lzma.compress(data, preset=0)
    return packed if random.random() < 0.5 else _flip(random, packed, tokens)


def _encoded(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    return data.decode("utf-8", "replace").encode(
        random.choice(("utf-16", "utf-16-be", "utf-8-sig", "utf-32", "cp037")), "replace"
    )


_COMMON: tuple[Callable[[Random, bytes, Sequence[bytes]], bytes], ...] = (
    _flip, _overwrite, _delete, _cut, _insert, _insert, _copy, _repeat, _lines, _number, _number,
)  # fmt: skip
_SELDOM = (_packed, _encoded)


def mutated(random: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """Return `data` after a few changes; `tokens` are words that mean something in its format."""
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        data = random.choice(_COMMON)(random, data, tokens)[:_MOST]
    return random.choice(_SELDOM)(random, data, tokens) if random.random() < 0.02 else data
