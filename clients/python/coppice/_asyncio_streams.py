"""Streams for asyncio: as _streams has them, but the event loop goes on while a call waits.

The loop watches the socket's descriptor, which is ready only once for all that has come: so the socket itself is asked
before each wait. Calls of several tasks are served one after the other, in the order in which they came."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, AsyncIterator, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

import zmq

from . import _messages
from ._answers import Action
from ._errors import Timeout
from ._messages import Features, Id
from ._requests import Loss
from ._socket import CurveKeys
from ._streams import NO_ACTION, NOT_SUBSCRIBED, QUEUE, QUEUE_FULL, Receiver, Sender

PACE = 0.001  # seconds between trials while a queue is full


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def _readable(socket: "zmq.Socket[bytes]", end: Optional[float]) -> bool:
    """Until a message can be read; False: the time `end` (None: no limit) came before."""
    loop = asyncio.get_running_loop()
    descriptor = socket.getsockopt(zmq.FD)
    assert isinstance(descriptor, int)
    while not socket.poll(0):
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            return False
        ready: "asyncio.Future[None]" = loop.create_future()
        loop.add_reader(descriptor, _wake, ready)
        try:
            await asyncio.wait_for(ready, left)
        except asyncio.TimeoutError:
            pass
        finally:
            loop.remove_reader(descriptor)
    return True


class _Turns:
    """One task at a time. The lock is made by the first call, since older Pythons bind it to the running loop."""

    def __init__(self) -> None:
        self._lock: Optional[asyncio.Lock] = None

    def lock(self) -> asyncio.Lock:
        if self._lock is None:
            self._lock = asyncio.Lock()
        return self._lock


class AsyncPublisher(Sender):
    """The same as Publisher, for the tasks of one event loop. `timeout` begins when the calls before have ended."""

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
        self._turns = _Turns()

    async def contexts(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Publishes contexts ({"id": ..., "x": ...}) as one message; returns how many. Timeout: none was published."""
        return await self._publish("ctx.", items)

    async def context(self, id: Id, x: Features, candidates: Optional[Sequence[Features]] = None, **more: Any) -> None:
        """Publishes one context. more: keys of the protocol, for example mask or t."""
        await self._publish("ctx.", [_messages.context(id, x, candidates, more)])

    async def feedback(self, id: Id, loss: Loss, **more: Any) -> None:
        """Publishes one feedback. more: keys of self-contained feedback."""
        await self._publish("fb.", [_messages.feedback(id, loss, more)])

    async def feedbacks(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Publishes feedback ({"id": ..., "loss": ...}) as one message; returns how many."""
        return await self._publish("fb.", items)

    async def wait_ready(self, timeout: Optional[float] = None) -> None:
        """Until coppiced has subscribed; Timeout otherwise. Publishing waits for that by itself."""
        async with self._turns.lock():
            await self._wait(time.monotonic() + (self._timeout if timeout is None else timeout))

    async def _wait(self, end: float) -> None:
        while not self._is_ready():
            if not await _readable(self._socket, end):
                raise Timeout(NOT_SUBSCRIBED)

    async def _publish(self, kind: str, items: Iterable[Mapping[str, Any]]) -> int:
        async with self._turns.lock():
            await asyncio.sleep(0)  # other tasks go on although nothing is waited for
            count, frames = self._message(kind, items)
            if count == 0:
                return 0
            end = time.monotonic() + self._timeout
            await self._wait(end)
            while not self._try(count, frames):
                if time.monotonic() >= end:
                    raise Timeout(QUEUE_FULL)
                await asyncio.sleep(PACE)
                await self._wait(end)
            return count

    async def close(self, linger: float = 1.0) -> None:
        """linger: seconds for which what is queued may still be sent. No call may be under way."""
        self._socket.close(linger=int(1000 * linger))

    async def __aenter__(self) -> "AsyncPublisher":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()


class AsyncActions(Receiver):
    """The same as Actions, for the tasks of one event loop: `async for model, action in actions`. A call that is
    cancelled takes no message."""

    def __init__(
        self,
        endpoint: str,
        models: Union[str, Sequence[str]],
        *,
        queue: int = QUEUE,
        curve: Optional[CurveKeys] = None,
    ) -> None:
        super().__init__(endpoint, models, queue, curve)
        self._turns = _Turns()

    async def receive(self, timeout: Optional[float] = None) -> List[Tuple[str, Action]]:
        """(model, action) of the next message, which has several where an array of contexts was published. None comes
        within `timeout` seconds (None: no limit): Timeout."""
        async with self._turns.lock():
            end = None if timeout is None else time.monotonic() + timeout
            await asyncio.sleep(0)  # other tasks go on although messages wait
            while await _readable(self._socket, end):
                actions = self._take()
                if actions:
                    return actions
            raise Timeout(NO_ACTION)

    async def __aiter__(self) -> AsyncIterator[Tuple[str, Action]]:
        """Without an end."""
        while True:
            for one in await self.receive():
                yield one

    async def close(self) -> None:
        self._socket.close(linger=0)

    async def __aenter__(self) -> "AsyncActions":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()
