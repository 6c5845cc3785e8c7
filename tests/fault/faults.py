"""What the tests here share: faults made to order (shim.c), readers of the journal and of checkpoints that know nothing
but docs/reference/journal.md and the formats' headers, and the ledger of what a client was told.
"""

import contextlib
import importlib.util
import mmap
import os
import random
import struct
from pathlib import Path

import msgpack

_spec = importlib.util.spec_from_file_location(
    "coppice_service", Path(__file__).resolve().parent.parent / "integration" / "conftest.py"
)
service = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(service)

LONG = bool(os.environ.get("COPPICE_TORTURE"))  # the long form: every byte, every call

# ---- faults ----

OPEN, WRITE, SYNC, RENAME, CUT, REMOVE, READ, RESERVE, FOLDER, MEMORY = (1 << i for i in range(10))
FILES = OPEN | WRITE | SYNC | RENAME | CUT | REMOVE | READ | RESERVE | FOLDER
FOREVER = 1 << 62
LOSE = 1  # a flag: a sync that fails has lost what it was to sync
HANG = 2  # a flag: the call does not fail, it waits until the fault ends
DIE = 0  # as errno: the process is killed in the call


class Fault:
    """Begins and ends faults in processes that run with .env, also while they run."""

    FIELDS = ("kinds", "code", "nth", "times", "count", "failed", "flags", "real", "ahead")
    PATH = 8 * len(FIELDS)
    SIZE = PATH + 512

    def __init__(self, folder):
        shim = service.program("COPPICE_SHIM")
        self.file = folder / "fault"
        self.file.write_bytes(bytes(self.SIZE))
        with open(self.file, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), self.SIZE)
        # A sanitizer's runtime wants to come first in a process, and works all the same when it does not.
        asan = os.environ.get("ASAN_OPTIONS", "")
        self.env = {
            "LD_PRELOAD": shim,
            "COPPICE_FAULT": str(self.file),
            "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":"),
        }

    def _at(self, name):
        return 8 * self.FIELDS.index(name), "<d" if name in ("real", "ahead") else "<Q"

    def set(self, **fields):
        for name, value in fields.items():
            at, form = self._at(name)
            struct.pack_into(form, self.map, at, value)

    def get(self, name):
        at, form = self._at(name)
        return struct.unpack_from(form, self.map, at)[0]

    def begin(self, kinds, code, nth=1, times=FOREVER, path="/state", flags=0):
        """From now on the nth of the calls of these kinds on paths containing `path` fails, and those after it."""
        self.set(kinds=0)
        self.map[self.PATH : self.PATH + len(path) + 1] = path.encode() + b"\0"
        self.set(code=code, nth=nth, times=times, count=0, failed=0, flags=flags)
        self.set(kinds=kinds)  # last: the others are ready

    def count(self, kinds, path="/state"):
        self.begin(kinds, 0, nth=0, path=path)

    def end(self):
        self.set(kinds=0, flags=0)

    def hurry(self, seconds=2.0):
        """What the daemon does every so often, it does now."""
        self.set(ahead=self.get("ahead") + seconds)


# ---- CRC-32C ----


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


# ---- the journal (docs/reference/journal.md) ----

DECISION, FEEDBACK, EXPIRY, ACTIVATION, CONFIG = 1, 2, 3, 4, 5


class Record:
    def __init__(self, offset, end, sequence, kind, body):
        self.offset, self.end, self.sequence, self.kind, self.body = offset, end, sequence, kind, body

    def fields(self):
        return msgpack.unpackb(self.body, raw=False, strict_map_key=False)


def segments(folder):
    """Paths of the journal's segments, oldest first."""
    return sorted(folder.glob("*.journal"))


