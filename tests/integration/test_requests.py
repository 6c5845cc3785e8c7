"""The requests socket: frames, every verb, batches, explanations."""

import msgpack
import pytest
import zmq
from conftest import ADMINISTRATION, grow, model, pack, unpack

X = [0.25, 1.0, 3.5]
VERBS = ["decide", "feedback", "decide_batch", "feedback_batch", "explain", "status", "checkpoint", "reload"]
SCALARS = [0, 7, -7, 2**63, 2**64 - 1, -(2**63), 1.5, "seven", b"seven", "", True, False, None, "s" * 62]


@pytest.mark.parametrize("kind", [zmq.REQ, zmq.DEALER])
def test_decide_and_feedback_documented_example_answers(daemon, kind):
    client = daemon(model("front-page")).client(kind)
    action = client.decide("front-page", "u1-17", X)
    assert action.keys() == {"id", "a", "p", "rev", "greedy"}
    assert action["id"] == "u1-17" and action["a"] in range(3) and 0 < action["p"] <= 1
    assert action["rev"] == 0 and isinstance(action["greedy"], bool)
    assert client.ok("feedback", "front-page", {"id": "u1-17", "loss": 0.0}) == {"id": "u1-17", "result": "applied"}
    assert client.model("front-page")["rev"] == 1


def test_request_with_delimiter_gets_it_back(daemon):
    client = daemon().client()
    client.send_raw(b"", b"status", b"", b"")
    delimiter, status, body = client.receive_raw()
    assert (delimiter, status) == (b"", b"ok") and unpack(body)["pid"]
    client.send_raw(b"status", b"", b"")
    assert len(client.receive_raw()) == 2


def test_requests_in_flight_answer_by_seq(daemon):
    client = daemon().client()
    for i in range(200):
        client.send("decide", "m", {"id": i, "x": X, "seq": i})
    replies = [client.receive() for _ in range(200)]
    assert all(status == "ok" for status, _ in replies)
    assert sorted(reply["seq"] for _, reply in replies) == list(range(200))
    assert all(reply["id"] == reply["seq"] for _, reply in replies)


@pytest.mark.parametrize("verb", VERBS)
def test_seq_any_scalar_comes_back_from_each_verb(daemon, verb):
    one = daemon()
    client = one.admin() if verb in ADMINISTRATION else one.client()
    client.decide("m", "pending", X)
    bodies = {
        "decide": {"id": "new", "x": X},
        "feedback": {"id": "nobody", "loss": 0.5},
        "decide_batch": {"items": []},
        "feedback_batch": {"items": []},
        "explain": {"id": "pending"},
    }
    name = "m" if verb in bodies else ""
    for seq in SCALARS:
        client.send_raw(verb.encode(), name.encode(), pack({**bodies.get(verb, {}), "seq": seq}))
        status, body = client.receive_raw()
        assert status == b"ok" and pack("seq") + pack(seq) in body  # byte for byte
        assert unpack(body)["seq"] == seq


def test_seq_comes_back_in_errors_and_items(daemon):
    client = daemon().client()
    assert client.error("decide", "m", {"id": 1, "x": [1], "seq": "s"})["seq"] == "s"
    assert client.error("decide", "nobody", {"id": 1, "x": X, "seq": 4})["seq"] == 4
    assert client.error("fly", "m", {"seq": 5})["seq"] == 5
    items = [{"id": 1, "x": X, "seq": 1}, {"id": 2, "x": 0, "seq": 2}]
    reply = client.ok("decide_batch", "m", {"items": items, "seq": 3})
    assert [item["seq"] for item in reply["items"]] == [1, 2] and reply["seq"] == 3
    assert reply["items"][1]["code"] == "bad_features" and reply["items"][1]["id"] == 2


def test_seq_too_long_or_no_scalar_refused(daemon):
    client = daemon().client()
    for seq in ("s" * 63, b"b" * 63, [1], {}, msgpack.ExtType(1, b"x" * 80)):
        assert client.error("decide", "m", {"id": 1, "x": X, "seq": seq})["code"] == "bad_request"
    assert client.model()["decisions"] == 0


