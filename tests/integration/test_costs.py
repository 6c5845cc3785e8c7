"""costs (tests/bench/costs): measurements of a daemon run whole with few events, and what all refuse; no figure is judged."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import DEADLINE, model, program, spoiled

PARTS = ("decide_one_at_a_time", "decide_pipelined", "learn_pipelined", "learn_batched")
QUICK = ("--rounds", 2, "--seconds", 0.02, "--timeout", 60)


def command(*args):
    return [program("COSTS"), *map(str, args)]


def costs(*args, status=0, env=None):
    done = subprocess.run(command(*args), capture_output=True, text=True, timeout=4 * DEADLINE, env=env)
    assert done.returncode == status, (args, done.stdout, done.stderr)
    return done.stdout, done.stderr


@pytest.fixture
def own(tmp_path):
    """An environment for a daemon of the program's own, which lies in a folder that is empty again afterwards."""
    folder = Path("/tmp") / f"cb{os.getpid()}-{time.monotonic_ns() % 100000}"
    folder.mkdir()
    yield {**os.environ, "TMPDIR": str(folder)}
    assert list(folder.iterdir()) == []
    folder.rmdir()


def check_figures(result):
    assert set(result["events_per_second"]) == set(PARTS)
    figures = list(result["events_per_second"].values())
    figures += [result["latency"][key] for key in ("p50_us", "p99_us", "p999_us")]
    for figure in figures:
        assert figure["echo"] > 0 and figure["daemon"] > 0
        assert 0 < figure["ratio_low"] <= figure["ratio"] <= figure["ratio_high"]
    assert result["latency"]["requests_per_second"] > 0


@pytest.mark.parametrize("more", [(), ("--tcp",), ("--floats", "--features", 5, "--arms", 3, "--batch", 3)])
def test_daemon_measures_a_daemon_of_its_own(own, more):
    result = json.loads(costs("daemon", *QUICK, *more, "--json", env=own)[0])
    check_figures(result)
    assert result["rounds"] == 2 and result["features"] == (5 if "--features" in more else 54)


def test_daemon_text_is_whole(own):
    out, err = costs("daemon", *QUICK, "--inflight", 9, env=own)
    assert err == ""
    for line in ("learner dgt, 7 arms", "decide, one at a time", "decide, 9 in flight", "decide + feedback, 9 in flight",
                 "batches of 64", "p50", "p99", "p99.9"):
        assert line in out


def test_daemon_measures_a_running_daemon(daemon, own):
    one = daemon(model())
    out, _ = costs("daemon", "--endpoint", one.ipc("requests"), "--model", "m", "--features", 3, *QUICK, "--json", env=own)
    check_figures(json.loads(out))
    status = one.client().model("m")
    assert status["decisions"] > status["learned"] > 0


def test_refit_measures_beside_a_refit(own):
    args = ("refit", *QUICK, "--events", 500, "--features", 6, "--arms", 3)
    result = json.loads(costs(*args, "--json", env=own)[0])
    for key in ("p50_us", "p99_us", "p999_us"):
        figure = result["latency"][key]
        assert figure["without"] > 0 and figure["with"] > 0
        assert 0 < figure["ratio_low"] <= figure["ratio"] <= figure["ratio_high"]
    assert result["events"] == 500 << result["refits_too_short"]
    assert 0 <= result["progress_low"] <= result["progress_high"] <= 1
    assert result["latency"]["requests_per_second"] == pytest.approx(result["capacity_per_second"] / 4)


def test_refit_text_is_whole(own):
    out, err = costs("refit", *QUICK, "--events", 3000, "--tcp", env=own)
    assert err == ""
    for line in ("refits of another model with", "without a refit", "no refit", "p50", "p99", "p99.9", "over tcp"):
        assert line in out


def test_refit_that_fails_is_told(own):
    trapped = {**own, "COPPICED_TEST_WORKER": "CRASH@loading"}
    told = costs("refit", *QUICK, "--events", 500, status=1, env=trapped)[1]
    assert "a refit failed: " in told and "at: loading" in told  # by a signal, or by what the sanitizer makes of it


@pytest.mark.parametrize("what", ["daemon", "refit"])
def test_measurement_that_is_interrupted_leaves_nothing(own, what):
    running = subprocess.Popen(command(what, "--rounds", 1000, "--timeout", 60), env=own,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + DEADLINE
    while not list(Path(own["TMPDIR"]).glob("*/state/journal")) and time.monotonic() < deadline:
        time.sleep(0.01)  # only the pace of polling
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=DEADLINE)
    assert running.returncode != 0 and out == ""


@pytest.mark.parametrize("args,says", [
    (("daemon", "--endpoint", "ipc://x"), "costs daemon: expected --endpoint EP and --model NAME, or neither"),
    (("daemon", "--model", "m"), "costs daemon: expected --endpoint EP and --model NAME, or neither"),
    (("daemon", "--events", 5), "costs daemon: unrecognized option '--events'"),
    (("refit", "--endpoint", "ipc://x", "--model", "m"), "costs refit: unrecognized option '--endpoint'"),
    (("daemon", "more"), 'costs daemon: unexpected word "more"'),
    (("refit", "more"), 'costs refit: unexpected word "more"'),
    (("daemon", "--rounds", 0), "costs daemon: --rounds: '0' given"),
    (("refit", "--events", 0), "costs refit: --events: '0' given"),
    (("echo",), "costs echo: expected --endpoint EP"),
    (("echo", "more"), 'costs echo: unexpected word "more"'),
    (("kernels", "--events", 5), "costs kernels: unrecognized option '--events'"),
    (("kernels", "more"), 'costs kernels: unexpected word "more"'),
    (("grid", "more"), 'costs grid: unexpected word "more"'),
    (("load",), "costs: no subcommand 'load'"),
    ((), "usage: costs SUBCOMMAND"),
])
def test_wrong_usage_is_refused(args, says):
    out, err = costs(*args, status=2)
    assert out == "" and says in err


def test_daemon_of_wrong_features_fails(daemon, own):
    args = ["--endpoint", daemon(model()).ipc("requests"), "--model", "m", "--features", 4]
    assert "bad_features" in costs("daemon", *args, *QUICK, status=1, env=own)[1]


def test_daemon_of_a_model_of_values_is_refused_by_its_endpoint(daemon, own):
    endpoint = daemon(model(learner="value")).ipc("requests")
    err = costs("daemon", "--endpoint", endpoint, "--model", "m", "--features", 3, *QUICK, status=1, env=own)[1]
    assert err == f"costs daemon: {endpoint}: a model of arms is expected, this one has values\n"


def test_daemon_whose_answers_are_wrong_is_told(daemon, own):
    with spoiled(daemon(model()), b"decide_batch", lambda reply: {**reply, "items": reply["items"][:-1]}) as endpoint:
        out, err = costs("daemon", "--endpoint", endpoint, "--model", "m", "--features", 3, *QUICK, status=1, env=own)
    assert out == "" and err == f"costs daemon: {endpoint}: the reply to a batch has other items\n"


def test_echo_refuses_a_wrong_endpoint():
    assert "nonsense" in costs("echo", "--endpoint", "nonsense", status=1)[1]
