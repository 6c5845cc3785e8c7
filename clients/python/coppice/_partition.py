"""Which instance of a partition a key belongs to, by the hash that docs/reference/merging.md states."""

from typing import Tuple

from ._messages import Id

_WORD = (1 << 64) - 1
_KEY = int.from_bytes(b"coppice", "little")


def _fold(a: int, b: int) -> int:
    product = (a & _WORD) * (b & _WORD)
    return (product ^ (product >> 64)) & _WORD


def _encode(key: Id) -> Tuple[int, bytes]:
    """Kind and bytes of a key: a string, bytes or an integer."""
    if isinstance(key, str):
        return 1, key.encode()
    if isinstance(key, (bytes, bytearray, memoryview)):
        return 2, bytes(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return (3 if key >= 0 else 4), (key & _WORD).to_bytes(8, "little")
    raise TypeError(f"a key is a str, bytes or int, not {type(key).__name__}")


def part_of(key: Id, of: int) -> int:
    """The number, from 0, of the instance among `of` that owns the key: the unit of an event where it has one, else
    its id. A string of digits is another key than the integer."""
    kind, data = _encode(key)
    if not 1 <= len(data) <= 64:
        raise ValueError(f"a key has 1 to 64 bytes, not {len(data)}")
    if of < 1:
        raise ValueError(f"expected at least one instance, not {of}")
    h = _fold(_KEY ^ 0x9E3779B97F4A7C15, (kind << 8) | len(data) | 0xA24BAED4963EE400)
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8], "little")
        h = _fold(h ^ word ^ 0xD6E8FEB86659FD93, _KEY | 1) ^ _fold(word + h, 0x9FB21C651E98DF25)
    return _fold(h ^ _KEY, 0xE7037ED1A0B428DB) % of
