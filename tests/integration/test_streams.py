"""Streams: contexts in, actions out, feedback in; losses counted; nobody who is slow or gone stops the others."""

import pytest
import zmq
from conftest import model, pack, section, unpack, wait_for
from hostile import BAD_X, MALFORMED

X = [0.25, 1.0, 3.5]


class Streams:
    """A daemon with all sockets bound, and publishers that have waited for its subscriptions."""

    def __init__(self, daemon, text=None, connect=False):
        self.daemon = daemon(start=False)
        endpoints = {"requests": [self.daemon.ipc("requests")], "actions_bind": [self.daemon.ipc("actions")]}
        for name in ("contexts", "feedback"):
            endpoints[f"{name}_{'connect' if connect else 'bind'}"] = [self.daemon.ipc(name)]
        endpoints["feedback_pull_bind"] = [self.daemon.ipc("pull")]
        self.daemon.write_config((text or model()) + section("sockets", endpoints))
        self.contexts, self.feedback = self.publisher("contexts", connect), self.publisher("feedback", connect)
        self.daemon.start()
        for publisher in (self.contexts, self.feedback):
            self.joined(publisher)
        self.client = self.daemon.client()

    def publisher(self, name, bind=False):
        """An XPUB socket, which hears of subscriptions; nothing is dropped on this side."""
        where = {"bind": self.daemon.ipc(name)} if bind else {"connect": self.daemon.ipc(name)}
        return self.daemon.socket(zmq.XPUB, SNDHWM=0, **where)

    @staticmethod
    def joined(publisher):
        assert publisher.poll(60000), "the daemon did not subscribe"
        assert publisher.recv() in (b"\x01ctx.", b"\x01fb.")

    def subscriptions(self):
        """Those to actions, and those that can match nothing and were left out."""
        status = self.client.status()
        return status["streams"]["subscribers"] + status["queues"]["subscriptions_ignored"]

    def subscriber(self, topic=b"act.", **options):
        before = self.subscriptions()
        socket = self.daemon.socket(zmq.SUB, connect=self.daemon.ipc("actions"), **options)
        socket.subscribe(topic)
        wait_for(lambda: self.subscriptions() > before, "the subscription")
        return socket

    def publish(self, body, name="m", prefix=b"ctx.", raw=False):
        socket = self.contexts if prefix == b"ctx." else self.feedback
        socket.send_multipart([prefix + name.encode(), body if raw else pack(body)])

    def model(self, name="m"):
        return self.client.model(name)


def receive(socket):
    assert socket.poll(60000), "no action came"
    topic, body = socket.recv_multipart()
    return topic, unpack(body)


@pytest.fixture
def streams(daemon):
    return Streams(daemon)


@pytest.mark.parametrize("connect", [False, True])
def test_context_action_feedback_go_round(daemon, connect):
    streams = Streams(daemon, connect=connect)
    actions = streams.subscriber()
    for i in range(50):
        streams.publish({"id": i, "x": X, "seq": i})
        topic, action = receive(actions)
        assert topic == b"act.m" and action.keys() == {"id", "a", "p", "rev", "greedy", "seq"}
        assert action["id"] == action["seq"] == i
        streams.publish({"id": i, "loss": action["a"] / 2}, prefix=b"fb.")
    wait_for(lambda: streams.model()["rev"] == 50, "the feedback to be learned")
    state = streams.model()
    assert state["contexts"] == state["feedback_stream"] == {"received": 50, "malformed": 0, "lost": 0}


def test_array_of_contexts_is_answered_by_one_array(streams):
    actions = streams.subscriber()
    streams.publish([{"id": i, "x": X} for i in range(30)])
    topic, answer = receive(actions)
    assert topic == b"act.m" and [a["id"] for a in answer] == list(range(30))
    streams.publish([{"id": 1, "x": X}, {"id": "bad", "x": [1]}, 5, {"id": "new", "x": X}])
    again = receive(actions)[1]
    assert again[0] == {**answer[1], "repeated": True} and [a["id"] for a in again] == [1, "new"]  # what was refused is left out
    streams.publish([{"id": i, "loss": 0.5} for i in range(30)], prefix=b"fb.")
    wait_for(lambda: streams.model()["rev"] == 30, "the feedback")
    state = streams.model()
    assert state["contexts"] == {"received": 34, "malformed": 2, "lost": 0} and state["pending"] == 1


def test_feedback_by_push_is_learned(streams):
    push = streams.daemon.socket(zmq.PUSH, connect=streams.daemon.ipc("pull"))
    for i in range(100):
        streams.client.decide("m", i, X)
        push.send_multipart([b"fb.m", pack({"id": i, "loss": 0.5})])
    push.send_multipart([b"fb.m", pack([{"id": "x", "loss": 0.5, "x": X, "a": 0, "p": 0.5}, {"id": 1, "loss": 1}])])
    wait_for(lambda: streams.model()["feedback"]["duplicate"] == 1, "the last feedback")
    state = streams.model()
    assert state["rev"] == 101 and state["feedback_stream"]["received"] == 102


def test_requests_and_streams_share_a_model(streams):
    actions = streams.subscriber()
    streams.publish({"id": "shared", "x": X})
    action = receive(actions)[1]
    assert streams.client.decide("m", "shared", X) == {**action, "repeated": True}
    assert streams.client.feedback("m", "shared", 1) == "applied"


def test_value_model_streams_probes(daemon):
    streams = Streams(daemon, text=model(learner="value"))
    actions = streams.subscriber(b"act.m")
    streams.publish({"id": 1, "x": X})
    action = receive(actions)[1]
    assert action.keys() == {"id", "y", "probe", "rev"}
    streams.publish({"id": 1, "loss": [0.5, 0.25]}, prefix=b"fb.")
    wait_for(lambda: streams.model()["rev"] == 1, "the feedback")


