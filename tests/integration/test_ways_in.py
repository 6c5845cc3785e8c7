"""tests/bench/ways_in/ways_in: one round, in which every way is measured and answered without an error."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DEADLINE, program

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("wrk") is None, reason="there is no wrk (tools/install-deps bench)")
def test_every_way_is_measured():
    build = Path(program("COPPICED")).resolve().parents[1]
    if not (build / "tests/http_echo").exists():
        pytest.skip("the build has no http_echo")
    done = subprocess.run([sys.executable, ROOT / "tests/bench/ways_in/ways_in", build, "1"], capture_output=True, text=True,
                          timeout=3 * DEADLINE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    rates = [int(rate) for rate in re.findall(r"(\d+) a second", done.stdout)]
    ratios = re.findall(r" (\d+\.\d\d) \(", done.stdout)
    assert len(rates) == 7 and min(rates) > 0 and len(ratios) == 4 + 6


def test_viewers_of_the_page_are_measured():
    build = Path(program("COPPICED")).resolve().parents[1]
    done = subprocess.run([sys.executable, ROOT / "tests/bench/ways_in/viewers", build, "1", "1"], capture_output=True, text=True,
                          timeout=3 * DEADLINE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    rates = [int(rate) for rate in re.findall(r"(\d+) a second", done.stdout)]
    assert len(rates) == 2 and min(rates) > 0 and "no viewer " in done.stdout and "ten viewers " in done.stdout


def test_waits_while_models_change_are_measured():
    build = Path(program("COPPICED")).resolve().parents[1]
    done = subprocess.run([sys.executable, ROOT / "tests/bench/ways_in/orders", build, "1", "0.4", "2000"], capture_output=True,
                          text=True, timeout=3 * DEADLINE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    waits = re.findall(r"^(.*?) +(\d+\.\d\d) ms", done.stdout, re.MULTILINE)
    assert len(waits) == 6 * 4 + 2 and all(float(wait) > 0 for _, wait in waits)


def test_what_if_is_measured_beside_a_start():
    build = Path(program("COPPICED")).resolve().parents[1]
    done = subprocess.run([sys.executable, ROOT / "tests/bench/what_if", build, "20000", "1"], capture_output=True, text=True,
                          timeout=3 * DEADLINE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r" times the replay ", done.stdout)) == 8 and done.stdout.count("a start replays in") == 2


def test_replicas_and_changes_of_who_leads_are_measured():
    build = Path(program("COPPICED")).resolve().parents[1]
    if not (build / "tests/bare_trips").exists():
        pytest.skip("the build has no bare_trips")
    done = subprocess.run([sys.executable, ROOT / "tests/bench/replication/replication", build, "1", "100", "1"],
                          capture_output=True, text=True, timeout=3 * DEADLINE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r" p50 +\d+\.\d us", done.stdout)) == 5 and done.stdout.count(" round trips") == 3
    if shutil.which("etcd") is not None and (build / "daemon/coppice-lease").exists():
        assert len(re.findall(r"\) s \(limit \d\)", done.stdout)) == 2
