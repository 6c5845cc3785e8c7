"""Several named losses of a decision through real sockets: what is taken and refused, learned, reported and written."""

import json
import random
import urllib.error
import urllib.request

import pytest
import zmq
from bandit_logs import coppice
from conftest import DEADLINE, free_port, model, pack, section, wait_for
from test_metrics import Pages

SHOP = {"losses": ["click=1", "revenue=-0.02", "seconds"], "loss_range": [-1, 1],
        "loss_ranges": ["revenue=0:50", "seconds=0:600"]}
KEPT = ("losses", "holdout", "rev", "decisions", "learned", "mean_loss", "loss_sum", "pending")


def tell(client, id, losses, name="m", **more):
    return client.ok("feedback", name, {"id": id, "losses": losses, **more})["result"]


def draw(rng, arm):
    return {"click": float(rng.random() < 0.7), "revenue": round(rng.uniform(0, 20 + 15 * arm), 2),
            **({"seconds": rng.uniform(0, 600)} if rng.random() < 0.8 else {})}


def play(client, count, first=0, name="m"):
    """Decisions with their losses; returns [(action, losses)]."""
    rng = random.Random(first)
    out = []
    for i in range(first, first + count):
        action = client.decide(name, i, [rng.random() for _ in range(3)])
        out.append((action, draw(rng, action["a"])))
        assert tell(client, i, out[-1][1], name) in ("applied", "recorded")
    return out


def mean(values):
    return sum(values) / len(values)


def test_sum_is_learned_and_each_is_reported(daemon):
    client = daemon(model(**SHOP)).client()
    made = play(client, 300)
    is_ = client.model()
    learned = [losses["click"] - 0.02 * losses["revenue"] for _, losses in made]
    assert is_["mean_loss"] == pytest.approx(mean(learned))
    assert [(x["name"], x["weight"], x["range"]) for x in is_["losses"]] == [
        ("click", 1.0, [0.0, 1.0]), ("revenue", -0.02, [0.0, 50.0]), ("seconds", 0.0, [0.0, 600.0])]
    for one in is_["losses"]:
        told = [losses[one["name"]] for _, losses in made if one["name"] in losses]
        assert one["losses"] == len(told) and one["mean_loss"] == pytest.approx(mean(told))
        assert one["range"][0] <= one["low"] < one["mean_loss"] < one["high"] <= one["range"][1]
        assert "policy" not in one and "gain" not in one
    assert 200 < is_["losses"][2]["losses"] < 300


def test_history_has_each_loss_over_time(daemon):
    one = daemon(model(**SHOP))
    client = one.client()
    before = play(client, 50)
    one.restart()
    client = one.client()  # history begins with the process
    made = play(client, 120, first=50)
    history = wait_for(lambda: (h := client.ok("history", "m")) and sum(h["losses"]) == 120 and h, "the interval to end")
    assert len(before) == 50 and [loss["name"] for loss in history["named_losses"]] == ["click", "revenue", "seconds"]
    for loss in history["named_losses"]:
        told = [losses[loss["name"]] for _, losses in made if loss["name"] in losses]
        assert len(loss["losses"]) == len(loss["mean_loss"]) == len(history["losses"])
        assert sum(loss["losses"]) == len(told)
        assert sum(n * m for n, m in zip(loss["losses"], loss["mean_loss"]) if n) == pytest.approx(sum(told))
        assert all((m is None) == (n == 0) for n, m in zip(loss["losses"], loss["mean_loss"]))
    plain = daemon(model()).client()
    assert "named_losses" not in plain.ok("history", "m")


def test_gain_in_each_loss(daemon):
    pages = free_port()
    one = daemon(model(holdout=0.4, baseline=0, **SHOP) + section("http", {"listen": f"127.0.0.1:{pages}"}))
    client = one.client()
    made = play(client, 1500)
    is_ = client.model()
    click, revenue, seconds = is_["losses"]
    for loss in is_["losses"]:
        groups = {}
        for action, losses in made:
            if loss["name"] in losses:
                groups.setdefault(action.get("by", "policy"), []).append(losses[loss["name"]])
        assert (loss["policy"]["losses"], loss["control"]["losses"]) == (len(groups["policy"]), len(groups["holdout"]))
        assert loss["policy"]["mean_loss"] == pytest.approx(mean(groups["policy"]))
        difference = mean(groups["holdout"]) - mean(groups["policy"])
        assert loss["gain"] == pytest.approx(-difference if loss["weight"] < 0 else difference)
        assert loss["gain_low"] < loss["gain"] < loss["gain_high"]
    assert revenue["gain_low"] > 0 and click["gain_low"] < 0 < click["gain_high"]  # the model's arms bring more of it alone
    samples = Pages(pages).samples()
    labels = 'model="m",loss="revenue"'
    assert samples[f'coppice_named_losses{{{labels},group="all"}}'] == 1500
    assert samples[f'coppice_named_mean_loss{{{labels},group="control"}}'] == pytest.approx(revenue["control"]["mean_loss"])
    assert samples[f"coppice_named_gain_low{{{labels}}}"] == pytest.approx(revenue["gain_low"])


