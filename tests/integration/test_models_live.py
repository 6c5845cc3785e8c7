"""Models that are added, changed, begun anew and removed while the daemon serves (coppice ctl model)."""

import json
import subprocess

import pytest
import zmq
from conftest import DEADLINE, coppice, grow, model, pack, program, section, wait_for
from journal_bytes import packed

X = [0.1, 0.2, 0.3]


def names(client):
    return [m["name"] for m in client.status()["models"]]


def change(client, name, do, options=None, **more):
    return client.ok("model", name, {"do": do, **({"options": options} if options else {}), **more})


def refused(client, name, do, options=None, **more):
    return client.error("model", name, {"do": do, **({"options": options} if options else {}), **more})["message"]


def ctl(one, *words, fails=False):
    command = ("ctl", "--json", "--endpoint", one.ipc("admin"), "model", *words)
    out, err = coppice(*command, status=None if fails else 0)
    return err if fails else json.loads(out)


def saved(client, name):
    """What the model has learned, as far as status shows it."""
    return {k: v for k, v in client.model(name).items() if k not in ("memory",)}


SHAPE = {"learner": "ensemble", "features": 3, "arms": 3, "policy": "epsilon", "epsilon": 0.2}


def test_model_is_added_learns_and_stays_over_kills(daemon):
    one = daemon()
    client = one.client()
    before = saved(client, "m")
    assert change(client, "new", "add", SHAPE) == {"applied": ["model new: added"], "restart": []}
    assert names(client) == ["m", "new"]
    assert saved(client, "m") == before
    grow(client, "new", 40)
    client.decide("new", "waits", X)
    shown = one.run("--print-config").stdout
    assert 'model "new" {' in shown and "epsilon = 0.2" in shown
    state = saved(client, "new")
    one.kill()
    one.start()
    client = one.client()
    assert names(client) == ["m", "new"] and saved(client, "new") == state
    assert client.feedback("new", "waits", 0.5) == "applied"
    one.restart()
    assert names(one.client()) == ["m", "new"]


def test_options_are_set_and_unset(daemon):
    one = daemon(model(policy="epsilon", epsilon=0.1))
    client = one.client()
    assert change(client, "m", "set", {"epsilon": 0.05, "refit.margin": "0.02"}) == {
        "applied": ["model m: epsilon: 0.1 -> 0.05", "model m: refit.margin: 0 -> 0.02"], "restart": []}
    assert "epsilon = 0.05" in one.run("--print-config").stdout
    one.kill()
    one.start()
    client = one.client()
    assert "epsilon = 0.05" in one.run("--print-config").stdout
    assert change(client, "m", "unset", {"epsilon": None})["applied"] == ["model m: epsilon: 0.05 -> 0.1"]
    assert ctl(one, "set", "m", "share_min=0=0.1, 1=0.2")["applied"] == ['model m: share_min: { } -> { "0=0.1", "1=0.2" }']
    assert 'share_min = { "0=0.1", "1=0.2" }' in one.run("--print-config").stdout
    shown = one.run("--print-config").stdout
    assert "margin = 0.02" in shown and "epsilon = 0.1" in shown


def test_model_is_begun_anew_with_another_shape(daemon):
    one = daemon()
    client = one.client()
    grow(client, "m", 60)
    client.decide("m", "old", X)
    assert "or reset, which begins it anew" in refused(client, "m", "set", {"arms": 2})
    assert change(client, "m", "reset", {"arms": 4})["applied"] == ["model m: begun anew"]
    fresh = client.model("m")
    assert (fresh["decisions"], fresh["pending"], fresh["arms"]) == (0, 0, 4)
    assert client.feedback("m", "old", 0.5) == "unknown"
    grow(client, "m", 50, prefix="new")
    state = saved(client, "m")
    one.kill()  # the journal holds both lives, the newest checkpoint the old one or the new one
    one.start()
    client = one.client()
    assert saved(client, "m") == state
    change(client, "m", "reset")
    one.kill()
    one.start()
    fresh = one.client().model("m")
    assert (fresh["decisions"], fresh["arms"]) == (0, 4)
    assert one.client().status()["parked"] == []


@pytest.mark.parametrize("learner", ["ensemble", "dgt"])
def test_arms_are_added_and_what_waits_joins_as_before(daemon, learner):
    one = daemon(model(learner=learner, policy="epsilon", epsilon=0))
    client = one.client()
    grow(client, "m", 60)
    client.decide("m", "waits", X, mask=[True, True, False])
    before = saved(client, "m")
    losses = [client.ok("explain", "m", {"x": [i / 10, 0.5, 1 - i / 10]})["prediction"] for i in range(10)]
    assert change(client, "m", "set", {"arms": 5}) == {"applied": ["model m: arms: 3 -> 5"], "restart": []}
    one.logged("event=arms_added model=m arms=5 were=3")
    after = saved(client, "m")
    assert after["arms"] == 5 and {k: v for k, v in after.items() if k in ("decisions", "learned", "pending", "rev")} == {
        k: v for k, v in before.items() if k in ("decisions", "learned", "pending", "rev")}
    old = [client.ok("explain", "m", {"x": [i / 10, 0.5, 1 - i / 10], "mask": [True] * 3 + [False] * 2})["prediction"]
           for i in range(10)]
    assert old == losses
    assert client.feedback("m", "waits", 0.5) == "applied"
    assert client.decide("m", "new", X, mask=[False] * 4 + [True])["a"] == 4
    assert client.decide("m", "short", X, mask=[False, False, True])["a"] == 2  # a sender that does not know yet
    assert "expected" in client.error("decide", "m", {"id": "shorter", "x": X, "mask": [True] * 2})["message"]
    state = saved(client, "m")
    one.kill()
    one.start()
    assert saved(one.client(), "m") == state
    assert "reset" in refused(one.client(), "m", "set", {"arms": 4})
    one.stop()
    explained = one.run("--explain", "m", "waits")
    assert explained.returncode == 0 and json.loads(explained.stdout)["id"] == "waits", explained


def turns(client):
    counts = client.status()["requests"]
    return counts["turns"], counts["answer_turns"]


