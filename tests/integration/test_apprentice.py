"""A model that learns from an existing system's decisions, and takes over by a reload: apprentice = true."""

import json
import random
from urllib.request import urlopen

import pytest
import zmq
from bandit_logs import ARMS, FEATURES, events, replay, write_vw
from conftest import DEADLINE, coppice, free_port, model, pack, section, unpack, wait_for

EPSILON = 0.5  # of the existing system, which otherwise plays arm 0


def shop(apprentice=True, **more):
    return model("shop", features=3, arms=3, apprentice=apprentice, **more)


class System:
    """It explores; the best arm is the largest of the three features."""

    def __init__(self, seed=1, epsilon=EPSILON):
        self.rng = random.Random(seed)
        self.epsilon = epsilon
        self.count = 0

    def context(self):
        self.count += 1
        return {"id": self.count, "x": [self.rng.uniform(-1, 1) for _ in range(3)]}

    def decide(self):
        body = self.context()
        rest = self.epsilon / 3
        body["a"] = self.rng.randrange(3) if self.rng.random() < self.epsilon else 0
        body["p"] = 1 - self.epsilon + rest if body["a"] == 0 else rest
        return body

    @staticmethod
    def loss(x, a):
        return 0.0 if x[a] == max(x) else 1.0

    def run(self, client, n, answered=True):
        """Events as the service has them; the mean loss of the system, and the share of agreement."""
        bodies = [self.decide() for _ in range(n)]
        actions = client.ok("decide_batch", "shop", {"items": bodies})["items"]
        for body, action in zip(bodies, actions):
            assert action["id"] == body["id"] and action["a"] == body["a"] and action["p"] == body["p"]
        losses = [self.loss(b["x"], b["a"]) for b in bodies]
        if answered:
            items = [{"id": b["id"], "loss": loss} for b, loss in zip(bodies, losses)]
            results = client.ok("feedback_batch", "shop", {"items": items})["items"]
            assert {r["result"] for r in results} == {"applied"}
        return sum(losses) / n, sum(a["greedy"] for a in actions) / n


def figures(client):
    return client.model("shop")["apprentice"]


def own_loss(client, system, n):
    """Of the model deciding itself."""
    bodies = [system.context() for _ in range(n)]
    actions = client.ok("decide_batch", "shop", {"items": bodies})["items"]
    losses = [system.loss(b["x"], a["a"]) for b, a in zip(bodies, actions)]
    items = [{"id": b["id"], "loss": loss} for b, loss in zip(bodies, losses)]
    client.ok("feedback_batch", "shop", {"items": items})
    return sum(losses) / n


def switch(d, client, text):
    d.write_config(text)
    return client.ok("reload")


def test_apprentice_learns_reports_survives_a_kill_and_is_switched_on(daemon):
    d = daemon(shop())
    client = d.client()
    system = System()
    assert figures(client) == {
        "on": True, "observed": 0, "agreed": 0, "losses": 0, "agreement": None, "own_p": None, "support": None,
        "gain": None, "low": None, "high": None, "unknown": "too few losses so far",
    }
    first_loss, first = system.run(client, 200)
    for _ in range(8):
        system.run(client, 200)
    last_loss, last = system.run(client, 200)
    # An easy problem: it comes to say which arm is best, which the system plays by accident only.
    before = figures(client)
    assert before["observed"] == before["losses"] == 2000
    assert before["agreement"] == before["agreed"] / 2000 and 0.3 < before["agreement"] < 0.6
    assert 0.9 < before["support"] < 1.1 and 0 < before["own_p"] < 1
    assert "unknown" not in before
    assert 0 < before["low"] < before["gain"] < before["high"] < 1
    assert before["gain"] > 0.2  # the system's loss is about 2/3, what is left to gain about that
    system.run(client, 50, answered=False)
    client.ok("checkpoint")
    system.run(client, 50)
    system.run(client, 50, answered=False)
    status = client.model("shop")
    d.kill()
    d.start()
    client = d.client()
    again = client.model("shop")
    for volatile in ("contexts", "feedback_stream", "repeated", "refused"):
        again.pop(volatile), status.pop(volatile)
    assert again == status
    assert again["pending"] == 100 and again["apprentice"]["observed"] == 2150
    # A context without what was decided is refused, and nothing changes.
    for body in ({}, {"a": 1}, {"p": 1}):
        assert client.error("decide", "shop", {"id": "new", "x": [0, 0, 0], **body})["code"] == "apprentice"
    for body in ({"a": 3, "p": 0.5}, {"a": 1, "p": 0}, {"a": 1, "p": 0.5, "mask": [1, 0, 1]}, {"a": "b", "p": 1}):
        assert client.error("decide", "shop", {"id": "new", "x": [0, 0, 0], **body})["code"] == "bad_request"
    assert client.model("shop")["decisions"] == 2150
    reply = switch(d, client, shop(False))
    assert reply["applied"] == ["model shop: apprentice: true -> false"] and reply["restart"] == []
    d.logged("event=apprentice_off model=shop observed=2150")
    # From here on it decides, and better than the system did; an a and p that still come mean nothing.
    assert own_loss(client, system, 500) < 0.35 < last_loss
    action = client.ok("decide", "shop", {"id": "own", "x": [1, 0, 0], "a": 99, "p": "often"})
    assert action["a"] in (0, 1, 2)
    assert figures(client) == {**again["apprentice"], "on": False}
    assert client.feedback("shop", "own", 0.0) == "applied"


