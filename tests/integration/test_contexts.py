"""What a context may look like: forms of x, names, sparse models, masks."""

import struct

import pytest
from conftest import grow, model, pack

X = [0.25, 1.0, 3.5]


def murmur3(data):
    """MurmurHash3, x86, 32 bits, seed 0, from its published description."""

    def mix(k):
        k = k * 0xCC9E2D51 & 0xFFFFFFFF
        return (k << 15 | k >> 17) * 0x1B873593 & 0xFFFFFFFF

    h, whole = 0, len(data) // 4 * 4
    for at in range(0, whole, 4):
        h ^= mix(int.from_bytes(data[at : at + 4], "little"))
        h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= mix(int.from_bytes(data[whole:], "little")) if len(data) > whole else 0
    h ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor & 0xFFFFFFFF
    return h


def explained(client, x, name="m", raw=None):
    """Experts of the explanation of a context: a figure of x that changes nothing."""
    if raw is not None:
        status, reply = client.raw("explain", name, b"\x81" + pack("x") + raw)
        assert status == "ok", reply
        return reply["experts"]
    return client.ok("explain", name, {"x": x})["experts"]


def array_of(encode, values):
    return bytes([0x90 + len(values)]) + b"".join(encode(v) for v in values)


def test_dense_x_forms_mean_the_same(daemon):
    client = daemon().client()
    grow(client)
    values = [2.0, 0.0, -3.0]  # exact in every form
    expected = explained(client, values)
    forms = [
        array_of(lambda v: b"\xcb" + struct.pack(">d", v), values),
        array_of(lambda v: b"\xca" + struct.pack(">f", v), values),
        array_of(lambda v: struct.pack(">b", int(v)), values),
        array_of(lambda v: b"\xd0" + struct.pack(">b", int(v)), values),
        array_of(lambda v: b"\xd1" + struct.pack(">h", int(v)), values),
        array_of(lambda v: b"\xd2" + struct.pack(">i", int(v)), values),
        array_of(lambda v: b"\xd3" + struct.pack(">q", int(v)), values),
        pack([2, 0.0, -3]),
        b"\xdc\x00\x03" + pack(2) + pack(0) + pack(-3),
        b"\xdd\x00\x00\x00\x03" + pack(2.0) + pack(0) + pack(-3),
        pack(struct.pack("<3f", *values)),
        b"\xc5\x00\x0c" + struct.pack("<3f", *values),
        b"\xc6\x00\x00\x00\x0c" + struct.pack("<3f", *values),
        pack({0: 2.0, 1: 0, 2: -3}),
        pack({2: -3, 0: 2}),
    ]
    for raw in forms:
        assert explained(client, None, raw=raw) == expected, raw.hex()
    assert explained(client, [0.5, 0.0, -3.0]) != expected
    for i, raw in enumerate(forms):
        body = b"\x82" + pack("id") + pack(i) + pack("x") + raw
        assert client.raw("decide", "m", body)[0] == "ok"