def test_ids_of_every_type_are_distinct(daemon):
    client = daemon().client()
    ids = [17, "17", b"17", -17, 0, 2**63, 2**64 - 1, -(2**63), "a" * 64, b"a" * 64, "ü", b"\x00\xff", " 17"]
    for one in ids:
        reply = client.decide("m", one, X)
        assert reply["id"] == one and type(reply["id"]) is type(one)
    assert client.model()["decisions"] == len(ids) == client.model()["pending"]
    for one in ids:
        reply = client.ok("feedback", "m", {"id": one, "loss": 1})
        assert reply == {"id": one, "result": "applied"} and type(reply["id"]) is type(one)
    assert client.model()["pending"] == 0


def test_id_integer_encodings_are_one_id(daemon):
    client = daemon().client()
    encodings = [b"\x11", b"\xcc\x11", b"\xcd\x00\x11", b"\xce\0\0\0\x11", b"\xcf" + b"\0" * 7 + b"\x11"]
    encodings += [b"\xd0\x11", b"\xd1\x00\x11", b"\xd2\0\0\0\x11", b"\xd3" + b"\0" * 7 + b"\x11"]
    for encoding in encodings:
        status, reply = client.raw("decide", "m", b"\x82" + pack("id") + encoding + pack("x") + pack(X))
        assert status == "ok" and reply["id"] == 17
    assert (client.model()["decisions"], client.model()["repeated"]) == (1, len(encodings) - 1)


@pytest.mark.parametrize("wrong", ["", b"", "i" * 65, b"i" * 65, 1.0, None, True, [1], {"a": 1}])
def test_id_of_wrong_type_or_length_refused(daemon, wrong):
    client = daemon().client()
    for verb, body in (("decide", {"x": X}), ("feedback", {"loss": 0}), ("explain", {})):
        error = client.error(verb, "m", {"id": wrong, **body})
        assert error["code"] == "bad_request" and error["message"].startswith("id")
    assert client.model()["decisions"] == 0


def test_decide_repeated_returns_the_first_decision(daemon):
    client = daemon(model(policy="epsilon", epsilon=1)).client()
    first = client.decide("m", "again", X)
    grow(client)
    for x in (X, [9, 9, 9]):
        assert client.decide("m", "again", x) == {**first, "repeated": True}
    assert client.model()["repeated"] == 2
    assert client.feedback("m", "again", 0.5) == "applied"
    assert client.decide("m", "again", X)["rev"] > first["rev"]  # answered: a new decision
    assert "repeated" not in first and "repeated" not in client.decide("m", "another", X)


def test_feedback_duplicate_and_unknown_change_nothing(daemon):
    client = daemon().client()
    client.decide("m", "d", X)
    assert client.feedback("m", "d", 0.5) == "applied"
    before = client.model()
    assert client.feedback("m", "d", 0.75) == "duplicate"
    assert client.feedback("m", "nobody", 0.75) == "unknown"
    assert client.feedback("m", "d", 0.75, x=X, a=1, p=0.5) == "duplicate"
    after = client.model()
    assert after.pop("feedback") == {"applied": 1, "recorded": 0, "duplicate": 2, "late": 0, "unknown": 1}
    before.pop("feedback")
    assert after == before


def test_feedback_self_contained_is_learned_once(daemon):
    client = daemon().client()
    full = {"id": "elsewhere", "loss": 0.5, "x": X, "a": 2, "p": 0.25}
    assert client.ok("feedback", "m", full)["result"] == "applied"
    assert client.ok("feedback", "m", full)["result"] == "duplicate"
    assert client.ok("feedback", "m", {"id": "b", "loss": 0.5, "a": 2, "p": 0.25})["result"] == "unknown"
    client.decide("m", "here", X)
    assert client.ok("feedback", "m", {**full, "id": "here"})["result"] == "applied"
    assert (client.model()["rev"], client.model()["decisions"], client.model()["pending"]) == (2, 1, 0)