def decide_many(client, first, count, asks=64):
    """Windows of requests that are all under way at once, each with a feedback beside it; all answers are there after."""
    for start in range(first, first + count, asks):
        for i in range(start, start + asks):
            client.send("decide", "m", {"id": i, "x": X})
            client.send("feedback", "m", {"id": i, "loss": 0.5})
        got = [client.receive() for _ in range(2 * asks)]
        assert all(status == "ok" for status, _ in got)
        assert [body["id"] for _, body in got] == [i for i in range(start, start + asks) for _ in range(2)]


def test_orders_of_arms_cost_decisions_no_turn_of_the_loop(daemon):
    """Each answer leaves in the turn in which its request was taken, while arms are added as without; one request at a
    time takes one turn each."""
    one = daemon(model(**{**SHAPE, "learner": "dgt"}))
    client, admin = one.client(), one.admin()
    was = turns(client)
    for i in range(200):
        client.decide("m", i, X)
    assert [now - then for now, then in zip(turns(client), was)] == [201, 0]  # and one for the status
    done, orders, was = 0, 20, turns(client)
    for k in range(orders):
        admin.send("model", "m", {"do": "set", "options": {"arms": 4 + k}})
        answered = False
        while not answered:
            client.decide("m", 1000 + done, X)
            done += 1
            answered = admin.socket.poll(0)
        assert admin.receive()[0] == "ok"
    took, later = (now - then for now, then in zip(turns(client), was))
    assert (later, client.model()["arms"], client.model()["decisions"]) == (0, 3 + orders, 200 + done)
    assert done + 1 <= took <= done + 1 + orders and done >= orders  # an order takes a turn, or none
    decide_many(client, 100000, 640)
    assert turns(client)[1] == 0
    for k in range(orders):
        admin.send("model", "m", {"do": "set", "options": {"arms": 4 + orders + k}})
        start = 200000 + 1000 * k
        while not admin.socket.poll(0):
            decide_many(client, start, 64)
            start += 64
        assert admin.receive()[0] == "ok"
    assert turns(client)[1] == 0 and client.model()["arms"] == 3 + 2 * orders


def test_many_waiting_decisions_outlive_added_arms_and_a_kill_without_a_checkpoint(daemon):
    one = daemon(model(reward_window="1d", explain_keep=4))
    client = one.client()
    grow(client, "m", 60)
    items = [{"id": f"w{n}", "x": [n / 500, 0.5, 1 - n / 500]} for n in range(500)]
    client.ok("decide_batch", "m", {"items": items})
    before = client.status()["checkpoint"]["sequence"]
    for arms in (4, 5, 12):
        change(client, "m", "set", {"arms": arms})
        assert client.decide("m", f"of {arms}", X, mask=[False] * (arms - 1) + [True])["a"] == arms - 1
        assert client.feedback("m", f"w{arms}", 0.5) == "applied"
    assert client.status()["checkpoint"]["sequence"] == before  # the record of the order is enough
    state = saved(client, "m")
    one.kill()
    one.start()
    client = one.client()
    assert saved(client, "m") == state
    for n in (0, 100, 499):
        assert client.feedback("m", f"w{n}", 0.5) == "applied"
    assert client.feedback("m", "of 4", 0.5) == "applied"


@pytest.mark.parametrize("learner", ["ensemble", "dgt"])
def test_events_sent_behind_an_order_are_all_answered(daemon, learner):
    one = daemon(model(learner=learner, reward_window="1d"))
    client, admin = one.client(), one.admin()
    grow(client, "m", 60)
    sent, orders = 0, (5, 9, 40)
    for arms in orders:
        admin.send("model", "m", {"do": "set", "options": {"arms": arms}})
        done = False
        while not done or sent % 50:
            client.send("decide", "m", {"id": f"d{sent}", "x": X, "seq": sent})
            client.send("feedback", "m", {"id": f"d{sent}", "loss": sent % 2, "seq": sent})
            sent += 1
            done = done or admin.socket.poll(0) != 0
        assert admin.receive()[1]["applied"] == [f"model m: arms: {dict(zip(orders, (3, 5, 9)))[arms]} -> {arms}"]
    for n in range(sent):
        status, action = client.receive()
        assert status == "ok" and action["seq"] == n and "a" in action
        status, result = client.receive()
        assert status == "ok" and (result["seq"], result["result"]) == (n, "applied")
    state = saved(client, "m")
    assert state["decisions"] == 60 + sent and state["arms"] == 40
    one.kill()
    one.start()
    assert saved(one.client(), "m") == state


def tool(*words):
    return coppice(*words)[0]


def predictions(client, name, more=()):
    return [client.ok("explain", name, {"x": [i / 10, 0.5, 1 - i / 10, *more]})["prediction"] for i in range(10)]


@pytest.mark.parametrize("learner", ["ensemble", "dgt", "ridge"])
def test_features_are_added_and_shorter_contexts_counted(daemon, learner, tmp_path):
    trees = {"height": None, "trees": None} if learner == "ridge" else {}
    one = daemon(model(learner=learner, policy="epsilon", epsilon=0, **trees))
    client = one.client()
    grow(client, "m", 60)
    client.decide("m", "waits", X)
    before, losses = saved(client, "m"), predictions(client, "m")
    assert client.error("decide", "m", {"id": "short", "x": X[:2]})["message"] == "x: got 2 values, expected 3"
    assert change(client, "m", "set", {"features": 7}) == {"applied": ["model m: features: 3 -> 7"], "restart": []}
    one.logged("event=features_added model=m features=7 were=3")
    after = saved(client, "m")
    assert after["features"] == 7 and after["short_contexts"] == 0
    assert {k: after[k] for k in ("decisions", "learned", "pending", "rev", "arms")} == {
        k: before[k] for k in ("decisions", "learned", "pending", "rev", "arms")}
    assert predictions(client, "m") == pytest.approx(losses, abs=1e-5)
    assert client.feedback("m", "waits", 0.5) == "applied"
    client.decide("m", "short", X)
    client.decide("m", "shorter", X + [0.5])
    client.decide("m", "map", {0: 0.3, 4: 1})  # of the first three what is missing is 0
    client.decide("m", "whole", X + [1, 2, 3, 4])
    client.decide("m", "packed", packed(X))
    assert client.model("m")["short_contexts"] == 4
    assert client.ok("feedback", "m", {"id": "other", "loss": 0.5, "x": X, "a": 0, "p": 0.5})["result"] == "applied"
    assert client.model("m")["short_contexts"] == 5
    assert client.error("decide", "m", {"id": "n", "x": X[:2]})["message"] == (
        "x: got 2 values, expected 7, or fewer, down to 3")
    grow(client, "m", 40, features=7, prefix="then")
    state = saved(client, "m")
    one.kill()
    one.start()
    client = one.client()
    assert saved(client, "m") == state
    client.decide("m", "again short", X)
    assert client.feedback("m", "map", 0.5) == "applied"
    assert "reset" in refused(client, "m", "set", {"features": 6})
    one.stop()
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    one.start()  # from the journal alone, which tells when there were three
    assert saved(one.client(), "m")["short_contexts"] == 6
    one.stop()
    for id in ("waits", "map", "again short"):
        explained = one.run("--explain", "m", id)
        assert explained.returncode == 0 and json.loads(explained.stdout)["id"] == id, explained
    by = "ensemble" if learner == "ridge" else learner
    replayed = json.loads(tool("replay", "--format", "journal", one.state / "journal", "--learner", by, "--json"))
    assert replayed["events"] > 100
    tool("whatif", one.state, "epsilon=0.1", "--json")
    tool("whatif", one.state, "epsilon=0.1", "--fresh", "--json")
    logged = tmp_path / "log.json"
    tool("convert", "--from", "journal", "--to", "dsjson", one.state / "journal", logged)
    assert "NaN" not in logged.read_text() and '"x6":' in logged.read_text()


