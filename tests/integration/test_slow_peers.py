"""Peers that read slowly, stop reading or vanish: the daemon goes on serving the others and counts what they missed."""

import zmq
from conftest import model, pack, unpack, wait_for
from test_streams import Streams

QUEUE = 65536  # messages that the daemon keeps for one peer
LIGHT = model(learner="dgt", features=1, arms=2, height=1, explain_keep=0)


def taken(client, count):
    """Whether so many requests of other clients were taken, however often this one asks, or some of theirs are lost."""
    status = client.status()
    lost = status["requests"]["replies_dropped"] + sum(status["queues"]["closed"].values())
    return lost or status["requests"]["received"] - client.asked >= count


def test_slow_subscriber_misses_actions_and_stops_nobody(daemon):
    streams = Streams(daemon, text=LIGHT)
    healthy = streams.subscriber(b"act.m", RCVHWM=0)
    stuck = streams.subscriber(b"act.", RCVHWM=1)  # it never reads
    total, received = QUEUE + 24464, []

    def read():
        while healthy.poll(0):
            received.append(unpack(healthy.recv_multipart()[1])["id"])
        return len(received)

    for start in range(0, total, 500):
        for i in range(start, start + 500):
            streams.publish({"id": i, "x": [1]})
        # The daemon answers requests all the while.
        wait_for(lambda: streams.client.status()["models"][0]["decisions"] >= start, "the contexts")
        read()
    wait_for(lambda: read() == total, "all actions")
    assert received == list(range(total))
    state = streams.client.status()
    assert state["streams"]["actions_dropped"] > 0 and state["models"][0]["decisions"] == total
    assert state["models"][0]["contexts"]["malformed"] == 0
    assert state["models"][0]["unheard"]["decisions"] == 0  # the healthy one was given them all
    stuck.close()
    dropped = state["streams"]["actions_dropped"]
    wait_for(lambda: streams.client.status()["streams"]["subscribers"] == 1, "the slow one to leave")
    for i in range(100):
        streams.publish({"id": f"after-{i}", "x": [1]})
    wait_for(lambda: read() == total + 100, "the actions after it left")
    assert streams.client.status()["streams"]["actions_dropped"] == dropped


def test_client_that_stops_reading_is_counted_and_stops_nobody(daemon):
    one = daemon(LIGHT)
    stuck, good = one.client(RCVHWM=1, SNDHWM=0), one.client()
    asked = 0
    body = pack({"id": 1, "x": [1]})

    def more():
        nonlocal asked
        for _ in range(2000):
            stuck.send_raw(b"decide", b"m", body)
        asked += 2000
        wait_for(lambda: taken(good, asked + 1), "the requests")  # and the start's own
        return good.status()["requests"]["replies_dropped"]

    wait_for(more, "replies to be dropped")
    assert good.decide("m", "good", [1])["id"] == "good"
    assert good.feedback("m", "good", 1) == "applied"
    assert one.memory()[1] < 2000


def test_unread_large_replies_are_bounded_by_their_bytes(daemon):
    one = daemon(LIGHT)
    stuck, good = one.client(RCVHWM=1, SNDHWM=0), one.client()
    body = pack({"items": [{"id": i, "x": [1]} for i in range(20000)]})  # replies of about a megabyte
    asked = 0

    def more():
        nonlocal asked
        for _ in range(20):
            stuck.send_raw(b"decide_batch", b"m", body)
        asked += 20
        wait_for(lambda: taken(good, asked + 1), "the requests")  # and the start's own
        return good.status()["requests"]["replies_dropped"]

    before = one.memory()[1]
    wait_for(more, "replies to be dropped")
    assert asked <= 600 and one.memory()[1] - before < 1000
    assert good.decide("m", "good", [1])["id"] == "good"
    one.logged("event=messages_dropped replies=")


def test_clients_that_vanish_are_counted_and_stop_nobody(daemon):
    one = daemon()
    good = one.client()
    body = pack({"items": [{"id": i, "x": [1, 2, 3]} for i in range(200)]})

    def vanish():
        gone = one.client(SNDHWM=0)
        for _ in range(300):
            gone.send_raw(b"decide_batch", b"m", body)
        gone.receive_raw()
        gone.close()  # the others are on their way or unanswered
        return good.status()["requests"]["replies_dropped"]

    wait_for(vanish, "replies to be dropped")
    assert good.decide("m", "good", [1, 2, 3])["id"] == "good"


def test_many_clients_come_and_go(daemon):
    one = daemon()
    for i in range(200):
        client = one.client(zmq.REQ if i % 2 else zmq.DEALER)
        client.decide("m", i, [1, 2, 3])
        client.close()
    client = one.client()
    assert client.model()["decisions"] == 200
    assert client.status()["requests"]["replies_dropped"] == 0
