"""Events of event logs: each position is taken once, is in the journal and in checkpoints, and comes back with them."""

import json
import shutil
import subprocess
import urllib.request

import pytest
from conftest import free_port, model, pack, program, section, wait_for
from test_streams import Streams, receive

X = [0.25, 1.0, 3.5]


def known(client, name="m"):
    return client.ok("positions", name)["positions"]


def decide(client, id, *at, **more):
    return client.ok("decide", "m", {"id": id, "x": X, "from": ["log", *at], **more})


def feedback(client, id, loss, *at):
    return client.ok("feedback", "m", {"id": id, "loss": loss, "from": ["rewards", *at]})


def test_each_event_is_taken_once(daemon):
    one = daemon(model())
    client = one.client()
    assert known(client) == []
    first = decide(client, "a", 0, 10)
    assert known(client) == [["log", 0, 10]]
    before = client.model()
    again = decide(client, "a", 0, 10, seq=7)
    assert again == {**first, "repeated": True, "seq": 7}
    assert decide(client, "other", 0, 9) == {"id": "other", "repeated": True}  # of the past: nothing waits under it
    now = client.model()
    assert now["position_repeats"] == 2 and now["decisions"] == before["decisions"] == 1 and now["repeated"] == 0
    assert "repeated" not in decide(client, "b", 1, 10)  # another partition
    assert feedback(client, "a", 0.5, 0, 1, 4) == {"id": "a", "result": "applied"}
    assert feedback(client, "a", 0.5, 0, 1, 4) == {"id": "a", "result": "duplicate", "repeated": True}
    assert feedback(client, "b", 0.5, 0, 1, 3)["repeated"]
    assert feedback(client, "b", 0.5, 0, 1, 5)["result"] == "applied"
    assert known(client) == [["log", 0, 10], ["log", 1, 10], ["rewards", 0, 1, 5]]
    assert client.model()["feedback"] == {"applied": 2, "recorded": 0, "duplicate": 0, "late": 0, "unknown": 0}


def test_what_is_refused_does_not_move_the_position(daemon):
    client = daemon(model()).client()
    assert client.error("decide", "m", {"id": 1, "x": [1], "from": ["log", 0, 5]})["code"] == "bad_features"
    assert client.error("feedback", "m", {"id": 1, "loss": 9, "from": ["log", 0, 5]})["code"] == "bad_loss"
    for wrong in (5, "log", [], ["log", 0], ["", 0, 1], ["log", -1, 1], ["log", 0, 1, 2, 3], ["n" * 65, 0, 1]):
        error = client.error("decide", "m", {"id": 1, "x": X, "from": wrong})
        assert error["code"] == "bad_request" and "expected [source, partition, offset]" in error["message"]
    assert known(client) == [] and client.model()["decisions"] == 0
    decide(client, 1, 0, 5)
    assert known(client) == [["log", 0, 5]]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_positions_outlive_a_kill(daemon, checkpoint):
    one = daemon(model())
    client = one.client()
    for i in range(20):
        decide(client, i, i % 3, i)
        feedback(client, i, 0.25, 0, 0, i + 1)
        if checkpoint and i == 11:
            client.ok("checkpoint")
    decide(client, 3, 2, 100)  # an id that is answered, and so decided anew
    decide(client, 3, 2, 101)  # an id that waits: no record of its own but the position's
    was, state = known(client), client.model()
    assert was == [["log", 0, 18], ["log", 1, 19], ["log", 2, 101], ["rewards", 0, 0, 20]]
    one.kill()
    one.start()
    client = one.client()
    assert known(client) == was
    now = client.model()
    assert [now[k] for k in ("decisions", "rev", "pending")] == [state[k] for k in ("decisions", "rev", "pending")]
    assert feedback(client, 19, 0.25, 0, 0, 20)["repeated"] and decide(client, 3, 2, 101)["repeated"]
    text = subprocess.run([program("COPPICE"), "journal", "dump", one.state / "journal", "--type", "position", "--json"],
                          capture_output=True, text=True, check=True).stdout
    assert [json.loads(line)["from"] for line in text.splitlines()] == [["log", 2, 101]]


def sections_of(path):
    """What a checkpoint holds of the model, without the times in its head."""
    data = path.read_bytes()
    return data[data.index(b"settings"):]


