"""Explanations: of pending decisions as they were made, of contexts, with names."""

import json
import random
import subprocess

import pytest
from conftest import DEADLINE, grow, model, program

X = [0.25, 1.0, 3.5]
EXPERT = {"name", "weight", "prediction", "contribution", "linear", "features", "trees"}


def without(reply, *keys):
    return {k: v for k, v in reply.items() if k not in keys}


def test_explain_pending_is_unchanged_after_learning(daemon):
    client = daemon(model(trees=4, height=3)).client()
    grow(client)
    action = client.decide("m", "why", X)
    first = client.ok("explain", "m", {"id": "why"})
    assert first["state"] == "decision" and first["model"] == "m" and first["id"] == "why"
    assert {k: first[k] for k in ("a", "p", "rev", "greedy")} == without(action, "id")
    before = client.ok("explain", "m", {"x": X})
    grow(client, prefix="later")
    assert client.ok("explain", "m", {"id": "why"}) == first
    after = client.ok("explain", "m", {"x": X})
    assert before["state"] == after["state"] == "current" and after["rev"] > before["rev"]
    assert after["experts"] != before["experts"]


def test_explain_beyond_what_is_kept_is_by_the_current_model(daemon):
    client = daemon(model(explain_keep=2)).client()
    action = client.decide("m", "old", X)
    for i in range(2):
        client.decide("m", i, X)
    grow(client, events=3)
    reply = client.ok("explain", "m", {"id": "old"})
    assert reply["state"] == "current" and reply["rev"] == 3 and reply["a"] == action["a"] and reply["p"] == action["p"]


def test_explain_structure_adds_up(daemon):
    client = daemon(model(trees=4, height=3)).client()
    grow(client)
    reply = client.ok("explain", "m", {"x": X})
    experts = reply["experts"]
    assert [expert["name"] for expert in experts] == ["linear", "trees", "quadratic", "forest", "average"]
    assert all(expert.keys() == EXPERT for expert in experts)
    for expert in experts:
        assert expert["contribution"] == pytest.approx(expert["weight"] * (expert["prediction"] - 0.5))
        assert expert["features"] or expert["trees"] or expert["name"] in ("forest", "average")
        sizes = [abs(feature["contribution"]) for feature in expert["features"]]
        assert sizes == sorted(sizes, reverse=True)
        for feature in expert["features"]:
            check_feature(expert["name"], feature)
        for tree in expert["trees"]:
            node, leaf = 0, 0
            for step in tree["path"]:  # the path is the walk that heap order says
                assert step["node"] == node and step["right"] == (step["margin"] >= 0)
                node, leaf = 2 * node + 1 + step["right"], 2 * leaf + step["right"]
            assert tree["leaf"] == leaf and len(tree["path"]) == 3
    predicted = 0.5 + sum(expert["contribution"] for expert in experts)
    assert reply["prediction"] == pytest.approx(predicted, abs=1e-6)


def check_feature(expert, feature):
    plain = ["x0", "x1", "x2", "constant"]
    if expert == "forest":  # credited along the paths: there is no weight
        assert feature["weight"] == 0 and feature["feature"] in plain[:3]
        return
    assert feature["contribution"] == pytest.approx(feature["weight"] * feature["value"], abs=1e-6)
    factors = feature["feature"].split("*")
    assert len(factors) == (1 if feature["index"] < 4 else 2) and set(factors) <= set(plain)
    assert feature["index"] >= 4 or feature["feature"] == plain[feature["index"]]