def test_apprentice_answers_waiting_decisions_as_they_were_made(daemon):
    d = daemon(shop())
    client = d.client()
    action = client.ok("decide", "shop", {"id": 1, "x": [1, 2, 3], "a": 2, "p": 0.25, "seq": 7})
    assert set(action) == {"id", "a", "p", "rev", "greedy", "seq"}
    assert client.ok("decide", "shop", {"id": 1, "x": [1, 2, 3], "a": 0, "p": 0.5})["a"] == 2
    explained = client.ok("explain", "shop", {"id": 1})
    assert (explained["a"], explained["p"], explained["state"]) == (2, 0.25, "decision")
    assert client.ok("decide", "shop", {"id": 2, "x": [1, 2, 3], "a": 1, "p": 0.5, "defer": True})["a"] == 1
    assert client.ok("activate", "shop", {"id": 2})["result"] == "applied"
    switch(d, client, shop(False))
    assert client.ok("decide", "shop", {"id": 1, "x": [1, 2, 3]})["a"] == 2  # it was played
    assert client.feedback("shop", 1, 1.0) == "applied"
    assert figures(client)["losses"] == 1
    switch(d, client, shop(True))
    d.logged("event=apprentice_on model=shop observed=2")


def test_self_contained_feedback_of_an_unknown_decision_counts(daemon):
    d = daemon(shop())
    client = d.client()
    told = {"x": [1, 2, 3], "a": 1, "p": 0.5}
    assert client.feedback("shop", "u", 0.0, **told) == "applied"
    assert client.feedback("shop", "u", 0.0, **told) == "duplicate"
    client.decide("shop", "v", [1, 2, 3], a=1, p=0.5)
    assert client.feedback("shop", "v", 0.0, **told) == "applied"
    then = client.model("shop")
    assert then["apprentice"]["observed"] == then["apprentice"]["losses"] == 2
    d.kill()
    d.start()
    assert d.client().model("shop")["apprentice"] == then["apprentice"]


def test_system_that_never_explores_yields_no_gain(daemon):
    client = daemon(shop()).client()
    system = System(epsilon=0.0)
    for _ in range(5):
        system.run(client, 200)
    is_ = figures(client)
    assert is_["gain"] is is_["low"] is is_["high"] is None
    assert "explores too little" in is_["unknown"] and is_["losses"] == 1000


def test_streams_of_an_apprentice_publish_nothing(daemon, tmp_path):
    names = ("requests", "contexts_bind", "feedback_bind", "actions_bind")
    d = daemon(shop(), start=False)
    sockets = section("sockets", {name: [d.ipc(name)] for name in names})
    d.write_config(sockets + shop())
    d.start()
    client = d.client()
    actions = d.socket(zmq.SUB, connect=d.ipc("actions_bind"))
    actions.subscribe(b"act.shop")
    contexts = d.socket(zmq.XPUB, connect=d.ipc("contexts_bind"), SNDHWM=0)
    feedback = d.socket(zmq.XPUB, connect=d.ipc("feedback_bind"), SNDHWM=0)
    assert contexts.poll(1000 * DEADLINE) and feedback.poll(1000 * DEADLINE)  # subscribed
    wait_for(lambda: client.status()["streams"]["subscribers"] > 0, "the subscription to actions")

    def send(socket, topic, body):
        socket.send_multipart([topic, pack(body)])

    send(contexts, b"ctx.shop", {"id": 1, "x": [1, 2, 3], "a": 2, "p": 0.5})
    send(contexts, b"ctx.shop", [{"id": 2, "x": [1, 2, 3], "a": 1, "p": 0.5}, {"id": 3, "x": [1, 2, 3]}])
    wait_for(lambda: client.model("shop")["contexts"]["received"] == 3, "the contexts")
    assert client.model("shop")["contexts"]["malformed"] == 1  # the one that says nothing of a and p
    d.logged("stream_refused")
    send(feedback, b"fb.shop", {"id": 1, "loss": 0.5})
    wait_for(lambda: figures(client)["losses"] == 1, "the feedback")
    assert figures(client)["observed"] == 2
    d.write_config(sockets + shop(False))
    client.ok("reload")
    send(contexts, b"ctx.shop", {"id": 4, "x": [1, 2, 3]})
    assert actions.poll(1000 * DEADLINE)
    topic, body = actions.recv_multipart()
    assert topic == b"act.shop" and unpack(body)["id"] == 4  # the first that was ever published


