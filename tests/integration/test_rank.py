"""Candidates with features of their own: the verb rank, streams, feedback, explanations, restarts."""

import random
import struct

import pytest
import zmq
from conftest import model, section

X = [0.25, 1.0, 3.5]
C = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]


def ranking(name="m", **options):
    options = {"features": 3, "candidate_features": 2, "max_candidates": 8, **options}
    return model(name, learner="rank", arms=None, **options)


def sparse(**options):
    return ranking(**{"features": 0, "bits": 8, "candidate_features": None, **options})


def rank(client, id, x=X, c=C, **more):
    return client.ok("rank", "m", {"id": id, "x": x, "c": c, **more})


def draw(rng):
    """A context and candidates whose losses depend on products of both."""
    x = [rng.gauss(0, 1) for _ in range(3)]
    c = [[rng.gauss(0, 1) for _ in range(2)] for _ in range(rng.randint(1, 8))]
    return x, c, [0.5 - 0.5 * max(-1, min(1, x[0] * a[0] - x[1] * a[1])) for a in c]


def teach(client, rng, events, prefix="t"):
    """Mean excess of the losses over the least."""
    excess = 0.0
    for i in range(events):
        x, c, losses = draw(rng)
        action = rank(client, f"{prefix}{i}", x, c)
        assert action["a"] in range(len(c)) and 0 < action["p"] <= 1
        assert client.feedback("m", f"{prefix}{i}", losses[action["a"]]) == "applied"
        excess += losses[action["a"]] - min(losses)
    return excess / events


def test_rank_learns_from_candidates_in_sets_of_changing_size(daemon):
    client, rng = daemon(ranking(height=3, trees=4)).client(), random.Random(5)
    early = teach(client, rng, 200, "a")
    teach(client, rng, 1500, "b")
    late = teach(client, rng, 400, "c")
    assert late < early / 3
    figures = client.model()
    assert figures["learner"] == "rank" and figures["max_candidates"] == 8 and figures["candidate_features"] == 2
    assert figures["policy"] == "fastcb" and "arms" not in figures and "value_range" not in figures
    assert figures["decisions"] == figures["learned"] == 2100


def test_candidates_have_names(daemon):
    one = daemon(ranking())
    client = one.client()
    names = ["red", "blue", "green"]
    action = rank(client, "named", names=names)
    assert action["arm"] == names[action["a"]]
    assert rank(client, "named", names=names) == {**action, "repeated": True}
    assert rank(client, "masked", names=names, mask=["green"])["arm"] == "green"
    assert "arm" not in rank(client, "plain")
    why = client.ok("explain", "m", {"x": X, "c": C, "names": names})
    assert why["arm"] == names[why["a"]]
    items = client.ok("rank_batch", "m", {"items": [{"id": i, "x": X, "c": C, "names": names} for i in range(3)]})["items"]
    assert all(item["arm"] == names[item["a"]] for item in items)
    assert client.error("rank", "m", {"id": 9, "x": X, "c": C, "names": names[1:]})["message"].startswith("names: ")
    one.kill()
    one.start()  # the journal has the name of what was played
    assert one.client().ok("explain", "m", {"id": "named"})["arm"] == action["arm"]
    assert "arm" not in one.client().ok("explain", "m", {"id": "plain"})


def test_mask_of_too_many_names_is_refused(daemon):
    client = daemon(ranking(max_candidates=2000)).client()
    names = [str(i) for i in range(2000)]
    many = {"id": 1, "x": X, "c": [[i % 3, 1] for i in range(2000)], "names": names}
    assert "too many to look for" in client.error("rank", "m", {**many, "mask": names})["message"]
    assert client.ok("rank", "m", {**many, "mask": names[-500:]})["a"] >= 1500


