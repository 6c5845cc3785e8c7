"""clients/node against live daemons: its own tests, the Express example, and visits without a pause while the daemon is killed and started
again (10 times; 100 with COPPICE_TORTURE)."""

import http.client
import json
import os
import re
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest
from conftest import DEADLINE, model, program, section
from npm_packages import installed

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "node"
KILLS = 100 if os.environ.get("COPPICE_TORTURE") else 10


@pytest.fixture
def client():
    files = [str(path.relative_to(CLIENT)) for folder in ("lib", "test") for path in (CLIENT / folder).iterdir()]
    return installed(CLIENT, "clients/node", "README.md", "tsconfig.json", *files)


def records(one, *args):
    command = [program("COPPICE"), "journal", "dump", str(one.state), "--json", *args]
    text = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


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
        model("r", learner="rank", arms=None, trees=None, height=None, features=0, max_candidates=4))
    one.start()
    variables = {f"COPPICE_{name.upper()}": address for name, address in addresses.items()}
    output = run(client, "node", "--test", "test/live.test.js", **variables)
    assert count(output, "pass") >= 7 and count(output, "fail") == 0


def test_client_types_are_those_that_it_has(client):
    run(client, "node_modules/.bin/tsc", "--noEmit", "-p", ".")


def test_client_is_packed_with_what_it_needs(client, tmp_path):
    (packed,) = json.loads(run(client, "npm", "pack", "--json", "--pack-destination", str(tmp_path)))
    assert (tmp_path / packed["filename"]).exists()
    assert {file["path"] for file in packed["files"]} == {
        "package.json", "README.md", *(f"lib/{path.name}" for path in (CLIENT / "lib").iterdir())}


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
