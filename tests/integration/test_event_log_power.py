"""What Redis loses by a power cut, as docs/how-to/event-logs.md says: what redis-server wrote and did not sync is taken
back (machine.py). nats-server makes its calls itself, so it cannot be recorded."""

import os
import random
import sys
import time
from pathlib import Path

import pytest
from brokers import Redis
from conftest import program

sys.path.append(str(Path(__file__).resolve().parents[1] / "fault"))

from machine import NOTHING, Machine  # noqa: E402

LONG = "COPPICE_STREAM_KILLS" in os.environ
CUTS = 20 if LONG else 1
SECONDS = 3 if LONG else 1.5


def begin(tmp_path, sync):
    """A server whose first files are there and durable, as a start writes some of them by other ways than the shim sees."""
    one = Redis(tmp_path)
    one.process.command = [sync if word == "always" else word for word in one.process.command]
    one.start()
    one.add("ctx", [b"first"])
    one.process.stop()
    one.socket = None
    os.sync()
    return one, list(one.process.command)


@pytest.mark.parametrize("sync", ["always", "everysec"])
def test_power_cut_takes_what_was_not_synced(tmp_path, sync):
    one, command = begin(tmp_path, sync)
    rng = random.Random(24)
    known = {b"first"}
    for cut in range(CUTS):
        machine = Machine(tmp_path / "redis", tmp_path / "record")
        variables = {"LD_PRELOAD": program("COPPICE_SHIM"), **machine.env}
        one.process.command = ["env", *(f"{key}={value}" for key, value in variables.items()), *command]
        one.start()
        acknowledged, end = [], time.monotonic() + SECONDS
        while time.monotonic() < end:
            events = [f"{cut}-{len(acknowledged) + i}".encode() for i in range(20)]
            one.add("ctx", events)
            acknowledged += events
        one.kill()
        machine.cut(rng, NOTHING)
        one.process.command = command
        one.start()
        kept = set(one.events("ctx"))
        lost = [event for event in acknowledged if event not in kept]
        print(f"{sync}: {len(acknowledged)} acknowledged, {len(lost)} lost")
        assert known <= kept
        assert lost == acknowledged[len(acknowledged) - len(lost) :]  # the newest
        assert sync != "always" or not lost
        known |= kept
        one.process.stop()
        one.socket = None
        os.sync()
