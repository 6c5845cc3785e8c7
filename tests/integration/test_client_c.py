"""libcoppice-client in somebody else's program: installed, found by pkg-config, against live daemons, and visits without a
pause by many threads while the daemon is killed and started again (10 times; 100 with COPPICE_TORTURE)."""

import json
import re
import subprocess

import pytest
import zmq
from client_kills import KILLS, each_once, visit
from conftest import DEADLINE, model, section, wait_for
from test_curve import Keys
from test_library import ROOT, build, environment, prefix  # noqa: F401

TEST = ROOT / "clients" / "c" / "test"
LIBRARY = "coppice-client"


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("programs")
    return lambda source, **how: build(prefix, source, folder / f"{source.stem}-{len(how)}", name=LIBRARY, **how)


def run(prefix, *words):  # noqa: F811
    done = subprocess.run(words, env=environment(prefix), capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("how", [{}, {"language": "c++"}, {"static": True}], ids=["c", "c++", "static"])
def test_example_learns(daemon, prefix, programs, how):  # noqa: F811
    program = programs(ROOT / "examples" / "client.c", **how)
    one = daemon(model("front-page"))
    out = run(prefix, program, one.ipc("requests"), "front-page", "1200", "7")
    losses = [float(loss) for loss in re.findall(r"visitors: average loss ([\d.]+)", out)]
    assert len(losses) == 10 and sum(losses[5:]) / 5 < 0.45 < losses[0] + 0.3
    assert one.client().model("front-page")["learned"] == 1200


def test_every_function(daemon, prefix, programs, tmp_path):  # noqa: F811
    (tmp_path / "arms").write_text("left\nright\nstraight on\n")
    program = programs(TEST / "calls.c")
    one = daemon(start=False)
    names = ("requests", "contexts", "feedback", "actions")
    sockets = {("requests" if name == "requests" else f"{name}_bind"): [one.ipc(name)] for name in names}
    one.write_config(
        model(reward_window="1h") + section("sockets", sockets) +
        model("r", learner="rank", arms=None, trees=None, height=None, features=0, max_candidates=4) +
        model("v", learner="value") + model("h", holdout=0.99, baseline=2) +
        model("l", share_max=["0=0", "1=0"]) +
        model("s", losses=["click=1", "seconds"]) + model("t", apprentice=True, arm_names=str(tmp_path / "arms")))
    one.start()
    lines = run(prefix, program, *(one.ipc(name) for name in names)).splitlines()
    said = dict(line.split(": ", 1) for line in lines if ": " in line)
    assert (said["decide"], said["repeated"], said["feedback"], said["duplicate"]) == ("1 0 1", "1 1", "0", "2")
    assert json.loads(said["explain"])["id"] == "a" and json.loads(said["status"])["models"][0]["name"] == "m"
    assert (said["masked"], said["activate"], said["rank"], said["value"], said["two"]) == ("1 1", "0", "1", "1", "0")
    assert said["named"] == "dear 1" and said["caller"] == "straight on 2 0.5"
    assert said["held"] == "1 2 1 -" and said["limit"] == "2 1 share_max" and said["unit"].startswith("error 1, unit: of 0 bytes")
    assert re.match(r"error 5, bad_features: x: got 2 values, expected 3", said["shape"])
    assert re.match(r"error 5, too_large: body of 10\d+ bytes; expected at most", said["too long"])
    assert re.match(r"error 5, too_large: the connection ended whenever a message of 24\d+ bytes was sent", said["cut"])
    assert (said["losses"], said["begun"].split(": ")[-1]) == ("4", "0")
    assert "have no names" in said["unknown loss"] and "losses: click: missing" in said["no losses"]
    assert said["nameless"].startswith("error 1, losses: no name")
    assert [x["losses"] for x in one.client().model("s")["losses"]] == [1, 1]
    assert re.match(r"error 5, unknown_model: ", said["model"]) and re.match(r"error 1, id: of 0 bytes", said["id"])
    assert re.match(r"error 5, bad_request: id: no such decision", said["waits"])
    assert said["endpoint"].startswith("error 1, nowhere: ") and said["keys"].startswith("error 1, key and server_key")
    assert said["file"].startswith("error 3, missing") and said["timeout"].startswith("error 4, no answer in time")
    assert said["many"] == "400" and said["streamed"] == "200" and said["no more"].startswith("error 4, ")
    client = one.client()
    wait_for(lambda: client.model()["learned"] == 401, "the streamed feedback")
    wait_for(lambda: client.model("s")["feedback_stream"] == {"received": 1, "malformed": 0, "lost": 0}, "the streamed named losses")
    state = client.model()
    assert state["contexts"]["lost"] == state["feedback_stream"]["lost"] == 0
    assert state["contexts"]["received"] == state["feedback_stream"]["received"] == 200


def test_kills_lose_nothing_and_do_nothing_twice(daemon, prefix, programs):  # noqa: F811
    one = daemon(model(reward_window="1h", pending_max=1000000))
    command = [programs(TEST / "visits.c"), one.ipc("requests"), "m", "64"]
    got = visit(one, command, env=environment(prefix))
    assert got["visits"] > 50 * KILLS and got["applied"] + got["duplicate"] == got["visits"]
    each_once(one, got["visits"])


def test_first_endpoint_that_is_down_is_left(daemon, prefix, programs):  # noqa: F811
    one = daemon(model(reward_window="1h"))
    command = [programs(TEST / "visits.c"), f"{one.ipc('nobody')},{one.ipc('requests')}", "m", "2"]
    got = visit(one, command, 0, env=environment(prefix))
    assert got["visits"] >= 100
    each_once(one, got["visits"])


@pytest.mark.skipif(not zmq.has("curve"), reason="libzmq has no CURVE")
@pytest.mark.parametrize("name", ["shop", "stranger"])
def test_keys(daemon, prefix, programs, tmp_path, name):  # noqa: F811
    """The stranger is let in when it has been refused."""
    keys = Keys(daemon, tmp_path, {"shop": "decide,feedback m"})
    for file, key in (("client", keys.pairs[name][1]), ("server.pub", keys.public)):
        (tmp_path / file).write_bytes(key + b"\n")
        (tmp_path / file).chmod(0o600)
    command = [programs(TEST / "visits.c"), keys.endpoint("requests"), "m", "8", tmp_path / "client", tmp_path / "server.pub"]
    letting = [keys.let_in_when_refused({"stranger": "decide,feedback m"})] if name == "stranger" else []
    got = visit(keys.one, command, 0, env=environment(prefix))
    for thread in letting:
        thread.join()
    assert got["visits"] >= 100 and keys.local.model()["learned"] == got["visits"] == got["applied"]
