"""Streams (docs/reference/protocol.md, Streams): contexts and feedback are published, actions subscribed to.

A stream has no replies, so the client prevents what it can of the losses and makes the rest countable. A publisher is
an XPUB socket: it knows whether coppiced has subscribed, waits until it has, and waits rather than drop when its queue
is full. Every message has the publisher's name and a number, by which coppiced counts what is missing; a number is used
up only by a message that was handed to ZeroMQ."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

import zmq

from . import _messages
from ._answers import Action
from ._errors import Timeout
from ._messages import Body, Features, Id
from ._requests import Loss
from ._socket import CurveKeys, connect

QUEUE = 10000  # messages that a socket queues
NOT_SUBSCRIBED, QUEUE_FULL, NO_ACTION = "coppiced has not subscribed", "the queue to coppiced is full", "no action"


class Sender:
    """What both publishers share: the socket, the numbers of messages, and who has subscribed. Nothing here waits,
    unless take_subscriptions is given a time."""

    def __init__(self, endpoint: str, model: str, name: Optional[str], queue: int, curve: Optional[CurveKeys]) -> None:
        self.name = secrets.token_hex(8) if name is None else name
        self.model, self.published = model, 0
        self._subscriptions = 0
        self._socket = connect(zmq.XPUB, endpoint, curve, [(zmq.SNDHWM, queue), (zmq.XPUB_NODROP, 1)])

    def _is_ready(self) -> bool:
        """Whether coppiced has subscribed."""
        self._take_subscriptions(0)
        return self._subscriptions > 0

    def _take_subscriptions(self, milliseconds: int) -> None:
        wanted = (f"ctx.{self.model}".encode(), f"fb.{self.model}".encode())
        while self._socket.poll(milliseconds):
            frame = self._socket.recv()
            if frame[:1] in (b"\0", b"\1") and any(topic.startswith(frame[1:]) for topic in wanted):
                self._subscriptions += 1 if frame[0] else -1
            milliseconds = 0

    def _message(self, kind: str, items: Iterable[Mapping[str, Any]]) -> Tuple[int, List[bytes]]:
        """How many items, and the frames that carry them under the next numbers."""
        bodies: List[Body] = []
        for item in items:
            body = dict(item)
            _messages.check_id(body.get("id"))  # type: ignore[arg-type]
            if "x" in body:
                body["x"] = _messages.features(body["x"])
            body["src"], body["n"] = self.name, self.published + len(bodies)
            bodies.append(body)
        return len(bodies), [(kind + self.model).encode(), _messages.pack_all(bodies) if bodies else b""]

    def _try(self, count: int, frames: List[bytes]) -> bool:
        """False: the queue is full."""
        try:
            self._socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            return False
        self.published += count
        return True


class Publisher(Sender):
    """Contexts or feedback of one model, to coppiced's `contexts_bind` or `feedback_bind` endpoint.

    queue: messages that wait in this process at most, also while coppiced is away; beyond that publishing waits, as it
    does until coppiced has subscribed for the first time, for `timeout` seconds at most. name: `src` of the messages;
    made up unless given. Not for several threads."""

    def __init__(
        self,
        endpoint: str,
        model: str,
        *,
        name: Optional[str] = None,
        timeout: float = 10.0,
        queue: int = QUEUE,
        curve: Optional[CurveKeys] = None,
    ) -> None:
        super().__init__(endpoint, model, name, queue, curve)
        self._timeout = timeout

    def contexts(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Publishes contexts ({"id": ..., "x": ...}) as one message; returns how many. Timeout: none was published."""
        return self._publish("ctx.", items)

    def context(self, id: Id, x: Features, candidates: Optional[Sequence[Features]] = None, **more: Any) -> None:
        """Publishes one context. more: keys of the protocol, for example mask or t."""
        self._publish("ctx.", [_messages.context(id, x, candidates, more)])

    def feedback(self, id: Id, loss: Loss, **more: Any) -> None:
        """Publishes one feedback. more: keys of self-contained feedback."""
        self._publish("fb.", [_messages.feedback(id, loss, more)])

    def feedbacks(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Publishes feedback ({"id": ..., "loss": ...}) as one message; returns how many."""
        return self._publish("fb.", items)

    def wait_ready(self, timeout: Optional[float] = None) -> None:
        """Until coppiced has subscribed; Timeout otherwise. Publishing waits for that by itself."""
        self._wait(time.monotonic() + (self._timeout if timeout is None else timeout))

    def _wait(self, end: float) -> None:
        while not self._is_ready():
            left = end - time.monotonic()
            if left <= 0:
                raise Timeout(NOT_SUBSCRIBED)
            self._take_subscriptions(max(1, int(1000 * left)))

    def _publish(self, kind: str, items: Iterable[Mapping[str, Any]]) -> int:
        count, frames = self._message(kind, items)
        if count == 0:
            return 0
        end = time.monotonic() + self._timeout
        self._wait(end)
        while not self._try(count, frames):
            if time.monotonic() >= end:
                raise Timeout(QUEUE_FULL)
            self._take_subscriptions(1)  # a full queue is not readable: this is the pace of trying
            self._wait(end)
        return count

    def close(self, linger: float = 1.0) -> None:
        """linger: seconds for which what is queued may still be sent."""
        self._socket.close(linger=int(1000 * linger))

    def __enter__(self) -> "Publisher":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class Receiver:
    """What both kinds of Actions share: the socket and its topics."""

    def __init__(
        self, endpoint: str, models: Union[str, Sequence[str]], queue: int, curve: Optional[CurveKeys]
    ) -> None:
        names = [models] if isinstance(models, str) else list(models)
        self._topics = {f"act.{name}".encode(): name for name in names}
        self._socket = connect(zmq.SUB, endpoint, curve, [(zmq.RCVHWM, queue)])
        for topic in self._topics:
            self._socket.setsockopt(zmq.SUBSCRIBE, topic)

    def _take(self) -> List[Tuple[str, Action]]:
        """The actions of the message that has come; none when it is of another model."""
        topic, body = self._socket.recv_multipart()
        model = self._topics.get(topic)  # a subscription matches longer names, too
        if model is None:
            return []
        value = _messages.unpack(body)
        return [(model, Action(one)) for one in (value if isinstance(value, list) else [value])]


class Actions(Receiver):
    """The actions of models, from coppiced's `actions_bind` endpoint. What comes while nobody reads waits in a queue of
    `queue` messages; ZeroMQ drops what comes beyond that. Not for several threads."""

    def __init__(
        self,
        endpoint: str,
        models: Union[str, Sequence[str]],
        *,
        queue: int = QUEUE,
        curve: Optional[CurveKeys] = None,
    ) -> None:
        super().__init__(endpoint, models, queue, curve)

    def receive(self, timeout: Optional[float] = None) -> List[Tuple[str, Action]]:
        """(model, action) of the next message, which has several where an array of contexts was published. None comes
        within `timeout` seconds (None: no limit): Timeout."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0, int(1000 * (end - time.monotonic())))
            if not self._socket.poll(left):
                raise Timeout(NO_ACTION)
            actions = self._take()
            if actions:
                return actions

    def __iter__(self) -> Iterator[Tuple[str, Action]]:
        """Without an end."""
        while True:
            yield from self.receive()

    def close(self) -> None:
        self._socket.close(linger=0)

    def __enter__(self) -> "Actions":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
