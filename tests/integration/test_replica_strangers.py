"""What is no leader and no follower at the link of replicas: broken frames, foreign epochs, messages in any order. They are
refused and counted, nothing of them is applied, and whoever speaks well is served."""

import random
import socket

import zmq
from conftest import grow, pack, unpack, wait_for
from test_replica import follows, instance, sections

WELCOME = {"k": "welcome", "version": 1, "epoch": 1, "next": 1, "first": 1, "name": "x", "program": "0", "live": "", "requests": ""}
BEAT = {"k": "beat", "epoch": 1, "next": 5, "time": 1.0, "requests": ""}
RECORDS = {"k": "records", "epoch": 1, "first": 1, "count": 1}
STATE = {"k": "state", "epoch": 1, "sequence": 1}
PART = {"k": "part", "model": "", "number": 1, "size": 9, "offset": 0}
REFUSED = {"k": "refused", "epoch": 1, "reason": "no", "leader": "", "requests": ""}
LEADS = {"k": "leads", "epoch": 1, "leader": "", "requests": ""}
JOIN = {"k": "join", "version": 1, "epoch": 0, "next": 1, "last_epoch": 0, "last_crc": 0, "alone": 0, "full": 0, "forgot": 0, "name": "s", "program": "0",
        "kernel": "none"}
HAVE = {"k": "have", "epoch": 0, "written": 2**60, "synced": 2**60, "applied": 2**60, "bytes": 2**60}
ASK = {"k": "ask", "model": "../../etc", "number": 1, "offset": 2**63}


def state_of(one):
    client = one.client()
    state = client.status()["replica"]
    client.close()
    return state


def strange(rng, kinds):
    """Frames: a message, whole, cut, changed in a byte or of another number of frames."""
    head = pack(rng.choice(kinds))
    frames = [head] + [rng.randbytes(rng.choice((0, 3, 40)))] * rng.choice((0, 1, 1, 2))
    way = rng.randrange(4)
    if way == 0:
        frames[0] = head[: rng.randrange(len(head))]
    elif way == 1:
        at = rng.randrange(len(head))
        frames[0] = head[:at] + bytes([rng.randrange(256)]) + head[at + 1 :]
    return frames


def test_leader_is_not_moved_by_strangers(daemon):
    rng = random.Random(7)
    leader = instance(daemon, "a", journal={"sync": "replica"}).start()
    strangers = [leader.context.socket(zmq.DEALER) for _ in range(3)]
    for one in strangers:
        one.connect(leader.ipc("link"))
    for _ in range(600):
        rng.choice(strangers).send_multipart(strange(rng, [JOIN, HAVE, ASK, WELCOME, BEAT, RECORDS, REFUSED]))
    for one in strangers:
        one.send(pack(JOIN))
        answer = unpack(one.recv_multipart()[0])
        assert answer["k"] == "refused"
    client = leader.client()
    client.send("decide", "m", {"id": 1, "x": [0, 0, 0]})  # nobody has it, whatever they said
    assert not client.socket.poll(300)
    follower = instance(daemon, "b", of=[leader]).start()
    assert client.receive()[1]["id"] == 1
    grow(client)
    follows(leader, follower)
    assert sections(leader) == sections(follower)
    wait_for(lambda: state_of(leader)["refused"] > 100, "strangers' messages to be refused")
    for one in strangers:
        one.close(0)


def newest(stranger, peer=None):
    """The connection by which a follower joined last: when it is not answered in time, it joins by another one."""
    while stranger.poll(0 if peer else 60000):
        peer = stranger.recv_multipart()[0]
    return peer


def leave(one, stranger):
    """Closes a socket that is bound to the link of an instance, which cannot be started while anything listens there: the
    library's own thread closes it."""
    stranger.close(0)

    def free():
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(one.ipc("link").removeprefix("ipc://")) != 0

    wait_for(free, "the link to be free")


def test_follower_takes_nothing_of_strangers(daemon):
    rng = random.Random(11)
    leader = instance(daemon, "a")
    follower = instance(daemon, "b", of=[leader])
    stranger = follower.context.socket(zmq.ROUTER)
    stranger.bind(leader.ipc("link"))
    follower.start()
    peer, head = stranger.recv_multipart()
    assert unpack(head)["k"] == "join"
    kernel = {"kernel": unpack(head)["kernel"]}
    kinds = [{**WELCOME, **kernel}, BEAT, RECORDS, STATE, PART, REFUSED, LEADS, JOIN]

    def speak(count):  # what is under way to a connection that it has given up is lost
        nonlocal peer
        for _ in range(count):
            peer = newest(stranger, peer)
            stranger.send_multipart([peer, *strange(rng, kinds)])
        return state_of(follower)["broken"] > 20

    speak(400)
    wait_for(lambda: speak(10), "messages to be counted")
    assert follower.client().model()["decisions"] == 0 and follower.client().status()["journal"]["next"] == 1
    leave(leader, stranger)
    leader.start()
    leader.client().ok("lead", "", {"epoch": 1000})
    grow(leader.client())
    follows(leader, follower)
    assert sections(leader) == sections(follower)


def test_epochs_that_are_over_are_fenced(daemon):
    leader = instance(daemon, "a")
    follower = instance(daemon, "b", of=[leader])
    told = follower.context.socket(zmq.DEALER)
    stranger = follower.context.socket(zmq.ROUTER)
    stranger.bind(leader.ipc("link"))
    follower.start()
    stranger.recv_multipart()
    told.connect(follower.ipc("link"))
    told.send(pack({**LEADS, "epoch": 9, "leader": "tcp://nowhere:1"}))
    wait_for(lambda: state_of(follower)["epoch"] == 9, "the epoch to be heard of")
    peer, sent = newest(stranger), 0

    def fenced():
        nonlocal peer, sent
        peer = newest(stranger, peer)
        for message in (BEAT, REFUSED):
            stranger.send_multipart([peer, pack(message)])
            sent += 1
        return state_of(follower)["fenced"] >= 10

    wait_for(fenced, "them to be fenced")
    assert state_of(follower)["fenced"] <= sent and state_of(follower)["broken"] == 0
    told.close(0)
    stranger.close(0)