def test_rank_answers_and_orders(daemon):
    client, rng = daemon(ranking()).client(), random.Random(6)
    teach(client, rng, 100)
    action = rank(client, "plain")
    assert action.keys() == {"id", "a", "p", "rev", "greedy"} and action["rev"] == 100
    action = rank(client, "ordered", order=True, mask=[True, False, True], seq=4)
    assert sorted(action["order"]) == [0, 2] and action["greedy"] == (action["order"][0] == action["a"])
    assert action["seq"] == 4 and action["a"] != 1
    assert rank(client, "ordered", order=True, mask=[True, False, True], seq=4) == {**action, "repeated": True}
    scores = client.ok("explain", "m", {"id": "ordered"})["candidates"]
    assert len(scores) == 3 and sorted([0, 2], key=lambda k: scores[k]) == action["order"]
    best = client.ok("explain", "m", {"x": X, "c": C})
    assert best["a"] == min(range(3), key=lambda k: best["candidates"][k])
    names = {f["feature"] for expert in best["experts"] for f in expert["features"]}
    assert names & {"x0", "x1", "x2"} and names & {"c0", "c1"} and any("*" in name for name in names)
    assert rank(client, "one", c=[[1, 2]])["p"] == 1.0
    assert rank(client, "bits", mask=b"\x02")["a"] == 1


def test_every_form_of_candidates_is_the_same(daemon):
    forms = [C, [struct.pack("<2f", *c) for c in C], [dict(enumerate(c)) for c in C]]
    replies = [client.ok("rank", "m", {"id": 1, "x": X, "c": c}) for c in forms for client in [daemon(ranking()).client()]]
    assert replies[0] == replies[1] == replies[2]
    names = [{"colour=red": 1.0, "size": 0.5}, {}, {"colour=blue": 1}]
    assert rank(daemon(sparse()).client(), 1, {"hour": 3.0}, names)["a"] in range(3)


def test_verbs_are_for_their_models(daemon):
    one = daemon(ranking() + model("arms") + model("value", learner="value"))
    client = one.client()
    for verb, name, body in [
        ("decide", "m", {"id": 1, "x": X}),
        ("decide_batch", "m", {"items": []}),
        ("rank", "arms", {"id": 1, "x": X, "c": C}),
        ("rank_batch", "arms", {"items": []}),
        ("rank", "value", {"id": 1, "x": X, "c": C}),
    ]:
        error = client.error(verb, name, body)
        assert error["code"] == "bad_request" and "expected the verb" in error["message"], error
    assert "expected no candidates" in client.error("decide", "arms", {"id": 1, "x": X, "c": C})["message"]