def test_dense_x_map_by_configured_names(daemon, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("price\nage in days\n7\n")
    client = daemon(model(feature_names=names)).client()
    grow(client)
    expected = explained(client, X)
    for x in ({"price": 0.25, "age in days": 1, "7": 3.5}, {2: 3.5, "price": 0.25, 1: 1.0}):
        assert explained(client, x) == expected
    assert explained(client, {"price": 2}) == explained(client, [2, 0, 0])
    for wrong in ({"cost": 1}, {"price": 1, 0: 1}, {1: 1, "age in days": 1}, {3: 1}, {-1: 1}, {"": 1}, {b"price": 1}):
        error = client.error("decide", "m", {"id": 1, "x": wrong})
        assert error["code"] == "bad_features" and error["message"].startswith("x")
    assert client.model()["decisions"] == 60


def test_dense_x_names_without_names_file_refused(daemon):
    client = daemon().client()
    assert client.error("decide", "m", {"id": 1, "x": {"price": 1}})["code"] == "bad_features"
    assert client.error("decide", "m", {"id": 1, "x": {0: 1, 5: 1}})["code"] == "bad_features"


SPARSE = dict(features=0, bits=10, max_nonzeros=6)


def test_sparse_names_are_hashed_as_documented(daemon):
    client = daemon(model(**SPARSE)).client()
    for i in range(40):
        client.decide("m", i, {"country=de": 1 + i % 3, "hour": i / 40, 9: 1})
        client.feedback("m", i, (i % 4) / 4)
    mask = 2**10 - 1
    assert murmur3(b"hello") == 0x248BFA47  # a published value
    for name in ("country=de", "hour", "ü", "a", "ab", "abc", "four", "-1", "1.5", "x" * 200):
        index = murmur3(name.encode()) & mask
        assert explained(client, {name: 2}) == explained(client, {index: 2}), name
        assert explained(client, {f"  {name} ": 2}) == explained(client, {index: 2}), name
    assert explained(client, {"9": 2}) == explained(client, {9: 2})
    assert explained(client, {"1033": 2}) == explained(client, {1033 & mask: 2})
    assert explained(client, {"hour": 2, murmur3(b"hour") & mask: 0.5}) == explained(client, {"hour": 2.5})
    assert explained(client, {"hour": 2, "other": 0}) == explained(client, {"hour": 2})
    assert explained(client, [0.5, 0, 2]) == explained(client, {0: 0.5, 2: 2})
    assert explained(client, struct.pack("<3f", 0.5, 0, 2)) == explained(client, {0: 0.5, 2: 2})
    assert explained(client, {"hour": 2}) != explained(client, {"hour": 1})


def test_sparse_wrong_contexts_refused(daemon):
    client = daemon(model(**SPARSE)).client()
    wrongs = [{1024: 1}, {-1: 1}, {2**40: 1}, {i: 1 for i in range(7)}, [1] * 7, {"a": b"1"}, {"a": ["b"]}, "text", 5]
    wrongs += [{"a": float("nan")}, {"a": 1e39}, {1.5: 1}, struct.pack("<7f", *range(7)), b"abc"]
    for wrong in wrongs:
        assert client.error("decide", "m", {"id": 1, "x": wrong})["code"] == "bad_features", wrong
    assert client.model()["decisions"] == 0
    assert client.decide("m", 1, {i: 1 for i in range(6)})["id"] == 1
    assert client.decide("m", 2, {})["id"] == 2


@pytest.mark.parametrize("learner", ["ensemble", "dgt", "value"])
@pytest.mark.parametrize("features", [0, 3])
def test_every_learner_learns_dense_and_sparse(daemon, learner, features):
    client = daemon(model(learner=learner, features=features)).client()
    for i in range(30):
        x = [i % 3, 1, 0] if features else {"a": i % 3, "b": 1}
        client.decide("m", i, x)
        assert client.feedback("m", i, [0.5, 0.25] if learner == "value" else 0.5) == "applied"
    assert (client.model()["rev"] >= 30 // 4, client.model()["learned"]) == (True, 30)


def bits(eligible, arms):
    whole = sum(1 << a for a in eligible)
    return whole.to_bytes((arms + 7) // 8, "little")


@pytest.mark.parametrize("policy", ["epsilon", "squarecb"])
def test_mask_only_eligible_arms_in_500_decisions(daemon, policy):
    arms = 11
    share = {"epsilon": 0.5} if policy == "epsilon" else {}
    client = daemon(model(arms=arms, policy=policy, **share)).client()
    eligible = [0, 3, 8, 10]
    as_array = [a in eligible for a in range(arms)]
    for form in (as_array, [int(e) for e in as_array], bits(eligible, arms)):
        chosen = set()
        for start in range(0, 500, 100):
            items = [{"id": start + i, "x": [i % 7, 1, 0], "mask": form} for i in range(100)]
            actions = client.ok("decide_batch", "m", {"items": items})["items"]
            chosen |= {a["a"] for a in actions}
            assert all(0 < a["p"] <= 1 for a in actions)
            losses = [{"id": a["id"], "loss": 1 - a["a"] / arms} for a in actions]
            client.ok("feedback_batch", "m", {"items": losses})
        assert chosen <= set(eligible)
    assert client.model()["decisions"] == 1500


def test_mask_exploration_is_over_the_eligible(daemon):
    client = daemon(model(arms=8, policy="epsilon", epsilon=1)).client()
    items = [{"id": i, "x": X, "mask": bits([1, 6], 8)} for i in range(300)]
    actions = client.ok("decide_batch", "m", {"items": items})["items"]
    assert {a["a"] for a in actions} == {1, 6} and {a["p"] for a in actions} == {0.5}
    assert client.decide("m", "one", X, mask=bits([4], 8)) == {"id": "one", "a": 4, "p": 1.0, "rev": 0, "greedy": True}


def test_mask_wrong_refused(daemon):
    client = daemon(model(arms=11)).client()
    wrongs = [[True] * 10, [True] * 12, [], [False] * 11, [2] * 11, [1.0] * 11, ["1"] * 11, [None] * 11, "x", 3, None]
    wrongs += [b"\xff", b"\xff\x07\x00", b"\x00\x00", b"\xff\x0f", b"", {0: True}]
    for wrong in wrongs:
        error = client.error("decide", "m", {"id": 1, "x": X, "mask": wrong})
        assert error["code"] == "bad_request" and error["message"].startswith("mask"), wrong
    assert client.model()["decisions"] == 0


def test_mask_of_value_model_refused(daemon):
    client = daemon(model(learner="value")).client()
    assert client.error("decide", "m", {"id": 1, "x": X, "mask": [True]})["code"] == "bad_request"


def test_context_other_keys_are_checked_or_ignored(daemon):
    client = daemon().client()
    good = {"t": 1718000000.5, "defer": False, "src": "web", "n": 3, "seq": 1, "later": [{"any": 1}], "": None}
    assert client.decide("m", "good", X, **good)["id"] == "good"
    wrongs = [("t", "now"), ("t", None), ("t", float("nan")), ("defer", 1), ("src", 5), ("src", "")]
    wrongs += [("src", "s" * 65), ("n", -1), ("n", 1.5), ("n", "1")]
    for key, value in wrongs:
        error = client.error("decide", "m", {"id": 1, "x": X, "src": "web", "n": 1, **{key: value}})
        assert error["code"] == "bad_request" and error["message"].startswith(key), (key, value, error)
    assert client.model()["decisions"] == 1
