"""The blocking client. It has no thread of its own: of the threads that wait for answers one drives the socket, for all
of them, and hands this over when its own answer is there.

The mutex guards the calls' core. The one who holds `_driving` reads the socket. A thread that could not get it waits
for its call's event, and tries again when woken: who gives it up wakes one whose call is not done."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

import zmq

from . import _messages, _requests
from ._answers import Action, Result
from ._calls import TICK, Call, Calls
from ._errors import Closed, RequestError
from ._messages import Arm, Body, Features, Id, Mask
from ._requests import Loss, Many, Request
from ._socket import CurveKeys, Endpoints, RequestSocket


class Client:
    """Requests to a coppiced at `endpoint`, or to the one that leads of a group of replicas at several; may be used by
    several threads, whose calls then share messages.

    timeout: seconds after which a call ends with Timeout, unless it has a time of its own.
    retry_after: seconds without an answer after which a request is sent again, under the same id."""

    def __init__(
        self, endpoint: Endpoints, *, timeout: float = 10.0, retry_after: float = 1.0, curve: Optional[CurveKeys] = None
    ) -> None:
        self._calls = Calls(retry_after, 1 if isinstance(endpoint, str) else len(endpoint))
        self._timeout = timeout
        self._new_id = _requests.Ids()
        self._mutex, self._driving = threading.Lock(), threading.Lock()
        self._waiting: Dict[Call, threading.Event] = {}
        self._closed = False
        self._socket = RequestSocket(endpoint, curve)

    def decide(
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
        return Action(self._ask(_requests.decide(self._new_id, model, x, None, id, more, timeout)))

    def rank(
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
        return Action(self._ask(_requests.decide(self._new_id, model, x, candidates, id, more, timeout)))

    def feedback(
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
        return Result(self._ask(Request(b"feedback", model, body, timeout, repeats)))

    def reward(self, model: str, id: Id, reward: float, *, timeout: Optional[float] = None) -> Result:
        """The feedback of loss 1 - reward."""
        return self.feedback(model, id, _messages.loss_of_reward(reward), timeout=timeout)

    def activate(self, model: str, id: Id, *, timeout: Optional[float] = None) -> Result:
        """The deferred decision was shown: its reward window begins."""
        return Result(self._ask(Request(b"activate", model, {"id": _messages.check_id(id)}, timeout)))

    def explain(
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
        return self._ask(_requests.explain(model, id, x, candidates, {"mask": mask, "t": t}, timeout))

    def status(self, model: str = "", *, timeout: Optional[float] = None) -> Body:
        """State and counters of the daemon and its models, or with one model alone."""
        return self._ask(Request(b"status", model, {}, timeout))

    def request(
        self, verb: str, model: str = "", body: Optional[Mapping[str, Any]] = None, *, repeats: bool = False,
        timeout: Optional[float] = None
    ) -> Body:
        """Any other verb. repeats: whether it may be sent again while no answer comes."""
        return self._ask(Request(verb.encode(), model, body or {}, timeout, repeats))

    def decide_many(
        self, model: str, contexts: Iterable[Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> List[Union[Action, RequestError]]:
        """One message for all contexts ({"id": ..., "x": ...}); in the place of one that was refused is its error."""
        return self._ask_many(Many(b"decide_batch", model, contexts, Action), timeout)

    def rank_many(
        self, model: str, contexts: Iterable[Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> List[Union[Action, RequestError]]:
        """The same with candidates in `c`."""
        return self._ask_many(Many(b"rank_batch", model, contexts, Action), timeout)

    def feedback_many(
        self, model: str, items: Iterable[Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> List[Union[Result, RequestError]]:
        """One message for all feedback ({"id": ..., "loss": ...})."""
        return self._ask_many(Many(b"feedback_batch", model, items, Result), timeout)

    def _ask_many(self, many: Many, timeout: Optional[float]) -> List[Any]:
        end = time.monotonic() + (self._timeout if timeout is None else timeout)
        while many.again:
            many.take(self._ask(many.request(max(0.0, end - time.monotonic()))))
            pause = many.pause()
            if time.monotonic() + pause >= end:
                break
            if many.again:
                time.sleep(pause)
        return many.answers

    def _ask(self, request: Request) -> Body:
        if self._closed:
            raise Closed("the client is closed")
        calls = self._calls
        deadline = time.monotonic() + (self._timeout if request.timeout is None else request.timeout)
        with self._mutex:
            call = Call(calls.lane(request.verb, request.model, request.repeats), request.item, deadline)
            calls.add(call)
        try:
            self._wait(call)
        finally:
            if not call.done:  # interrupted
                with self._mutex:
                    calls.drop(call)
        if call.error is not None:
            raise call.error
        assert call.reply is not None
        return call.reply

    def _wait(self, call: Call) -> None:
        event: Optional[threading.Event] = None
        while not call.done:
            if self._driving.acquire(blocking=False):
                try:
                    self._drive(call)
                finally:
                    self._driving.release()
                    self._hand_over()
            elif event is None:
                event = threading.Event()
                with self._mutex:
                    call.wake = event.set
                    self._waiting[call] = event
            else:
                event.wait()
                event.clear()
        if event is not None:
            with self._mutex:
                del self._waiting[call]

    def _hand_over(self) -> None:
        if self._waiting:
            with self._mutex:
                for call, event in self._waiting.items():
                    if not call.done:
                        event.set()
                        break

    def _drive(self, call: Call) -> None:
        """Sends and receives, for all calls, until this one is done."""
        calls, socket = self._calls, self._socket.socket
        while not call.done:
            if self._closed:
                with self._mutex:
                    calls.end_all(Closed("the client was closed"))
                return
            with self._mutex:
                if calls.moves(time.monotonic()):
                    self._socket.move()
                sent = calls.send(time.monotonic(), self._socket.write)
            if call.done:
                return
            if not sent:
                socket.poll(int(1000 * TICK), zmq.POLLIN | zmq.POLLOUT)
            try:
                frames = socket.recv_multipart(0 if sent else zmq.NOBLOCK)
            except zmq.Again:
                if self._socket.was_lost():
                    with self._mutex:
                        calls.lost(time.monotonic())
                continue
            with self._mutex:
                calls.take(frames, time.monotonic())

    @property
    def messages(self) -> Tuple[int, int]:
        """Messages sent so far, and how many of them were sent again."""
        return self._calls.messages_sent, self._calls.messages_repeated

    @property
    def daemon_version(self) -> Optional[str]:
        """Of the coppiced that sent the last reply; None before the first."""
        return self._calls.daemon_version

    def close(self) -> None:
        """Calls that wait end with Closed."""
        if self._closed:
            return
        self._closed = True
        with self._driving:  # until the driving thread has seen it
            with self._mutex:
                self._calls.end_all(Closed("the client was closed"))
            self._socket.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
