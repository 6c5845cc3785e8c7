"""The client for asyncio. The loop watches the socket's descriptor, which is ready only once for all that has come:
therefore every turn reads until nothing is left, and a send is followed by a look at what came meanwhile.

Calls made in one turn of the loop leave together at its end. A timer looks at deadlines while calls wait."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

import zmq

from . import _messages, _requests
from ._answers import Action, Result
from ._calls import TICK, Call, Calls
from ._errors import Closed, RequestError
from ._messages import Arm, Body, Features, Id, Mask
from ._requests import Loss, Many, Request
from ._socket import CurveKeys, Endpoints, RequestSocket


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class AsyncClient:
    """The same as Client, for the tasks of one event loop. A call that is cancelled is waited for no longer; what the
    daemon has decided or learned stays."""

    def __init__(
        self, endpoint: Endpoints, *, timeout: float = 10.0, retry_after: float = 1.0, curve: Optional[CurveKeys] = None
    ) -> None:
        self._calls = Calls(retry_after, 1 if isinstance(endpoint, str) else len(endpoint))
        self._timeout = timeout
        self._new_id = _requests.Ids()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._scheduled = self._closed = False
        self._answered = False
        self._socket = RequestSocket(endpoint, curve)

    async def decide(
        self,
        model: str,
        x: Features,
        *,
        id: Optional[Id] = None,
        mask: Optional[Mask] = None,
        probabilities: bool = False,
        defer: bool = False,
        observed: Optional[Tuple[Arm, float]] = None,
        t: Optional[float] = None,
        unit: Optional[Id] = None,
        timeout: Optional[float] = None,
    ) -> Action:
        """An action for the context x. Without an id one is made, which the action has. observed: (action,
        propensity) of the system that decides, for a model that is an apprentice or whose baseline is the caller.
        unit: whom it is for, by which the control group is split."""
        more: Body = {"mask": mask, "probabilities": probabilities, "defer": defer, "t": t, "unit": unit}
        more.update(_messages.observed(observed))
        return Action(await self._ask(_requests.decide(self._new_id, model, x, None, id, more, timeout)))

    async def rank(
        self,
        model: str,
        x: Features,
        candidates: Sequence[Features],
        *,
        id: Optional[Id] = None,
        names: Optional[Sequence[str]] = None,
        mask: Optional[Mask] = None,
        order: bool = False,
        probabilities: bool = False,
        defer: bool = False,
        observed: Optional[Tuple[int, float]] = None,
        t: Optional[float] = None,
        unit: Optional[Id] = None,
        timeout: Optional[float] = None,
    ) -> Action:
        """One of the candidates, each with features as x has, and perhaps a name, by which mask may list those that are
        eligible. order: all of them, best first, too."""
        more: Body = {"names": names, "mask": mask, "order": order, "probabilities": probabilities, "defer": defer}
        more.update(_messages.observed(observed), t=t, unit=unit)
        return Action(await self._ask(_requests.decide(self._new_id, model, x, candidates, id, more, timeout)))

    async def feedback(
        self,
        model: str,
        id: Id,
        loss: Loss,
        *,
        x: Optional[Features] = None,
        a: Optional[Arm] = None,
        p: Optional[float] = None,
        y: Optional[float] = None,
        c: Optional[Features] = None,
        unit: Optional[Id] = None,
        repeats: bool = True,
        timeout: Optional[float] = None,
    ) -> Result:
        """What came of a decision: smaller losses are better; named ones as a mapping. With x, p and a (c, y) it is
        self-contained, of the unit. repeats: False for models with `reward = "sum"`, where a feedback that is sent
        twice counts twice."""
        body = _messages.feedback(id, loss, {"x": x, "a": a, "p": p, "y": y, "c": c, "unit": unit})
        return Result(await self._ask(Request(b"feedback", model, body, timeout, repeats)))

    async def reward(self, model: str, id: Id, reward: float, *, timeout: Optional[float] = None) -> Result:
        """The feedback of loss 1 - reward."""
        return await self.feedback(model, id, _messages.loss_of_reward(reward), timeout=timeout)

    async def activate(self, model: str, id: Id, *, timeout: Optional[float] = None) -> Result:
        """The deferred decision was shown: its reward window begins."""
        return Result(await self._ask(Request(b"activate", model, {"id": _messages.check_id(id)}, timeout)))

    async def explain(
        self,
        model: str,
        *,
        id: Optional[Id] = None,
        x: Optional[Features] = None,
        candidates: Optional[Sequence[Features]] = None,
        mask: Optional[Mask] = None,
        t: Optional[float] = None,
        timeout: Optional[float] = None,
    ) -> Body:
        """The reasons of a pending decision, or of what the model would do with x."""
        return await self._ask(_requests.explain(model, id, x, candidates, {"mask": mask, "t": t}, timeout))

    async def status(self, model: str = "", *, timeout: Optional[float] = None) -> Body:
        """State and counters of the daemon and its models, or with one model alone."""
        return await self._ask(Request(b"status", model, {}, timeout))

    async def request(
        self, verb: str, model: str = "", body: Optional[Mapping[str, Any]] = None, *, repeats: bool = False,
        timeout: Optional[float] = None
    ) -> Body:
        """Any other verb. repeats: whether it may be sent again while no answer comes."""
        return await self._ask(Request(verb.encode(), model, body or {}, timeout, repeats))

    async def decide_many(
        self, model: str, contexts: Iterable[Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> List[Union[Action, RequestError]]:
        """One message for all contexts ({"id": ..., "x": ...}); in the place of one that was refused is its error."""
        return await self._ask_many(Many(b"decide_batch", model, contexts, Action), timeout)

    async def rank_many(
        self, model: str, contexts: Iterable[Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> List[Union[Action, RequestError]]:
        """The same with candidates in `c`."""
        return await self._ask_many(Many(b"rank_batch", model, contexts, Action), timeout)

    async def feedback_many(
        self, model: str, items: Iterable[Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> List[Union[Result, RequestError]]:
        """One message for all feedback ({"id": ..., "loss": ...})."""
        return await self._ask_many(Many(b"feedback_batch", model, items, Result), timeout)

    async def _ask_many(self, many: Many, timeout: Optional[float]) -> List[Any]:
        end = time.monotonic() + (self._timeout if timeout is None else timeout)
        while many.again:
            many.take(await self._ask(many.request(max(0.0, end - time.monotonic()))))
            if time.monotonic() + many.pause() >= end:
                break
            if many.again:
                await asyncio.sleep(many.pause())
        return many.answers

    async def _ask(self, request: Request) -> Body:
        if self._closed:
            raise Closed("the client is closed")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._socket.descriptor(), self._turn)
        calls, loop = self._calls, self._loop
        future: "asyncio.Future[None]" = loop.create_future()
        deadline = time.monotonic() + (self._timeout if request.timeout is None else request.timeout)
        call = Call(calls.lane(request.verb, request.model, request.repeats), request.item, deadline)
        call.wake = lambda: _wake(future)
        calls.add(call)
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._turn)
        if self._timer is None:
            self._timer = loop.call_later(TICK, self._tick)
        try:
            await future
        finally:
            if not call.done:  # cancelled
                calls.drop(call)
        if call.error is not None:
            raise call.error
        assert call.reply is not None
        return call.reply

    def _turn(self) -> None:
        self._scheduled = False
        if self._closed:
            return
        calls, socket = self._calls, self._socket.socket
        if calls.moves(time.monotonic()):
            self._socket.move()
        calls.send(time.monotonic(), self._socket.write)
        while True:
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            self._answered = True
            calls.take(frames, time.monotonic())
        if calls.ready() and not self._scheduled:
            self._scheduled = True
            self._loop_of().call_soon(self._turn)

    def _tick(self) -> None:
        """Every TICK seconds while calls wait."""
        self._timer = None
        if self._closed:
            return
        if not self._answered and self._socket.was_lost():
            self._calls.lost(time.monotonic())
        self._answered = False
        self._turn()
        if self._calls.busy():
            self._timer = self._loop_of().call_later(TICK, self._tick)

    def _loop_of(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None
        return self._loop

    @property
    def messages(self) -> Tuple[int, int]:
        """Messages sent so far, and how many of them were sent again."""
        return self._calls.messages_sent, self._calls.messages_repeated

    @property
    def daemon_version(self) -> Optional[str]:
        """Of the coppiced that sent the last reply; None before the first."""
        return self._calls.daemon_version

    async def close(self) -> None:
        """Calls that wait end with Closed."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is not None:
            self._loop.remove_reader(self._socket.descriptor())
        self._calls.end_all(Closed("the client was closed"))
        self._socket.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()