@pytest.mark.parametrize("body,said", [
    ({"loss": 0.5}, "loss: losses of this model have names"),
    ({"loss": 0.5, "losses": {"click": 1, "revenue": 2}}, "loss: losses of this model have names"),
    ({"losses": {"click": 1, "revenue": 2}, "loss": 0.5}, "loss: losses of this model have names"),
    ({"losses": {"click": 1}}, "losses: revenue: missing"),
    ({"losses": {}}, "losses: click: missing"),
    ({"losses": {"click": 1, "revenue": 2, "views": 3}}, "views is no loss of this model, expected each once of: click, revenue, seconds"),
    ({"losses": {"click": 1.5, "revenue": 2}}, "losses: click: got 1.5, expected a number from 0 to 1"),
    ({"losses": {"click": 1, "revenue": 51}}, "losses: revenue: got 51, expected a number from 0 to 50"),
    ({"losses": {"click": 1, "revenue": -0.1}}, "losses: revenue"),
    ({"losses": {"click": 1, "revenue": float("nan")}}, "losses: revenue"),
    ({"losses": {"click": 1, "revenue": float("inf")}}, "losses: revenue"),
    ({"losses": {"click": 1, "revenue": 2, "seconds": "many"}}, "losses: seconds"),
    ({"losses": {"click": True, "revenue": 2}}, "losses: click"),
    ({"losses": {1: 1, "revenue": 2}}, "losses"),
    ({"losses": [1, 2]}, "losses: got an array"), ({"losses": None}, "losses"), ({}, "losses: the key is missing"),
    ({"losses": {"x" * 300: 1}}, "is no loss of this model")])
def test_wrong_losses_change_nothing(daemon, body, said):
    client = daemon(model(**SHOP)).client()
    client.decide("m", 1, [0, 0, 0])
    before = client.model()
    error = client.error("feedback", "m", {"id": 1, **body})
    assert said in error["message"] and error["code"] in ("bad_loss", "bad_request"), error
    after = client.model()
    assert [after[k] for k in KEPT if k in after] == [before[k] for k in KEPT if k in before]
    assert tell(client, 1, {"click": 1, "revenue": 50}) == "applied"


def test_models_without_names_take_no_names(daemon):
    client = daemon(model()).client()
    client.decide("m", 1, [0, 0, 0])
    assert "have no names, expected loss alone" in client.error("feedback", "m", {"id": 1, "losses": {"click": 1}})["message"]
    assert client.feedback("m", 1, 0.5) == "applied"
    assert "losses" not in client.model()


@pytest.mark.parametrize("reward,want", [
    ("earliest", {"click": 1, "revenue": 10}), ("first", {"click": 1, "revenue": 10}),
    ("last", {"click": 0, "revenue": 45, "seconds": 5}), ("sum", {"click": 1, "revenue": 50, "seconds": 5})])
def test_reward_rules(daemon, reward, want):
    """The first counts, or the last, or each name's sum, cut to its range."""
    client = daemon(model(reward=reward, reward_window="1h", **SHOP)).client()
    client.decide("m", 1, [0, 0, 0])
    results = [tell(client, 1, {"click": 1, "revenue": 10}), tell(client, 1, {"click": 0, "revenue": 45, "seconds": 5})]
    assert results == {"earliest": ["applied", "duplicate"], "first": ["recorded", "duplicate"]}.get(reward, ["recorded"] * 2)
    client.ok("model", "m", {"do": "set", "options": {"reward_window": "1ms"}})  # holds for those that wait, too
    wait_for(lambda: client.model()["learned"] == 1, "the window's end")
    assert {x["name"]: x["mean_loss"] for x in client.model()["losses"] if x["losses"]} == want