def test_explain_forest_credits_the_feature_that_decides(daemon):
    client, n = daemon(model(experts=["forest"], policy="epsilon", epsilon=1)).client(), 600
    for start in range(0, n, 100):
        items = [{"id": i, "x": [(i * 7 % 11) / 11, i * 3 % 5, i // 3 % 2]} for i in range(start, start + 100)]
        actions = client.ok("decide_batch", "m", {"items": items})["items"]
        losses = [{"id": a["id"], "loss": float(i["x"][2] == (a["a"] == 0))} for i, a in zip(items, actions)]
        client.ok("feedback_batch", "m", {"items": losses})
    for x in (0, 1):
        reply = client.ok("explain", "m", {"x": [0.5, 2, x], "mask": [True, False, False]})
        forest, average = reply["experts"]
        assert [forest["name"], average["name"]] == ["forest", "average"]
        assert forest["features"][0]["feature"] == "x2"
        assert (forest["features"][0]["contribution"] > 0) == (forest["prediction"] > 0.5) == (x == 1)
        assert sum(f["contribution"] for f in forest["features"]) == pytest.approx(forest["linear"], abs=1e-6)


@pytest.mark.parametrize("learner", ["ensemble", "dgt", "value"])
@pytest.mark.parametrize("features", [0, 3])
def test_explain_works_for_every_learner(daemon, learner, features):
    client = daemon(model(learner=learner, features=features)).client()
    x = X if features else {"a": 1, 77: 2}
    client.decide("m", "d", x)
    by_id, by_x = (client.ok("explain", "m", body) for body in ({"id": "d"}, {"x": x}))
    assert by_id["state"] == "decision" and by_x["state"] == "current"
    assert all(expert.keys() == EXPERT for expert in by_id["experts"] + by_x["experts"])


def test_explain_uses_configured_names(daemon, tmp_path):
    (tmp_path / "features.txt").write_text("price\nage\nsize\n")
    (tmp_path / "arms.txt").write_text("left\nmiddle\nright\n")
    text = model(feature_names=tmp_path / "features.txt", arm_names=tmp_path / "arms.txt")
    client = daemon(text).client()
    grow(client)
    reply = client.ok("explain", "m", {"x": X})
    assert reply["arm"] == ["left", "middle", "right"][reply["a"]]
    named = {(f["index"], f["feature"]) for e in reply["experts"] for f in e["features"]}
    names = ["price", "age", "size", "constant"]
    assert {(i, name) for i, name in named if i < 4} <= set(enumerate(names))
    products = {name for i, name in named if i >= 4}
    assert products and all(set(name.split("*")) <= set(names[:3]) for name in products)
    assert any(len(set(name.split("*"))) == 1 for name in products)  # squares are among them


def test_explain_changes_nothing(daemon):
    client = daemon(model("plain", epsilon=1, policy="epsilon") + model("asked", epsilon=1, policy="epsilon")).client()
    for i in range(100):
        x = [i % 7, i % 3, 1]
        plain = client.decide("plain", i, x)
        client.ok("explain", "asked", {"x": [i, 0, 0]})
        assert client.decide("asked", i, x) == plain  # the same draws
        client.ok("explain", "asked", {"id": i})
        for name in ("plain", "asked"):
            client.feedback(name, i, (i % 5) / 4)
    plain, asked = client.model("plain"), client.model("asked")
    assert without(plain, "name") == without(asked, "name")


def test_explain_masked_context_explains_an_eligible_arm(daemon):
    client = daemon().client()
    grow(client)
    for arm in range(3):
        assert client.ok("explain", "m", {"x": X, "mask": [a == arm for a in range(3)]})["a"] == arm


def test_explain_wrong_questions_refused(daemon):
    client = daemon().client()
    client.decide("m", "d", X)
    for body in ({}, {"id": "d", "x": X}, {"id": "nobody"}, {"id": 5}):
        assert client.error("explain", "m", body)["code"] == "bad_request"
    assert client.error("explain", "m", {"x": [1]})["code"] == "bad_features"
    assert client.feedback("m", "d", 1) == "applied"
    assert client.error("explain", "m", {"id": "d"})["code"] == "bad_request"  # answered: no longer pending


def teach_straight_line(client, events=20000, batch=500):
    """Which of two arms is better depends on a sum of the features alone; until some expert rests."""
    draw = random.Random(7)
    for first in range(0, events, batch):
        rows = [[draw.gauss(0, 1) for _ in range(6)] for _ in range(batch)]
        ids = [f"{first}-{i}" for i in range(batch)]
        sent = {"items": [{"id": id, "x": x} for id, x in zip(ids, rows)]}
        losses = []
        for x, action in zip(rows, client.ok("decide_batch", "m", sent)["items"]):
            best = (x[0] - 2 * x[1] + x[2] > 0) != (draw.random() < 0.1)
            losses.append(float(action["a"] != int(best)))
        sent = {"items": [{"id": id, "loss": loss} for id, loss in zip(ids, losses)]}
        client.ok("feedback_batch", "m", sent)
        experts = client.ok("explain", "m", {"x": [0.5] * 6})["experts"]
        if any("resting" in expert for expert in experts):
            return experts
    raise AssertionError("all experts are awake")


def test_explain_experts_that_rest(daemon):
    one = daemon(model(features=6, arms=2))
    client = one.client()
    experts = teach_straight_line(client)
    for expert in experts:
        assert expert.keys() - {"resting"} == EXPERT
        if "resting" in expert:
            assert expert["resting"] is True and expert["weight"] == expert["contribution"] == expert["linear"] == 0
            assert not expert["features"] and not expert["trees"] and expert["name"] != "forest"
    asleep = [expert["name"] for expert in experts if "resting" in expert]
    reply = client.ok("explain", "m", {"x": [0.5] * 6})
    assert reply["prediction"] == pytest.approx(0.5 + sum(expert["contribution"] for expert in experts), abs=1e-6)
    command = [program("COPPICE"), "ctl", "--endpoint", one.ipc("requests"), "explain", "m", "--x", str([0.5] * 6)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    assert all(f"expert {name}: resting" in text for name in asleep)
    one.restart()
    command = [program("COPPICE"), "inspect", max(one.state.glob("*.checkpoint")), "--json"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    shown = json.loads(text)["models"][0]["experts"]
    assert [expert["name"] for expert in shown if expert.get("resting")] == asleep
    again = one.client().ok("explain", "m", {"x": [0.5] * 6})
    assert again["experts"] == experts