def test_features_are_added_to_bins_up_to_the_end_of_their_form(daemon):
    bins = {"arms": None, "height": None, "trees": None, "feedback": "bins", "reward_window": "1d"}
    one = daemon(model("v", "value", **bins, features=3))
    client = one.client()
    for i in range(150):
        x = [i % 7 / 7, i % 5 / 5, i % 3 / 3]
        y = client.decide("v", i, x)["y"]
        assert i % 10 == 3 or client.feedback("v", i, (y - x[0]) ** 2) == "applied"
    before, learned = predictions(client, "v"), saved(client, "v")
    assert change(client, "v", "set", {"features": 9})["applied"] == ["model v: features: 3 -> 9"]
    assert predictions(client, "v") == pytest.approx(before, abs=1e-4)
    assert saved(client, "v")["rev"] == learned["rev"]
    assert client.feedback("v", 13, 0.5) == "applied"
    for i in range(150, 300):
        x = [i % 7 / 7, i % 5 / 5, i % 3 / 3, *([i % 2] * 6 if i % 4 else [])]
        y = client.decide("v", i, x)["y"]
        assert i % 10 == 3 or client.feedback("v", i, (y - i % 2) ** 2) == "applied"
    assert client.model("v")["short_contexts"] == 37
    message = refused(client, "v", "set", {"features": 10})
    assert "features: 9 -> 10 (the bins' products, surface and own models end at 9, 128 and 1024 features" in message
    state, explained = saved(client, "v"), client.ok("explain", "v", {"x": [0.5] * 9})
    one.stop()
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    one.start()  # from the journal alone
    assert saved(one.client(), "v") == state
    assert one.client().ok("explain", "v", {"x": [0.5] * 9}) == explained
    one.stop()
    for id in (13, 23, 160, 163):
        told = one.run("--explain", "v", str(id))
        assert told.returncode == 0 and json.loads(told.stdout)["id"] == id, told
    tool("whatif", one.state, "seed=2", "--model", "v", "--fresh", "--json")
    one.write_config(model("v", "value", **bins, features=10))
    run = one.run("--check")
    assert run.returncode != 0 and "features" in run.stdout + run.stderr


def test_features_of_the_file_are_added_by_a_reload_and_by_a_restart(daemon, tmp_path):
    names_file = tmp_path / "features"
    names_file.write_text("a\nb\nc\n")
    one = daemon(model(feature_names=names_file))
    client = one.client()
    grow(client, "m", 30)
    assert "feature_names" in refused(client, "m", "set", {"features": 4})
    names_file.write_text("a\nb\nc\nd\n")
    one.write_config(model(features=4, feature_names=names_file))
    assert client.ok("reload")["applied"] == [
        "model m: features: 3 -> 4", "model m: feature_names: the file's names changed"]
    client.decide("m", 1, {"a": 1, "d": 2})
    assert client.model("m")["short_contexts"] == 0
    client.decide("m", 2, {"a": 1, "b": 2})
    assert client.model("m")["short_contexts"] == 1
    state = saved(client, "m")
    one.stop()
    names_file.write_text("a\nb\nc\nd\ne\n")
    one.write_config(model(features=5, feature_names=names_file))
    assert one.run("--check").returncode == 0
    one.start()
    after = saved(one.client(), "m")
    assert after["decisions"] == state["decisions"] and after["features"] == 5
    one.client().decide("m", 3, X)
    after = saved(one.client(), "m")
    one.stop()
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    one.start()  # from the journal alone, which tells when there were three, four and five
    assert saved(one.client(), "m") == after
    one.write_config(model(features=4))
    assert any("features" in text for text in one.client().ok("reload").get("refused", []))


@pytest.mark.parametrize("shape, to", [
    ({"learner": "ensemble", "features": 0, "arms": 3}, 8),
    ({"learner": "rank", "features": 3, "candidate_features": 2}, 2),
    ({"learner": "value", "features": 3}, 10),
    ({"learner": "ensemble", "features": 3, "arms": 3}, 2),
], ids=["sparse", "rank", "bins", "fewer"])
def test_features_that_cannot_be_added_are_refused_and_nothing_changes(daemon, shape, to):
    one = daemon()
    client = one.client()
    change(client, "x", "add", shape)
    state = saved(client, "x")
    message = refused(client, "x", "set", {"features": to})
    assert "features: " in message and "reset" in message
    assert saved(client, "x") == state
    one.kill()
    one.start()
    assert saved(one.client(), "x") == state