def read_segment(data):
    """(length of the header, its records, offsets of its marks), up to the first bytes that are neither."""
    header = struct.unpack_from("<I", data, 12)[0]
    assert data[:8] == b"COPJOURN" and crc32c(data[: header - 4]) == struct.unpack_from("<I", data, header - 4)[0]
    records, marks, at = [], [], header
    while at + 20 <= len(data):
        length, crc, sequence, kind = struct.unpack_from("<IIQB", data, at)
        end = at + 20 + length
        if end > len(data) or crc32c(data[at : at + 4] + data[at + 8 : end]) != crc:
            break
        if kind == 0:
            marks.append(at)
        else:
            records.append(Record(at, end, sequence, kind, data[at + 20 : end]))
        at = end
    return header, records, marks


# ---- checkpoints (store/checkpoint_file.h, store/section_file.h) ----


def checkpoints(state):
    """Paths of the checkpoints, oldest first."""
    return sorted(state.glob("coppice.*.checkpoint"))


def sections(data):
    """(name, payload) of a model file's sections."""
    assert data[:4] == b"COPF"
    count = struct.unpack_from("<I", data, 16)[0]
    found, at = [], 24
    for _ in range(count):
        name = data[at : at + 16].rstrip(b"\0").decode()
        length = struct.unpack_from("<Q", data, at + 20)[0]
        found.append((name, data[at + 32 : at + 32 + length]))
        at += 32 + length
    assert at == len(data)
    return found


def read_checkpoint(path):
    """{model: {section: payload}}"""
    data = path.read_bytes()
    assert data[:8] == b"COPCHECK"
    models = {}
    for name, payload in sections(data[28:]):
        if name == "model":
            length = struct.unpack_from("<I", payload)[0]
            models[payload[4 : 4 + length].decode()] = dict(sections(payload[4 + length :]))
    return models


def traces(state, text):
    """Files in the state folder that have the text; some may go meanwhile."""
    found = []
    for path in state.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found += [path.name] if path.is_file() and text in path.read_bytes() else []
    return found


# ---- the ledger ----


class Item:
    """What is known of one decision."""

    def __init__(self, model, id, x):
        self.model, self.id, self.x = model, id, x
        self.c = None  # candidates, of a model that ranks
        self.decided = None  # None: not asked for, or known not to be there; False: asked, no answer; True: answered
        self.action = None  # the answer
        self.durable = True
        self.defer = False
        self.activated = False  # acknowledged
        self.activating = False  # asked, no answer
        self.applied = False  # acknowledged
        self.unsure = False  # a feedback was sent that may have been applied, and was not acknowledged
        self.forgotten = False  # answered, and not remembered
        self.busy = 0  # requests under way
        self.streamed = False  # asked for on a stream, which requests may overtake

    def context(self):
        body = {"id": self.id, "x": self.x}
        if self.c is not None:
            body["c"] = self.c
        return {**body, "defer": True} if self.defer else body


class Request:
    """One request about some items, and what its reply or the lack of one means for each of them."""

    def __init__(self, verb, items, bodies, told, lost):
        self.items, self.told, self.lost = items, told, lost
        self.verb, self.model = verb, items[0].model
        self.single = bodies[0] if len(bodies) == 1 else None
        self.body = self.single or {"items": bodies}
        if self.single is None:
            self.verb += "_batch"
        for item in items:
            item.busy += 1

    def take(self, status, reply):
        if self.single is not None or status == "error":
            replies = [reply] * len(self.items)
        else:
            replies = reply["items"]
        for item, one in zip(self.items, replies, strict=True):
            item.busy -= 1
            if "code" in one:
                assert one["code"] in ("not_durable", "internal", "busy"), one
                self.lost(item)
            else:
                assert one["id"] == item.id
                self.told(item, one)

    def drop(self):
        for item in self.items:
            item.busy -= 1
            self.lost(item)


