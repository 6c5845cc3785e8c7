"""Contexts on streams while nobody subscribes to the actions: they wait, within bounds; an action that no subscriber was
given is no loss by default, now, after a restart and in the journal."""

import json
import subprocess
from pathlib import Path

import pytest
import zmq
from conftest import DEADLINE, model, program, unpack, wait_for
from test_slow_peers import LIGHT, QUEUE
from test_streams import X, Streams, receive


def unheard(streams, key=None, name="m"):
    told = streams.model(name)["unheard"]
    return told if key is None else told[key]


def waiting(streams, count):
    wait_for(lambda: unheard(streams, "waiting") == count, f"{count} waiting contexts")


def ids_of(socket, count):
    """The next actions' ids, of maps and arrays alike."""
    ids = []
    while len(ids) < count:
        body = receive(socket)[1]
        ids += [action["id"] for action in (body if isinstance(body, list) else [body])]
    return ids


NOTHING = {"waiting": 0, "waiting_bytes": 0, "dropped_count": 0, "dropped_bytes": 0, "dropped_age": 0,
           "dropped_forgotten": 0, "decisions": 0}


def test_contexts_wait_for_a_subscriber_and_are_decided_in_order(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h"))
    for i in range(300):
        streams.publish({"id": i, "x": X, "src": "s", "n": i})
    streams.publish([{"id": i, "x": X, "src": "s", "n": i} for i in range(300, 330)] + [{"id": "bad", "x": [1]}])
    waiting(streams, 330)
    state = streams.model()
    assert state["decisions"] == 0 and state["contexts"] == {"received": 331, "malformed": 1, "lost": 0}
    assert state["unheard"]["waiting_bytes"] > 330 * 30
    actions = streams.subscriber()
    assert ids_of(actions, 330) == list(range(330))
    streams.publish({"id": "next", "x": X, "src": "s", "n": 330})
    assert ids_of(actions, 1) == ["next"]
    state = streams.model()
    assert state["decisions"] == 331 and state["unheard"] == NOTHING
    assert state["contexts"] == {"received": 332, "malformed": 1, "lost": 0}


def sleeps(one):
    """At each of many looks."""
    stat = Path(f"/proc/{one.process.pid}/stat")
    return all(stat.read_text().rsplit(") ", 1)[1].startswith("S") for _ in range(100))


def test_daemon_sleeps_while_contexts_wait_and_when_none_do(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h"))
    streams.publish([{"id": i, "x": X} for i in range(300)])
    waiting(streams, 300)
    wait_for(lambda: sleeps(streams.daemon), "coppiced to sleep")
    assert len(receive(streams.subscriber())[1]) == 300
    wait_for(lambda: sleeps(streams.daemon), "coppiced to sleep")


def test_array_that_waited_is_answered_by_one_array(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h"))
    streams.publish([{"id": i, "x": X} for i in (1, 2, 1)])
    waiting(streams, 3)
    answer = receive(streams.subscriber())[1]
    assert [(a["id"], a.get("repeated")) for a in answer] == [(1, None), (2, None), (1, True)]


def test_daemon_restarted_between_publishers_and_subscriber_learns_what_was_answered_alone(daemon):
    streams = Streams(daemon, text=model(default_loss=1, reward_window="1h", unheard_age="1h"))
    actions = streams.subscriber(b"act.m")
    sent = 0

    def publish(count):
        nonlocal sent
        for i in range(sent, sent + count):
            streams.publish({"id": i, "x": X})
        sent += count

    left = streams.contexts.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    publish(100)
    heard = ids_of(actions, 100)
    actions.close()
    wait_for(lambda: streams.client.status()["streams"]["subscribers"] == 0, "the subscription to end")
    streams.daemon.stop()
    assert left.poll(60000), "the publisher did not see the end of its connection"  # what it still gives to that is lost
    streams.contexts.disable_monitor()
    publish(300)  # into the publisher's own queue
    streams.daemon.start()
    publish(100)
    wait_for(lambda: unheard(streams, "waiting") == 400, "the contexts that were sent meanwhile")
    assert streams.model()["decisions"] == 100
    actions = streams.subscriber(b"act.m")
    heard += ids_of(actions, 400)
    assert heard == list(range(500))
    for i in heard:
        streams.publish({"id": i, "loss": 0}, prefix=b"fb.")
    wait_for(lambda: streams.model()["pending"] == 0, "the feedback")
    state = streams.model()
    assert (state["decisions"], state["learned"], state["loss_sum"], state["defaulted"]) == (500, 500, 0, 0)
    assert state["unheard"] == NOTHING


@pytest.mark.parametrize("bound", ["count", "bytes", "age"])
def test_bounds_drop_the_oldest_and_count_them(daemon, bound):
    limit = {"count": {"unheard_max": 5}, "bytes": {"unheard_bytes": "2KiB"}, "age": {"unheard_age": "20ms"}}[bound]
    streams = Streams(daemon, text=model(**{"unheard_age": "1h", **limit}))
    for i in range(12):
        streams.publish({"id": i, "x": X, "later": b"z" * 300})
    key = f"dropped_{bound}"
    wait_for(lambda: sum(unheard(streams, k) for k in ("waiting", key)) == 12, "the contexts")
    if bound == "age":
        wait_for(lambda: unheard(streams, key) == 12, "their age")
    state = unheard(streams)
    left = {"count": 5, "bytes": 5, "age": 0}[bound]
    assert (state["waiting"], state[key]) == (left, 12 - left) and state["waiting_bytes"] <= 2048
    streams.publish([{"id": f"a{i}", "x": X, "later": b"z" * 300} for i in range(6)])  # more than may wait, but for age
    wait_for(lambda: sum(unheard(streams, k) for k in ("waiting", key)) == 18, "the array")
    if bound != "age":
        assert unheard(streams, "waiting") == 0  # it goes as a whole, and what was older had gone before
    streams.daemon.logged("event=actions_unheard dropped=")
    actions = streams.subscriber()
    streams.publish({"id": "heard", "x": X})
    if bound != "age":
        assert ids_of(actions, 1) == ["heard"]
    assert sum(v for k, v in unheard(streams).items() if k.startswith("dropped_") and k != key) == 0


def test_what_brings_its_own_action_never_waits(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h"))
    streams.publish({"id": "waits", "x": X})
    streams.publish({"id": "own", "x": X, "a": 1, "p": 0.5})
    streams.publish([{"id": "own 2", "x": X, "a": 1, "p": 0.5}, {"id": "waits 2", "x": X}])
    wait_for(lambda: streams.model()["decisions"] == 2, "the decisions")
    assert unheard(streams, "waiting") == 2 and streams.client.decide("m", "own", X)["repeated"] is True
    assert unheard(streams, "decisions") == 2  # the model decided, and nobody was given the actions
    assert ids_of(streams.subscriber(), 2) == ["waits", "waits 2"]


def test_apprentice_never_waits(daemon):
    streams = Streams(daemon, text=model(apprentice=True, unheard_age="1h"))
    for i in range(20):
        streams.publish({"id": i, "x": X, "a": 1, "p": 0.5})
    wait_for(lambda: streams.model()["apprentice"]["observed"] == 20, "the decisions of the other system")
    assert unheard(streams) == NOTHING and streams.model()["pending"] == 20


def test_option_decides_at_once_and_learns_the_default(daemon):
    streams = Streams(daemon, text=model(unheard="decide", default_loss=1, reward_window="20ms"))
    for i in range(10):
        streams.publish({"id": i, "x": X})
    wait_for(lambda: streams.model()["defaulted"] == 10, "the default losses")
    assert unheard(streams) == NOTHING


def test_reload_to_the_option_decides_what_waits(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h", reward_window="1h"))
    for i in range(10):
        streams.publish({"id": i, "x": X})
    waiting(streams, 10)
    text = streams.daemon.config.read_text()
    streams.daemon.write_config(text.replace('unheard_age = "1h"', 'unheard = "decide"'))
    applied = streams.client.ok("reload")["applied"]
    assert any("unheard: " in change and "decide" in change for change in applied)
    wait_for(lambda: streams.model()["decisions"] == 10, "the decisions")
    assert unheard(streams) == NOTHING


def test_context_that_a_reload_makes_malformed_is_refused_and_no_gap(daemon, tmp_path):
    for name, names in (("old.txt", "one\ntwo\nthree\n"), ("new.txt", "one\ntwo\nfour\n")):
        (tmp_path / name).write_text(names)
    streams = Streams(daemon, text=model(unheard_age="1h", feature_names=str(tmp_path / "old.txt")))
    for n, feature in enumerate(["one", "three", "two", "one"]):
        streams.publish({"id": n, "x": {feature: 1}, "src": "s", "n": n})
    waiting(streams, 4)
    text = streams.daemon.config.read_text()
    streams.daemon.write_config(text.replace("old.txt", "new.txt"))
    streams.client.ok("reload")
    actions = streams.subscriber()
    assert ids_of(actions, 3) == [0, 2, 3]
    streams.publish({"id": 4, "x": {"four": 1}, "src": "s", "n": 4})
    assert ids_of(actions, 1) == [4]
    assert streams.model()["contexts"] == {"received": 5, "malformed": 1, "lost": 0}


@pytest.mark.parametrize("topic, heard", [(b"", True), (b"act.", True), (b"act.front", True), (b"act.front-page", True),
                                          (b"act.front-page2", False), (b"act.other", False), (b"bct.", False)])  # fmt: skip
def test_subscription_counts_when_it_is_a_prefix_of_the_topic(daemon, topic, heard):
    streams = Streams(daemon, text=model("front-page", unheard_age="1h") + model("another", unheard_age="1h"))
    actions = streams.subscriber(topic)
    streams.publish({"id": 1, "x": X}, "front-page")
    streams.publish({"id": 2, "x": X}, "another")
    whole = len(topic) < 5
    wait_for(lambda: streams.model("another")["contexts"]["received"] == 1, "the contexts")
    assert unheard(streams, "waiting", "another") == (not whole or topic == b"bct.")
    assert unheard(streams, "waiting", "front-page") == (not heard)
    if heard:
        assert receive(actions)[0] == b"act.front-page"


def test_last_subscriber_that_leaves_makes_contexts_wait_again(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h"))
    first, second = streams.subscriber(b"act.m"), streams.subscriber(b"act.")
    streams.publish({"id": 1, "x": X})
    assert ids_of(first, 1) == ids_of(second, 1) == [1]
    first.close()
    wait_for(lambda: streams.client.status()["streams"]["subscribers"] == 1, "one to leave")
    streams.publish({"id": 2, "x": X})
    assert ids_of(second, 1) == [2]
    second.close()
    wait_for(lambda: streams.client.status()["streams"]["subscribers"] == 0, "both to leave")
    streams.publish({"id": 3, "x": X})
    waiting(streams, 1)
    assert ids_of(streams.subscriber(), 1) == [3]
    assert streams.model()["decisions"] == 3 and unheard(streams) == NOTHING


def test_contexts_left_at_the_stop_are_told(daemon):
    streams = Streams(daemon, text=model(unheard_age="1h"))
    streams.publish([{"id": i, "x": X} for i in range(7)])
    waiting(streams, 7)
    streams.daemon.stop()
    streams.daemon.logged("event=contexts_left model=m contexts=7")


# ---- sends that are refused


def records(one, kind):
    command = [program("COPPICE"), "journal", "dump", str(one.state), "--json", "--type", kind]
    out = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def overfill(streams):
    """A subscriber that never reads, and contexts until actions have nowhere to go. How many contexts; the last one's
    action is refused."""
    stuck = streams.subscriber(b"act.", RCVHWM=1)
    sent = 0
    while unheard(streams, "decisions") < 2000:
        for i in range(sent, sent + 4000):
            streams.publish({"id": i, "x": [1]})
        sent += 4000
        wait_for(lambda: streams.model()["decisions"] == sent, "the decisions")
        assert sent < 10 * QUEUE
    return sent, stuck


def settled(streams, sent, marked):
    """The windows have ended: what nobody heard taught nothing."""
    wait_for(lambda: streams.model()["pending"] == 0, "the windows to end")
    state = streams.model()
    answered = state["feedback"]["applied"]
    assert (state["decisions"], state["dropped"], state["evicted"]) == (sent, marked - answered, 0)
    assert state["defaulted"] == sent - marked and state["learned"] == sent - marked + answered
    assert state["loss_sum"] == sent - marked  # 1 each, by default; answers are of loss 0


def shorten_windows(streams):
    text = streams.daemon.config.read_text()
    streams.daemon.write_config(text.replace('reward_window = "1h"', 'reward_window = "1ms"'))


SLOW = LIGHT.replace("{\n", '{\n\tdefault_loss = 1\n\treward_window = "1h"\n', 1)


def test_refused_sends_are_unheard_and_learn_no_default(daemon):
    streams = Streams(daemon, text=SLOW)
    sent, stuck = overfill(streams)
    marked = unheard(streams, "decisions")
    assert streams.model()["learned"] == 0 and streams.client.status()["streams"]["actions_dropped"] > 0
    assert streams.client.feedback("m", sent - 1, 0) == "applied"  # it was refused; whoever answers has heard of it
    told = [record["id"] for record in records(streams.daemon, "unheard")]
    assert len(set(told)) == len(told) == marked and sent - 1 in told and 0 not in told
    shorten_windows(streams)
    streams.client.ok("reload")
    settled(streams, sent, marked)
    stuck.close()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_refused_sends_stay_unheard_after_a_kill(daemon, checkpoint):
    streams = Streams(daemon, text=SLOW)
    sent, stuck = overfill(streams)
    marked = unheard(streams, "decisions")
    if checkpoint:
        streams.client.ok("checkpoint")
    assert streams.client.feedback("m", sent - 1, 0) == "applied"
    streams.daemon.kill()
    stuck.close()
    streams.daemon.start()
    assert streams.model()["decisions"] == sent and streams.model()["pending"] == sent - 1
    shorten_windows(streams)
    streams.client.ok("reload")
    settled(streams, sent, marked)


def test_history_of_refused_sends_has_no_default_losses_of_them(daemon):
    streams = Streams(daemon, text=model(learner="dgt", features=1, arms=2, height=1, default_loss=1, unheard_age="1h"))
    for i in range(10):
        streams.publish({"id": i, "x": [1], "a": 0, "p": 0.5})  # decided at once; nobody is there
    wait_for(lambda: unheard(streams, "decisions") == 10, "the decisions")
    actions = streams.subscriber()
    for i in range(10, 20):
        streams.publish({"id": i, "x": [1]})
    assert ids_of(actions, 10) == list(range(10, 20))
    for i in (3, 15):
        assert streams.client.feedback("m", i, 0) == "applied"
    text = streams.daemon.config.read_text()
    streams.daemon.write_config(text.replace("default_loss = 1", 'default_loss = 1\n\treward_window = "1ms"'))
    streams.client.ok("reload")
    wait_for(lambda: streams.model()["pending"] == 0, "the windows to end")
    assert (streams.model()["defaulted"], streams.model()["dropped"]) == (9, 9)
    streams.daemon.stop()
    command = [program("COPPICE"), "replay", "--format", "journal", str(streams.daemon.state / "journal"), "--json"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    told = json.loads(out)
    assert told["events"] == 11 and told["average_loss"] == pytest.approx(9 / 11)
