"""Messages that break rules, shared by the tests of the requests socket and of the streams."""

import random
import struct

import msgpack
from conftest import pack

X = [0.25, 1.0, 3.5]
NAN, INFINITY = float("nan"), float("inf")
ANYTHING = [None, True, 5, -5, 1.5, "text", b"binary", [], [1], {}, {"a": 1}, msgpack.ExtType(3, b"x")]


def array32(count, items=b""):
    return b"\xdd" + struct.pack(">I", count) + items


def map32(count, items=b""):
    return b"\xdf" + struct.pack(">I", count) + items


def body(**raw):
    """A map of keys to bytes."""
    return bytes([0x80 + len(raw)]) + b"".join(pack(k) + v for k, v in raw.items())


BOMB = array32(0xFFFFFFFF) * 31  # 155 bytes that promise 2^32 arrays in each of 2^32 arrays ...

# Bodies that are no map of the protocol, whatever the verb.
MALFORMED = {
    "empty": b"",
    "reserved byte": b"\xc1",
    "array": b"\x90",
    "number": b"\x05",
    "text": pack("id"),
    "cut map header": b"\xdf\x00\x00",
    "map larger than the message": map32(0xFFFFFFFF),
    "array larger than the message": array32(0xFFFFFFFF),
    "nested array headers": BOMB,
    "nested map headers": map32(0xFFFFFFFF) * 31,
    "nested headers in id": body(id=BOMB, x=pack(X)),
    "nested headers below an unknown key": body(later=BOMB, id=pack(1), x=pack(X)),
    "text larger than the message": b"\x81\xdb\xff\xff\xff\xff",
    "binary larger than the message": body(id=b"\xc6\xff\xff\xff\xff"),
    "extension larger than the message": body(id=b"\xc9\xff\xff\xff\xff\x01"),
    "key that is a number": b"\x82" + pack(1) + pack(2) + pack("id") + pack(1),
    "key that is binary": b"\x81" + pack(b"id") + pack(1),
    "trailing bytes": pack({"id": 1, "x": X}) + b"\x00",
    "two maps": pack({"id": 1, "x": X}) * 2,
    "id twice": b"\x83" + (pack("id") + pack(1)) * 2 + pack("x") + pack(X),
    "x twice": b"\x83" + pack("id") + pack(1) + (pack("x") + pack(X)) * 2,
    "17 deep below an unknown key": body(id=pack(1), x=pack(X), later=b"\x91" * 16 + b"\x00"),
    "100000 deep": b"\x91" * 100000 + b"\x00",
    "100000 maps deep": (b"\x81" + pack("a")) * 100000 + b"\x00",
}

# Values of x that a dense model of three features refuses.
BAD_X = {
    "wrong dimension": [1, 2],
    "too many": [1, 2, 3, 4],
    "none": [],
    "nan": [1, NAN, 2],
    "infinite": [1, 2, INFINITY],
    "negative infinite": [-INFINITY, 1, 2],
    "beyond float": [1, 1e39, 2],
    "text inside": [1, "2", 3],
    "nil inside": [1, None, 3],
    "boolean inside": [1, True, 3],
    "array inside": [1, [2], 3],
    "binary of wrong length": struct.pack("<2f", 1, 2),
    "binary cut": struct.pack("<3f", 1, 2, 3)[:-1],
    "binary nan": struct.pack("<3f", 1, NAN, 3),
    "binary infinite": struct.pack("<3f", 1, 2, -INFINITY),
    "empty binary": b"",
    "text": "0.25 1 3.5",
    "nil": None,
    "number": 3,
    "boolean": True,
    "map with nan": {0: NAN},
    "map with text": {0: "1"},
    "map beyond the dimension": {3: 1},
    "map below 0": {-1: 1},
    "map with float key": {0.5: 1},
    "name without names": {"price": 1},
}


def duplicated_index():
    return b"\x82" + pack("id") + pack(1) + pack("x") + b"\x82" + (pack(0) + pack(1)) * 2


def truncations(message):
    return [message[:n] for n in range(len(message))]


def random_bodies(seed, count):
    """Random bytes, random values, and good messages with a few bytes changed, cut or repeated."""
    generator = random.Random(seed)
    good = [
        pack({"id": "good", "x": X, "mask": [True] * 3, "t": 1.5, "src": "s", "n": 3, "seq": 1}),
        pack({"id": 5, "loss": 0.5, "x": struct.pack("<3f", *X), "a": 1, "p": 0.5}),
        pack({"items": [{"id": 1, "x": X}, {"id": 2, "loss": 0}]}),
        pack([{"id": 1, "x": X}, {"id": 2, "loss": 0}]),
    ]
    for _ in range(count):
        kind = generator.randrange(4)
        if kind == 0:
            yield generator.randbytes(generator.randrange(60))
            continue
        if kind == 1:
            yield pack({generator.choice(["id", "x", "loss", "items", "mask"]): generator.choice(ANYTHING)})
            continue
        data = bytearray(generator.choice(good))
        for _ in range(generator.randrange(1, 4)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        if kind == 3:
            at = generator.randrange(len(data))
            data[at:at] = data[: generator.randrange(9)]
            del data[generator.randrange(len(data)) :]
        yield bytes(data)