def test_replay_gives_the_bytes_of_the_live_run(daemon, tmp_path):
    one = daemon(model())
    client = one.client()
    for i in range(40):
        decide(client, i, i % 4, i)
        if i % 2:
            feedback(client, i, 0.5, 0, i)
    copy = tmp_path / "copy"
    client.ok("checkpoint")
    live = sorted(one.state.glob("coppice.*.checkpoint"))[-1]
    shutil.copytree(one.state, copy)
    one.kill()
    for path in copy.glob("coppice.*.checkpoint"):
        path.unlink()
    text = one.config.read_text().replace(str(one.state), str(copy))
    assert "sockets" in text
    one.config.write_text(text)
    one.start()
    replayed = sorted(copy.glob("coppice.*.checkpoint"))[-1]
    assert sections_of(replayed) == sections_of(live) and b"positions" in sections_of(live)


def test_a_batch_goes_on_from_where_the_model_is(daemon):
    client = daemon(model()).client()

    def batch(after, *offsets, **more):
        items = [{"id": f"i{n}", "x": X, "from": ["log", 0, n], **more} for n in offsets]
        return client.request("decide_batch", "m", {"items": items, "after": after})

    status, reply = batch(["log", 0, 3], 4)
    assert status == "error" and reply["code"] == "behind" and known(client) == []
    status, reply = batch(None, 4, 5, 6)
    assert status == "ok" and [i["id"] for i in reply["items"]] == ["i4", "i5", "i6"]
    assert batch(["log", 0, 7], 8)[1]["code"] == "behind"
    assert batch(["log", 1, 1], 8)[1]["code"] == "behind"
    status, reply = batch(["log", 0, 6], 6, 7)
    assert status == "ok" and [i.get("repeated", False) for i in reply["items"]] == [True, False]
    assert batch(7, 8)[1]["code"] == "bad_request"
    assert known(client) == [["log", 0, 7]]


def test_the_table_is_bounded(daemon):
    client = daemon(model()).client()
    items = [{"id": n, "x": X, "from": ["log", n, 1]} for n in range(1025)]
    reply = client.ok("decide_batch", "m", {"items": items})["items"]
    assert all("a" in item for item in reply[:-1])
    assert reply[-1]["code"] == "bad_request" and "1024 partitions" in reply[-1]["message"]
    assert len(known(client)) == 1024 and client.model()["decisions"] == 1024
    assert "repeated" not in decide(client, "more", 7, 2)


def test_streams_carry_positions(daemon):
    streams = Streams(daemon)
    actions = streams.subscriber()
    for n, id in ((1, "a"), (1, "a"), (1, "gone"), (2, "b")):
        streams.publish({"id": id, "x": X, "from": ["log", 0, n]})
    got = [receive(actions)[1] for _ in range(3)]
    assert [(a["id"], a.get("repeated", False)) for a in got] == [("a", False), ("a", True), ("b", False)]
    streams.publish([{"id": id, "x": X, "from": ["log", 0, n]} for n, id in ((2, "gone"), (3, "c"))])
    assert [a["id"] for a in receive(actions)[1]] == ["c"]
    for _ in range(2):
        streams.publish({"id": "a", "loss": 0.5, "from": ["log", 1, 1]}, prefix=b"fb.")
    streams.publish({"id": "b", "loss": 0.5, "from": ["log", 1, 2]}, prefix=b"fb.")
    wait_for(lambda: streams.model()["rev"] == 2, "the feedback to be learned")
    assert streams.model()["feedback"]["duplicate"] == 0 and known(streams.client) == [["log", 0, 3], ["log", 1, 2]]


def test_forgetting_keeps_positions(daemon):
    one = daemon(model())
    client = one.client()
    decide(client, "a", 0, 1, unit="tom")
    decide(client, "b", 0, 2, unit="ann")
    feedback(client, "a", 0.5, 0, 1)
    decide(client, "c", 1, 7, unit="tom")
    was = known(client)
    tool = [program("COPPICE"), "ctl", "--endpoint", one.ipc("admin"), "forget", "tom"]
    subprocess.run(tool, check=True, capture_output=True, timeout=120)
    assert known(client) == was
    one.kill()
    one.start()
    client = one.client()
    assert known(client) == was
    assert decide(client, "a", 0, 1) == {"id": "a", "repeated": True}


def test_http_and_ctl_know_positions(daemon):
    port = free_port()
    one = daemon(model() + section("api", {"listen": f"127.0.0.1:{port}"}))
    body = json.dumps({"id": "a", "x": X, "from": ["log", 0, 5]}).encode()
    for again in (False, True):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models/m/decide", body,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            assert json.load(reply).get("repeated", False) == again
    tool = [program("COPPICE"), "ctl", "--endpoint", one.ipc("requests"), "--json", "positions", "m"]
    text = subprocess.run(tool, check=True, capture_output=True, text=True, timeout=60).stdout
    assert json.loads(text)["positions"] == [["log", 0, 5]]
    assert one.client().raw("positions", "m", pack({"seq": 3}))[1]["seq"] == 3