def test_warm_start_then_apprentice_then_switch(daemon, tmp_path):
    log, saved = tmp_path / "log.vw", tmp_path / "saved.model"
    write_vw(log, events(500))
    replay(log, "--height", "2", "--trees", "2", "--save", saved)

    def text(apprentice):
        return model("shop", features=FEATURES, arms=ARMS, start_from=str(saved), apprentice=apprentice)

    d = daemon(text(True))
    client = d.client()
    before = client.model("shop")
    assert before["rev"] == 500 and before["apprentice"]["on"] and before["apprentice"]["observed"] == 0
    rng = random.Random(1)
    for i in range(150):
        x = [rng.uniform(-1, 1) for _ in range(FEATURES)]
        a = rng.randrange(ARMS)
        assert client.decide("shop", i, x, a=a, p=1 / ARMS)["a"] == a
        client.feedback("shop", i, 0.25)
    after = client.model("shop")
    assert after["rev"] == 650 and after["apprentice"]["losses"] == 150
    switch(d, client, text(False))
    d.restart()
    client = d.client()
    assert client.model("shop")["apprentice"]["observed"] == 150 and client.model("shop")["rev"] == 650
    assert client.decide("shop", "own", [0.0] * FEATURES)["id"] == "own"


def test_ranked_candidates_are_observed_by_their_place(daemon):
    text = model("m", learner="rank", arms=None, candidate_features=2, max_candidates=4, apprentice=True)
    d = daemon(text)
    client = d.client()
    body = {"id": 1, "x": [1, 2, 3], "c": [[0, 1], [1, 0], [1, 1]]}
    assert client.error("rank", "m", body)["code"] == "apprentice"
    assert client.error("rank", "m", {**body, "a": 3, "p": 0.5})["code"] == "bad_request"
    action = client.ok("rank", "m", {**body, "a": 1, "p": 0.5, "order": True})
    assert action["a"] == 1 and action["p"] == 0.5 and sorted(action["order"]) == [0, 1, 2]
    assert client.feedback("m", 1, 0.5) == "applied"
    # Of feedback alone the other candidates are not known: learned, but no evidence.
    assert client.feedback("m", 2, 0.5, x=[1, 2, 3], c=[0, 1], p=0.5) == "applied"
    then = client.model("m")
    assert then["apprentice"]["observed"] == then["apprentice"]["losses"] == 1 and then["learned"] == 2
    d.kill()
    d.start()
    assert d.client().model("m")["apprentice"] == then["apprentice"]


def test_apprentice_of_values_is_refused_by_the_check(daemon):
    d = daemon(model("m", learner="value", apprentice=True), start=False)
    answer = d.run("--check")
    assert answer.returncode == 1 and "apprentice: contexts have no place for a value" in answer.stderr
    d.write_config(shop())
    assert d.run("--check").returncode == 0
    assert "apprentice = true" in d.run("--print-config").stdout


def test_journal_of_an_apprentice_is_a_log_of_the_system(daemon):
    """dump, verify and replay know its records; status in words shows the figures."""
    d = daemon(shop())
    client = d.client()
    system = System()
    losses = [system.run(client, 200)[0] for _ in range(3)]
    assert client.feedback("shop", "alone", 1.0, x=[1, 2, 3], a=1, p=0.5) == "applied"
    words = coppice("ctl", "status", "--endpoint", d.ipc("requests"))[0]
    assert "apprentice" in words and "on yes, observed 601" in words
    d.stop()
    journal = d.state / "journal"
    coppice("journal", "verify", journal)  # its exit status is its word
    records = [json.loads(line) for line in coppice("journal", "dump", journal, "--json")[0].splitlines()]
    observed = [r for r in records if r["type"] in ("decision", "feedback") and "o" in r]
    assert len(observed) == 601 and all(0 <= r["o"] <= 1 and r["g"] in (True, False) for r in observed)
    assert coppice("journal", "dump", journal)[0].count("observed, own p") == 601
    figures_ = json.loads(coppice("replay", "--format", "journal", journal, "--json")[0])
    assert figures_["events"] == 601
    assert figures_["average_loss"] == pytest.approx((200 * sum(losses) + 1.0) / 601)
    assert figures_["snips"] < figures_["average_loss"]  # what is learned from it is better than the system


def test_metrics_of_an_apprentice(daemon):
    port = free_port()
    d = daemon(section("http", {"listen": f"127.0.0.1:{port}"}) + shop() + model("other"))
    client = d.client()

    def page():
        return urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE).read().decode()

    assert 'coppice_apprentice{model="shop"} 1\n' in page() and 'coppice_apprentice{model="other"} 0\n' in page()
    assert 'coppice_apprentice_gain{model="shop"} NaN\n' in page()
    system = System()
    for _ in range(5):
        system.run(client, 200)
    text = page()
    is_ = figures(client)
    assert 'coppice_apprentice_observed_total{model="shop"} 1000\n' in text
    assert f'coppice_apprentice_agreed_total{{model="shop"}} {is_["agreed"]}\n' in text
    for name, key in (("gain", "gain"), ("gain_low", "low"), ("gain_high", "high"), ("support", "support")):
        (line,) = [x for x in text.splitlines() if x.startswith(f'coppice_apprentice_{name}{{model="shop"}}')]
        assert float(line.split()[1]) == pytest.approx(is_[key], rel=1e-5)
    d.restart()
    assert 'coppice_apprentice_observed_total{model="shop"} 0\n' in page()  # counters begin with the process
