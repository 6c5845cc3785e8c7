"""What one client sends costs another nothing: limits of a client's line, and whose waiting decisions give way."""

import pytest
import zmq
from conftest import model, pack, section, wait_for
from test_api import X, Api
from test_curve import Keys, context


@pytest.fixture
def keys(daemon, tmp_path):
    return lambda rights, **more: Keys(daemon, tmp_path, rights, **more)


def decide(client, ids, name="m"):
    """Decided one after the other, as fast as they come."""
    for id in ids:
        client.send("decide", name, context(id))
    replies = [client.receive() for _ in ids]
    assert all(status == "ok" for status, _ in replies), replies


def waiting(client, ids, name="m"):
    """Those of the ids whose decision waits."""
    return [id for id in ids if client.request("explain", name, {"id": id})[0] == "ok"]


def batch(prefix, count):
    return {"items": [context(f"{prefix}-{i}") for i in range(count)]}


# ---- rates


def test_rate_refuses_the_rest_of_a_burst_and_nobody_elses(keys):
    k = keys({"shop": "all rate=1", "other": "all"})
    shop, other = k.client("shop"), k.client("other")
    for i in range(30):
        shop.send("decide", "m", context(f"shop-{i}"))
    replies = [shop.receive() for _ in range(30)]
    refused = [reply for status, reply in replies if status == "error"]
    assert 1 <= 30 - len(refused) < 30
    assert {r["code"] for r in refused} == {"busy"}
    assert refused[0]["message"] == "shop sends more events than its line allows in a second; expected to be sent again later"
    decide(other, [f"other-{i}" for i in range(100)])
    status = k.local.status()["requests"]
    assert status["limited"] == status["busy"] == len(refused)
    assert k.local.model("m")["decisions"] == 130 - len(refused)
    k.one.logged("event=client_limited name=shop reason=")
    wait_for(lambda: shop.request("decide", "m", context("later"))[0] == "ok", "the next second")


def test_items_of_a_batch_count_and_are_paid_for_afterwards(keys):
    k = keys({"shop": "all rate=1"})
    shop = k.client("shop")
    assert len(shop.ok("decide_batch", "m", batch("a", 40))["items"]) == 40
    assert shop.error("decide_batch", "m", batch("b", 2))["code"] == "busy"
    assert k.local.model("m")["decisions"] == 40


def test_bytes_are_limited_too(keys):
    k = keys({"shop": "all bytes=512B"})
    shop = k.client("shop")
    assert shop.ok("decide_batch", "m", batch("a", 400))["items"]
    assert "more bytes than its line allows" in shop.error("decide", "m", context("b"))["message"]


def test_streams_beyond_the_limit_are_dropped_and_counted(keys):
    k = keys({"judge": "feedback rate=1", "boss": "all"})
    decide(k.client("boss"), range(50))
    judge = k.socket("judge", zmq.XPUB, "feedback")
    judge.recv()  # the daemon's subscription
    for id in range(50):
        judge.send_multipart([b"fb.m", b"\x82\xa2id" + bytes([id]) + b"\xa4loss\x01"])
    wait_for(lambda: k.local.model("m")["feedback_stream"]["received"] == 50, "all of them")
    applied = k.local.model("m")["feedback"]["applied"]
    assert 1 <= applied < 50
    assert k.local.status()["requests"]["limited"] == 50 - applied == k.local.model("m")["feedback_stream"]["malformed"]


def test_limits_change_with_a_reload(keys):
    k = keys({"shop": "all rate=1"})
    shop = k.client("shop")
    shop.ok("decide_batch", "m", batch("a", 20))
    assert shop.error("status")["code"] == "busy"
    k.write({"shop": "all"})
    k.local.ok("reload")
    for _ in range(20):
        shop.ok("status")
    k.write({"shop": "all rat=1"})
    assert "expected rate=N" in k.local.error("reload")["message"]


# ---- waiting decisions


