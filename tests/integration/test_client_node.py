"""clients/node against live daemons: its own tests, and visits without a pause while the daemon is killed and started
again (10 times; 100 with COPPICE_TORTURE)."""

import json
import os
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest
from conftest import DEADLINE, model, program
from npm_packages import installed

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "node"
KILLS = 100 if os.environ.get("COPPICE_TORTURE") else 10


@pytest.fixture
def client():
    files = [str(path.relative_to(CLIENT)) for folder in ("lib", "test") for path in (CLIENT / folder).iterdir()]
    return installed(CLIENT, "client", *files)


def records(one, *args):
    command = [program("COPPICE"), "journal", "dump", str(one.state), "--json", *args]
    text = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def test_client_over_kills_loses_nothing_and_does_nothing_twice(daemon, client):
    one = daemon(model(reward_window="1h", pending_max=1000000))
    command = ["node", "test/kills.js", one.ipc("requests"), "m"]
    with open(one.folder / "err", "wb") as err, subprocess.Popen(
            command, cwd=client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True) as process:
        killer = threading.Timer(DEADLINE * (1 + KILLS / 10), process.kill)
        killer.start()
        try:
            for _ in range(KILLS):
                assert process.stdout.readline(), (one.folder / "err").read_text()
                one.kill()
                one.start()
            process.stdin.write("stop\n")
            process.stdin.flush()
            last = process.stdout.read().splitlines()[-1]
            assert process.wait(DEADLINE) == 0, (one.folder / "err").read_text()
        finally:
            killer.cancel()
            process.kill()
    got = json.loads(last)
    ids = sorted(got["ids"])
    assert len(ids) > 100 * KILLS / 2 and ids == list(range(len(ids)))
    assert set(got["results"]) <= {"applied", "duplicate"}, got["results"]
    state = one.client().model()
    assert (state["learned"], state["pending"]) == (len(ids), 0)
    one.stop()
    decisions = Counter(record["id"] for record in records(one, "--type", "decision"))
    assert sorted(decisions) == ids and set(decisions.values()) == {1}
    applied = Counter(record["id"] for record in records(one, "--type", "feedback") if record["r"] == 0)
    assert sorted(applied) == ids and set(applied.values()) == {1}
