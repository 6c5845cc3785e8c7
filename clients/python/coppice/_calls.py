"""The core of both clients: calls, the messages that carry them, and when a message is sent again. It neither reads a
clock nor touches a socket.

A call waits in the lane of its verb and model. When nothing of the lane is under way its waiting calls are sent, as one
batch if there are several; while a message is under way further calls gather, so that calls made at the same time share
messages without a timer. A message keeps its number and its bytes until it is answered. It is sent again when no answer
came within `retry_after` seconds, and at once when the connection was lost; since ids are idempotent, the answer to
any of the tries is the answer. The last chance is the call's deadline.

With the endpoints of several instances, a client moves to the next one when it is answered `not_leader`, when an answer
does not come in time, and when the connection is lost or cannot be made. With one endpoint it connects anew where no
connection can be made: ZeroMQ does not try again after a refused key. Each time in a row it waits longer before it
gives a connection up, so that slow links come to be connected, too."""

from __future__ import annotations

from collections import deque
from typing import Callable, Deque, Dict, List, Optional, Tuple

from ._errors import CoppiceError, Timeout, error_of
from ._messages import Body, batch, unpack, with_seq

BATCH = 64  # calls in a message at most
BATCH_BYTES = 256 * 1024  # a message that is longer holds one call alone
TICK = 0.01  # seconds between two looks at what is due
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds before a call is sent again that was answered `busy` or `not_durable`
SEQS = 2**32
LARGE = 1024 * 1024  # bytes; the daemon's limit unless configured. It closes a connection on which far more comes
MOVE_PAUSE = 0.1  # seconds between moves to another endpoint
FIRST_PATIENCE, LONGEST_PATIENCE = 0.1, 3.2  # seconds until a connection that cannot be made is given up
MOST_LOSSES = 3  # of the connection under a large message, before this is taken for the reason

BATCHES = {b"decide": b"decide_batch", b"rank": b"rank_batch", b"feedback": b"feedback_batch"}


class Lane:
    """The calls of one verb and model that may share a message."""

    __slots__ = ("verb", "batch_verb", "model", "repeats", "queue", "under_way")

    def __init__(self, verb: bytes, model: bytes, repeats: bool) -> None:
        self.verb, self.model, self.repeats = verb, model, repeats
        self.batch_verb = BATCHES.get(verb)
        self.queue: Deque[Call] = deque()
        self.under_way = 0


class Call:
    """One request of the program. When `done`, either `reply` or `error` is set, and `wake` was called."""

    __slots__ = ("lane", "item", "deadline", "pause", "not_before", "reply", "error", "done", "wake")

    def __init__(self, lane: Lane, item: bytes, deadline: float, wake: Optional[Callable[[], None]] = None) -> None:
        self.lane, self.item, self.deadline, self.wake = lane, item, deadline, wake
        self.pause, self.not_before = FIRST_PAUSE, 0.0
        self.reply: Optional[Body] = None
        self.error: Optional[CoppiceError] = None
        self.done = False

    def end(self, reply: Optional[Body], error: Optional[CoppiceError]) -> None:
        if not self.done:
            self.reply, self.error, self.done = reply, error, True
            if self.wake is not None:
                self.wake()


class Message:
    """Calls that were sent together. `due` is when they are sent again, `losses` how often the connection ended."""

    __slots__ = ("seq", "lane", "calls", "frames", "due", "tried", "losses")

    def __init__(self, seq: int, lane: Lane, calls: List[Call]) -> None:
        self.seq, self.lane, self.calls = seq, lane, calls
        if len(calls) == 1:
            self.frames = [lane.verb, lane.model, with_seq(calls[0].item, seq)]
        else:
            assert lane.batch_verb is not None
            self.frames = [lane.batch_verb, lane.model, batch([call.item for call in calls], seq)]
        self.due, self.tried, self.losses = 0.0, False, 0


