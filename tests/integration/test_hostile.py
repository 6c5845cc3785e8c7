"""Wrong messages on the requests socket: the sender reads what was wrong, nothing changes, and the daemon goes on."""

import os

import pytest
import zmq
from conftest import ADMINISTRATION, grow, is_sanitized, model, pack, program, section, unpack
from hostile import ANYTHING, BAD_X, BOMB, INFINITY, MALFORMED, NAN, X, array32, body, duplicated_index
from hostile import random_bodies, truncations

VERBS = ["decide", "feedback", "decide_batch", "feedback_batch", "explain", "status", "checkpoint", "reload"]
WITH_MODEL = VERBS[:5]
LIMIT = 64 * 1024


class Guarded:
    """A daemon with a decision waiting; every message sent through here must leave it as it is."""

    def __init__(self, daemon, text):
        self.daemon = daemon(text)
        self.client, self.admin = self.daemon.client(), self.daemon.admin()
        grow(self.client)
        self.client.decide("m", "waiting", X)
        self.before = self.state()

    def state(self):
        whole = self.client.status()
        return whole["models"], whole["parked"], whole["checkpoint"]["sequence"], whole["streams"]

    def refused(self, verb, name, raw, *codes):
        """The error, whose code is one of these and whose message says something."""
        status, reply = (self.admin if verb in ADMINISTRATION else self.client).raw(verb, name, raw)
        assert status == "error", (verb, raw[:80].hex(), reply)
        assert reply.keys() <= {"code", "message", "id", "seq"}
        assert reply["code"] in codes, (verb, raw[:80].hex(), reply)
        assert len(reply["message"]) > 8
        return reply

    def unchanged(self):
        assert self.state() == self.before
        assert self.client.decide("m", "waiting", X)["id"] == "waiting"  # repeated: a good request works
        self.before = self.state()

    def healthy(self):
        """It still learns."""
        assert self.client.feedback("m", "waiting", 0.5) == "applied"
        grow(self.client, prefix="healthy", events=5)


@pytest.fixture
def guarded(daemon):
    one = Guarded(daemon, model() + section("checkpoint", {"every": "7d"}))  # none but those that are asked for
    yield one
    one.healthy()


@pytest.mark.parametrize("verb", VERBS)
def test_malformed_body_refused(guarded, verb):
    name = "m" if verb in WITH_MODEL else ""
    for what, raw in MALFORMED.items():
        harmless = ("twice", "key that", "empty") if verb not in WITH_MODEL else ()
        if any(word in what for word in harmless):
            continue  # these verbs know no such key, and take an empty body
        guarded.refused(verb, name, raw, "bad_request", "bad_features")
    if verb != "status":
        guarded.unchanged()


def test_x_wrong_refused_and_named(guarded):
    for what, x in BAD_X.items():
        for verb in ("decide", "explain"):
            raw = pack({"id": 1, "x": x}) if verb == "decide" else pack({"x": x})
            error = guarded.refused(verb, "m", raw, "bad_features")
            assert error["message"].startswith("x"), (what, error)
        reply = guarded.refused("feedback", "m", pack({"id": 1, "loss": 0, "x": x, "a": 0, "p": 1}), "bad_features")
        assert reply["message"].startswith("x") and reply["id"] == 1
    guarded.refused("decide", "m", duplicated_index(), "bad_features", "bad_request")
    guarded.refused("decide", "m", body(id=pack(1), x=BOMB), "bad_features", "bad_request")
    guarded.refused("decide", "m", body(id=pack(1), x=array32(3) + pack(1.0)), "bad_features", "bad_request")
    guarded.unchanged()


