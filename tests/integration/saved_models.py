"""Models in checkpoints and model files, as bytes, read without code of ours (store/section_file.h)."""

import struct


def sections(data):
    """(name, payload) of a file of sections."""
    assert data[:4] == b"COPF"
    count, at = struct.unpack_from("<I", data, 16)[0], 24
    out = []
    for _ in range(count):
        name, _, length, _ = struct.unpack_from("<16sIQI", data, at)
        out.append((name.rstrip(b"\0").decode(), data[at + 32 : at + 32 + length]))
        at += 32 + length
    assert at == len(data)
    return out


def checkpoints(state):
    return sorted(state.glob("coppice.*.checkpoint"))


def checkpointed(path, name):
    """The model's file in a checkpoint; name: as stored."""
    data = path.read_bytes()
    assert data[:8] == b"COPCHECK"
    for section, payload in sections(data[28:]):
        length = struct.unpack_from("<I", payload)[0]
        if section == "model" and payload[4 : 4 + length] == name.encode():
            return payload[4 + length :]
    raise AssertionError(f"no model {name} in {path}")


def marked(path):
    """The event time at which a checkpoint stands."""
    return struct.unpack_from("<d", dict(sections(path.read_bytes()[28:]))["daemon"])[0]
