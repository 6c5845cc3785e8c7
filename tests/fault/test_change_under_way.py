"""A model is changed while the daemon serves: what happens in between. The thread that makes the change hangs in a call on
live.json, before the change is on disk or after it."""

import errno
import signal

import pytest
import zmq
from faults import DIE, HANG, RENAME, SYNC, checkpoints, read_checkpoint, service, traces

X = [0.1, 0.2, 0.3]
GROW = {"do": "set", "options": {"arms": 5}}
REST = service.section("checkpoint", {"every": "1h"}) + service.section("journal", {"sync": "never"})
TEXT = service.model(reward_window="1d") + service.model("other") + REST
BEFORE = (RENAME, 1)  # what stands in the folder is the old one
AFTER = (SYNC, 2)  # of the folder: it is the new one


class Pending:
    """A change that hangs, until it is let go on."""

    def __init__(self, one, fault, where=BEFORE, body=None, model="m"):
        self.fault, self.admin = fault, one.admin()
        earlier = {RENAME: 1, SYNC: 4}[where[0]] if (body or GROW)["do"] == "remove" else 0  # of the journal and the checkpoint before
        fault.begin(where[0], DIE, nth=where[1] + earlier, times=1, path="/state", flags=HANG)
        self.admin.send("model", model, {**(body or GROW), "seq": 7})
        self.wait()

    def wait(self):
        service.wait_for(lambda: self.fault.get("failed") > 0, "the thread to hang")

    def go_on(self):
        self.fault.end()

    def answer(self):
        self.go_on()
        return self.admin.receive()


def settled(one, client):
    client.ok("checkpoint")
    return read_checkpoint(checkpoints(one.state)[-1])


def events(client, first, count, arms=3):
    for i in range(first, first + count):
        action = client.decide("m", i, [i % 7 / 7, i % 5 / 5, i % 3 / 3], mask=[True] * arms)
        assert action["a"] < arms
        if i % 3:
            assert client.feedback("m", i, i % 2) == "applied"