def test_arms_of_the_file_grow_by_a_reload_and_by_a_restart(daemon, tmp_path):
    names_file = tmp_path / "arms"
    names_file.write_text("a\nb\nc\n")
    one = daemon(model(arm_names=names_file))
    client = one.client()
    grow(client, "m", 30)
    names_file.write_text("a\nb\nc\nd\n")
    one.write_config(model(arms=4, arm_names=names_file))
    assert client.ok("reload")["applied"] == ["model m: arms: 3 -> 4", "model m: arm_names: the file's names changed"]
    assert client.decide("m", 1, X, mask=["d"])["arm"] == "d"
    state = saved(client, "m")
    one.stop()
    names_file.write_text("a\nb\nc\nd\ne\n")
    one.write_config(model(arms=5, arm_names=names_file))
    assert one.run("--check").returncode == 0
    one.start()
    after = saved(one.client(), "m")
    assert after["decisions"] == state["decisions"] and after["arms"] == 5
    one.stop()
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    one.start()  # from the journal alone, which tells when there were three, four and five
    assert {**saved(one.client(), "m"), "arms": 5} == after
    one.stop()
    replayed = subprocess.run([program("COPPICE"), "replay", "--format", "journal", one.state / "journal", "--json"],
                              capture_output=True, text=True, timeout=DEADLINE)
    assert replayed.returncode == 0, replayed


def test_arm_is_retired_by_a_share_of_nothing(daemon):
    one = daemon(model(policy="epsilon", epsilon=1))
    client = one.client()
    assert ctl(one, "set", "m", "share_max=1=0")["applied"] == ['model m: share_max: { } -> { "1=0" }']
    contexts = [{"id": i, "x": X} for i in range(300)]
    assert {a["a"] for a in client.ok("decide_batch", "m", {"items": contexts})["items"]} == {0, 2}
    ctl(one, "unset", "m", "share_max")
    contexts = [{"id": 1000 + i, "x": X} for i in range(300)]
    assert {a["a"] for a in client.ok("decide_batch", "m", {"items": contexts})["items"]} == {0, 1, 2}


def test_order_that_takes_a_new_life_is_refused_by_what_was_asked_for(daemon):
    client = daemon(model()).client()
    assert "model m: policy: \"matching\" -> \"epsilon\"" in refused(client, "m", "set", {"policy": "epsilon"})


def test_models_that_came_live_have_refits(daemon):
    one = daemon()
    client = one.client()
    shape = {"learner": "dgt", "features": 3, "arms": 3, "height": 2, "refit.enabled": True, "refit.every": "365d",
             "refit.holdout": 0.3, "refit.least_feedback": 1000000}
    change(client, "b", "add", shape)
    for life in range(2):
        grow(client, "b", 400, prefix=f"life{life}")
        ended = client.model("b")["refit"]["ended"]
        assert client.ok("refit", "b")["state"] == "queued"
        wait_for(lambda: client.model("b")["refit"]["ended"] > ended, "the refit's end")
        assert client.model("b")["refit"]["last"] not in ("data", "failed"), client.model("b")["refit"]
        if life == 0:
            change(client, "b", "reset")


def test_refits_go_on_over_added_features(daemon):
    one = daemon()
    client = one.client()
    shape = {"learner": "ensemble", "features": 3, "arms": 3, "refit.enabled": True, "refit.every": "365d",
             "refit.holdout": 0.3, "refit.least_feedback": 1000000}
    change(client, "x", "add", shape)
    grow(client, "x", 300)
    change(client, "x", "set", {"features": 6})
    grow(client, "x", 100, prefix="short")
    grow(client, "x", 100, features=6, prefix="whole")
    for features in (6, 7):  # a challenger of fewer features goes on beside the model, which has more
        ended = client.model("x")["refit"]["ended"]
        client.ok("refit", "x")
        wait_for(lambda: client.model("x")["refit"]["ended"] > ended, "the refit's end")
        assert client.model("x")["refit"]["last"] not in ("data", "failed"), client.model("x")["refit"]
        change(client, "x", "set", {"features": features + 1})
        grow(client, "x", 50, prefix=f"beside {features}")
    client.decide("x", "short again", X)
    state = saved(client, "x")
    one.kill()
    one.start()
    after = saved(one.client(), "x")
    assert {k: after[k] for k in ("decisions", "rev", "short_contexts")} == {
        k: state[k] for k in ("decisions", "rev", "short_contexts")}


C = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.25]]
RANK = {"learner": "rank", "features": 3, "candidate_features": 2, "max_candidates": 8, "height": 3, "trees": 4}


def ranks(client, events, prefix, features=3):
    for i in range(events):
        x = [((i * 7 + j * 3) % 11) / 11 for j in range(features)]
        c = [[((i * 5 + k * 3 + j) % 7) / 7 for j in range(2)] for k in range(1 + i % 4)]
        action = client.ok("rank", "m", {"id": f"{prefix}-{i}", "x": x, "c": c})
        assert client.feedback("m", f"{prefix}-{i}", 0.25 * (action["a"] + i % 2)) == "applied"


def rank_predictions(client):
    """Of each candidate, and of the best by each expert."""
    out = []
    for i in range(10):
        told = client.ok("explain", "m", {"x": [i / 10, 0.5, 1 - i / 10], "c": C})
        out += [*told["candidates"], *(e["prediction"] for e in told["experts"])]
    return out


