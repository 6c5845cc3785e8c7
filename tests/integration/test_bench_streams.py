"""tests/bench/streams/streams: one short round, in which every way carries every event."""

import subprocess
import sys
from pathlib import Path

import pytest
from brokers import bridge_program, engines

ROOT = Path(__file__).resolve().parents[2]


def test_every_way_carries_every_event():
    build = Path(bridge_program()).parents[2]
    if not (build / "tests" / "bare_client").exists():
        pytest.skip("bare_client was not built")
    done = subprocess.run([sys.executable, ROOT / "tests/bench/streams/streams", build, "1", "1000"], capture_output=True,
                          text=True, timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for engine in {"redis", "nats"} & set(engines()):
        assert f"{engine}: events a second" in done.stdout
    assert done.stdout.count("learner dgt, no journal, feedback") == len({"redis", "nats"} & set(engines()))
