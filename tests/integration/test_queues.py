"""What is queued is bounded in bytes: whatever peers send or do not read, others are served and memory stays bounded."""

import pytest
import zmq
from conftest import free_port, is_sanitized, model, pack, program, section, unpack, wait_for
from test_slow_peers import taken
from zmtp_peer import Peer, frame

MIB = 1 << 20
LIMIT = 32  # MiB of queue_limit, unless a test has another
MARGIN = 48  # MiB: what the allocator keeps, and the clients' share of nothing
SMALL = model(learner="dgt", features=1, arms=2, height=1, explain_keep=0)
SOCKETS = ("requests", "contexts", "feedback", "pull", "actions")


class Bounded:
    """A daemon with all sockets, on ipc or tcp, and one good client beside whatever attacks it."""

    def __init__(self, daemon, transport="ipc", limit=LIMIT, text=SMALL, **options):
        self.daemon = daemon(start=False)
        self.limit = limit
        at = {name: self.daemon.ipc(name) if transport == "ipc" else f"tcp://127.0.0.1:{free_port()}" for name in SOCKETS}
        self.at = at
        self.daemon.write_config(
            text
            + section("sockets", {
                "requests": [at["requests"], self.daemon.ipc("good")], "contexts_bind": [at["contexts"]],
                "feedback_bind": [at["feedback"]], "feedback_pull_bind": [at["pull"]],
                "actions_bind": [at["actions"]], "queue_limit": f"{limit}MiB", **options,
            })
        )  # fmt: skip
        self.daemon.launch()
        self.client = self.daemon.client(endpoint=self.daemon.ipc("good"))
        assert self.client.status()
        self.before = self.daemon.memory()[1]

    def queues(self):
        return self.client.status()["queues"]

    def closed(self):
        return self.queues()["closed"]

    def healthy(self):
        few = self.limit * MIB // 16  # half of the length from which requests are answered busy
        wait_for(lambda: self.queues()["received"] <= few, "what was sent to be taken")
        assert self.client.decide("m", "good", [1])["id"] == "good"
        assert self.client.feedback("m", "good", 1) == "applied"
        if not is_sanitized(program("COPPICED")):
            grown = self.daemon.memory()[1] - self.before
            assert grown <= self.limit + MARGIN, f"grew by {grown:.0f} MiB"


@pytest.fixture(params=["ipc", "tcp"])
def bounded(daemon, request):
    one = Bounded(daemon, request.param)
    yield one
    one.healthy()


KINDS = {"requests": b"DEALER", "contexts": b"PUB", "feedback": b"PUB", "pull": b"PUSH"}


