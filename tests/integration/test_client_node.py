"""clients/node against live daemons: its own tests, the Express example, and visits without a pause while the daemon is killed and started
again (10 times; 100 with COPPICE_TORTURE)."""

import http.client
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import zmq
from client_kills import KILLS, each_once, visit
from conftest import DEADLINE, model, section, wait_for
from npm_packages import installed
from test_client_failover import WAYS, fail_over, go_on
from test_curve import Keys
from test_failover import group, lead, wait_for_followers

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "node"


@pytest.fixture
def client():
    files = [str(path.relative_to(CLIENT)) for folder in ("lib", "test") for path in (CLIENT / folder).iterdir()]
    return installed(CLIENT, "clients/node", "README.md", "tsconfig.json", *files)


def run(client, *command, **variables):
    result = subprocess.run(command, cwd=client, capture_output=True, text=True, timeout=DEADLINE, env={**os.environ, **variables})
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def count(output, what):
    """A figure of the last lines of Node's test runner."""
    return int(re.search(rf"^\S+ {what} (\d+)$", output, re.M)[1])


def test_client_batches_and_sends_again(client):
    output = run(client, "node", "--test", "test/messages.test.js")
    assert count(output, "pass") >= 12 and count(output, "fail") == 0


def test_client_of_a_live_daemon(daemon, client):
    one = daemon(start=False)
    addresses = {name: one.ipc(name) for name in ("requests", "contexts", "feedback", "actions")}
    sockets = {("requests" if name == "requests" else f"{name}_bind"): [address] for name, address in addresses.items()}
    one.write_config(
        model(unheard_age="1h") + section("sockets", sockets) +
        model("r", learner="rank", arms=None, trees=None, height=None, features=0, max_candidates=4) +
        model("h", holdout=0.5) + model("s", losses=["click=1", "seconds"]))
    one.start()
    variables = {f"COPPICE_{name.upper()}": address for name, address in addresses.items()}
    output = run(client, "node", "--test", "test/live.test.js", **variables)
    assert count(output, "pass") >= 7 and count(output, "fail") == 0


@pytest.mark.skipif(not zmq.has("curve"), reason="libzmq has no CURVE")
def test_client_over_curve(daemon, client, tmp_path):
    keys = Keys(daemon, tmp_path, {"shop": "decide,feedback,read m"}, model_options={"unheard_age": "1h"})
    public, secret = (key.decode() for key in keys.pairs["shop"])
    output = run(
        client, "node", "--test", "test/curve.test.js", COPPICE_SERVER_KEY=keys.public.decode(), COPPICE_PUBLIC_KEY=public,
        COPPICE_SECRET_KEY=secret, **{f"COPPICE_{name.upper()}": keys.endpoint(name) for name in keys.ports})
    assert count(output, "pass") >= 4 and count(output, "fail") == 0
    wait_for(lambda: keys.local.model()["learned"] == 3, "the feedback")
    assert keys.local.model()["decisions"] == 3 and keys.local.model("n")["decisions"] == 0


REFUSED = """
const { Client } = require('./lib/client');
const { ENDPOINT, SERVER, PUBLIC, SECRET } = process.env;
const socket = { curveServerKey: SERVER, curvePublicKey: PUBLIC, curveSecretKey: SECRET };
const client = new Client(ENDPOINT, { socket, timeout: 120000 });
client.decide('m', { id: 'mine', x: [1, 2, 3] }).then(action => { console.log(action.id); client.close(); });
"""


@pytest.mark.skipif(not zmq.has("curve"), reason="libzmq has no CURVE")
def test_refused_key_is_tried_again(daemon, client, tmp_path):
    """ZeroMQ gives the connection up: the same client is let in when its line is there."""
    keys = Keys(daemon, tmp_path, {"shop": "decide m"})
    public, secret = (key.decode() for key in keys.pairs["stranger"])
    letting = keys.let_in_when_refused({"stranger": "decide m"})
    variables = {"ENDPOINT": keys.endpoint("requests"), "SERVER": keys.public.decode(), "PUBLIC": public, "SECRET": secret}
    assert run(client, "node", "-e", REFUSED, **variables) == "mine\n"
    letting.join()
    assert keys.local.model()["decisions"] == 1


def test_client_types_are_those_that_it_has(client):
    run(client, "node_modules/.bin/tsc", "--noEmit", "-p", ".")


def test_client_is_packed_with_what_it_needs(client, tmp_path):
    (packed,) = json.loads(run(client, "npm", "pack", "--json", "--pack-destination", str(tmp_path)))
    assert (tmp_path / packed["filename"]).exists()
    assert {file["path"] for file in packed["files"]} == {
        "package.json", "README.md", *(f"lib/{path.name}" for path in (CLIENT / "lib").iterdir())}


def test_client_over_kills_loses_nothing_and_does_nothing_twice(daemon, client):
    one = daemon(model(reward_window="1h", pending_max=1000000))
    got = visit(one, ["node", "test/kills.js", one.ipc("requests"), "m"], cwd=client)
    ids = sorted(got["ids"])
    assert len(ids) > 100 * KILLS / 2 and ids == list(range(len(ids)))
    assert set(got["results"]) <= {"applied", "duplicate"}, got["results"]
    each_once(one, len(ids))


@pytest.mark.parametrize("way", WAYS)
def test_client_goes_on_to_the_one_that_leads(daemon, client, way):
    a, b = group(daemon, "a", "b", sync="replica", followers=1, models=model(reward_window="1h", pending_max=1000000))
    lead(a)
    wait_for_followers(a, 1)
    command = ["node", "test/kills.js", f"{b.ipc('requests')},{a.ipc('requests')}", "m"]
    with subprocess.Popen(command, cwd=client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdout.readline()
        fail_over(a, b, way)
        if way == "stop":
            go_on(a, way)
        a.start()
        for _ in range(3):
            running.stdout.readline()
        last = running.communicate("stop\n", timeout=DEADLINE)[0].splitlines()[-1]
    assert running.returncode == 0
    got = json.loads(last)
    assert len(got["ids"]) > 300 and sorted(got["ids"]) == list(range(len(got["ids"])))
    assert set(got["results"]) <= {"applied", "duplicate"}, got["results"]
    found = b.client().model()
    assert found["decisions"] == found["learned"] == len(got["ids"])


def test_express_example_decides_and_learns(daemon, client):
    folder = installed(ROOT / "examples" / "express", "examples/express", "offers.js")
    one = daemon(model("offers", features=0))
    command = ["node", "offers.js", one.ipc("requests"), "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as service:
        try:
            host = service.stdout.readline().strip().removeprefix("http://")

            def ask(path, body, status=200):
                connection = http.client.HTTPConnection(host, timeout=DEADLINE)
                connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
                response = connection.getresponse()
                assert response.status == status
                return json.loads(response.read())

            bought = 0
            for i in range(300):
                offer = ask("/offer", {"country": "de" if i % 2 else "fr", "hour": i % 24, "member": i % 3 == 0})
                wanted = "a gift" if i % 2 else "free delivery"
                if offer["offer"] == wanted:
                    bought += i >= 200
                    assert ask(f"/offer/{offer['id']}/bought", {}) == {"result": "applied"}
                else:
                    assert one.client().feedback("offers", offer["id"], 1) == "applied"  # as at the window's end
            assert bought > 60  # of 100; a third without learning
            assert ask("/offer/never/bought", {}, 404) == {"result": "unknown"}
            service.terminate()
            assert service.wait(DEADLINE) == 0
        finally:
            service.kill()