@pytest.mark.parametrize("flood", ["other", None], ids=["key", "no-key"])
def test_nobodys_decisions_give_way_to_those_of_one_with_more(keys, flood):
    k = keys({"shop": "all", "other": "all"}, model_options={"pending_max": 40})
    shop = k.client("shop")
    flooding = k.client(flood) if flood else k.local
    own = [f"shop-{i}" for i in range(10)]
    decide(shop, own)
    decide(flooding, [f"flood-{i}" for i in range(200)])
    assert waiting(shop, own) == own
    assert waiting(flooding, [f"flood-{i}" for i in range(200)]) == [f"flood-{i}" for i in range(170, 200)]
    decide(shop, [f"more-{i}" for i in range(10)])  # up to a half the flood's give way, then its own
    assert waiting(shop, own) == own and k.local.model("m")["pending"] == 40
    decide(shop, [f"most-{i}" for i in range(4)])
    assert waiting(shop, own) == own[4:]
    assert len(waiting(flooding, [f"flood-{i}" for i in range(200)])) == 20
    assert [shop.feedback("m", id, 0.5) for id in (own[0], own[4])] == ["late", "applied"]


@pytest.mark.parametrize("journal", [True, False])
def test_owners_survive_a_kill_and_a_restart(keys, journal):
    k = keys({"shop": "all", "other": "all"}, model_options={"pending_max": 30})
    if not journal:
        k.one.stop()
        k.one.config.write_text(k.one.config.read_text() + section("journal", {"enabled": False}))
        k.one.start()
    shop, other = k.client("shop"), k.client("other")
    own = [f"shop-{i}" for i in range(8)]
    decide(shop, own[:4])
    decide(other, [f"first-{i}" for i in range(100)])
    k.local.ok("checkpoint")
    decide(shop, own[4:] if journal else [])
    if journal:
        k.one.kill()
        k.one.start()
    else:
        k.one.restart()
        own = own[:4]
    decide(other, [f"second-{i}" for i in range(100)])
    assert waiting(shop, own) == own


def test_limit_of_waiting_decisions_is_each_models(keys):
    k = keys({"shop": "all pending=3", "other": "all"})
    shop, other = k.client("shop"), k.client("other")
    decide(other, range(10))
    decide(shop, [f"m-{i}" for i in range(5)])
    decide(shop, [f"n-{i}" for i in range(3)], "n")
    assert waiting(shop, [f"m-{i}" for i in range(5)]) == ["m-2", "m-3", "m-4"]
    assert len(waiting(shop, [f"n-{i}" for i in range(3)], "n")) == 3 and len(waiting(other, range(10))) == 10
    assert k.local.model("m")["evicted"] == 2


@pytest.mark.parametrize("array", [False, True], ids=["alone", "array"])
def test_contexts_that_waited_for_a_subscriber_are_their_senders(keys, array):
    """The flood comes from a key, and from a client without one: whose own decisions would give way if they were one."""
    k = keys({"shop": "all", "other": "all pending=9"}, model_options={"pending_max": 30})
    own = [f"own-{i}" for i in range(20)]
    decide(k.local, own)
    flood = k.socket("other", zmq.XPUB, "contexts")
    flood.recv()
    items = [{"id": id, "x": [0, 1, 2]} for id in range(20)]
    for body in [items] if array else items:
        flood.send_multipart([b"ctx.m", pack(body)])
    wait_for(lambda: k.local.model("m")["unheard"]["waiting"] == 20, "contexts that wait")
    actions = k.socket("shop", zmq.SUB, "actions")
    actions.subscribe("act.m")
    wait_for(lambda: k.local.model("m")["decisions"] == 40, "the flood")
    assert waiting(k.local, own) == own and waiting(k.local, range(20)) == list(range(11, 20))


