"""Models of continuous actions: probes, one and two losses, units of value_range."""

import csv
import json
import subprocess

import numpy
import pytest
from conftest import model, program

X = [0.25, 1.0, 3.5]


def probes_of(client, number, count):
    actions = client.ok("decide_batch", "m", {"items": [{"id": i, "x": [i % 5, 1, 0]} for i in range(number)]})["items"]
    for action in actions:
        assert action.keys() == {"id", "y", "probe", "rev"} and len(action["probe"]) == count
    return actions


def test_two_point_probes_lie_around_y_in_value_range(daemon):
    client = daemon(model(learner="value", value_range=(10, 20), delta=1)).client()
    signs = set()
    for action in probes_of(client, 200, 2):
        plus, minus = action["probe"]
        assert 10 <= min(plus, minus) and max(plus, minus) <= 20 and 10 <= action["y"] <= 20
        assert abs(plus - minus) == pytest.approx(2) and (plus + minus) / 2 == pytest.approx(action["y"])
        signs.add(plus > minus)
    assert signs  # the documented order is [y + du, y - du]


def test_one_point_probe_lies_beside_y_in_value_range(daemon):
    client = daemon(model(learner="value", value_range=(-4, 4), delta=0.5, feedback="one")).client()
    signs = set()
    for action in probes_of(client, 200, 1):
        (probe,) = action["probe"]
        assert -4 <= probe <= 4 and abs(probe - action["y"]) == pytest.approx(0.5)
        signs.add(probe > action["y"])
    assert signs == {True, False}


@pytest.mark.parametrize("feedback", ["one", "two"])
def test_value_model_moves_to_where_the_loss_is_least(daemon, feedback):
    text = model(learner="value", value_range=(10, 20), delta=1, feedback=feedback, loss_range=(0, 100))
    client = daemon(text).client()
    first = client.decide("m", "first", X)["y"]
    best = 11.5 if first > 15 else 18.5
    for turn in range(30):
        items = [{"id": f"{turn}-{i}", "x": X} for i in range(50)]
        actions = client.ok("decide_batch", "m", {"items": items})["items"]
        losses = [[(p - best) ** 2 for p in a["probe"]] for a in actions]
        items = [{"id": a["id"], "loss": l if feedback == "two" else l[0]} for a, l in zip(actions, losses)]
        replies = client.ok("feedback_batch", "m", {"items": items})["items"]
        assert {r.get("result") for r in replies} == {"applied"}
    assert abs(client.decide("m", "last", X)["y"] - best) < abs(first - best) / 2
    state = client.model()
    assert state["learned"] == 1500 and 0 < state["mean_loss"] < 100


def test_value_losses_of_wrong_number_or_kind_refused(daemon):
    text = model(name="two", learner="value") + model(name="one", learner="value", feedback="one")
    client = daemon(text).client()
    for name, wrongs in {
        "two": [0.5, [0.5], [], [1, 2, 3], ["a", 1], None, [1, float("nan")], [float("inf"), 0], [[1], 2], {0: 1}],
        "one": [[0.5, 0.5], [0.5], "a", None, float("nan"), float("-inf"), True, {}],
    }.items():
        client.decide(name, "d", X)
        for wrong in wrongs:
            error = client.error("feedback", name, {"id": "d", "loss": wrong})
            assert error["code"] == "bad_loss" and error["message"].startswith("loss"), (wrong, error)
        assert (client.model(name)["rev"], client.model(name)["pending"]) == (0, 1)
    assert client.feedback("two", "d", [-5, 70]) == "applied"  # any finite loss
    assert client.feedback("one", "d", 1e6) == "applied"


def test_value_self_contained_feedback_needs_y(daemon):
    client = daemon(model(learner="value")).client()
    full = {"id": "elsewhere", "loss": [0.5, 0.25], "x": X, "y": 0.5}
    assert client.error("feedback", "m", {k: v for k, v in full.items() if k != "y"})["code"] == "bad_request"
    assert client.ok("feedback", "m", full)["result"] == "applied"
    assert client.ok("feedback", "m", full)["result"] == "duplicate"
    assert client.model()["rev"] == 1


def test_value_explanation_is_in_value_range(daemon):
    client = daemon(model(learner="value", value_range=(10, 20), delta=1)).client()
    action = client.decide("m", "d", X)
    reply = client.ok("explain", "m", {"id": "d"})
    assert reply["y"] == action["y"] and reply["state"] == "decision" and "a" not in reply and "p" not in reply
    assert 10 <= client.ok("explain", "m", {"x": X})["y"] <= 20


def bins(**options):
    return model(learner="value", feedback=None, height=None, trees=None, **options)


def play_bins(client, best, turns, tag=""):
    """[(value, density)] of the last turn, 50 events a turn; the loss is four times the distance's square."""
    for turn in range(turns):
        items = [{"id": f"{tag}{turn}-{i}", "x": X} for i in range(50)]
        actions = client.ok("decide_batch", "m", {"items": items})["items"]
        items = [{"id": a["id"], "loss": 0.04 * (a["probe"][0] - best) ** 2} for a in actions]
        replies = client.ok("feedback_batch", "m", {"items": items})["items"]
        assert {r.get("result") for r in replies} == {"applied"}
    return [(a["probe"][0], a["p"]) for a in actions]


def test_bins_are_the_default_and_answer_with_a_density(daemon):
    client = daemon(bins(value_range=(10, 20))).client()
    assert client.model()["feedback_points"] == "bins"
    first = client.decide("m", "d", X)
    assert first.keys() == {"id", "y", "probe", "p", "rev"} and first["probe"] == [first["y"]]
    assert first["p"] == pytest.approx(0.1, rel=1e-6)  # even over a range of 10, before anything was learned
    again = client.decide("m", "d", X)
    assert again.pop("repeated") is True and again == first
    why = client.ok("explain", "m", {"id": "d"})
    assert why["p"] == first["p"] and why["y"] == first["y"]
    assert "p" not in client.ok("explain", "m", {"x": X})
    assert client.error("feedback", "m", {"id": "d", "loss": [1, 2]})["code"] == "bad_loss"