def test_feedback_in_loss_range_is_scaled(daemon):
    ranges = model("wide", loss_range=(-1, 3)) + model("unit")
    client = daemon(ranges).client()
    for i in range(40):  # equal seeds: the same decisions, the same losses in two scales
        wide, unit = (client.decide(name, i, [i % 3, 1, 0]) for name in ("wide", "unit"))
        assert wide == unit
        loss = (i % 5) / 4
        assert client.feedback("unit", i, loss) == client.feedback("wide", i, 4 * loss - 1) == "applied"
    assert client.ok("explain", "wide", {"x": X})["experts"] == client.ok("explain", "unit", {"x": X})["experts"]
    assert client.model("wide")["mean_loss"] == pytest.approx(4 * client.model("unit")["mean_loss"] - 1)
    client.decide("wide", "edge", X)
    for loss in (-1.001, 3.001, 1e300):
        assert client.error("feedback", "wide", {"id": "edge", "loss": loss})["code"] == "bad_loss"
    assert client.feedback("wide", "edge", 3) == "applied"


def test_batches_equal_single_requests(daemon):
    client = daemon(model("one") + model("many")).client()
    contexts = [{"id": i, "x": [i % 5, i % 3, 0.5]} for i in range(50)]
    for turn in range(3):
        contexts = [{**c, "id": f"{turn}-{i}"} for i, c in enumerate(contexts)]
        singles = [client.ok("decide", "one", c) for c in contexts]
        assert client.ok("decide_batch", "many", {"items": contexts}) == {"items": singles}
        losses = [{"id": a["id"], "loss": a["a"] / 2} for a in singles]
        results = [client.ok("feedback", "one", f) for f in losses]
        assert client.ok("feedback_batch", "many", {"items": losses}) == {"items": results}
    one, many = client.model("one"), client.model("many")
    assert one.pop("name") != many.pop("name") and one == many and one["rev"] == 150


def test_batch_with_wrong_items_answers_each(daemon):
    client = daemon().client()
    items = [{"id": 1, "x": X}, {"id": 2, "x": [1, 2]}, {"x": X}, 5, {"id": 5, "x": X}, {"id": 1, "x": X}]
    reply = client.ok("decide_batch", "m", {"items": items})["items"]
    assert [i.get("code") for i in reply] == [None, "bad_features", "bad_request", "bad_request", None, None]
    assert reply[1]["id"] == 2 and reply[5] == {**reply[0], "repeated": True}
    losses = [{"id": 1, "loss": 1}, {"id": 1, "loss": 1}, {"id": 5, "loss": 2}, {"id": 9, "loss": 0}, {"id": 5}]
    reply = client.ok("feedback_batch", "m", {"items": losses})["items"]
    results = [i.get("result", i.get("code")) for i in reply]
    assert results == ["applied", "duplicate", "bad_loss", "unknown", "bad_request"]
    assert client.model()["pending"] == 1


def test_models_in_one_daemon_are_independent(daemon):
    many = model("a", arms=2, features=1) + model("b", arms=5, features=4) + model("c", learner="value")
    client = daemon(many).client()
    client.decide("a", "same", [1])
    client.decide("b", "same", [1, 2, 3, 4])
    client.decide("c", "same", X)
    assert client.feedback("b", "same", 1) == "applied"
    states = {m["name"]: (m["rev"], m["pending"]) for m in client.status()["models"]}
    assert states == {"a": (0, 1), "b": (1, 0), "c": (0, 1)}
    assert client.error("decide", "b", {"id": 1, "x": [1]})["code"] == "bad_features"
    assert client.error("decide", "", {"id": 1, "x": [1]})["code"] == "unknown_model"