def test_error_says_what_was_expected(guarded):
    error = guarded.refused("decide", "m", pack({"id": "u1", "x": [1, 2], "seq": 9}), "bad_features")
    assert "2" in error["message"] and "expected 3" in error["message"]
    assert (error["id"], error["seq"]) == ("u1", 9)
    assert "id" in guarded.refused("decide", "m", pack({"x": X}), "bad_request")["message"]
    assert "loss" in guarded.refused("feedback", "m", pack({"id": 1}), "bad_request")["message"]
    assert "nobody" in guarded.refused("decide", "nobody", pack({"id": 1, "x": X}), "unknown_model")["message"]
    assert "fly" in guarded.refused("fly", "m", b"\x80", "unknown_verb")["message"]
    guarded.unchanged()


def test_seq_behind_a_key_that_comes_twice_comes_back(guarded):
    twice = b"\x84" + (pack("id") + pack("u1")) * 2 + pack("x") + pack(X) + pack("seq") + pack(9)
    error = guarded.refused("decide", "m", twice, "bad_request")
    assert (error["id"], error["seq"]) == ("u1", 9)


def test_every_key_of_every_wrong_type_refused(guarded):
    context, feedback = {"id": 1, "x": X, "src": "s"}, {"id": 1, "loss": 0.5, "x": X, "a": 1, "p": 1.0}
    fits = {  # what of ANYTHING each key may be
        "id": (5, -5, "text", b"binary"), "x": ({},), "mask": (), "t": (5, -5, 1.5), "defer": (True,), "src": ("text",),
        "n": (5,), "seq": (None, True, 5, -5, 1.5, "text", b"binary", ANYTHING[-1]), "loss": (), "a": (), "p": (),
    }  # fmt: skip
    for key, allowed in fits.items():
        for value in ANYTHING:
            if any(type(value) is type(one) and value == one for one in allowed):
                continue
            verb, good = ("feedback", feedback) if key in ("loss", "a", "p") else ("decide", context)
            raw = pack({**good, key: value})
            reply = guarded.refused(verb, "m", raw, "bad_request", "bad_features", "bad_loss")
            assert reply["message"].startswith(key), (key, value, reply)
    guarded.unchanged()


def test_loss_arm_and_propensity_wrong_refused(guarded):
    for loss in (NAN, INFINITY, -INFINITY, -0.001, 1.001, 1e308, [0.5], [0.5, 0.5], "0.5", None, True):
        assert guarded.refused("feedback", "m", pack({"id": "waiting", "loss": loss}), "bad_loss")["id"] == "waiting"
    full = {"id": "elsewhere", "loss": 0.5, "x": X, "a": 1, "p": 0.5}
    for key, values in {"a": (3, -1, 2**40, 0.5, None), "p": (0, -0.5, 1.5, NAN, INFINITY, "1")}.items():
        for value in values:
            error = guarded.refused("feedback", "m", pack({**full, key: value}), "bad_request")
            assert error["message"].startswith(key), (key, value, error)
    for missing in ("a", "p"):
        guarded.refused("feedback", "m", pack({k: v for k, v in full.items() if k != missing}), "bad_request")
    guarded.unchanged()


def test_truncated_messages_refused(guarded):
    messages = {
        "decide": {"id": "cut", "x": X, "mask": [True, False, True], "t": 2.5, "src": "s", "n": 70000, "seq": "q"},
        "feedback": {"id": "cut", "loss": 0.5, "x": {0: 1, 2: 2.5}, "a": 1, "p": 0.5},
        "decide_batch": {"items": [{"id": 1, "x": X}, {"id": 2, "x": X}]},
        "feedback_batch": {"items": [{"id": 1, "loss": 0}]},
        "explain": {"x": X, "mask": b"\x05"},
    }
    for verb, message in messages.items():
        for raw in truncations(pack(message)):
            guarded.refused(verb, "m", raw, "bad_request", "bad_features", "bad_loss")
    guarded.unchanged()


