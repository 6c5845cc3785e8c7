"""A million events, half of the decisions never answered: memory stays where it was after the first 200,000."""

import os
import struct
from pathlib import Path

from faults import service

EVENTS = int(os.environ.get("COPPICE_EVENTS", 1_000_000))
BATCH = 1000
WINDOW = 20  # batches; the daemon's clock is ours, and so is the number of decisions that wait
UNDER_WAY = 4
FEATURES = [struct.pack("<4f", *((i * k % 17) / 17 for k in (1, 2, 3, 5))) for i in range(17)]


def resident(d):
    """KiB."""
    status = Path(f"/proc/{d.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def journal_bytes(d):
    total = 0
    for file in (d.state / "journal").iterdir():
        try:
            total += file.stat().st_size
        except FileNotFoundError:  # removed meanwhile
            pass
    return total


def batch(first):
    """Decisions; feedback for half of them; and some feedback once more."""
    ids = range(first, first + BATCH)
    yield b"decide_batch", [{"id": i, "x": FEATURES[i % 17]} for i in ids]
    yield b"feedback_batch", [{"id": i, "loss": (i % 3) / 2} for i in ids[::2]]
    yield b"feedback_batch", [{"id": i, "loss": 0.5} for i in ids[::20]]


class Talk:
    def __init__(self, client):
        self.client = client
        self.under_way = self.applied = self.duplicates = self.events = 0

    def send(self, verb, items):
        while self.under_way >= UNDER_WAY:
            self.take()
        self.client.send_raw(verb, b"m", service.pack({"items": items}))
        self.under_way += 1
        self.events += len(items)

    def take(self):
        status, body = self.client.receive_raw()
        assert status == b"ok"
        self.under_way -= 1
        self.applied += body.count(b"applied") + body.count(b"recorded")  # learned when its window ends
        self.duplicates += body.count(b"duplicate")

    def finish(self):
        while self.under_way:
            self.take()


def test_million_events_keep_memory_and_journal_bounded(daemon, fault):
    text = service.section("journal", {"sync": "interval", "segment": "4MiB", "keep": "16MiB"})
    text += service.section("checkpoint", {"every": "1s", "keep": 2})
    text += service.model(
        "m", "dgt", features=4, arms=3, height=3, reward_window=f"{WINDOW}s", default_loss=0.5, explain_keep=0
    )
    now = 1.7e9
    fault.set(real=now)
    d = daemon(text, env=fault.env)
    client = d.client()
    talk = Talk(client)
    first, early = 0, None
    while talk.events < EVENTS:
        now += 1.0
        fault.set(real=now)
        for verb, items in batch(first):
            talk.send(verb, items)
        first += BATCH
        if early is None and talk.events >= EVENTS // 5:
            talk.finish()
            client.ok("checkpoint")  # has memory of its own
            early = resident(d)
    talk.finish()
    late = resident(d)
    model = client.model()
    assert model["decisions"] == first and model["evicted"] == 0
    # What waits is what a window holds: those that are over have ended, however fast the decisions come.
    assert model["pending"] < 2 * WINDOW * BATCH, model
    fault.set(real=now + WINDOW + 1.0)
    service.wait_for(lambda: client.model()["pending"] == 0, "the last windows to end")
    model = client.model()
    told = model["feedback"]["applied"] + model["feedback"]["recorded"]  # silence is usual here: most are recorded
    assert told == talk.applied == first // 2
    assert model["feedback"]["duplicate"] == talk.duplicates == first // 20
    assert model["learned"] == first == talk.applied + model["defaulted"], model
    print(f"{talk.events} events; {early} KiB after a fifth of them, {late} KiB at the end")
    assert late < 1.1 * early or service.is_sanitized(d.program), (early, late)  # whose runtime keeps what is freed
    for _ in range(2):
        client.ok("checkpoint")  # after these no checkpoint needs the older segments
    service.wait_for(lambda: journal_bytes(d) < 24 * 2**20, "the journal to be cut back")
    d.restart()
    assert d.client().model()["learned"] == first


def test_journal_of_a_daemon_that_is_killed_often_stays_bounded(daemon):
    """Each life writes one checkpoint, at its start."""
    text = service.section("journal", {"sync": "never", "segment": "64KiB", "keep": "256KiB"})
    text += service.section("checkpoint", {"every": "7d", "keep": 2}) + service.model("m", "dgt", features=4)
    d = daemon(text)
    sizes = []
    for life in range(16):
        talk = Talk(d.client())
        talk.send(b"decide_batch", [{"id": 2000 * life + i, "x": FEATURES[0]} for i in range(2000)])
        talk.finish()
        d.kill()
        sizes.append(journal_bytes(d))
        d.start()
    print(sizes)
    assert sizes[-1] < 3 * max(sizes[:4]) / 2, sizes