def test_default_loss_says_nothing_of_names(daemon):
    client = daemon(model(reward_window="50ms", default_loss=1, **SHOP)).client()
    client.decide("m", 1, [0, 0, 0])
    wait_for(lambda: client.model()["learned"] == 1, "the window's end")
    is_ = client.model()
    assert is_["mean_loss"] == 1 and [x["losses"] for x in is_["losses"]] == [0, 0, 0]
    assert is_["losses"][0]["mean_loss"] is None


def test_batches_self_contained_and_candidates(daemon):
    text = model(**SHOP) + model("r", learner="rank", features=2, arms=None, candidate_features=2, max_candidates=5, **SHOP)
    client = daemon(text).client()
    client.ok("decide_batch", "m", {"items": [{"id": i, "x": [0, 0, 0]} for i in range(4)]})
    items = [{"id": 0, "losses": {"click": 1, "revenue": 1}}, {"id": 1, "losses": {"click": 1}},
             {"id": 2, "losses": {"click": 0, "revenue": 3}}, {"id": "new", "x": [1, 1, 1], "a": 1, "p": 0.5,
                                                               "losses": {"click": 0, "revenue": 5, "seconds": 60}}]
    got = client.ok("feedback_batch", "m", {"items": items})["items"]
    assert [x.get("result") for x in got] == ["applied", None, "applied", "applied"] and got[1]["code"] == "bad_loss"
    is_ = client.model()["losses"]
    assert [x["losses"] for x in is_] == [3, 3, 1] and is_[1]["mean_loss"] == 3
    client.ok("rank", "r", {"id": 1, "x": [1, 2], "c": [[0, 1], [1, 0]]})
    assert tell(client, 1, {"click": 1, "revenue": 50}, "r") == "applied"
    assert tell(client, 2, {"click": 1, "revenue": 0}, "r", x=[1, 2], c=[0, 1], p=0.5) == "applied"
    assert [x["mean_loss"] for x in client.model("r")["losses"]] == [1, 25, None]


@pytest.mark.parametrize("reward", ["earliest", "sum"])
def test_state_is_the_same_after_a_kill(daemon, reward):
    """From the journal alone, and from a checkpoint and the journal behind it; what waits keeps what it was told."""
    one = daemon(model(holdout=0.3, baseline=0, reward=reward, reward_window="1h", pending_max=250, **SHOP))
    client = one.client()
    play(client, 300)
    for checkpoint in (False, True):
        if checkpoint:
            client.ok("checkpoint")
            play(client, 200, first=1000)
        before = client.model()
        one.kill()
        one.start()
        client = one.client()
        after = client.model()
        assert {k: after[k] for k in KEPT} == {k: before[k] for k in KEPT}
    assert client.model()["losses"][0]["losses"] == (500 if reward == "earliest" else 250)
    for i in range(1190, 1200):  # in place of the sums' first parts
        tell(client, i, {"click": 0, "revenue": 50})
    assert client.model()["losses"][0]["losses"] == (500 if reward == "earliest" else 250)