def test_batch_body_wrong_refused_as_a_whole(guarded):
    good = {"id": "new", "x": X}
    for verb in ("decide_batch", "feedback_batch"):
        for items in (None, 5, "text", {}, {"id": 1}, b"binary", True):
            guarded.refused(verb, "m", pack({"items": items}), "bad_request")
        guarded.refused(verb, "m", pack({}), "bad_request")
        guarded.refused(verb, "m", body(items=array32(3) + pack(good)), "bad_request")  # the third is missing
        guarded.refused(verb, "m", body(items=pack([good]), seq=BOMB), "bad_request")
        guarded.refused(verb, "m", body(items=array32(2) + pack(good) + b"\xc1"), "bad_request")
        guarded.refused(verb, "m", body(items=pack([good])) + b"\x00", "bad_request")
        guarded.refused(verb, "m", body(items=pack([good]), seq=pack([1])), "bad_request")
    guarded.unchanged()


def test_batch_of_wrong_items_answers_each_with_an_error(guarded):
    items = [None, 5, "text", [], {}, {"id": 1}, {"x": X}, {"id": None, "x": X}, {"id": 1, "x": [NAN] * 3}]
    for verb in ("decide_batch", "feedback_batch"):
        replies = guarded.client.ok(verb, "m", {"items": items + [{"items": items}]})["items"]
        assert len(replies) == len(items) + 1 and all("code" in reply for reply in replies)
    guarded.unchanged()


def test_unknown_verbs_and_models_refused(guarded):
    for verb in ("", "Decide", "decide\0", "decid", "ranks", "refits", "demote", "thaw"):
        guarded.client.send_raw(b"", verb.encode(), b"m", pack({"id": 1, "x": X}))
        _, status, reply = guarded.client.receive_raw()
        assert status == b"error" and unpack(reply)["code"] == "unknown_verb"
    for name in ("nobody", "M", "m ", "m\0", "mm", "n" * 5000, "\xff"):
        for verb in WITH_MODEL:
            guarded.refused(verb, name, pack({"id": 1, "x": X}), "unknown_model")
    guarded.client.send_raw(os.urandom(3000), b"m", b"\x80")
    assert unpack(guarded.client.receive_raw()[1])["code"] == "unknown_verb"
    guarded.unchanged()


def test_successions_are_refused_where_there_are_none(guarded):
    guarded.refused("refit", "m", pack({}), "forbidden")
    for verb in ("promote", "rollback"):
        guarded.admin.send_raw(b"", verb.encode(), b"m", pack({}))
        assert unpack(guarded.admin.receive_raw()[2])["code"] in ("forbidden", "bad_request")
    for verb in ("refit", "promote", "rollback", "freeze"):
        guarded.refused(verb, "nobody", pack({}), "unknown_model")
        for body in (b"\x80\x80", b"\xc1", pack([1]), os.urandom(40)):
            guarded.admin.send_raw(b"", verb.encode(), b"m", body)
            assert guarded.admin.receive_raw()[1] == b"error"
    guarded.unchanged()


@pytest.mark.parametrize("delimiter", [[], [b""]])
def test_wrong_number_of_frames_refused(guarded, delimiter):
    good = pack({"id": 1, "x": X})
    shapes = [[b"decide"], [b"decide", b"m"], [b"decide", b"m", good, b""], [b"decide", b"m", good, good, good]]
    shapes += [[b"decide"] * 50, [b"x"] * 7, [good] * 1000]
    for frames in shapes:
        guarded.client.send_raw(*delimiter, *frames)
        reply = guarded.client.receive_raw()
        assert reply[: len(delimiter)] == delimiter and reply[-2] == b"error"
        assert unpack(reply[-1])["code"] == "bad_request"
    guarded.unchanged()


def test_empty_frames_refused(guarded):
    for frames in ([b""], [b"", b""], [b"", b"", b""], [b"", b"", b"", b""], [b"", b"decide", b"", b""]):
        guarded.client.send_raw(*frames)
        reply = guarded.client.receive_raw()
        assert reply[-2] == b"error" and unpack(reply[-1])["code"] in ("bad_request", "unknown_verb", "unknown_model")
    guarded.unchanged()


