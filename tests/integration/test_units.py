"""Units in the journal, through real sockets: who is recorded with what, and a journal in which a unit was forgotten."""

import json
import struct

import journal_bytes as j
import msgpack
from bandit_logs import coppice
from conftest import model, section
from test_api import Api
from test_journal import dump

X = [0.25, 1.0, 3.5]
UNIT = "person-1728"


def units(one, *args):
    return [line.get("unit") for line in dump(one, *args) if line["type"] in ("decision", "feedback")]


def test_units_of_contexts_are_recorded_in_every_model(daemon):
    api = Api()
    one = daemon(api.section + model() + model("h", holdout=0.5) + model("s", features=0) +
                 model("v", learner="value", value_range=[0, 1], height=None, trees=None) +
                 model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4,
                       candidate_features=2))
    client = one.client()
    for name, x, more in (("m", X, {}), ("h", X, {}), ("s", {"a": 1}, {}), ("v", X, {}), ("r", X, {"c": [[1, 0]]})):
        verb = "rank" if more else "decide"
        client.ok(verb, name, {"id": 1, "x": x, "unit": UNIT, **more})
        client.ok(verb, name, {"id": 2, "x": x, **more})
        client.ok(verb, name, {"id": 3, "x": x, "unit": -17, **more})
        api.ok(f"/v1/models/{name}/{verb}", {"id": 4, "x": x, "unit": "who", **more})
    client.ok("decide_batch", "m", {"items": [{"id": 5, "x": X, "unit": b"\x00\xff"}, {"id": 6, "x": X}]})
    one.stop()
    for name in ("h", "s", "v", "r"):
        assert units(one, "--model", name) == [UNIT, None, -17, "who"]
    assert units(one, "--model", "m")[:4] == [UNIT, None, -17, "who"]
    assert units(one, "--model", "m")[5] is None
    assert [line["id"] for line in dump(one, "--unit", "00ff")] == [5]
    assert [line["m"] for line in dump(one, "--unit", UNIT)] == ["m", "h", "s", "v", "r"]
    assert len(dump(one, "--unit", "-17")) == 5


def test_units_of_self_contained_feedback_are_recorded(daemon):
    api = Api()
    one = daemon(api.section + model())
    client = one.client()
    whole = {"x": X, "a": 1, "p": 0.5}
    assert client.feedback("m", 1, 0.5, unit=UNIT, **whole) == "applied"
    assert api.ok("/v1/models/m/feedback", {"id": 2, "loss": 0.5, "unit": 3, **whole})["result"] == "applied"
    assert client.feedback("m", 3, 0.5, **whole) == "applied"
    client.decide("m", 4, X)
    assert client.feedback("m", 4, 0.5, unit=UNIT) == "applied"  # it is the decision's
    for body in ({"id": 5, "loss": 0, "unit": "", **whole}, {"id": 5, "loss": 0, "unit": [1], **whole}):
        reply = client.error("feedback", "m", body)
        assert reply["code"] == "bad_request" and reply["message"].startswith("unit: got ")
        assert "expected a string or binary of 1 to 64 bytes, or an integer" in reply["message"]
    assert "unit" in api.problem(400, "bad_request", "POST", "/v1/models/m/feedback",
                                 {"id": 5, "loss": 0, "unit": 1.5, **whole})
    before = client.model()
    one.kill()
    assert units(one, "--type", "feedback") == [UNIT, 3, None, None]
    one.start()
    after = one.client().model()
    for key in ("rev", "learned", "mean_loss"):
        assert after[key] == before[key]


def records(path):
    """[(type, body as a map), ...] of a segment as journal.md has it."""
    data = path.read_bytes()
    at = struct.unpack_from("<I", data, 12)[0]
    found = []
    while at + j.HEAD <= len(data):
        length, _, sequence, kind = struct.unpack_from("<IIQB", data, at)
        if sequence == 0:
            break
        if kind != j.MARK:
            found.append((kind, data[at + j.HEAD : at + j.HEAD + length]))
        at += j.HEAD + length
    return found


def mine(kind, body):
    told = msgpack.unpackb(body, strict_map_key=False)
    return kind in (j.DECISION, j.FEEDBACK) and told["id"] % 3 == 0


def forgotten(kind, body):
    told = msgpack.unpackb(body, strict_map_key=False)
    return (j.FORGOTTEN, j.body(t=told["t"], m=told["m"])) if mine(kind, body) else (kind, body)


def test_a_journal_with_forgotten_records_recovers_as_if_they_had_not_been(daemon):
    """Records that this test replaces, and the same journal without them, make the same model."""
    one = daemon(model() + section("checkpoint", {"every": "1h"}))
    client = one.client()
    for i in range(60):
        client.decide("m", i, [i % 5 / 5, 1, i % 7], **({"unit": UNIT} if i % 3 == 0 else {}))
        client.feedback("m", i, (i % 4) / 4)
    one.kill()
    (path,) = (one.state / "journal").glob("*.journal")
    told, states, reasons, replays = records(path), [], [], []
    for kept in ([forgotten(*r) for r in told], [r for r in told if not mine(*r)]):
        for checkpoint in one.state.glob("*.checkpoint"):
            checkpoint.unlink()
        for segment in (one.state / "journal").iterdir():
            segment.unlink()
        j.segment(one.state / "journal", 1, kept)
        one.start()
        states.append({k: v for k, v in one.client().model().items()
                       if k in ("rev", "learned", "decisions", "mean_loss", "pending", "experts", "feedback")})
        reasons.append(one.client().ok("explain", "m", {"x": X}))
        one.kill()
        told_again = coppice("replay", "--format", "journal", one.state / "journal", "--model", "m", "--json")[0]
        replays.append(json.loads(told_again))
    assert states[0] == states[1] and states[0]["decisions"] == 40
    assert reasons[0] == reasons[1]
    for replay in replays:
        assert replay.pop("events_per_second") > 0 and replay.pop("seconds") > 0
    assert replays[0] == replays[1] and replays[0]["events"] == 40
