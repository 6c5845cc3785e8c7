"""coppice ctl forget: whom it names, contexts that nobody heard yet, and what it prints."""

import re

import pytest
from conftest import coppice, model, wait_for
from test_forget import DISK, forget, live, traces
from test_streams import Streams, receive

X = [0.25, 1.0, 3.5]


def printed(one, *words, status=0):
    return coppice("ctl", "--endpoint", one.ipc("admin"), "forget", *words, status=status)[status != 0]


def test_binary_units_and_ids(daemon):
    one = daemon(model("m") + DISK)
    client = one.client()
    for i, unit in enumerate([b"person-bin", "person-bin", b"\xff\xfehex"]):
        client.ok("decide", "m", {"id": f"d{i}", "unit": unit, "x": X})
    client.ok("decide", "m", {"id": b"\x01bin-id", "x": X})
    # A string names no binary one: that nothing was found is an error, and says how else it may have been sent.
    assert forget(one, "person-bin")["models"][0]["decisions"] == 1
    said = printed(one, "person-bin", status=1)
    assert "nothing of this unit was found" in said and "--binary" in said
    assert {text for _, text in traces(one.state, [b"person-bin"])} == {b"person-bin"}
    assert forget(one, "--binary", b"person-bin".hex())["models"][0]["decisions"] == 1
    assert forget(one, "--binary", b"\xff\xfehex".hex().upper())["waiting"] == 1
    assert forget(one, "--id", "--binary", b"\x01bin-id".hex())["waiting"] == 1
    assert traces(one.state, [b"person-bin", b"\xff\xfehex", b"\x01bin-id"]) == []
    assert client.model()["pending"] == 0


@pytest.mark.parametrize("words, status, expected", [
    (["x" * 65], 1, "UNIT: expected 1 to 64 bytes"), (["--id", "x" * 65], 1, "ID: expected 1 to 64 bytes"),
    (["--binary", "abc"], 1, "UNIT: expected 1 to 64 bytes, two hexadecimal digits each"),
    (["--binary", "zz"], 1, "hexadecimal"), (["--binary", "ff" * 65], 1, "hexadecimal"), (["--binary", ""], 1, "64 bytes"),
    (["--binary", "--string", "ff"], 2, "one of --string and --binary"),
    (["--id", "never"], 1, "nothing of this id was found"),
])
def test_names_that_cannot_be(daemon, words, status, expected):
    assert expected in printed(daemon(), *words, status=status)


def test_times_are_printed(daemon):
    one = daemon(model("m") + DISK)
    live(one.client(), 0, 20, "m")
    text = printed(one, "tom")
    times = re.findall(r"  (?:first|last) +(\S+)", text)
    assert len(times) == 2 and all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", t) for t in times)


def test_contexts_that_nobody_heard_are_not_decided(daemon):
    streams = Streams(daemon, model("m", unheard_age="1h") + DISK)
    one = streams.daemon
    for i in range(10):
        streams.publish({"id": f"t{i}", "unit": "tom", "x": X})
    streams.publish([{"id": f"a{i}", "unit": "tom" if i % 2 else "ann", "x": X} for i in range(6)])
    wait_for(lambda: streams.model()["unheard"]["waiting"] == 16, "the contexts")
    done = forget(one, "tom")
    assert (done["contexts"], done["models"], done["relearned"]) == (13, [], False)
    unheard = streams.model()["unheard"]
    assert (unheard["waiting"], unheard["dropped_forgotten"]) == (3, 13)
    one.logged("contexts=13")
    assert "actions_unheard" not in one.log()
    body = receive(streams.subscriber())[1]
    assert [action["id"] for action in body] == ["a0", "a2", "a4"]
    assert streams.model()["decisions"] == 3
    one.stop()
    assert traces(one.state, [b"tom"]) == []


def test_contexts_of_an_id_or_of_another_model(daemon):
    streams = Streams(daemon, model("m", unheard_age="1h") + model("n", unheard_age="1h") + DISK)
    for name in "mn":
        streams.publish([{"id": f"{name}{i}", "unit": "tom", "x": X} for i in range(3)], name)
        wait_for(lambda: streams.model(name)["unheard"]["waiting"] == 3, "the contexts")
    assert forget(streams.daemon, "--id", "m1")["contexts"] == 1
    assert forget(streams.daemon, "tom", "n")["contexts"] == 3
    assert [streams.model(name)["unheard"]["waiting"] for name in "mn"] == [2, 0]