def test_gaps_of_sources_are_counted(streams):
    def send(src, *numbers, prefix=b"ctx."):
        for n in numbers:
            rest = {"x": X} if prefix == b"ctx." else {"loss": 0}
            streams.publish({"id": f"{src}{n}", "src": src, "n": n, **rest}, prefix=prefix)

    send("a", 0, 1, 2, 5)  # two are missing
    send("b", 100, 101, 111)  # nine; where it begins is not a loss
    send("a", 6, 7)
    send("a", 0, 1)  # a new start
    send("f", 1, 4, prefix=b"fb.")  # two
    streams.publish({"id": "no source", "x": X, "n": 77})
    wait_for(lambda: streams.model()["contexts"]["received"] == 12, "the contexts")
    wait_for(lambda: streams.model()["feedback_stream"]["received"] == 2, "the feedback")
    assert streams.model()["contexts"] == {"received": 12, "malformed": 0, "lost": 11}
    assert streams.model()["feedback_stream"]["lost"] == 2


def test_refused_messages_are_malformed_and_not_lost(streams):
    publish = streams.publish
    publish({"id": 0, "x": X, "src": "s", "n": 0})
    publish({"id": 1, "x": [1], "src": "s", "n": 1})
    publish({"id": 2, "x": "no", "src": "s", "n": 2})
    publish({"id": 3, "x": X, "src": "s", "n": 5})  # two are missing
    for n in range(3):
        publish({"id": 0, "loss": 7.5 if n == 1 else 0.5, "src": "f", "n": n}, prefix=b"fb.")
    wait_for(lambda: streams.model()["contexts"]["received"] == 4, "the contexts")
    wait_for(lambda: streams.model()["feedback_stream"]["received"] == 3, "the feedback")
    assert streams.model()["contexts"] == {"received": 4, "malformed": 2, "lost": 2}
    assert streams.model()["feedback_stream"] == {"received": 3, "malformed": 1, "lost": 0}


def test_unknown_topics_and_frames_are_counted(streams):
    sends = [[b"ctx.nobody", pack({"id": 1, "x": X})], [b"ctx.", b"\x80"], [b"ctx.m"], [b"ctx.m", b"\x80", b"\x80"]]
    sends += [[b"ctx.m" + b"\0", b"\x80"], [b"ctx." + b"m" * 5000, b"\x80"], [b"ctx.m"] + [b"\x80"] * 40]
    for frames in sends:
        streams.contexts.send_multipart(frames)
    streams.feedback.send_multipart([b"fb.nobody", pack({"id": 1, "loss": 1})])
    wait_for(lambda: streams.client.status()["streams"]["unroutable"] == len(sends) + 1, "the counter")
    state = streams.model()
    assert (state["decisions"], state["contexts"]["received"]) == (0, 0)
    streams.daemon.logged("event=stream_refused")


def test_malformed_messages_are_counted_and_change_nothing(streams):
    streams.client.decide("m", "waiting", X)
    before = streams.model()
    bodies = [pack({"id": 1, "x": x}) for x in BAD_X.values()]
    bodies += [raw for what, raw in MALFORMED.items() if what != "array"]  # an empty array holds no wrong context
    for raw in bodies:
        for prefix in (b"ctx.", b"fb."):
            streams.publish(raw, prefix=prefix, raw=True)
    for loss in (2, float("nan"), "x", [1], None):
        streams.publish({"id": "waiting", "loss": loss}, prefix=b"fb.")
    wait_for(lambda: streams.model()["contexts"]["malformed"] >= len(bodies), "the contexts")
    wait_for(lambda: streams.model()["feedback_stream"]["malformed"] >= len(bodies) + 5, "the feedback")
    after = streams.model()
    for state in (before, after):
        del state["contexts"], state["feedback_stream"]
    assert after == before
    streams.daemon.logged("event=stream_refused")
    lines = [line for line in streams.daemon.log().splitlines() if "stream_refused" in line]
    assert 0 < len(lines) < len(bodies)  # at a limited rate
    streams.publish({"id": "waiting", "loss": 1}, prefix=b"fb.")
    wait_for(lambda: streams.model()["rev"] == 1, "the good feedback")


def test_too_large_stream_messages_are_counted(streams):
    actions = streams.subscriber()
    streams.publish({"id": 1, "x": X, "later": b"z" * (1 << 20)})
    streams.publish({"id": 2, "x": X})
    assert receive(actions)[1]["id"] == 2
    assert streams.model()["contexts"] == {"received": 2, "malformed": 1, "lost": 0}


def test_subscriber_to_one_model_gets_its_actions_only(daemon):
    streams = Streams(daemon, text=model("front") + model("other"))
    actions = streams.subscriber(b"act.front")
    streams.publish({"id": 1, "x": X}, "other")
    streams.publish({"id": 2, "x": X}, "front")
    topic, action = receive(actions)
    assert (topic, action["id"]) == (b"act.front", 2)


def test_late_subscriber_misses_and_leaves(daemon):
    streams = Streams(daemon, text=model(unheard="decide"))
    streams.publish({"id": 1, "x": X})
    wait_for(lambda: streams.model()["decisions"] == 1, "the decision")
    actions = streams.subscriber()
    streams.publish({"id": 2, "x": X})
    assert receive(actions)[1]["id"] == 2
    actions.close()
    wait_for(lambda: streams.client.status()["streams"]["subscribers"] == 0, "the subscription to end")
    assert streams.client.status()["streams"]["actions_dropped"] == 0
