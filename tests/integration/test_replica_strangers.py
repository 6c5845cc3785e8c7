"""What is no leader and no follower at the link of replicas: broken frames, foreign epochs, messages in any order. They are
refused and counted, nothing of them is applied, and whoever speaks well is served."""

import itertools
import random

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
    assert sections(leader) == sections(follower) and state_of(leader)["refused"] > 100
    for one in strangers:
        one.close(0)


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
    for _ in range(400):
        stranger.send_multipart([peer, *strange(rng, kinds)])
        while stranger.poll(0):
            peer = stranger.recv_multipart()[0]
    wait_for(lambda: state_of(follower)["broken"] > 20, "messages to be counted")
    assert follower.client().model()["decisions"] == 0 and follower.client().status()["journal"]["next"] == 1
    stranger.close(0)
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
    peer = stranger.recv_multipart()[0]
    for message in itertools.islice(itertools.cycle((BEAT, REFUSED)), 10):
        stranger.send_multipart([peer, pack(message)])
    wait_for(lambda: state_of(follower)["fenced"] == 10, "all to be fenced")
    told.close(0)
    stranger.close(0)
