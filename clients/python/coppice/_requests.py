"""What a program may ask, once for both clients: arguments are checked and packed into a Request, which has what is sent
whether it may be sent again."""

from __future__ import annotations

import itertools
import secrets
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Union

from . import _messages
from ._calls import FIRST_PAUSE, LONGEST_PAUSE
from ._errors import error_of
from ._messages import Body, Features, Id

# A number, one for each of two probes, or one for each name of a model whose losses have names.
Loss = Union[float, Sequence[float], Mapping[str, float]]


class Request:
    """A request before it is a call. repeats: whether it may be sent again while no answer comes."""

    __slots__ = ("verb", "model", "item", "repeats", "timeout")

    def __init__(
        self,
        verb: bytes,
        model: str,
        body: Mapping[str, Any],
        timeout: Optional[float] = None,
        repeats: bool = True,
    ) -> None:
        if not isinstance(model, str):
            raise TypeError(f"model: expected a string, got {type(model).__name__}")
        if timeout is not None and not timeout > float("-inf"):
            raise ValueError(f"timeout: {timeout}, expected seconds")
        self.verb, self.model, self.item = verb, model.encode(), _messages.pack(body)
        self.timeout, self.repeats = timeout, repeats


class Ids:
    """Ids for decisions that the program gives none: a random beginning and a counter."""

    def __init__(self) -> None:
        self.prefix = secrets.token_hex(8)
        self.numbers = itertools.count(1)

    def __call__(self) -> str:
        return f"{self.prefix}-{next(self.numbers):x}"


def decide(
    new_id: Callable[[], str],
    model: str,
    x: Features,
    candidates: Optional[Sequence[Features]],
    id: Optional[Id],
    more: Mapping[str, Any],
    timeout: Optional[float],
) -> Request:
    body = _messages.context(new_id() if id is None else id, x, candidates, more)
    return Request(b"decide" if candidates is None else b"rank", model, body, timeout)


def explain(
    model: str,
    id: Optional[Id],
    x: Features,
    candidates: Optional[Sequence[Features]],
    more: Mapping[str, Any],
    timeout: Optional[float],
) -> Request:
    if (id is None) == (x is None):
        raise TypeError("explain: give either id or x")
    if x is None:
        body = {"id": _messages.check_id(id if id is not None else "")}
    else:
        body = _messages.context("-", x, candidates, more)
        del body["id"]
    return Request(b"explain", model, body, timeout)


class Many:
    """A batch that the program made itself. `again` is what is still to be asked: after `busy` and `not_durable` an
    item is asked once more, as long as there is time."""

    def __init__(self, verb: bytes, model: str, items: Iterable[Mapping[str, Any]], read: Callable[[Body], Any]) -> None:
        self.verb, self.model, self.read = verb, model, read
        self.items = [_item(i, item) for i, item in enumerate(items)]
        self.answers: List[Any] = [None] * len(self.items)
        self.again = list(range(len(self.items)))
        self.tries = 0

    def request(self, timeout: float) -> Request:
        return Request(self.verb, self.model, {"items": [self.items[i] for i in self.again]}, timeout)

    def take(self, reply: Body) -> None:
        asked, self.again = self.again, []
        self.tries += 1
        answers, read = self.answers, self.read
        for i, item in zip(asked, reply["items"]):
            if "code" not in item:
                answers[i] = read(item)
                continue
            answers[i] = error_of(item)
            if item["code"] in ("busy", "not_durable"):
                self.again.append(i)

    def pause(self) -> float:
        """Seconds until what is to be asked again may be."""
        return float(min(FIRST_PAUSE * 2**self.tries, LONGEST_PAUSE))


def _item(i: int, item: Mapping[str, Any]) -> Body:
    body = dict(item)
    id, x = body.get("id"), body.get("x")
    if type(id) is str and 1 <= len(id) <= _messages.ID_BYTES and id.isascii() and type(x) in _messages.PLAIN:
        return body  # what the checks below would leave as it is, as nearly all are
    try:
        _messages.check_id(id)  # type: ignore[arg-type]
        if "x" in body:
            body["x"] = _messages.features(x)
    except (TypeError, ValueError) as failure:
        raise type(failure)(f"items[{i}]: {failure}") from None
    return body