def test_features_are_added_to_a_model_that_ranks(daemon, tmp_path):
    text = {**RANK, "arms": None}
    one = daemon(model(**text))
    client = one.client()
    ranks(client, 80, "first")
    client.ok("rank", "m", {"id": "waits", "x": X, "c": C})
    client.ok("rank", "m", {"id": "waits on", "x": X, "c": C})
    before, losses = saved(client, "m"), rank_predictions(client)
    one.write_config(model(**{**text, "features": 6}))
    assert client.ok("reload")["applied"] == ["model m: features: 3 -> 6"]
    one.logged("event=features_added model=m features=6 were=3")
    after = saved(client, "m")
    assert after["features"] == 6 and after["short_contexts"] == 0 and after["candidate_features"] == 2
    assert {k: after[k] for k in ("decisions", "learned", "pending", "rev")} == {
        k: before[k] for k in ("decisions", "learned", "pending", "rev")}
    assert rank_predictions(client) == pytest.approx(losses, abs=1e-6)
    assert client.feedback("m", "waits", 0.5) == "applied"
    client.ok("rank", "m", {"id": "short", "x": X, "c": C})
    client.ok("rank", "m", {"id": "map", "x": {0: 0.3, 5: 1}, "c": [{1: 2}, {0: 1}]})
    client.ok("rank", "m", {"id": "whole", "x": X + [1, 2, 3], "c": C})
    assert client.ok("feedback", "m", {"id": "other", "loss": 0.5, "x": X, "c": C[0], "p": 0.5})["result"] == "applied"
    assert client.model("m")["short_contexts"] == 3
    wrong = client.error("rank", "m", {"id": "n", "x": X, "c": [[1.0]]})
    assert wrong["message"] == "c[0]: got 1 values, expected 2"
    ranks(client, 40, "then", features=6)
    state = saved(client, "m")
    one.kill()
    one.start()
    client = one.client()
    assert saved(client, "m") == state
    assert client.feedback("m", "waits on", 0.25) == client.feedback("m", "map", 0.5) == "applied"
    one.stop()
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    one.start()  # from the journal alone, which tells when there were three
    assert saved(one.client(), "m")["learned"] == state["learned"] + 2
    one.stop()
    for id in ("waits", "waits on", "map", "short"):
        explained = one.run("--explain", "m", id)
        assert explained.returncode == 0 and json.loads(explained.stdout)["id"] == id, explained
    replayed = json.loads(tool("replay", "--format", "journal", one.state / "journal", "--learner", "rank", "--json"))
    assert replayed["events"] > 100
    tool("whatif", one.state, "epsilon=0.1", "policy=epsilon", "--json")
    tool("whatif", one.state, "gamma=20", "--fresh", "--json")
    logged = tmp_path / "log.json"
    tool("convert", "--from", "journal", "--to", "dsjson", one.state / "journal", logged)
    assert "NaN" not in logged.read_text() and '"x5":' in logged.read_text()


def test_features_that_a_model_that_ranks_has_no_room_for_are_refused(daemon):
    one = daemon(model(**{**RANK, "arms": None}))
    client = one.client()
    ranks(client, 20, "first")
    state, losses = saved(client, "m"), rank_predictions(client)
    message = refused(client, "m", "set", {"features": 341})  # (341 + 1) * (2 + 1) inputs
    assert "in a form that has no room for 341" in message
    assert "reset" in refused(client, "m", "set", {"candidate_features": 3})
    assert saved(client, "m") == state and rank_predictions(client) == losses
    change(client, "m", "set", {"features": 340})
    assert rank_predictions(client) == pytest.approx(losses, abs=1e-6)
    state = saved(client, "m")
    one.kill()
    one.start()
    assert saved(one.client(), "m") == state


@pytest.mark.plain
def test_refits_of_a_model_that_ranks_go_on_over_added_features(daemon):
    refit = section("refit", {"enabled": True, "every": "365d", "holdout": 0.3, "least_feedback": 1000000})
    one = daemon(model(**{**RANK, "arms": None}, refits=True)[:-2] + refit + "}\n")
    client = one.client()
    ranks(client, 300, "first")
    change(client, "m", "set", {"features": 5})
    ranks(client, 60, "short")
    ranks(client, 60, "whole", features=5)
    for features in (6, 7):  # a challenger of fewer features goes on beside the model, which has more
        ended = client.model("m")["refit"]["ended"]
        client.ok("refit", "m")
        wait_for(lambda: client.model("m")["refit"]["ended"] > ended, "the refit's end")
        assert client.model("m")["refit"]["last"] not in ("data", "failed"), client.model("m")["refit"]
        change(client, "m", "set", {"features": features})
        ranks(client, 50, f"beside {features}")
    if client.model("m")["challenger"]["state"] == "shadow":
        client.ok("promote", "m")
    losses = rank_predictions(client)
    assert len(losses) == 10 * (len(C) + 4)  # the trees of the refit are one of four experts
    change(client, "m", "set", {"features": 9})
    assert rank_predictions(client) == pytest.approx(losses, abs=1e-6)
    ranks(client, 20, "at last")
    state, losses = saved(client, "m"), rank_predictions(client)
    one.kill()
    one.start()
    assert rank_predictions(one.client()) == losses
    after = saved(one.client(), "m")
    assert {k: after[k] for k in ("decisions", "rev", "short_contexts")} == {
        k: state[k] for k in ("decisions", "rev", "short_contexts")}


def test_list_of_the_file_is_emptied_live(daemon):
    one = daemon(model(share_max=["1=0"]))
    client = one.client()
    for nothing in ("", "{ }", []):
        assert change(client, "m", "set", {"share_max": nothing})["applied"] == ['model m: share_max: { "1=0" } -> { }']
        one.kill()
        one.start()
        client = one.client()
        shown = one.run("--print-config").stdout.splitlines()
        assert not any("share_max" in line for line in shown if not line.startswith("#"))
        assert change(client, "m", "unset", {"share_max": None})["applied"] == ['model m: share_max: { } -> { "1=0" }']


def test_contexts_that_wait_for_a_subscriber_outlive_added_arms(daemon):
    one = daemon(start=False)
    one.write_config(model() + section("sockets", {
        "requests": [one.ipc("requests")], "contexts_bind": [one.ipc("contexts")], "actions_bind": [one.ipc("actions")]}))
    one.start()
    client = one.client()
    contexts = one.socket(zmq.PUB, connect=one.ipc("contexts"))
    sent = 0

    def publish():
        nonlocal sent
        contexts.send_multipart([b"ctx.m", pack({"id": f"c-{sent}", "x": X, "mask": [True, sent % 2 == 0, True]})])
        sent += 1
        return client.model()["unheard"]["waiting"] >= 3

    wait_for(publish, "contexts that wait")
    change(client, "m", "set", {"arms": 5})
    waiting = client.model()["unheard"]["waiting"]
    actions = one.socket(zmq.SUB, connect=one.ipc("actions"), SUBSCRIBE=b"act.")
    wait_for(lambda: actions.poll(1) >= 0 and client.model()["decisions"] >= waiting, "their decisions")
    assert client.model()["contexts"]["malformed"] == 0