def test_names_and_weights_change_live(daemon):
    one = daemon(model(holdout=0.3, baseline=0, reward="last", reward_window="1h", pending_max=100, **SHOP))
    client, admin = one.client(), one.admin()
    play(client, 150)
    before = client.model()["losses"]
    change = lambda **options: admin.ok("model", "m", {"do": "set", "options": options})
    change(losses=["seconds=0.001", "click=0.4", "basket"], loss_ranges=["seconds=0:600", "basket=-5:5"], )
    is_ = client.model()["losses"]
    assert [x["name"] for x in is_] == ["seconds", "click", "basket"]
    figures = lambda x: {k: x[k] for k in ("losses", "mean_loss", "low", "high", "policy", "control")}
    assert figures(is_[0]) == figures(before[2]) and figures(is_[1]) == figures(before[0])
    assert is_[2]["losses"] == 0 and "revenue" not in [x["name"] for x in is_]
    assert "revenue is no loss" in client.error("feedback", "m", {"id": 149, "losses": {"seconds": 1, "click": 1, "revenue": 1}})["message"]
    rng = random.Random(3)
    for i in range(500, 700):  # which push out those that wait, with what they were told by the names that stay
        client.decide("m", i, [0, 0, 0])
        tell(client, i, {"seconds": rng.uniform(0, 600), "click": 1, "basket": rng.uniform(-5, 5)})
    before = client.model()
    told = {x["name"]: x["losses"] for x in before["losses"]}
    assert told["click"] == 250 and told["basket"] == 100 and 200 < told["seconds"] < 250
    one.kill()
    one.start()
    client, admin = one.client(), one.admin()
    assert {k: client.model()[k] for k in KEPT} == {k: before[k] for k in KEPT}
    change = lambda **options: admin.ok("model", "m", {"do": "set", "options": options})
    change(losses=["click=1", "basket=0"], loss_ranges=["basket=-5:10"])  # another range begins again
    assert [(x["name"], x["losses"]) for x in client.model()["losses"]] == [("click", 250), ("basket", 0)]
    error = admin.error("model", "m", {"do": "set", "options": {"losses": ["click=2"], "loss_ranges": []}})
    assert "losses: their weighted sum goes from 0 to 2" in error["message"]
    admin.ok("model", "m", {"do": "set", "options": {"losses": [], "loss_ranges": []}})
    assert "losses" not in client.model()
    client.decide("m", 900, [0, 0, 0])
    assert client.feedback("m", 900, 0.5) == "recorded"
    before = client.model()
    one.kill()
    one.start()
    assert {k: v for k, v in one.client().model().items() if k in KEPT} == {k: v for k, v in before.items() if k in KEPT}


@pytest.mark.parametrize("options,said", [
    ({"losses": ["click", "revenue"]}, "nothing would be learned"),
    ({"losses": ["click=1", "revenue=1"]}, "goes from 0 to 2 (loss_ranges), expected it within loss_range, 0 to 1"),
    ({"losses": ["click=1"], "loss_ranges": ["clicks=0:1"]}, "clicks is no loss"),
    ({"loss_ranges": ["click=0:1"]}, "click is no loss"),
    ({"losses": ["click=1", "click=2"]}, "losses"), ({"losses": ["a b=1"]}, "losses"), ({"losses": ["=1"]}, "losses"),
    ({"losses": ["click=x"]}, "losses"), ({"losses": ["click=nan"]}, "losses"), ({"losses": ["c" * 32 + "=1"]}, "losses"),
    ({"losses": [f"l{i}" for i in range(17)]}, "losses"),
    ({"losses": ["click=1"], "loss_ranges": ["click=1:0"]}, "loss_ranges"),
    ({"losses": ["click=1"], "loss_ranges": ["click=1"]}, "loss_ranges"),
    ({"learner": "value", "arms": None, "losses": ["click=1"]}, "losses")])
def test_wrong_configurations_are_told(daemon, options, said):
    result = daemon(model(**options), start=False).run("--check")
    assert result.returncode != 0 and said in result.stderr, result.stderr


def test_configuration_prints_them(daemon):
    made = daemon(model(**SHOP), start=False)
    text = made.run("--print-config").stdout
    assert 'losses = { "click=1", "revenue=-0.02", "seconds" }' in text
    assert 'loss_ranges = { "revenue=0:50", "seconds=0:600" }' in text
    assert "losses" not in daemon(model(), start=False).run("--print-config").stdout