@pytest.fixture
def limited(daemon):
    """A daemon whose message_limit is 64 KiB."""
    one = daemon(start=False)
    sockets = f'sockets {{ requests = {{ "{one.ipc("requests")}" }} message_limit = "64KiB" }}'
    one.write_config(model() + sockets)
    return one.start()


def test_body_over_message_limit_is_too_large(limited):
    client = limited.client()
    fits = pack({"id": "fits", "x": X, "later": b"z" * (LIMIT - 100)})
    assert len(fits) <= LIMIT and client.raw("decide", "m", fits)[0] == "ok"
    for size in (LIMIT + 1, LIMIT + 30000, LIMIT + 65536):
        raw = pack({"id": "over", "x": X, "later": b"z" * size})[:size]
        status, error = client.raw("decide", "m", raw)
        assert (status, error["code"]) == ("error", "too_large") and "65536" in error["message"]
    assert client.model()["decisions"] == 1
    assert set(client.status()["queues"]["closed"].values()) == {0}


@pytest.mark.parametrize("size", [LIMIT + 65536 + 1, 1 << 20, 15 << 20])
def test_body_over_message_limit_by_more_than_64_kib_costs_the_connection_only(limited, size):
    attacker, other = limited.client(), limited.client()
    monitor = attacker.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    assert attacker.ok("status") and other.ok("status")
    attacker.send_raw(b"decide", b"m", b"z" * size)
    assert monitor.poll(60000), "the connection was not closed"
    attacker.socket.disable_monitor()
    closed = other.status()["queues"]["closed"]
    assert closed["frame"] >= 1 and closed["frame"] == sum(closed.values())
    attacker.send("status")  # it has connected again by itself
    assert attacker.receive()[0] == "ok"


def test_random_bodies_change_no_weight_and_are_all_answered(daemon):
    one = daemon(model("m") + model("untouched"))
    client = one.client()
    grow(client)
    grow(client, "untouched")
    before = client.model("untouched")
    sent = 0
    for number, raw in enumerate(random_bodies(seed=20240601, count=10000)):
        client.send_raw(VERBS[number % 5].encode(), b"m", raw)
        sent += 1
        if sent % 100 == 0:
            replies = [client.receive_raw() for _ in range(100)]
            assert all(status in (b"ok", b"error") for status, _ in replies)
            errors = [unpack(body) for status, body in replies if status == b"error"]
            assert errors and all({"code", "message"} <= e.keys() and e["code"] != "internal" for e in errors)
    assert client.model("untouched") == before
    assert client.ok("explain", "m", {"x": X})["prediction"] == pytest.approx(0.5, abs=0.6)  # still finite
    grow(client, prefix="after")


def test_memory_stays_bounded_under_bombs_and_large_batches(daemon):
    if is_sanitized(program("COPPICED")):
        pytest.skip("a sanitizer's own memory hides the daemon's")
    one = daemon()
    client = one.client()
    assert client.ok("status")
    peak, resident = one.memory()
    for raw in list(MALFORMED.values()) * 20:
        client.raw("decide", "m", raw)
    for items in (b"\x80" * 1000000, b"\xc0" * 65537):
        status, reply = client.raw("decide_batch", "m", body(items=array32(len(items)) + items))
        assert (status, reply["code"]) == ("error", "bad_request") and "65536" in reply["message"]
    replies = client.ok("decide_batch", "m", {"items": [None] * 65536})["items"]
    assert len(replies) == 65536 and all("code" in reply for reply in replies)
    for _ in range(5):
        client.raw("decide", "m", pack({"id": 1, "x": [0.0] * 100000}))
        client.raw("decide", "m", b"z" * ((1 << 20) + 65536))
    peak_after, resident_after = one.memory()
    assert resident_after - resident < 150 and peak_after - peak < 500, one.memory()