class Ledger:
    """What a client sent and was told, against which a daemon is checked.

    models: {name: number of features, or None where they are sparse}. Those in `recorded` have the reward rule last,
    and those in `brief` windows that end during the test, and silence is usual there, so that feedback may be recorded
    and learned when they end: their numbers are known within bounds only. Those of all
    others are known exactly once `settle` has asked again for everything that had no answer.
    """

    def __init__(self, rng, models, recorded=(), brief=()):
        self.rng, self.models = rng, models
        self.recorded, self.brief = set(recorded), set(brief)
        self.items = {name: [] for name in models}
        self.decided = dict.fromkeys(models, 0)  # acknowledged
        self.applied = dict.fromkeys(models, 0)
        self.recent = []  # items acknowledged as applied since the last check
        self.open = {}  # seq: its request
        self.next_seq = 0
        self.acknowledged = 0
        self.forgetful = False  # without memory an answered id may be forgotten; its feedback is still not lost

    def features(self, name):
        if self.models[name] is not None:
            return [round(self.rng.uniform(-2, 2), 3) for _ in range(self.models[name])]
        return {f"f{self.rng.randrange(40)}": 1.0, "bias": 0.5, self.rng.randrange(32): self.rng.random()}

    def new(self, name, defer=False):
        item = Item(name, f"{name}-{len(self.items[name])}", self.features(name))
        item.defer = defer
        if name.startswith("rank"):
            item.c = [[self.rng.uniform(-1, 1) for _ in range(2)] for _ in range(self.rng.randint(1, 5))]
        self.items[name].append(item)
        return item

    def loss(self, name):
        return [self.rng.random(), self.rng.random()] if name.startswith("value") else self.rng.random()

    # -- requests --

    def decide(self, *items):
        for item in items:
            item.decided = item.decided or False
        verb = "rank" if items[0].c is not None else "decide"
        return Request(verb, items, [i.context() for i in items], self.told_decision, lambda item: None)

    def feedback(self, *items):
        bodies = [{"id": i.id, "loss": self.loss(i.model)} for i in items]
        return Request("feedback", items, bodies, self.told_feedback, self.lost_feedback)

    def activate(self, item):
        return Request("activate", [item], [{"id": item.id}], self.told_activation, self.lost_activation)

    def send(self, client, request):
        self.open[self.next_seq] = request
        client.send(request.verb, request.model, {**request.body, "seq": self.next_seq})
        self.next_seq += 1

    def take(self, status, reply):
        self.open.pop(reply["seq"]).take(status, reply)

    def call(self, client, request):
        """Sends and waits; status and reply."""
        answer = client.request(request.verb, request.model, request.body)
        request.take(*answer)
        return answer

    def drop_open(self):
        """No reply will come to what is under way."""
        for request in self.open.values():
            request.drop()
        self.open.clear()

    # -- what replies mean --

    def told_decision(self, item, reply):
        action = {k: v for k, v in reply.items() if k not in ("seq", "durable", "repeated")}
        if item.decided is True and item.durable and item.action is not None:
            assert action == item.action and reply.get("repeated") is True, f"asked again, {action}; first, {item.action}"
        self.decided[item.model] += item.decided is not True
        item.decided, item.action, item.durable = True, action, reply.get("durable", True)

    def told_feedback(self, item, reply):
        result = reply["result"]
        if result in ("unknown", "late"):
            self.told_unknown(item, reply)
            return
        if result == "duplicate":
            assert item.applied or item.unsure, f"{item.id}: duplicate of nothing"
        elif item.model in self.recorded:
            assert result == "recorded", reply
        else:
            usual = ("applied", "recorded") if item.model in self.brief else ("applied",)
            assert result in usual, reply
            assert not item.applied, f"{item.id}: acknowledged feedback was applied a second time"
        self.acknowledged += 1
        if not item.applied:
            self.decided[item.model] += item.decided is not True  # it was made, though its answer never came
            self.applied[item.model] += 1
            self.recent.append(item)
        item.decided = item.applied = item.durable = True
        item.unsure = False

    def told_unknown(self, item, reply):
        item.forgotten = item.forgotten or (self.forgetful and item.applied)
        if item.model in self.brief or item.forgotten:
            return
        assert not item.applied, f"{item.id}: acknowledged feedback was lost: {reply}"
        assert item.decided is not True or not item.durable, f"{item.id}: the decision was lost: {reply}"
        self.decided[item.model] -= item.decided is True
        item.decided, item.unsure = None, False

    def lost_feedback(self, item):
        item.unsure = True

    def told_activation(self, item, reply):
        if reply["result"] == "applied":
            assert not item.activated, f"{item.id}: activated a second time"
        elif reply["result"] == "unknown":
            assert not item.activated and (item.decided is not True or not item.durable)
            return
        else:
            assert reply["result"] == "duplicate", reply
            assert item.activated or item.activating or item.applied or item.unsure
        item.activated = True

    def lost_activation(self, item):
        item.activating = True

    # -- checking --

    def unsure(self):
        """Items of which something is not known, those with feedback first."""
        found = [i for items in self.items.values() for i in items if i.unsure and i.model not in self.brief]
        asked = [i for items in self.items.values() for i in items if i.decided is False and not i.unsure]
        return found, asked

    def pipeline(self, client, requests, width=64):
        requests = iter(requests)
        more = True
        while more or self.open:
            while more and len(self.open) < width:
                request = next(requests, None)
                more = request is not None
                if more:
                    self.send(client, request)
            if self.open:
                self.take(*client.receive())

    def settle(self, client, sample=100):
        """After a start: nothing acknowledged is lost, nothing is applied twice, and what had no answer gets one."""
        self.check_bounds(client)
        fed, asked = self.unsure()
        self.pipeline(client, [self.feedback(i) for i in fed] + [self.decide(i) for i in asked])
        recent = [i for i in self.recent if i.model not in self.brief]
        again = self.rng.sample(recent, min(sample, len(recent)))
        waiting = [i for items in self.items.values() for i in items[-200:] if self.repeatable(i)]
        waiting = self.rng.sample(waiting, min(sample, len(waiting)))
        self.pipeline(client, [self.feedback(i) for i in again] + [self.decide(i) for i in waiting])
        self.recent.clear()
        self.check_exactly(client)

    def repeatable(self, item):
        """A decide with its id gets the decision that was made: it waits."""
        fed = item.applied and item.model not in self.recorded
        return item.decided is True and not fed and not item.unsure and item.durable and item.model not in self.brief

    def check_bounds(self, client):
        fed, asked = self.unsure()
        for status in client.status()["models"]:
            name = status["name"]
            if name in self.brief or name not in self.models:
                continue
            gone = sum(not i.durable for i in self.items[name])
            maybe = sum(i.model == name and i.decided is not True for i in fed + asked)
            least = self.decided[name] - gone
            assert least <= status["decisions"] <= self.decided[name] + maybe, (status, least, maybe)
            if name in self.recorded:
                continue
            maybe = sum(i.model == name and not i.applied for i in fed)
            applied = status["feedback"]["applied"]
            assert self.applied[name] <= applied <= self.applied[name] + maybe, (status, self.applied[name], maybe)

    def check_exactly(self, client):
        for status in client.status()["models"]:
            name = status["name"]
            if name not in self.models:
                continue
            applied = status["feedback"]["applied"]
            recorded = status["feedback"]["recorded"] if name in self.brief else 0
            least = applied + status["defaulted"]
            assert least <= status["learned"] <= least + recorded, status
            ended = status["learned"] + status["dropped"] + status["evicted"]
            assert status["decisions"] == ended + status["pending"], status
            if name in self.brief:
                assert applied + recorded >= self.applied[name], (status, self.applied[name])
                continue
            gone = sum(not i.durable for i in self.items[name])
            assert self.decided[name] - gone <= status["decisions"] <= self.decided[name], (status, self.decided[name])
            if name not in self.recorded:
                assert applied == self.applied[name], (status, self.applied[name])


def seeded(name):
    """A generator, whose seed is printed (and set by COPPICE_SEED)."""
    seed = int(os.environ.get("COPPICE_SEED", random.randrange(1 << 32)))
    print(f"{name}: COPPICE_SEED={seed}")
    return random.Random(seed)