def test_bins_move_to_where_the_loss_is_least_and_densities_weigh_right(daemon):
    client = daemon(bins(value_range=(10, 20))).client()
    last = play_bins(client, 13.3, 30)
    assert sum(abs(y - 13.3) for y, _ in last) / len(last) < 0.6
    assert sum(p > 0.3 for _, p in last) > 25 and all(p > 0 for _, p in last)
    best = client.ok("explain", "m", {"x": X})
    assert abs(best["y"] - 13.3) < 0.5
    assert {e["name"] for e in best["experts"]} == {"curve", "stiff", "bins", "average", "surface"}


def test_bins_waiting_density_survives_kill_and_checkpoint(daemon):
    one = daemon("journal { sync = always }\n" + bins(value_range=(10, 20)))
    client = one.client()
    play_bins(client, 17.0, 4)
    waits = client.decide("m", "waits", X)
    one.kill()
    one.start()
    again = one.client().decide("m", "waits", X)
    assert again.pop("repeated") is True and again == waits
    assert one.client().ok("checkpoint")
    one.kill()
    one.start()
    client = one.client()
    again = client.decide("m", "waits", X)
    assert again.pop("repeated") is True and again == waits
    assert client.model()["learned"] == 200


def logged_bins(daemon, turns=40, **options):
    """(journal's folder, [(value in [0, 1], density per unit of it, loss)]) of a model that learned."""
    one = daemon(bins(value_range=(10, 20), **options))
    client, log = one.client(), []
    for turn in range(turns):
        items = [{"id": f"{turn}-{i}", "x": [(i % 5) / 5, 1.0, 2.0]} for i in range(50)]
        actions = client.ok("decide_batch", "m", {"items": items})["items"]
        losses = [0.01 * (a["y"] - 13.3 - 2 * c["x"][0]) ** 2 for a, c in zip(actions, items)]
        client.ok("feedback_batch", "m", {"items": [{"id": a["id"], "loss": l} for a, l in zip(actions, losses)]})
        log += [((a["y"] - 10) / 10, a["p"] * 10, l) for a, l in zip(actions, losses)]
    one.stop()
    return one.state / "journal", numpy.array(log)


def replayed(journal, *options):
    out = subprocess.run([program("COPPICE"), "replay", "--format", "journal", journal, "--json", *map(str, options)],
                         capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def test_logged_values_evaluate_other_densities(daemon, tmp_path):
    """Against numpy: even play over the range, whose density is 1, and even play within a 48th of it."""
    journal, log = logged_bins(daemon)
    y, density, loss = log.T
    told = replayed(journal, "--evaluate", "uniform")
    weight = 1 / density
    assert told["events"] == len(log) and told["average_loss"] == pytest.approx(loss.mean(), rel=1e-6)
    assert told["ips"] == pytest.approx((weight * loss).mean(), rel=1e-5)
    assert told["snips"] == pytest.approx((weight * loss).sum() / weight.sum(), rel=1e-5)
    x = numpy.arange(5) / 5
    truth = numpy.mean([numpy.mean((numpy.linspace(0, 10, 2001) - 3.3 - 2 * c) ** 2) * 0.01 for c in x])
    assert told["snips_low"] < truth < told["snips_high"]
    told = replayed(journal, "--evaluate", "constant:17")
    weight = 48 * ((y >= 17 / 48) & (y < 18 / 48)) / density
    assert told["ips"] == pytest.approx((weight * loss).mean(), rel=1e-5)
    assert told["snips"] == pytest.approx((weight * loss).sum() / weight.sum(), rel=1e-5)


def test_replay_learns_logged_values_as_the_daemon_did(daemon, tmp_path):
    journal, log = logged_bins(daemon)
    dump = tmp_path / "dump.csv"
    told = replayed(journal, "--policy-value", "exploring", "--dump", dump, "--save", tmp_path / "kept", "--seed", 1)
    with open(dump) as rows:
        rows = list(csv.DictReader(rows))
    pi, q, m = (numpy.array([float(r[k]) for r in rows]) for k in
                ("policy_probability", "predicted_cost", "policy_cost"))
    # The replayed model is the one that decided, but for the order of events within a batch.
    assert numpy.median(numpy.abs(pi * 48 / log[:, 1] - 1)) < 0.2
    weight = pi * 48 / log[:, 1]
    assert told["dr"] == pytest.approx((m + weight * (log[:, 2] - q)).mean(), rel=1e-5)
    assert told["dr"] == pytest.approx(log[:, 2].mean(), abs=0.01)  # so what it is worth is what was paid
    better = replayed(journal, "--resume", tmp_path / "kept", "--events", 200)
    assert better["events"] == len(log) + 200
    assert replayed(journal, "--learner", "ensemble")["events"] == len(log)  # the bins as arms


@pytest.mark.parametrize("feedback, told", [("one", "plays probes"), ("two", "plays probes")])
def test_replay_refuses_logged_probes(daemon, feedback, told):
    one = daemon(model(learner="value", feedback=feedback))
    client = one.client()
    for i in range(3):
        client.decide("m", i, X)
        client.feedback("m", i, 0.5 if feedback == "one" else [0.5, 0.25])
    one.stop()
    out = subprocess.run([program("COPPICE"), "replay", "--format", "journal", one.state / "journal"],
                         capture_output=True, text=True)
    assert out.returncode == 1 and told in out.stderr
