"""Values that nothing needs to be learned from: a model's loss after one of them, its counters and the log, over sockets."""

import math
import random

import pytest
from conftest import model
from test_metrics import Pages

FEATURES, ARMS, EVENTS = 4, 3, 1500
HUGE = 1e12


def draw(chance):
    """A context, and the arm of loss 0: the largest of the first three features."""
    x = [chance.gauss(10.0 * j, 1.0 + j) for j in range(FEATURES)]
    return x, max(range(ARMS), key=lambda j: (x[j] - 10.0 * j) / (1.0 + j))


def run(client, name, chance, events, prefix):
    """Mean loss of so many events, in batches."""
    total = 0.0
    for start in range(0, events, 50):
        drawn = [draw(chance) for _ in range(50)]
        items = [{"id": f"{prefix}-{start + i}", "x": x} for i, (x, _) in enumerate(drawn)]
        actions = client.ok("decide_batch", name, {"items": items})["items"]
        losses = [float(a["a"] != best) for a, (_, best) in zip(actions, drawn)]
        fed = [{"id": a["id"], "loss": loss} for a, loss in zip(actions, losses)]
        assert all(r["result"] == "applied" for r in client.ok("feedback_batch", name, {"items": fed})["items"])
        total += sum(losses)
    return total / events


@pytest.mark.parametrize("learner", ["ensemble", "dgt", "ridge"])
def test_one_huge_row_is_counted_and_does_not_ruin_the_model(daemon, learner):
    shape = {"learner": learner, "features": FEATURES, "arms": ARMS, "trees": None, "height": None}
    one = daemon(model("hit", **shape) + model("calm", **shape))
    client = one.client()
    losses = {}
    for name in ("hit", "calm"):
        chance = random.Random(5)
        run(client, name, chance, EVENTS, "before")
        if name == "hit":
            client.ok("decide", name, {"id": "huge", "x": [HUGE] * FEATURES})
            assert client.feedback(name, "huge", 1.0) == "applied"
        losses[name] = run(client, name, chance, 1000, "after")
    assert losses["hit"] <= 1.1 * losses["calm"], losses
    assert client.model("calm")["outliers"]["values"] <= 3
    counted = client.model("hit")["outliers"]
    assert counted["values"] >= FEATURES and math.isclose(client.model("calm")["rev"] + 1, client.model("hit")["rev"])


def test_outliers_have_their_features_names(daemon, tmp_path):
    names = tmp_path / "features.txt"
    names.write_text("age\nincome\nvisits\nscore\n")
    one = daemon(model("m", features=FEATURES, arms=ARMS, feature_names=names))
    client = one.client()
    run(client, "m", random.Random(7), 200, "before")
    client.ok("decide", "m", {"id": "huge", "x": [0.0, 10.0, -9999.0, 30.0]})
    assert client.model("m")["outliers"]["name"] == "visits"
    one.logged('feature=2 name="visits" value=-9999')


def test_outliers_are_shown_in_status_metrics_and_log_and_kept(daemon):
    pages = Pages()
    config = model("m", features=FEATURES, arms=ARMS) + pages.section
    one = daemon(config)
    client = one.client()
    assert client.model("m")["outliers"] == {"values": 0, "rescaled": 0}
    run(client, "m", random.Random(7), 200, "before")
    before = client.model("m")["outliers"]["values"]
    client.ok("decide", "m", {"id": "huge", "x": [0.0, 10.0, -9999.0, 30.0]})
    shown = client.model("m")["outliers"]
    assert shown == {"values": before + 1, "rescaled": 0, "feature": 2, "value": -9999.0}
    assert pages.samples()['coppice_outliers_total{model="m"}'] == before + 1
    one.logged("event=outliers model=m values=")
    one.logged("feature=2 value=-9999")
    one.restart()
    assert one.client().model("m")["outliers"] == shown