def test_contexts_on_streams_are_their_senders(keys):
    k = keys({"shop": "all", "other": "all"}, model_options={"pending_max": 20})
    shop = k.client("shop")
    own = [f"shop-{i}" for i in range(6)]
    decide(shop, own)
    actions = k.socket("shop", zmq.SUB, "actions")
    actions.subscribe("act.m")
    wait_for(lambda: k.streams()["subscribers"] == 1, "the subscription")
    flood = k.socket("other", zmq.XPUB, "contexts")
    flood.recv()
    for id in range(100):
        flood.send_multipart([b"ctx.m", b"\x82\xa2id" + bytes([id]) + b"\xa1x\x93\x00\x01\x02"])
    wait_for(lambda: k.local.model("m")["decisions"] == 106, "the flood")
    assert waiting(shop, own) == own


# ---- over HTTP


def test_tokens_have_the_same_limits(daemon, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("shop 0123456789abcdef all rate=1\nother 0123456789abcdeg all\nfew 0123456789abcdeh all pending=2\n")
    tokens.chmod(0o600)
    api = Api(tokens=str(tokens))
    one = daemon(api.section + model(pending_max=10))

    def ask(token, path, body):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer 0123456789abcde{token}"}
        return api.ask("POST", f"/v1/models/m/{path}", body, headers)

    assert ask("f", "decide_batch", batch("a", 60))[0] == 200
    status, headers, problem = ask("f", "decide", context("b"))
    assert status == 429 and headers["Retry-After"] == "1" and problem["code"] == "busy"
    assert problem["detail"].startswith("shop sends more events than its line allows")
    for i in range(20):
        assert ask("g", "decide", context(f"other-{i}"))[0] == 200
    local = one.client()
    own = ["few-1", "few-2"]
    for id in ["few-0", *own]:
        assert ask("h", "decide", context(id))[0] == 200
    assert waiting(local, ["few-0", *own]) == own
    for i in range(50):
        assert ask("g", "decide", context(f"more-{i}"))[0] == 200
    assert waiting(local, own) == own and local.model("m")["pending"] == 10


def test_a_models_rate_bounds_all_its_events_and_no_others(daemon):
    one = daemon(start=False)
    sockets = {"requests": [one.ipc("requests")], "contexts_bind": [one.ipc("contexts")], "feedback_pull_bind": [one.ipc("pull")]}
    one.write_config(model(rate=5, unheard="decide") + model("free") + section("sockets", sockets))
    one.start()
    client = one.client()
    got = [client.request("decide", "m", {"id": i, "x": X}) for i in range(100)]
    refused = [reply for status, reply in got if status == "error"]
    assert 5 <= 100 - len(refused) < 60 and {reply["code"] for reply in refused} == {"busy"}  # a second's worth, and what came since
    assert "the model m is sent more events than its rate allows" in refused[0]["message"]
    assert all(client.request("decide", "free", {"id": i, "x": X})[0] == "ok" for i in range(100))
    assert client.model()["rate"] == 5 and client.model()["limited"] == len(refused) and "rate" not in client.model("free")
    for verb in ("explain", "status", "history"):  # questions are no events
        assert client.request(verb, "m", {"x": X} if verb == "explain" else {})[0] == "ok"
    push = one.socket(zmq.PUSH, connect=one.ipc("pull"))
    for i in range(100):
        push.send_multipart([b"fb.m", pack({"id": i, "loss": 0})])
    wait_for(lambda: client.model()["feedback_stream"]["received"] == 100, "the stream")
    state = client.model()
    assert state["feedback_stream"]["malformed"] == state["limited"] - len(refused) > 20
    assert state["decisions"] == 100 - len(refused)


def test_a_batch_passes_whole_and_is_paid_for_afterwards(daemon):
    one = daemon(model(rate=50))
    client = one.client()
    items = [{"id": i, "x": X} for i in range(5000)]
    assert len(client.ok("decide_batch", "m", {"items": items})["items"]) == 5000
    assert client.error("decide", "m", {"id": "next", "x": X})["code"] == "busy"
    one.write_config(model())
    assert client.ok("reload")["applied"] == ["model m: rate: 50 -> 0"]
    assert client.ok("decide", "m", {"id": "next", "x": X})