def test_over_http_and_streams(daemon):
    port = free_port()
    one = daemon(start=False)
    one.write_config(section("api", {"listen": [f"127.0.0.1:{port}"]}) + model(**SHOP) + section("sockets", {
        "requests": [one.ipc("requests")], "feedback_bind": [one.ipc("feedback")]}))
    one.start()
    client = one.client()

    def post(verb, body):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models/m/{verb}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    post("decide", {"id": "a", "x": [0, 0, 0]})
    assert post("feedback", {"id": "a", "losses": {"click": 1, "revenue": 3.25}}) == (200, {"id": "a", "result": "applied"})
    status, problem = post("feedback", {"id": "a", "losses": {"click": 1}})
    assert status == 422 and problem["code"] == "bad_loss" and "revenue: missing" in problem["detail"], problem
    status, batch = post("feedback_batch", {"items": [{"id": "b", "losses": {"revenue": 1, "click": 0}}, {"id": "b", "loss": 1}]})
    assert status == 200 and batch["items"][0]["result"] == "unknown" and batch["items"][1]["code"] == "bad_loss"
    client.decide("m", 1, [0, 0, 0])
    publisher = one.socket(zmq.XPUB, connect=one.ipc("feedback"))
    assert publisher.poll(1000 * DEADLINE) and publisher.recv().startswith(b"\x01")
    publisher.send_multipart([b"fb.m", pack([{"id": 1, "losses": {"click": 1, "revenue": 50}}, {"id": 1, "loss": 1}])])
    wait_for(lambda: client.model()["feedback_stream"]["received"] == 2, "the stream")
    is_ = client.model()
    assert is_["feedback_stream"]["malformed"] == 1 and [x["losses"] for x in is_["losses"]] == [2, 2, 0]
    client.decide("m", 2, [0, 0, 0])
    told = coppice("ctl", "--endpoint", one.ipc("requests"), "feedback", "m", "2", "--loss", "click=0,revenue=2.5")[0]
    assert "applied" in told and client.model()["losses"][1]["losses"] == 3
    assert "--loss" in coppice("ctl", "--endpoint", one.ipc("requests"), "feedback", "m", "2", "--loss", "click=x", status=1)[1]
    words = coppice("ctl", "status", "--endpoint", one.ipc("requests"))[0]
    assert "name revenue, weight -0.02, range [0, 50], losses 3, mean_loss 18.5833" in words


def test_journal_is_evaluated_by_one_of_them(daemon):
    one = daemon(model(policy="epsilon", epsilon=0.3, **SHOP))
    client = one.client()
    made = play(client, 400)
    client.decide("m", 1000, [0, 0, 0])
    client.ok("feedback", "m", {"id": "elsewhere", "x": [0, 0, 1], "a": 1, "p": 0.5, "losses": {"click": 1, "revenue": 40}})
    one.stop()
    replay = lambda *more: json.loads(coppice("replay", "--format", "journal", one.state / "journal", "--json", *more)[0])
    learned = [losses["click"] - 0.02 * losses["revenue"] for _, losses in made] + [1 - 0.8]
    revenue = [losses["revenue"] for _, losses in made] + [40]
    assert replay()["average_loss"] == pytest.approx(mean(learned))
    of = replay("--loss", "revenue")
    assert of["average_loss"] == pytest.approx(mean(revenue)) and of["loss_range"] == [0, 50] and of["events"] == 402
    both = replay("--loss", "click=0.5,revenue=-0.01")
    assert both["average_loss"] == pytest.approx(mean(learned) / 2) and both["loss_range"] == [-0.5, 0.5]
    seconds = [losses["seconds"] for _, losses in made if "seconds" in losses]
    assert replay("--loss", "seconds")["average_loss"] == pytest.approx(mean(seconds))
    for wrong, said in (("views", "has no loss views"), ("click=", "--loss: 'click=' given"), ("", "--loss: '' given"),
                        ("click,click", "each name once")):
        assert said in coppice("replay", "--format", "journal", one.state / "journal", "--loss", wrong, status=1 if wrong == "views" else 2)[1]
    assert "goes with --format journal" in coppice("replay", "--format", "vw", "x", "--loss", "click", status=2)[1]


def test_journal_has_them(daemon):
    one = daemon(model(reward="sum", reward_window="1h", pending_max=2, **SHOP))
    client = one.client()
    for i in range(3):
        client.decide("m", i, [0, 0, 0])
        tell(client, i, {"click": 1, "revenue": 30, **({"seconds": 2} if i else {})})
        tell(client, i, {"click": 0, "revenue": 30})
    one.stop()
    journal = one.state / "journal"
    records = [json.loads(line) for line in coppice("journal", "dump", journal, "--json")[0].splitlines()]
    told = [r["l"] for r in records if r["type"] == "feedback"]
    assert told[:3] == [{"click": 1, "revenue": 30}, {"click": 0, "revenue": 30}, {"click": 1, "revenue": 30, "seconds": 2}]
    ended = [s for r in records for s in r.get("s", [])]
    assert ended[0] == [0, 4, pytest.approx(-0.2), {"click": 1, "revenue": 50}]
    assert " click=1 revenue=30 seconds=2" in coppice("journal", "dump", journal)[0]
    assert "loss -1 to 1 of click, revenue, seconds" in coppice("journal", "stat", journal)[0]
    named = json.loads(coppice("journal", "stat", journal, "--json")[0])["models"][0]["named"]
    assert named["revenue"] == {"weight": -0.02, "range": [0, 50]}