def test_journal_readers_know_models_that_came_and_went_within_a_segment(daemon):
    one = daemon()
    client = one.client()
    change(client, "b", "add", SHAPE)
    grow(client, "b", 50)
    change(client, "b", "reset")
    grow(client, "b", 40, prefix="again")
    client.ok("checkpoint")
    for name, events in (("b", 50), ("b#1", 40)):
        run = subprocess.run([program("COPPICE"), "replay", "--format", "journal", one.state / "journal", "--model", name, "--json"],
                             capture_output=True, text=True, timeout=DEADLINE)
        assert run.returncode == 0 and json.loads(run.stdout)["events"] == events, run
    whatif = subprocess.run([program("COPPICE"), "whatif", one.state, "--model", "b", "--json"], capture_output=True,
                            text=True, timeout=DEADLINE)
    assert json.loads(whatif.stdout)["events"] == 40
    none = subprocess.run([program("COPPICE"), "replay", "--format", "journal", one.state / "journal", "--model", "c"],
                          capture_output=True, text=True, timeout=DEADLINE)
    assert "expected one of: m, b, b#1" in none.stderr


def test_growth_goes_only_with_what_can_change_at_once(daemon):
    one = daemon(model(seed=1))
    client = one.client()
    one.write_config(model(arms=4, seed=2, explain_keep=9))
    for _ in range(2):
        reply = client.ok("reload")
        assert reply["applied"] == [] and len(reply["restart"]) == 3


@pytest.mark.parametrize("options, more", [({"share_max": ["3=0.1"]}, {}), ({"baseline": 3}, {"holdout": 0.2})], ids=str)
def test_options_that_name_new_arms_outlive_kills(daemon, options, more):
    one = daemon(model(**more))
    client = one.client()
    grow(client, "m", 30)
    change(client, "m", "set", {"arms": 4, **options})
    grow(client, "m", 30, prefix="then")
    state = saved(client, "m")
    for _ in range(2):
        one.kill()
        one.start()
        assert saved(one.client(), "m") == state


def test_past_of_a_later_life_is_explained(daemon):
    one = daemon()
    client = one.client()
    grow(client, "m", 30)
    change(client, "m", "reset")
    grow(client, "m", 30, prefix="fresh")
    one.stop()
    explained = one.run("--explain", "m", "fresh-20")
    assert explained.returncode == 0 and json.loads(explained.stdout)["id"] == "fresh-20", explained
    assert json.loads(one.run("--explain", "m", "grow-3").stdout)["id"] == "grow-3"
    assert "no decision 'grow-3' of the model m#1" in one.run("--explain", "m#1", "grow-3").stderr


def test_other_state_folder_in_the_file_leaves_live_changes_alone(daemon):
    one = daemon()
    client = one.client()
    change(client, "new", "add", SHAPE)
    text = one.config.read_text()
    one.config.write_text(text.replace(str(one.state), str(one.state) + "-other"))
    reply = client.ok("reload")
    assert reply["applied"] == [] and len(reply["restart"]) == 1 and "state_dir" in reply["restart"][0]
    assert names(client) == ["m", "new"]


def test_model_that_starts_from_a_file_grows_too(daemon, tmp_path):
    one = daemon()
    grow(one.client(), "m", 40)
    one.client().ok("checkpoint")
    file = tmp_path / "saved.model"
    subprocess.run([program("COPPICE"), "replay", "--format", "journal", one.state / "journal", "--height", "2", "--trees", "2",
                    "--save", file], check=True, capture_output=True, timeout=DEADLINE)
    change(one.client(), "s", "add", {"start_from": str(file)})
    change(one.client(), "s", "set", {"arms": 6, "features": 5})
    one.client().decide("s", "waits", X)
    one.client().decide("s", "named", {"0": 1, "4": 2})
    state = saved(one.client(), "s")
    one.kill()
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    one.start()
    assert saved(one.client(), "s") == state


def test_removed_model_goes_on_where_it_was(daemon):
    one = daemon()
    client = one.client()
    change(client, "b", "add", SHAPE)
    grow(client, "b", 30)
    client.decide("b", "waits", X)
    state = saved(client, "b")
    assert change(client, "b", "remove")["applied"] == ["model b: removed"]
    assert names(client) == ["m"] and client.status()["parked"] == ["b"]
    assert client.error("decide", "b", {"id": 1, "x": X})["code"] == "unknown_model"
    one.kill()
    one.start()
    client = one.client()
    assert names(client) == ["m"] and client.status()["parked"] == ["b"]
    assert "features" in refused(client, "b", "add", {**SHAPE, "features": 2})
    change(client, "b", "add", SHAPE)
    assert saved(client, "b") == state
    assert client.feedback("b", "waits", 0.5) == "applied"
    change(client, "b", "remove")
    change(client, "b", "add", {**SHAPE, "features": 4}, fresh=True)
    assert client.model("b")["decisions"] == 0 and client.status()["parked"] == []


def test_model_of_the_file_is_removed_and_comes_back(daemon):
    one = daemon(model("a") + model("b"))
    client = one.client()
    grow(client, "a", 20)
    state = saved(client, "a")
    change(client, "a", "remove")
    one.kill()
    one.start()
    client = one.client()
    assert names(client) == ["b"]
    assert "expected 1 to 64" in refused(client, "b", "remove")
    change(client, "a", "add")
    assert names(client) == ["a", "b"] and saved(client, "a") == state


def test_file_and_live_change_must_not_contradict(daemon):
    one = daemon(model(policy="epsilon", epsilon=0.1))
    client = one.client()
    change(client, "m", "set", {"epsilon": 0.05})
    one.write_config(model(policy="epsilon", epsilon=0.2))
    message = client.error("reload")["message"]
    assert "epsilon = 0.2 contradicts the live change epsilon = 0.05, made over epsilon = 0.1" in message
    assert "epsilon = 0.05" not in one.run("--check").stdout and one.run("--check").returncode == 1
    one.write_config(model(policy="epsilon", epsilon=0.05))  # the file has taken it over
    assert client.ok("reload") == {"applied": [], "restart": []}
    one.write_config(model("other"))
    assert "model m: it is no longer there, and contradicts" in client.error("reload")["message"]
    one.write_config(model(policy="epsilon", epsilon=0.1, explain_keep=7))
    assert "was changed since it was read" in refused(client, "new", "add", SHAPE)
    assert client.ok("reload")["applied"] == ["model m: explain_keep: 256 -> 7"]
    change(client, "new", "add", SHAPE)
    one.write_config(model(policy="epsilon", epsilon=0.1, explain_keep=7) + model("new", features=4))
    assert "model new: the file has it now, with another" in client.error("reload")["message"]


