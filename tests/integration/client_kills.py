"""Visits without a pause by another program, while the daemon under it is killed and started again; and the proof from
the journal that each was decided and learned once."""

import json
import os
import subprocess
import threading
from collections import Counter

from conftest import DEADLINE, program

KILLS = 100 if os.environ.get("COPPICE_TORTURE") else 10


def visit(one, command, kills=KILLS, **how):
    """The program prints a line for each hundred visits, and, when it has read one, a line of JSON as its last: what that
    holds. how: of subprocess.Popen."""
    with open(one.folder / "err", "wb") as err, subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True, **how) as process:
        killer = threading.Timer(DEADLINE * (1 + kills / 10), process.kill)
        killer.start()
        try:
            for _ in range(kills):
                assert process.stdout.readline(), (one.folder / "err").read_text()
                one.kill()
                one.start()
            assert process.stdout.readline(), (one.folder / "err").read_text()
            process.stdin.write("stop\n")
            process.stdin.flush()
            last = process.stdout.read().splitlines()[-1]
            assert process.wait(DEADLINE) == 0, (one.folder / "err").read_text()
        finally:
            killer.cancel()
            process.kill()
    return json.loads(last)


def records(one, *args):
    command = [program("COPPICE"), "journal", "dump", str(one.state), "--json", *args]
    text = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def each_once(one, count):
    """Visits 0 to count - 1 of model m, which the daemon has learned; it is stopped."""
    state = one.client().model()
    assert (state["learned"], state["pending"]) == (count, 0)
    one.stop()
    ids = list(range(count))
    decisions = Counter(record["id"] for record in records(one, "--type", "decision"))
    assert sorted(decisions) == ids and set(decisions.values()) == {1}
    applied = Counter(record["id"] for record in records(one, "--type", "feedback") if record["r"] == 0)
    assert sorted(applied) == ids and set(applied.values()) == {1}