@pytest.mark.parametrize("where", [BEFORE, AFTER], ids=["before", "after"])
@pytest.mark.parametrize("learner", ["ensemble", "dgt"])
def test_events_go_on_while_a_model_gets_arms(daemon, fault, learner, where):
    one = daemon(service.model(learner=learner, reward_window="1d") + REST, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    pending = Pending(one, fault, where)
    events(client, 60, 200)
    model = client.model()
    assert model["arms"] == 3 and model["decisions"] == 260
    assert "event=arms_added" not in one.log() and "event=model_change" not in one.log()
    status, reply = pending.answer()
    assert (status, reply) == ("ok", {"applied": ["model m: arms: 3 -> 5"], "restart": [], "seq": 7})
    events(client, 260, 100, arms=5)
    model = client.model()
    assert model["arms"] == 5 and model["decisions"] == 360
    state = settled(one, client)
    for path in checkpoints(one.state):
        path.unlink()
    one.kill()
    one.start()  # from the journal alone, whose record says from which decision on there were five
    assert settled(one, one.client()) == state
    assert one.client().feedback("m", 63, 0.5) == "applied"


@pytest.mark.parametrize("where", [BEFORE, AFTER], ids=["before", "after"])
@pytest.mark.parametrize("learner", ["ensemble", "dgt", "ridge"])
def test_events_go_on_while_a_model_gets_features(daemon, fault, learner, where):
    trees = {"height": None, "trees": None} if learner == "ridge" else {}
    one = daemon(service.model(learner=learner, reward_window="1d", **trees) + REST, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    pending = Pending(one, fault, where, {"do": "set", "options": {"features": 9, "arms": 4}})
    events(client, 60, 200)
    assert client.model()["features"] == 3 and client.model()["decisions"] == 260
    assert pending.answer()[0] == "ok"
    events(client, 260, 100, arms=4)
    assert client.model()["features"] == 9 and client.model()["short_contexts"] == 100
    client.ok("model", "m", {"do": "set", "options": {"features": 12}})  # some wait with three values, some with nine
    events(client, 360, 30, arms=4)
    state = settled(one, client)
    for path in checkpoints(one.state):
        path.unlink()
    one.kill()
    one.start()
    client = one.client()
    assert settled(one, client) == state
    for id in (63, 264, 363):
        assert client.feedback("m", id, 0.5) == "applied"


def hang_in_checkpoint(one, fault, verb, *words):
    fault.begin(RENAME, DIE, times=1, path="/state/coppice", flags=HANG)
    admin = one.admin()
    admin.send(verb, *words)
    service.wait_for(lambda: fault.get("failed") > 0, "the checkpoint's thread to hang")
    return admin


LEAVING = [{"do": "remove"}, {"do": "reset"}, {"do": "reset", "options": {"arms": 4}}]
LEAVING_IDS = ["remove", "reset", "reset to other arms"]


@pytest.mark.parametrize("body", LEAVING, ids=LEAVING_IDS)
def test_others_are_served_while_a_model_leaves(daemon, fault, body):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    state = settled(one, client)
    pending = Pending(one, fault, BEFORE, body)
    for i in range(200):
        client.decide("other", i, X)
        assert client.feedback("other", i, 0.5) == "applied"
    for verb, more in (("decide", {"id": 90, "x": X}), ("feedback", {"id": 3, "loss": 0.5}), ("explain", {"id": 3})):
        refused = client.error(verb, "m", more)
        assert refused["code"] == "busy" and "the model m is being removed or begun anew" in refused["message"]
    assert [m["name"] for m in client.status()["models"]] == ["other"]
    meanwhile = settled(one, client)  # has it as it was
    assert meanwhile["m"]["learner"] == state["m"]["learner"] and meanwhile["m"]["pending"] == state["m"]["pending"]
    assert pending.answer()[0] == "ok"
    if body["do"] == "remove":
        one.kill()
        one.start()
        client = one.client()
        assert client.status()["parked"] == ["m"]
        client.ok("model", "m", {"do": "add"})
        assert settled(one, client)["m"] == state["m"]
        assert client.feedback("m", 3, 0.5) == "applied"
    else:
        assert client.feedback("m", 3, 0.5) == "unknown" and client.model()["decisions"] == 0


@pytest.mark.parametrize("where", [BEFORE, AFTER], ids=["before", "after"])
def test_kill_while_a_model_is_removed_loses_nothing_of_it(daemon, fault, where):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    state = settled(one, client)["m"]
    events(client, 60, 40)
    after = client.model()
    Pending(one, fault, where, {"do": "remove"})
    client.decide("other", 1, X)
    one.kill()
    fault.end()
    one.start()
    client = one.client()
    if where == AFTER:
        assert client.status()["parked"] == ["m"]
        client.ok("model", "m", {"do": "add"})
    model = client.model()
    assert {k: model[k] for k in ("decisions", "learned", "pending", "rev")} == {
        k: after[k] for k in ("decisions", "learned", "pending", "rev")}
    assert settled(one, client)["m"]["learner"] != state["learner"]
    assert client.feedback("m", 63, 0.5) == "applied" and client.feedback("other", 1, 0.5) == "applied"


@pytest.mark.parametrize("kind, nth, body", [
    (RENAME, 1, LEAVING[0]), (RENAME, 2, LEAVING[0]), (SYNC, 5, LEAVING[0]), (RENAME, 1, LEAVING[1])],
    ids=["checkpoint", "rename", "sync", "reset"])
def test_model_that_cannot_leave_is_served_again(daemon, fault, kind, nth, body):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    before = settled(one, client)
    fault.begin(kind, errno.ENOSPC, nth=nth, times=1)
    assert client.error("model", "m", body)["code"] == "internal"
    fault.end()
    assert settled(one, client) == before
    assert [m["name"] for m in client.status()["models"]] == ["m", "other"]
    events(client, 60, 20)
    assert client.feedback("m", 3, 0.5) == "applied"
    assert client.ok("model", "m", body)["applied"]


def test_stop_comes_after_a_model_has_left(daemon, fault):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    admin = hang_in_checkpoint(one, fault, "model", "m", {"do": "remove"})
    one.signal(signal.SIGTERM)
    one.logged("event=stopping")
    fault.end()
    assert admin.receive()[0] == "ok"
    one.wait()
    one.start()
    assert one.client().status()["parked"] == ["m"]


@pytest.mark.parametrize("by_signal", [False, True], ids=["order", "signal"])
def test_reload_that_removes_and_adds_goes_beside_the_loop(daemon, fault, by_signal):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    one.write_config(service.model("other", arms=6) + service.model("new") + REST)
    if by_signal:
        fault.begin(RENAME, DIE, times=1, path="/state/coppice", flags=HANG)
        one.signal(signal.SIGHUP)
        service.wait_for(lambda: fault.get("failed") > 0, "the checkpoint's thread to hang")
    else:
        admin = hang_in_checkpoint(one, fault, "reload", "", {"seq": 3})
    for i in range(100):
        client.decide("other", i, X)
        assert client.feedback("other", i, 0.5) == "applied"
    assert client.model("other")["arms"] == 3 and "event=reload " not in one.log()
    assert "the configuration is being reloaded" in client.error("model", "other", GROW)["message"]
    assert client.error("reload")["code"] == "busy"
    fault.end()
    if not by_signal:
        status, reply = admin.receive()
        assert status == "ok" and reply["seq"] == 3 and len(reply["applied"]) == 3
    one.logged("event=reload result=ok changes=3")
    assert [(m["name"], m["arms"]) for m in client.status()["models"]] == [("other", 6), ("new", 3)]
    assert client.status()["parked"] == ["m"] and client.model("other")["decisions"] == 100


def test_person_is_forgotten_after_a_model_has_left(daemon, fault):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    for i in range(60):
        client.decide("m", f"i{i}", X, unit="ann" if i % 9 == 4 else "ben")
    pending = Pending(one, fault, BEFORE, {"do": "remove"})
    client.ok("forget", "", {"unit": "ann"})
    client.decide("other", 1, X)
    assert pending.answer()[0] == "ok"
    one.logged("event=forgotten")
    assert not traces(one.state, b"i13")


def test_further_orders_wait_for_the_one_under_way(daemon, fault):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    pending = Pending(one, fault)
    for model in ("m", "other", "new"):
        for do in ("add", "set", "unset", "reset", "remove"):
            refused = client.error("model", model, {"do": do, "options": {"arms": 6}})
            assert refused["code"] == "busy" and "the model m is being changed" in refused["message"], refused
    assert client.error("reload")["code"] == "busy"
    assert client.error("model", "m", {"do": "sing"})["code"] == "bad_request"
    assert client.error("decide", "m", {"id": 1, "x": X, "mask": [True] * 5})["code"] == "bad_request"
    client.ok("checkpoint")
    assert pending.answer()[0] == "ok"
    assert client.ok("model", "m", {"do": "set", "options": {"arms": 6}})["applied"] == ["model m: arms: 5 -> 6"]
    assert client.ok("reload") == {"applied": [], "restart": []}


def test_reload_by_a_signal_comes_after_the_change_under_way(daemon, fault):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    pending = Pending(one, fault)
    one.write_config(TEXT + service.model("new"))
    one.signal(signal.SIGHUP)
    events(client, 0, 30)
    assert "event=reload " not in one.log() and len(client.status()["models"]) == 2
    assert pending.answer()[0] == "ok"
    one.logged("event=reload ")
    log = one.log()
    assert log.index("event=model_change") < log.index("event=reload ")
    assert [(m["name"], m["arms"]) for m in client.status()["models"]] == [("m", 5), ("other", 3), ("new", 3)]


@pytest.mark.parametrize("where", [BEFORE, AFTER], ids=["before", "after"])
def test_kill_leaves_one_configuration_or_the_other(daemon, fault, where):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    Pending(one, fault, where)
    client.ok("checkpoint")
    events(client, 60, 60)
    state = client.model()
    one.kill()
    fault.end()
    one.start()
    client = one.client()
    model = client.model()
    assert model["arms"] == (3 if where == BEFORE else 5)
    assert {k: model[k] for k in ("decisions", "learned", "pending", "rev")} == {
        k: state[k] for k in ("decisions", "learned", "pending", "rev")}
    assert client.feedback("m", 63, 0.5) == "applied"
    events(client, 200, 30, arms=model["arms"])
    if where == BEFORE:
        assert client.ok("model", "m", GROW)["applied"] == ["model m: arms: 3 -> 5"]


@pytest.mark.parametrize("body, model, arms", [
    (GROW, "m", 5),
    ({"do": "set", "options": {"features": 6}}, "m", 3),
    ({"do": "set", "options": {"reward_window": "2d"}}, "m", 3),
    ({"do": "add", "options": {"features": 3, "arms": 4}}, "new", 4),
], ids=["arms", "features", "option", "model"])
def test_stop_comes_after_the_change_under_way(daemon, fault, body, model, arms):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 40)
    pending = Pending(one, fault, body=body, model=model)
    events(client, 40, 40)
    one.signal(signal.SIGTERM)
    one.logged("event=stopping")
    pending.go_on()
    assert pending.admin.receive()[0] == "ok"
    one.wait()
    assert "event=model_change" in one.log()
    one.start()
    assert one.client().model(model)["arms"] == arms
    assert one.client().model()["decisions"] == 80 and one.client().feedback("m", 42, 0.5) == "applied"


def test_change_that_cannot_be_written_is_refused_and_nothing_changes(daemon, fault):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    events(client, 0, 60)
    before = settled(one, client)
    for kind in (RENAME, SYNC):
        fault.begin(kind, errno.ENOSPC, times=1)
        refused = client.error("model", "m", GROW)
        assert refused["code"] == "internal" and "live.json" in refused["message"]
        assert refused["message"].startswith("model: ")
        fault.end()
        assert not (one.state / "live.json").exists()
    assert settled(one, client) == before
    assert client.ok("model", "m", GROW)["applied"] == ["model m: arms: 3 -> 5"]


def test_requester_that_left_is_missed_by_nobody(daemon, fault):
    one = daemon(TEXT, env=fault.env)
    client = one.client()
    pending = Pending(one, fault)
    pending.admin.close()
    pending.go_on()
    one.logged("event=model_change")
    assert client.model()["arms"] == 5


def test_person_is_forgotten_while_a_model_gets_arms(daemon, fault):
    twin, one = daemon(TEXT), daemon(TEXT, env=fault.env)
    for at in (twin, one):
        client = at.client()
        for i in range(90):
            if i % 9 == 4 and at is twin:  # whom nobody ever saw
                continue
            body = {"id": i, "x": [i % 7 / 7, i % 5 / 5, 0], "a": i % 3, "p": 0.5, "loss": i % 2}
            assert client.ok("feedback", "m", {**body, "unit": "ann" if i % 9 == 4 else "ben"})["result"] == "applied"
    pending = Pending(one, fault)
    client = one.client()
    client.ok("forget", "", {"unit": "ann"})
    one.logged("event=forgotten")
    assert "relearned=yes" in one.log() and "event=forget_failed" not in one.log()
    assert pending.answer()[0] == "ok"
    twin.client().ok("model", "m", GROW)
    assert settled(one, client)["m"]["learner"] == settled(twin, twin.client())["m"]["learner"]
    assert not traces(one.state, b"ann")


REFIT = {"enabled": True, "every": "365d", "promote": "hand", "holdout": 0.3, "least_feedback": 100}


@pytest.mark.parametrize("when", ["promoted", "rolled back", "comes"])
def test_challenger_that_comes_or_serves_while_a_model_gets_arms(daemon, fault, when):
    inner = service.section("refit", REFIT)
    text = service.model(refits=True, reward_window="1d").rstrip()[:-1] + inner + "}\n" + REST
    one = daemon(text, env=fault.env)
    client = one.client()
    ids = iter(range(10**6))

    def teach(count):
        items = [{"id": (i := next(ids)), "x": [i % 7 / 7, i % 5 / 5, i % 3 / 3]} for _ in range(count)]
        actions = client.ok("decide_batch", "m", {"items": items})["items"]
        losses = [{"id": a["id"], "loss": 0.1 if (a["a"] == 0) == (i["x"][0] < 0.5) else 0.9} for i, a in zip(items, actions)]
        client.ok("feedback_batch", "m", {"items": losses})

    def challenge():
        client.ok("refit", "m")
        service.wait_for(lambda: client.model().get("challenger", {}).get("state") == "shadow", "a challenger")

    for _ in range(5):
        teach(400)
    if when != "comes":
        challenge()
    if when == "rolled back":
        client.ok("promote", "m")
    pending = Pending(one, fault)
    if when == "comes":
        challenge()
    client.ok("rollback" if when == "rolled back" else "promote", "m")
    teach(100)
    assert pending.answer()[0] == "ok"
    teach(100)
    model = client.model()
    assert model["arms"] == 5 and model["challenger"]["state"] == ("shadow" if when == "rolled back" else "serving")
    state = settled(one, client)
    one.kill()
    one.start()
    assert settled(one, one.client()) == state


@pytest.mark.parametrize("body", [GROW, {"do": "reset", "options": {"arms": 4}}, {"do": "remove"}], ids=["grow", "reset", "remove"])
def test_actions_that_wait_for_the_disk_leave_though_their_model_changes(daemon, fault, body):
    one = daemon(start=False, env=fault.env)
    one.write_config(service.model() + service.model("other") + service.section("journal", {"sync": "always"})
                     + service.section("sockets", {"requests": [one.ipc("requests")], "contexts_bind": [one.ipc("contexts")],
                                                   "actions_bind": [one.ipc("actions")]}))
    one.start()
    client, admin = one.client(), one.admin()
    contexts = one.socket(zmq.XPUB, connect=one.ipc("contexts"))
    actions = one.socket(zmq.SUB, connect=one.ipc("actions"), SUBSCRIBE=b"act.m")
    assert contexts.poll(60000)
    service.wait_for(lambda: client.status()["streams"]["subscribers"] == 1, "the subscription")
    fault.begin(SYNC, DIE, path="/state/journal", flags=HANG)
    contexts.send_multipart([b"ctx.m", service.pack({"id": 1, "x": X})])
    service.wait_for(lambda: fault.get("failed") > 0, "the journal's thread to hang")
    admin.send("model", "m", body)
    if body is GROW:  # what a checkpoint goes before waits for the disk, as it always does
        one.logged("event=model_change model=m")
    fault.end()
    assert admin.receive()[0] == "ok"
    assert actions.poll(60000)
    topic, action = actions.recv_multipart()
    assert topic == b"act.m" and service.unpack(action)["id"] == 1