def test_reload_adds_and_removes_models_of_the_file(daemon):
    one = daemon()
    client = one.client()
    one.write_config(model() + model("b"))
    assert client.ok("reload")["applied"] == ["model b: added"]
    grow(client, "b", 20)
    state = saved(client, "b")
    one.write_config(model())
    assert client.ok("reload")["applied"] == ["model b: removed"]
    one.write_config(model() + model("b", features=2))
    reply = client.ok("reload")
    assert reply["applied"] == [] and any("a restart refuses it" in text for text in reply["refused"])
    one.write_config(model() + model("b"))
    assert client.ok("reload")["applied"] == ["model b: added"]
    assert saved(client, "b") == state


@pytest.mark.parametrize("name, body, expected", [
    ("", {"do": "add"}, "expected a name"),
    ("m", {}, "do"),
    ("m", {"do": "grow"}, 'do: expected "add"'),
    ("m", {"do": "add", "options": SHAPE}, "the model m is there"),
    ("none", {"do": "set", "options": {"epsilon": 0.1}}, "no model 'none'"),
    ("none", {"do": "remove"}, "no model 'none'"),
    ("m", {"do": "set"}, "expected options"),
    ("m", {"do": "set", "options": {"epsilon": 2}}, "live change: epsilon:"),
    ("m", {"do": "set", "options": {"epsilon": 2}}, "set m: the configuration would be wrong:"),
    ("x", {"do": "add", "options": {"features": 3}}, "add x: the configuration would be wrong: live change: arms: missing"),
    ("m", {"do": "set", "options": {"colour": 2}}, "colour: no such option"),
    ("m", {"do": "set", "options": {"refit.colour": 2}}, "refit.colour: no such option"),
    ("m", {"do": "set", "options": {"epsilonn": 0.1}}, "epsilonn: no such option of a model, expected epsilon"),
    ("m", {"do": "set", "options": {"margin": 0.1}}, "margin: no such option of a model, expected it in a section"),
    ("x", {"do": "add", "options": {**SHAPE, "colour": 2}}, "colour: no such option of a model"),
    ("x", {"do": "add", "options": {**SHAPE, "refit.colour": 2}}, "refit.colour: no such option of a model"),
    ("m", {"do": "set", "options": {"epsilon": [0.1, 0.2]}}, "epsilon: got 2 values; expected one"),
    ("m", {"do": "set", "options": {"epsilon": {}}}, "epsilon: expected a number"),
    ("m", {"do": "set", "options": [1]}, "a map of options"),
    ("m", {"do": "set", "options": {1: 2}}, "names of options"),
    ("m", {"do": "set", "fresh": True, "options": {"epsilon": 0.1}}, "fresh: goes with add"),
    ("m", {"do": "unset", "options": {"epsilon": None}}, "epsilon was not set live"),
    ("m", {"do": "remove", "options": {"epsilon": None}}, "remove: has no options"),
    ("m", {"do": "set", "options": {"learner": "nothing"}}, "learner"),
    ("a b", {"do": "add", "options": SHAPE}, "no name for a model"),
    ("x", {"do": "add", "options": {"learner": "ensemble"}}, "features"),
])
def test_wrong_orders_change_nothing(daemon, name, body, expected):
    one = daemon(model(policy="epsilon"))
    client = one.client()
    grow(client, "m", 10)
    before, config = saved(client, "m"), one.run("--print-config").stdout
    status, reply = one.admin().raw("model", name, pack(body))
    assert status == "error" and expected in reply["message"], reply
    assert saved(client, "m") == before and names(client) == ["m"]
    assert one.run("--print-config").stdout == config and not (one.state / "live.json").exists()


def test_model_that_never_was_is_no_earlier_one(daemon):
    one = daemon(model())
    options = {**SHAPE, "start_from": "/nonexistent"}
    status, reply = one.admin().raw("model", "x", pack({"do": "add", "options": options}))
    assert status == "error" and reply["message"].startswith("add: the model cannot be made: "), reply
    assert "/nonexistent" in reply["message"] and names(one.client()) == ["m"]


def test_lowered_pending_max_takes_effect_at_once(daemon):
    """By a record of its own, so that a replay has the same."""
    one = daemon(model())
    client = one.client()
    for i in range(20):
        client.decide("m", f"i{i}", [0.1, 0.2, i / 20])
    client.feedback("m", "i17", 0.5)
    ctl(one, "set", "m", "pending_max=5")
    wait_for(lambda: client.model()["pending"] == 5, "the oldest to end")
    state = client.model()
    assert state["evicted"] == 14 and state["decisions"] == 20
    one.kill()
    one.start()
    client = one.client()
    assert client.model()["pending"] == 5 and client.model()["evicted"] == 14
    assert [client.feedback("m", f"i{i}", 0.25) for i in (13, 14, 19)] == ["late", "applied", "applied"]


def test_control_command(daemon):
    one = daemon(model(policy="epsilon", epsilon=0.1))
    assert ctl(one, "add", "x", "features=3", "arms=2", "policy=epsilon")["applied"] == ["model x: added"]
    assert ctl(one, "set", "x", "epsilon=0.3")["applied"][0].startswith("model x: epsilon: ")
    assert ctl(one, "unset", "x", "epsilon")["applied"][0].startswith("model x: epsilon: 0.3 -> ")
    assert ctl(one, "reset", "x", "arms=4")["applied"] == ["model x: begun anew"]
    assert ctl(one, "remove", "x")["applied"] == ["model x: removed"]
    assert "expected OPTION=VALUE" in ctl(one, "set", "m", "epsilon", fails=True)
    assert "expected add, set" in ctl(one, "set", fails=True)
    assert "no model 'x'" in ctl(one, "remove", "x", fails=True)
    one.logged("event=model_change model=x do=remove result=refused")


