"""The bytes of a journal, from docs/reference/journal.md alone: segments, records, marks, compressed segments, bodies.

Shares nothing with the daemon: it has its own CRC-32C, and compresses by storing (zstd's raw blocks).
"""

import struct

import msgpack

MARK, DECISION, FEEDBACK, EXPIRY, ACTIVATION, CONFIG, PROMOTION, UNHEARD, FORGOTTEN = range(9)
TYPES = {1: "decision", 2: "feedback", 3: "expiry", 4: "activation", 5: "config", 6: "promotion", 7: "unheard",
         8: "forgotten", 9: "position", 10: "merge"}
POLYNOMIAL = 0x82F63B78  # Castagnoli, bits reversed
HEAD = 20  # bytes of a record beside its body


def _remainder(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE = [_remainder(byte) for byte in range(256)]


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


# ---- segments


def header(base, model_set=b"", version=1, epoch=0):
    fields = b"COPJOURN" + struct.pack("<IIQQI", version, 40 + len(model_set), base, epoch, len(model_set)) + model_set
    return fields + struct.pack("<I", crc32c(fields))


def record(sequence, kind, body=b""):
    length = struct.pack("<I", len(body))
    rest = struct.pack("<QB3x", sequence, kind) + body
    return length + struct.pack("<I", crc32c(length + rest)) + rest


def mark(durable):
    return record(durable, MARK)


def stored(data):
    """A zstd frame with its size in the header, made of raw blocks."""
    frame = struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(data))
    blocks = [data[i : i + 100000] for i in range(0, len(data), 100000)] or [b""]
    for i, block in enumerate(blocks):
        head = len(block) << 3 | (i + 1 == len(blocks))
        frame += struct.pack("<I", head)[:3] + block
    return frame


def name(base, compressed=False):
    return f"{base:020}.journal" + (".zst" if compressed else "")


def segment(folder, base, records, compressed=False, tail=b"", model_set=b"", epoch=0):
    """Writes [(type, body), ...] as records from `base` on, then a mark and `tail`. (path, offset of each record)"""
    data = header(base, model_set, epoch=epoch)
    offsets = []
    for i, (kind, body) in enumerate(records):
        offsets.append(len(data))
        data += record(base + i, kind, body)
    if records:
        data += mark(base + len(records) - 1)
    data += tail
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name(base, compressed)
    path.write_bytes(stored(data) if compressed else data)
    return path, offsets


def model(name="m", learner="dgt", **more):
    """What a model set says of a model; a key of value None is left out."""
    return {"name": name, "learner": learner, "features": 3, "arms": 3, "losses": 1, "loss_range": [0.0, 1.0],
            "reward": "earliest", "reward_window": 600.0, **more}


def model_set(models, left_out=0):
    told = {"models": [{k: v for k, v in m.items() if v is not None} for m in models]}
    return msgpack.packb({**told, "left_out": left_out} if left_out else told)


# ---- bodies


def packed(values):
    return struct.pack(f"<{len(values)}f", *values)


def body(**fields):
    return msgpack.packb({key: value for key, value in fields.items() if value is not None}, use_bin_type=True)


def decision(id, x, t, model="m", a=0, p=0.5, greedy=True, rev=0, e=(), mask=None, defer=None):
    """x: a list (packed) or a map (sparse)"""
    x = packed(x) if isinstance(x, list) else x
    return DECISION, body(t=t, m=model, id=id, x=x, rev=rev, e=packed(e), mask=mask, defer=defer, a=a, p=p, g=greedy)


def value_decision(id, x, t, model="v", y=0.5, u=1, rev=0):
    return DECISION, body(t=t, m=model, id=id, x=packed(x), rev=rev, e=b"", y=y, u=u)


def feedback(id, loss, t, model="m", x=None, a=None, p=None):
    losses = [float(v) for v in (loss if isinstance(loss, (list, tuple)) else [loss])]
    return FEEDBACK, body(t=t, m=model, id=id, x=None if x is None else packed(x), loss=losses, a=a, p=p)


def expiry(n, t, model="m"):
    return EXPIRY, body(t=t, m=model, n=n)


def activation(id, t, model="m"):
    return ACTIVATION, body(t=t, m=model, id=id)


def config(text, t):
    return CONFIG, body(t=t, text=text)


def unheard(id, t, model="m"):
    return UNHEARD, body(t=t, m=model, id=id)


def forgotten(t, model="m", s=None):
    return FORGOTTEN, body(t=t, m=model, s=s)


def promotion(t, model="m"):
    return PROMOTION, body(t=t, m=model)