BAD = [
    ({"c": None}, "bad_features", "c: got nil, expected an array of candidates"),
    ({"c": []}, "bad_features", "c: got 0 candidates, expected 1 to 8 (max_candidates)"),
    ({"c": C * 3}, "bad_features", "c: got 9 candidates, expected 1 to 8 (max_candidates)"),
    ({"c": [[1, 2], [1]]}, "bad_features", "c[1]: got 1 values, expected 2"),
    ({"c": [[1, 2], [1, float("nan")]]}, "bad_features", "c[1][1]: not a finite number"),
    ({"c": [{"red": 1}]}, "bad_features", 'c[0]["red"]: the model has no feature names'),
    ({"c": C, "mask": [1, 1]}, "bad_request", "mask: got 2 entries, expected 3, one per candidate"),
    ({"c": C, "mask": [0, 0, 0]}, "bad_request", "mask: no candidate is eligible"),
    ({"c": C, "x": [1, 2]}, "bad_features", "x: got 2 values, expected 3"),
    ({}, "bad_request", "c: the key is missing"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_candidates_are_refused_and_change_nothing(daemon, case):
    more, code, message = BAD[case]
    client = daemon(ranking()).client()
    before = client.model()
    error = client.error("rank", "m", {"id": 1, "x": X, **more})
    assert error["code"] == code and error["message"].startswith(message) and error["id"] == 1
    assert client.model() == before


def test_rank_batch_answers_in_order(daemon):
    client = daemon(ranking()).client()
    items = [{"id": 1, "x": X, "c": C}, {"id": 2, "x": X, "c": []}, {"id": 3, "x": X, "c": C, "order": True}]
    first, second, third = client.ok("rank_batch", "m", {"items": items})["items"]
    assert first["id"] == 1 and second["code"] == "bad_features" and sorted(third["order"]) == [0, 1, 2]


def test_self_contained_feedback_carries_the_candidate(daemon):
    client = daemon(ranking()).client()
    body = {"id": "elsewhere", "loss": 0.25, "x": X, "c": C[1], "p": 0.5}
    assert client.ok("feedback", "m", body)["result"] == "applied"
    assert client.ok("feedback", "m", body)["result"] == "duplicate"
    action = rank(client, "here")
    played = C[action["a"]]
    assert client.feedback("m", "here", 0.5, x=X, c=played, p=action["p"], a=action["a"]) == "applied"
    assert client.model()["learned"] == 2
    for wrong, code in [
        ({"c": [1]}, "bad_features"),
        ({"p": 0}, "bad_request"),
        ({"a": 8}, "bad_request"),
        ({"loss": 2}, "bad_loss"),
    ]:
        assert client.error("feedback", "m", {**body, "id": "new", **wrong})["code"] == code
    missing = {k: v for k, v in body.items() if k != "c"}
    assert "c: the key is missing" in client.error("feedback", "m", {**missing, "id": "new"})["message"]


def test_stream_of_contexts_with_candidates(daemon):
    one = daemon(start=False)
    sockets = {f"{name}_bind": [one.ipc(name)] for name in ("contexts", "actions", "feedback")}
    one.write_config(ranking() + section("sockets", {"requests": [one.ipc("requests")], **sockets}))
    one.start()
    contexts = one.socket(zmq.XPUB, connect=one.ipc("contexts"))
    actions = one.socket(zmq.SUB, connect=one.ipc("actions"))
    actions.setsockopt(zmq.SUBSCRIBE, b"act.m")
    from conftest import pack, unpack, wait_for

    assert contexts.poll(60000) and contexts.recv()
    client = one.client()
    wait_for(lambda: client.status()["streams"]["subscribers"], "the subscription")
    contexts.send_multipart([b"ctx.m", pack([{"id": 1, "x": X, "c": C}, {"id": 2, "x": X}, {"id": 3, "x": X, "c": C}])])
    assert actions.poll(60000)
    topic, body = actions.recv_multipart()
    assert topic == b"act.m" and [a["id"] for a in unpack(body)] == [1, 3]
    assert one.client().model()["contexts"] == {"received": 3, "malformed": 1, "lost": 0}
    one.logged("c: the key is missing")


@pytest.mark.parametrize("text", [ranking(), sparse()], ids=["dense", "sparse"])
def test_killed_model_goes_on_as_one_that_never_stopped(daemon, text):
    rng = random.Random(7)
    two = [daemon(text), daemon(text)]
    hashed = "bits" in text
    steps = []
    for i in range(300):
        x, c, losses = draw(rng)
        if hashed:
            x, c = {f"x{j}": v for j, v in enumerate(x)}, [{f"c{j}": v for j, v in enumerate(a)} for a in c]
        steps.append((x, c, losses, rng.random()))
    replies = [[], []]
    for which, one in enumerate(two):
        client = one.client()
        for i, (x, c, losses, chance) in enumerate(steps):
            if which == 1 and i % 60 == 59:
                one.kill()
                one.start()
                client = one.client()
            action = rank(client, i, x, c, order=True)
            replies[which].append(action)
            if chance < 0.8:
                replies[which].append(client.feedback("m", i, losses[action["a"]]))
            elif chance < 0.9:
                body = {"id": 1000 + i, "loss": losses[0], "x": x, "c": c[0], "p": 0.5}
                replies[which].append(client.ok("feedback", "m", body))
    assert replies[0] == replies[1]
    models = [one.client().model() for one in two]
    for figures in models:
        figures.pop("repeated"), figures.pop("refused")
        figures.pop("contexts"), figures.pop("feedback_stream")
    assert models[0] == models[1]


def test_other_shape_than_the_checkpoint_is_refused_with_both(daemon):
    one = daemon(ranking())
    teach(one.client(), random.Random(8), 5)
    one.stop()
    one.write_config(ranking(candidate_features=3))
    one.launch().wait(1)
    assert "candidate_features 2, max_candidates 8" in one.log() and "candidate_features 3" in one.log()
    one.write_config(ranking(max_candidates=9))
    one.start()
    assert one.client().model()["max_candidates"] == 9