def test_damaged_file_of_changes_stops_the_start_and_is_named(daemon):
    one = daemon()
    change(one.client(), "x", "add", SHAPE)
    one.stop()
    path = one.state / "live.json"
    text = path.read_text()
    for unknown in ('"colour": ["2"], "arms"', '"refit.colour": ["2"], "arms"'):
        path.write_text(text.replace('"arms"', unknown, 1))
        run = one.run("--check")
        assert run.returncode == 1 and "colour: no such option of a model, changed live in model x" in run.stderr, run
    for damaged in ("", "{", "[]", text.replace('"version": 1', '"version": 2'), text.replace("added", "grown")):
        path.write_text(damaged)
        run = one.run("--check")
        assert run.returncode == 1 and str(path) in run.stderr and "not what coppiced wrote" in run.stderr, run
    path.write_text(text)
    one.start()
    assert names(one.client()) == ["m", "x"]


def test_subscriber_of_a_model_to_come_hears_it_when_it_is_there(daemon):
    one = daemon(start=False)
    one.write_config(model() + section("sockets", {
        "requests": [one.ipc("requests")], "contexts_bind": [one.ipc("contexts")], "actions_bind": [one.ipc("actions")]}))
    one.start()
    client = one.client()
    early = one.socket(zmq.SUB, connect=one.ipc("actions"), SUBSCRIBE=b"act.new")
    all_of_them = one.socket(zmq.SUB, connect=one.ipc("actions"), SUBSCRIBE=b"act.")
    wait_for(lambda: client.status()["streams"]["subscribers"] == 1, "the subscription to all")
    wait_for(lambda: client.status()["queues"]["subscriptions_ignored"] == 1, "the early subscription")
    change(client, "new", "add", SHAPE)
    # ZeroMQ sends the subscription again when its socket is next used.
    wait_for(lambda: early.poll(1) == 0 and client.status()["streams"]["subscribers"] == 2, "the early one again")
    assert client.status()["queues"]["closed"]["models"] == 1
    contexts = one.socket(zmq.PUB, connect=one.ipc("contexts"))
    heard = []

    def both():
        contexts.send_multipart([b"ctx.new", pack({"id": f"c-{len(heard)}", "x": X})])
        heard.append(early.poll(100) != 0 and all_of_them.poll(100) != 0)
        return heard[-1]

    wait_for(both, "an action at both subscribers")
    assert early.recv_multipart()[0] == b"act.new"
    change(client, "new", "remove")
    received = client.status()["streams"]
    contexts.send_multipart([b"ctx.new", pack({"id": "late", "x": X})])
    wait_for(lambda: client.status()["streams"] != received, "the late context to be counted")


def test_backup_has_the_live_changes(daemon, tmp_path):
    one = daemon(model(policy="epsilon", epsilon=0.1))
    client = one.client()
    change(client, "new", "add", SHAPE)
    change(client, "m", "reset", {"arms": 4})
    grow(client, "m", 20)
    state = saved(client, "m")
    folder = tmp_path / "copy"
    subprocess.run([program("COPPICE"), "ctl", "--endpoint", one.ipc("admin"), "backup", folder], check=True,
                   capture_output=True, timeout=DEADLINE)
    one.stop()
    text = one.config.read_text().replace(str(one.state), str(folder))
    one.config.write_text(text)
    one.start()
    assert names(one.client()) == ["m", "new"] and saved(one.client(), "m") == state


def test_file_changes_are_shown_beside_the_configuration(daemon):
    one = daemon(model("m", policy="epsilon", epsilon=0.1) + model("b"))
    client = one.client()
    change(client, "m", "set", {"epsilon": 0.05})
    change(client, "new", "add", SHAPE)
    change(client, "new", "reset")
    change(client, "b", "remove")
    shown = one.run("--print-config").stdout
    assert "# live: model m: set: epsilon = 0.05, in the file epsilon = 0.1\n" in shown
    assert "# live: model new: added, begun anew (life 1): " in shown and "# live: model b: removed\n" in shown
    (one.folder / "printed.conf").write_text(shown)  # the comments are no part of it
    one.stop()
    (one.state / "live.json").unlink()
    run = subprocess.run([one.program, "--config", one.folder / "printed.conf", "--print-config"], capture_output=True,
                         text=True, timeout=DEADLINE, env=one.env, cwd=one.folder)
    assert run.stdout == "".join(line for line in shown.splitlines(True) if not line.startswith("# live"))


@pytest.mark.foresees("journal_broken", "state_lost")
@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_changes_outlive_a_state_folder_that_was_removed(daemon, journal, whole):
    """The folder, or all that is in it: after a restart models that were added or begun anew are served as before."""
    one = daemon(model() + section("journal", {"enabled": journal}))
    client = one.client()
    change(client, "new", "add", SHAPE)
    change(client, "m", "reset", {"arms": 4})
    change(client, "m", "set", {"reward_window": "1h"})
    grow(client, "new", 40)
    client.decide("new", "waits", X)
    client.decide("m", "waits", X)
    text, printed = (one.state / "live.json").read_text(), one.run("--print-config").stdout
    client.ok("checkpoint")  # none is under way any more
    gone = one.folder / "gone"
    if whole:
        one.state.rename(gone)
    else:
        gone.mkdir()
        for path in list(one.state.iterdir()):
            path.rename(gone / path.name)
    one.logged("event=live_lost written=yes")
    assert (one.state / "live.json").read_text() == text and one.run("--print-config").stdout == printed
    wait_for(lambda: any(one.state.glob("coppice.*.checkpoint")) or not client.ok("checkpoint"), "a checkpoint")
    before = {name: saved(client, name) for name in ("m", "new")}
    one.restart()
    client = one.client()
    assert {name: saved(client, name) for name in ("m", "new")} == before and client.status()["parked"] == []
    assert [client.feedback(name, "waits", 0.5) for name in ("m", "new")] == ["applied", "applied"]


def test_file_of_changes_that_was_removed_is_written_again(daemon):
    one = daemon()
    change(one.client(), "new", "add", SHAPE)
    text = (one.state / "live.json").read_text()
    (one.state / "live.json").unlink()
    one.logged("event=live_lost written=yes")
    assert (one.state / "live.json").read_text() == text
    one.kill()
    one.start()
    assert names(one.client()) == ["m", "new"]
    assert one.log().count("event=live_lost") == 1