class Calls:
    """All calls of a client. Times are seconds of one clock that does not go back."""

    def __init__(self, retry_after: float, endpoints: int = 1) -> None:
        self.retry_after = retry_after
        self.endpoints = endpoints
        self.leaves = False  # the endpoint at hand
        self.gives_up = False  # the connection, which cannot be made
        self.patience = FIRST_PATIENCE
        self.moved = 0.0
        self.stuck_since: Optional[float] = None
        self.lanes: Dict[Tuple[bytes, bytes, bool], Lane] = {}
        self.queued: List[Lane] = []  # lanes with waiting calls, and perhaps some without
        self.open: Dict[int, Message] = {}
        self.outbox: Deque[Message] = deque()  # messages that are to be sent, again or for the first time
        self.paused: List[Call] = []
        self.next_check = 0.0
        self.seq = 0
        self.messages_sent = self.messages_repeated = 0
        self.daemon_version: Optional[str] = None

    def lane(self, verb: bytes, model: bytes, repeats: bool) -> Lane:
        key = (verb, model, repeats)
        found = self.lanes.get(key)
        if found is None:
            found = self.lanes[key] = Lane(verb, model, repeats)
        return found

    def add(self, call: Call) -> None:
        lane = call.lane
        if not lane.queue:
            self.queued.append(lane)
        lane.queue.append(call)

    def busy(self) -> bool:
        """Whether any call waits."""
        return bool(self.open or self.queued or self.paused)

    def ready(self) -> bool:
        """Whether calls waited for an answer that has come."""
        return any(not lane.under_way for lane in self.queued)

    def _message(self, lane: Lane, calls: List[Call]) -> None:
        self.seq = self.seq % (SEQS - 1) + 1
        message = Message(self.seq, lane, calls)
        self.open[message.seq] = message
        self.outbox.append(message)
        lane.under_way += 1

    def _gather(self, lane: Lane, at_once: bool) -> None:
        queue = lane.queue
        while queue and (at_once or not lane.under_way or lane.batch_verb is None or len(queue) >= BATCH):
            calls: List[Call] = []
            size = 0
            while queue and len(calls) < BATCH:
                size += len(queue[0].item)
                if calls and (size > BATCH_BYTES or lane.batch_verb is None):
                    break
                call = queue.popleft()
                if not call.done:
                    calls.append(call)
            if calls:
                self._message(lane, calls)

    def send(self, now: float, write: Callable[[List[bytes]], bool]) -> bool:
        """Hands what is to be sent to `write`, which returns whether it could; returns whether it always could."""
        if now >= self.next_check:
            self._check(now)
        if self.queued:
            for lane in self.queued:
                self._gather(lane, False)
            self.queued = [lane for lane in self.queued if lane.queue]
        while self.outbox:
            message = self.outbox[0]
            if message.seq in self.open:
                if not write(message.frames):
                    self.stuck_since = now if self.stuck_since is None else self.stuck_since
                    self.gives_up = now - self.stuck_since > self.patience
                    return False
                self.stuck_since, self.gives_up, self.patience = None, False, FIRST_PATIENCE
                self.messages_sent += 1
                self.messages_repeated += message.tried
                message.tried = True
                message.due = now + self.retry_after
            self.outbox.popleft()
        return True

    def _check(self, now: float) -> None:
        """What time brings: calls end, pauses end, messages are sent again, and waiting calls wait no longer."""
        self.next_check = now + TICK
        waiting, self.paused = self.paused, []
        for call in waiting:
            if call.not_before > now and not self._expired(call, now):
                self.paused.append(call)
            elif not call.done:
                self.add(call)
        for lane in self.queued:
            for call in lane.queue:
                self._expired(call, now)
            self._gather(lane, True)
        self.queued = []
        for message in list(self.open.values()):
            if all([self._expired(call, now) for call in message.calls]):
                self._close(message)
            elif message.tried and message.lane.repeats and now >= message.due and message not in self.outbox:
                self.leaves = True
                self.outbox.append(message)

    @staticmethod
    def _expired(call: Call, now: float) -> bool:
        """Whether the call is done, which it is from its deadline on."""
        if not call.done and now >= call.deadline:
            call.end(None, call.error or Timeout("no answer from coppiced in time"))
        return call.done

    def _close(self, message: Message) -> None:
        if self.open.pop(message.seq, None) is not None:
            message.lane.under_way -= 1

    def moves(self, now: float) -> bool:
        """Whether the client is to move to the next endpoint, or anew to the only one, now; then what is under way is
        due there."""
        leaves = (self.gives_up or (self.leaves and self.endpoints > 1)) and now >= self.moved + MOVE_PAUSE
        if leaves:
            self.patience = min(2 * self.patience, LONGEST_PATIENCE) if self.gives_up else self.patience
            self.gives_up = False
            self.leaves, self.moved, self.stuck_since, self.next_check = False, now, None, now
            for message in self.open.values():
                message.due = now
                if message.tried and message.lane.repeats and message not in self.outbox:
                    self.outbox.append(message)
        return leaves

    def lost(self, now: float) -> None:
        """The connection ended: what was under way on it is due."""
        self.leaves |= now >= self.moved + MOVE_PAUSE  # else it is the one that was left
        for message in list(self.open.values()):
            message.due = now
            message.losses += message.tried and len(message.frames[2]) > LARGE
            if message.losses == MOST_LOSSES:
                self._close(message)
                text = f"the connection ended whenever a message of {len(message.frames[2])} bytes was sent"
                for call in message.calls:
                    call.end(None, error_of({"code": "too_large", "message": text}))
        self.next_check = now

    def take(self, frames: List[bytes], now: float) -> None:
        """A reply. One that nobody waits for is a second answer, to a message that was sent twice."""
        status, body = frames
        reply = unpack(body)
        message = self.open.get(reply.pop("seq", None))
        self.daemon_version = reply.get("version", self.daemon_version)
        if message is None and status != b"ok" and reply.get("code") == "too_large" and self.open:
            message = max(self.open.values(), key=lambda m: len(m.frames[2]))  # the daemon did not read its number
        if message is None:
            return
        self._close(message)
        calls = message.calls
        if len(calls) == 1:
            self._answer(calls[0], reply, status != b"ok", now)
        elif status == b"ok":
            for call, item in zip(calls, reply["items"]):
                self._answer(call, item, "code" in item, now)
        elif reply["code"] in ("busy", "not_leader"):
            for call in calls:
                self._answer(call, reply, True, now)
        else:  # one may have spoiled the others' message: each gets an answer of its own
            for call in calls:
                self._message(message.lane, [call])

    def _answer(self, call: Call, reply: Body, failed: bool, now: float) -> None:
        if not failed:
            if call.lane.verb != b"status":
                reply.pop("version", None)
            call.end(reply, None)
            return
        error = error_of(reply)
        elsewhere = error.code == "not_leader" and self.endpoints > 1
        self.leaves |= elsewhere
        # After `busy` and `not_leader` nothing was taken in; after `not_durable` something may have been.
        if call.done or not (elsewhere or error.code == "busy" or (error.code == "not_durable" and call.lane.repeats)):
            call.end(None, error)
            return
        call.error = error
        call.not_before = now + call.pause
        call.pause = min(2 * call.pause, MOVE_PAUSE if elsewhere else LONGEST_PAUSE)
        self.paused.append(call)

    def drop(self, call: Call) -> None:
        """The program waits for it no longer."""
        call.wake = None
        call.done = True

    def end_all(self, error: CoppiceError) -> None:
        """Every call that waits ends with the error."""
        calls = [call for message in self.open.values() for call in message.calls]
        calls += [call for lane in self.queued for call in lane.queue] + self.paused
        self.open, self.queued, self.paused = {}, [], []
        self.outbox.clear()
        for lane in self.lanes.values():
            lane.queue.clear()
            lane.under_way = 0
        for call in calls:
            call.end(None, error)
