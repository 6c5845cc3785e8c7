"""Bodies: contexts and feedback are checked and packed, replies unpacked (docs/reference/protocol.md, Bodies).

What depends on the model (how many features, which names) is left to the daemon, whose answer names the wrong key. What
MessagePack itself could not carry is refused here, with the key's name, before anything is sent."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import msgpack

Id = Union[str, bytes, int]
# An arm by its number or, where the model has arm_names, by its name.
Arm = Union[int, str]
# Eligible arms: a boolean for each arm, or names.
Mask = Union[Sequence[bool], Sequence[str]]
Body = Dict[str, Any]
# An array of numbers, packed float32, or a map from names (or indices) to values; numpy's arrays are taken too.
Features = Any
ID_BYTES = 64
PLAIN = (list, dict, bytes)  # features that MessagePack carries as they are


def check_id(id: Id) -> Id:
    """The id, which must be a string or bytes of 1 to 64 bytes or an integer of 64 bits."""
    if isinstance(id, str):
        size = len(id) if id.isascii() else len(id.encode())
    elif isinstance(id, bytes):
        size = len(id)
    elif isinstance(id, int) and not isinstance(id, bool):
        if not -(2**63) <= id < 2**64:
            raise ValueError(f"id: {id} is no integer of 64 bits")
        return id
    else:
        raise TypeError(f"id: expected a string, bytes or an integer, got {type(id).__name__}")
    if not 1 <= size <= ID_BYTES:
        raise ValueError(f"id: {size} bytes, expected 1 to {ID_BYTES}")
    return id


def features(x: Features, key: str = "x") -> Any:
    """As MessagePack carries them: lists, dicts and bytes as they are, arrays of numbers as packed float32."""
    kind = type(x)
    if kind in PLAIN:
        return x
    if isinstance(x, Mapping):
        return dict(x)
    if isinstance(x, (bytearray, bytes)):
        return bytes(x)
    if isinstance(x, str) or x is None:
        raise TypeError(f"{key}: expected numbers or named values, got {'nothing' if x is None else 'a string'}")
    try:
        view = memoryview(x)
    except TypeError:
        if isinstance(x, Iterable):
            return list(x)
        raise TypeError(f"{key}: expected numbers or named values, got {kind.__name__}") from None
    if view.ndim != 1:
        raise ValueError(f"{key}: {view.ndim} dimensions, expected 1")
    if view.format == "f" and sys.byteorder == "little":
        return view.tobytes()
    values = array("f", view.tolist())
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def context(
    id: Id,
    x: Features,
    candidates: Optional[Sequence[Features]],
    more: Mapping[str, Any],
) -> Body:
    """A context's body; of `more`, whose keys are the protocol's, what is None or False is left out."""
    body: Body = {"id": check_id(id), "x": features(x)}
    if candidates is not None:
        if isinstance(candidates, (str, bytes, Mapping)):
            raise TypeError(f"candidates: expected a sequence of candidates, got {type(candidates).__name__}")
        body["c"] = [features(c, f"candidates[{i}]") for i, c in enumerate(candidates)]
    for key, value in more.items():
        if value is not None and value is not False:
            body[key] = value
    return body


def observed(decision: Optional[Tuple[Arm, float]]) -> Body:
    """The keys by which an apprentice is shown what another system decided: (action, propensity)."""
    return {} if decision is None else {"a": decision[0], "p": decision[1]}


def feedback(id: Id, loss: Union[float, Sequence[float], Mapping[str, float]], more: Mapping[str, Any]) -> Body:
    """A feedback's body. A mapping is of named losses."""
    if isinstance(loss, (str, bytes, bool)) or loss is None:
        raise TypeError(f"loss: expected a number, two, or a mapping of names to numbers, got {type(loss).__name__}")
    body: Body = {"id": check_id(id)}
    if isinstance(loss, Mapping):
        body["losses"] = dict(loss)
    else:
        body["loss"] = list(loss) if isinstance(loss, tuple) else loss
    for key, value in more.items():
        if value is not None:
            body[key] = features(value, key) if key in ("x", "c") else value
    return body


def loss_of_reward(reward: float) -> float:
    """1 - reward; rewards lie in [0, 1]."""
    if not isinstance(reward, (int, float)) or isinstance(reward, bool):
        raise TypeError(f"reward: expected a number, got {type(reward).__name__}")
    if not 0 <= reward <= 1:
        raise ValueError(f"reward: {reward} lies outside [0, 1]; losses of other ranges go through feedback()")
    return 1.0 - reward


def _plain(value: Any) -> Any:
    """What MessagePack does not know: numpy's scalars and arrays, tuples in disguise, and else an error."""
    for name in ("item", "tolist"):
        convert = getattr(value, name, None)
        if convert is not None and not (name == "item" and getattr(value, "ndim", None)):
            return convert()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def pack(body: Mapping[str, Any]) -> bytes:
    """The body's bytes. TypeError and ValueError have the key of what cannot be sent."""
    try:
        return bytes(msgpack.packb(body, default=_plain))
    except (TypeError, ValueError, OverflowError) as failure:
        raise type(failure)(f"{_culprit(body)}: {failure}") from None


def _culprit(body: Mapping[str, Any]) -> str:
    for key, value in body.items():
        try:
            msgpack.packb(value, default=_plain)
        except (TypeError, ValueError, OverflowError):
            return key
    return "the message"


def pack_all(bodies: List[Body]) -> bytes:
    """One map, or an array of several."""
    if len(bodies) == 1:
        return pack(bodies[0])
    return b"".join((_array_header(len(bodies)), *map(pack, bodies)))


def unpack(data: bytes) -> Any:
    """A reply's body. Bytes of strings that are no UTF-8 come back as they were sent."""
    return msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogateescape")


def _array_header(count: int) -> bytes:
    if count < 16:
        return bytes((0x90 | count,))
    return b"\xdc" + count.to_bytes(2, "big") if count < 65536 else b"\xdd" + count.to_bytes(4, "big")


def with_seq(item: bytes, seq: int) -> bytes:
    """A packed map of at most 14 keys, with the key seq in front, where it is read even if the rest is refused."""
    return b"".join((bytes((item[0] + 1,)), b"\xa3seq\xce", seq.to_bytes(4, "big"), item[1:]))


def batch(items: List[bytes], seq: int) -> bytes:
    """{"seq": seq, "items": [...]} of packed items."""
    return b"".join((b"\x82\xa3seq\xce", seq.to_bytes(4, "big"), b"\xa5items", _array_header(len(items)), *items))