def test_status_shows_what_is_documented(daemon):
    client = daemon(model("a") + model("v", learner="value", features=0)).client()
    whole = client.status()
    assert whole.keys() == {
        "version", "pid", "uptime", "state_dir", "message_limit", "models", "parked", "requests", "streams", "journal",
        "checkpoint", "past", "forget", "log_dropped", "queues",
    }  # fmt: skip
    assert whole["requests"].keys() == {"received", "errors", "busy", "limited", "replies_dropped", "turns", "answer_turns"}
    assert whole["streams"].keys() == {"received", "dropped", "forbidden", "subscriptions_refused", "unroutable",
                                            "actions_dropped", "subscribers"}
    assert whole["forget"] == {"state": "nothing", "orders": 0, "done": 0, "failed": 0}
    assert whole["past"] == dict.fromkeys(("started", "found", "not_found", "failed", "dropped", "refused"), 0)
    queues = whole["queues"]
    assert queues.keys() == {"limit", "unfinished", "received", "waiting", "answers", "actions", "connections", "closed",
                             "subscriptions_ignored"}  # fmt: skip
    assert queues["closed"].keys() == {"not_zmtp", "frame", "message", "memory", "subscriptions", "clear", "key", "slow",
                                       "models"}
    assert queues["limit"] == 256 << 20 and queues["connections"] >= 1
    a, v = whole["models"]
    counted = {
        "name", "learner", "features", "rev", "pending", "pending_bytes", "decisions", "repeated", "greedy", "feedback", "learned",
        "defaulted", "dropped", "unknown_names", "position_repeats", "short_contexts", "evicted", "refused", "loss_sum", "outliers",
        "contexts", "feedback_stream", "unheard", "refit",
    }  # fmt: skip
    assert a.keys() == counted | {"arms", "policy", "arm_gains"} and v.keys() == counted | {
        "bits", "value_range", "delta", "feedback_points",
    }  # fmt: skip
    assert a["unheard"].keys() == {
        "waiting", "waiting_bytes", "dropped_count", "dropped_bytes", "dropped_age", "dropped_forgotten",
        "decisions",
    }  # fmt: skip
    assert whole["journal"].keys() == {
        "state", "next", "committed", "durable", "lag_bytes", "records", "bytes", "writes", "syncs", "failures",
    }  # fmt: skip
    assert client.ok("status", "v")["models"] == [v]
    assert client.ok("status", "", {})["models"] == [a, v]
    assert client.error("status", "nobody")["code"] == "unknown_model"
    counts = client.status()["requests"]
    assert {k: n for k, n in counts.items() if k != "turns"} == {
        "received": 6, "errors": 1, "busy": 0, "limited": 0, "replies_dropped": 0, "answer_turns": 0,
    }  # fmt: skip


def test_checkpoint_writes_a_file(daemon):
    one = daemon()
    client = one.client()
    grow(client)
    reply = client.ok("checkpoint")
    assert reply.keys() == {"sequence", "bytes", "seconds"} and reply["sequence"] == 1 and reply["seconds"] >= 0
    files = list(one.state.glob("coppice.*.checkpoint"))
    assert len(files) == 1 and files[0].stat().st_size >= reply["bytes"]
    assert client.ok("checkpoint", "m", {"seq": 3})["sequence"] == 2


def test_version_stands_once_in_each_reply(daemon):
    """Single and batched, right and wrong, of each endpoint; actions on streams and the items of batches lack it."""
    one = daemon()
    client, administrator, context = one.client(), one.admin(), {"id": 1, "x": [0.5, 1, 2]}
    version = client.status()["version"]
    bodies = []
    for socket, verb, body in (
            (client, "decide", context), (client, "decide", {"id": 2}), (client, "no_verb", {}),
            (client, "decide_batch", {"items": [{"id": 3, "x": [1, 2, 3]}, {}]}), (client, "feedback", {"id": 1, "loss": 0}),
            (client, "feedback_batch", {"items": [{"id": 3, "loss": 1}]}), (client, "explain", {"x": [1, 2, 3]}),
            (client, "status", {}), (client, "checkpoint", {}), (administrator, "checkpoint", {})):
        socket.send(verb, "" if verb == "checkpoint" else "m", body)
        bodies.append(unpack(socket.receive_raw()[1]))
    assert [body["version"] for body in bodies] == [version] * len(bodies)
    assert not any("version" in item for body in bodies for item in body.get("items", ()))