@pytest.mark.parametrize("name", KINDS)
def test_endless_multipart_message_costs_the_connection(bounded, name):
    for size in (10000, 10, 0):
        peer, sent = Peer(bounded.at[name], KINDS[name]), 0
        piece = frame(b"ctx.m", more=True) + frame(b"z" * size, more=True) * (1000000 // (size + 100))
        while peer.send(piece):
            sent += len(piece)
            assert sent < 300 * MIB, "it takes it in without end"
        peer.close()
    closed = bounded.closed()
    assert closed["message"] == sum(closed.values()) == 3
    wait_for(lambda: bounded.queues()["unfinished"] == 0, "the messages to be let go")


def test_requests_of_16_mib_cost_their_connections(bounded):
    peers = [Peer(bounded.at["requests"]) for _ in range(50)]
    for _ in range(4):
        for i, peer in enumerate(peers):
            whole = frame(b"decide", more=True) + frame(b"m", more=True) + frame(b"z" * (16 * MIB))
            peer.send(whole)
            peer.close()
            peers[i] = Peer(bounded.at["requests"])
    for peer in peers:
        peer.close()
    wait_for(lambda: bounded.closed()["frame"] == 200, "200 connections to be closed")
    assert sum(bounded.closed().values()) == 200
    assert bounded.client.status()["requests"]["errors"] == 0


def test_unfinished_messages_have_one_share_and_the_largest_goes(bounded):
    share = bounded.limit * MIB // 4
    peers = [Peer(bounded.at["requests"]) for _ in range(60)]
    begun = frame(b"decide", more=True) + frame(b"m", more=True)
    for i, peer in enumerate(peers):
        peer.send(begun + frame(b"z" * (MIB - 1000 * i))[: -10])
    wait_for(lambda: bounded.closed()["memory"] >= 60 - share // (MIB - 60000) - 1, "connections to be closed")
    queues = bounded.queues()
    assert queues["unfinished"] <= share and queues["closed"]["memory"] == sum(queues["closed"].values()) < 60
    for peer in peers:
        peer.close()
    wait_for(lambda: bounded.client.status()["queues"]["unfinished"] == 0, "the rest to be forgotten")


def test_publisher_faster_than_the_daemon_loses_messages_that_are_counted(bounded):
    publisher = bounded.daemon.socket(zmq.XPUB, SNDHWM=0, connect=bounded.at["contexts"])
    assert publisher.poll(60000) and publisher.recv() == b"\x01ctx."
    body, total = pack([{"id": i, "x": [1]} for i in range(60000)]), 300
    assert MIB // 2 < len(body) <= MIB
    for _ in range(total):
        publisher.send_multipart([b"ctx.m", body])
    wait_for(lambda: bounded.client.status()["streams"]["received"] == total, "all messages")
    status = bounded.client.status()
    assert status["streams"]["dropped"] > 0 and status["streams"]["unroutable"] == 0
    assert set(status["queues"]["closed"].values()) == {0}
    assert status["models"][0]["contexts"]["received"] == 60000 * (total - status["streams"]["dropped"])


def test_small_messages_faster_than_the_daemon_stay_bounded(bounded):
    pusher = bounded.daemon.socket(zmq.PUSH, SNDHWM=0, connect=bounded.at["pull"])
    body, total = pack({"id": "nobody", "loss": 1, "later": "z" * 200}), 400000
    for _ in range(total):
        pusher.send_multipart([b"fb.m", body])
    wait_for(lambda: bounded.client.status()["streams"]["received"] == total, "all messages")
    assert set(bounded.closed().values()) == {0}
    wait_for(lambda: bounded.queues()["received"] <= 1024, "the queue to be empty")


def test_too_many_requests_are_answered_busy(daemon):
    one = Bounded(daemon)
    many = one.daemon.client(SNDHWM=0, RCVHWM=0)
    body = pack({"items": [{"id": i, "x": [1]} for i in range(20000)]})
    for _ in range(200):
        many.send_raw(b"decide_batch", b"m", body)
    wait_for(lambda: taken(one.client, 200), "the requests")
    wait_for(lambda: many.receive_raw()[0] == b"error", "one that was refused")
    status = one.client.status()
    assert 0 < status["requests"]["busy"] == status["requests"]["errors"] < 200
    assert set(status["queues"]["closed"].values()) == {0}
    one.healthy()


def test_client_that_never_reads_holds_its_share_only(bounded):
    stuck = bounded.daemon.client(endpoint=bounded.at["requests"], RCVHWM=1, SNDHWM=0)
    body, asked = pack({"items": [{"id": i, "x": [1]} for i in range(20000)]}), 0

    def dropped():
        nonlocal asked
        for _ in range(20):
            stuck.send_raw(b"decide_batch", b"m", body)
        asked += 20
        wait_for(lambda: taken(bounded.client, asked), "the requests")
        return bounded.client.status()["requests"]["replies_dropped"]

    wait_for(dropped, "replies to be dropped")
    assert asked <= 60 and bounded.queues()["answers"] <= bounded.limit * MIB // 4


def test_clients_that_never_read_are_closed_when_together_they_hold_too_much(bounded):
    stuck = [bounded.daemon.client(endpoint=bounded.at["requests"], RCVHWM=1, RECONNECT_IVL=60000) for _ in range(8)]
    body = pack({"items": [{"id": f"{i:0100}", "x": [1]} for i in range(2000)]})  # long answers, and little work

    def closed():
        for client in stuck:
            try:
                client.socket.send_multipart([b"decide_batch", b"m", body], zmq.DONTWAIT)
            except zmq.Again:
                pass
        assert bounded.queues()["answers"] <= bounded.limit * MIB // 4
        return bounded.closed()["slow"]

    wait_for(closed, "one of them to be closed")
    for client in stuck:
        client.close()


def test_subscriber_that_never_reads_large_actions_is_closed_and_others_get_all(bounded):
    options = {"connect": bounded.at["actions"], "RECONNECT_IVL": 600000}
    good = bounded.daemon.socket(zmq.SUB, RCVHWM=0, **options)
    stuck = bounded.daemon.socket(zmq.SUB, RCVHWM=1, **options)
    good.subscribe(b"act.m")
    stuck.subscribe(b"act.")
    publisher = bounded.daemon.socket(zmq.XPUB, SNDHWM=0, connect=bounded.at["contexts"])
    assert publisher.poll(60000)
    wait_for(lambda: bounded.queues()["connections"] >= 4, "all to connect")
    wait_for(lambda: bounded.client.status()["streams"]["subscribers"] == 2, "both subscriptions")
    body, sent = pack([{"id": i, "x": [1]} for i in range(2000)]), 0

    def closed():
        nonlocal sent
        publisher.send_multipart([b"ctx.m", body])
        sent += 1
        assert good.poll(60000) and len(unpack(good.recv_multipart()[1])) == 2000
        return bounded.closed()["slow"]

    wait_for(closed, "the subscriber that does not read to be closed")
    assert bounded.closed()["slow"] == 1
    publisher.send_multipart([b"ctx.m", body])
    assert good.poll(60000)


def test_subscriptions_that_match_nothing_never_reach_zeromq(bounded):
    good = bounded.daemon.socket(zmq.SUB, connect=bounded.at["actions"])
    for topic in (b"act.m", b"act.other", b"weather"):
        good.subscribe(topic)
    for round in range(20):
        crowd = []
        for i in range(50):
            one = bounded.daemon.context.socket(zmq.SUB)
            one.linger = 0
            one.connect(bounded.at["actions"])
            for k in range(20):
                one.subscribe(f"topic-{round}-{i}-{k}-" + "z" * 40)
            crowd.append(one)
        ignored = 1000 * (round + 1) + 2
        wait_for(lambda: bounded.queues()["subscriptions_ignored"] >= ignored, "the subscriptions")
        for one in crowd:
            one.close()
    status = bounded.client.status()
    assert status["streams"]["subscribers"] == 1
    assert set(status["queues"]["closed"].values()) == {0}
    publisher = bounded.daemon.socket(zmq.XPUB, connect=bounded.at["contexts"])
    assert publisher.poll(60000)
    publisher.send_multipart([b"ctx.m", pack({"id": 1, "x": [1]})])
    assert good.poll(60000) and good.recv_multipart()[0] == b"act.m"


def test_subscriptions_that_match_work_whatever_their_length(bounded):
    publisher = bounded.daemon.socket(zmq.XPUB, connect=bounded.at["contexts"])
    assert publisher.poll(60000)
    for number, topic in enumerate([b"", b"a", b"act.", b"act.m"]):
        one = bounded.daemon.socket(zmq.SUB, connect=bounded.at["actions"])
        one.subscribe(topic)
        wait_for(lambda: bounded.client.status()["streams"]["subscribers"] == 1, "the subscription")
        publisher.send_multipart([b"ctx.m", pack({"id": number, "x": [1]})])
        assert one.poll(60000) and unpack(one.recv_multipart()[1])["id"] == number
        one.unsubscribe(topic)
        wait_for(lambda: bounded.client.status()["streams"]["subscribers"] == 0, "the subscription to go")
    assert bounded.queues()["subscriptions_ignored"] == 0


def test_subscriber_that_never_stops_subscribing_is_closed(bounded):
    peer = Peer(bounded.at["actions"], b"SUB")
    turn = (frame(b"\x01act.m") + frame(b"\x00act.m")) * 1000
    while peer.send(turn):
        pass
    assert bounded.closed()["subscriptions"] == 1
    for content in (b"\x01" + b"z" * 600, b"z" * 100000):
        peer = Peer(bounded.at["actions"], b"SUB")
        peer.send(frame(content))
        assert peer.closed()
    assert bounded.closed()["frame"] == 2
    ignored = bounded.queues()["subscriptions_ignored"]
    peer = Peer(bounded.at["actions"], b"SUB")
    peer.send(frame(b"\x01act.m", more=True) + frame(b"\x01act.m") + frame(b"") + frame(b"message"))
    wait_for(lambda: bounded.queues()["subscriptions_ignored"] == ignored + 4, "the messages to be left out")


def test_what_speaks_no_zmtp_is_closed(bounded):
    for first in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" + bytes(8) + b"\x7f\x01" + bytes(53), bytes(64)):
        peer = Peer(bounded.at["requests"], greet=False)
        peer.send(first)
        assert peer.closed()
    assert bounded.closed()["not_zmtp"] == 3
