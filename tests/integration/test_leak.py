"""A daemon that served 10,000 events and stopped has lost no memory: valgrind watches it."""

import shutil

import pytest
from conftest import is_sanitized, model, pack, program
from hostile import BAD_X, MALFORMED

EVENTS = 10000
TEXT = (
    model("m", arms=4, features=6, trees=2, height=3)
    + model("s", features=0, bits=8)
    + model("v", learner="value", feedback="one")
    + model("d", learner="dgt")
)


def batches(client, name, count, context, loss):
    for start in range(0, count, 250):
        items = [{"id": i, "x": context(i)} for i in range(start, start + 250)]
        actions = client.ok("decide_batch", name, {"items": items})["items"]
        losses = [{"id": action["id"], "loss": loss(action)} for action in actions]
        results = client.ok("feedback_batch", name, {"items": losses})["items"]
        assert {result["result"] for result in results} == {"applied"}


def test_daemon_that_served_10000_events_has_no_leak(daemon):
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    if is_sanitized(program("COPPICED")):
        pytest.skip("valgrind cannot run a sanitized program")
    checks = ["--quiet", "--leak-check=full", "--error-exitcode=9"]
    checks += ["--errors-for-leak-kinds=definite,indirect,possible"]
    one = daemon(TEXT, command=[valgrind, *checks])
    client = one.client()
    batches(client, "m", EVENTS - 2000, lambda i: [i % 5, i % 3, 1, 0, i % 7, 2], lambda a: a["a"] / 4)
    batches(client, "s", 500, lambda i: {f"name {i % 50}": 1, "b": i % 3, i % 200: 1}, lambda a: a["a"] / 2)
    batches(client, "v", 500, lambda i: [i % 5, i % 3, 1], lambda a: (a["probe"][0] - 0.25) ** 2)
    batches(client, "d", 500, lambda i: [i % 5, i % 3, 1], lambda a: a["a"] / 2)
    for i in range(500):
        client.decide("m", f"single-{i}", [i % 5, 1, 2, 3, 4, 5], mask=b"\x0b")
        assert client.feedback("m", f"single-{i}", 0.5) == "applied"
    for x in BAD_X.values():
        client.error("decide", "v", {"id": 1, "x": x})
    for raw in MALFORMED.values():
        client.raw("feedback", "m", raw)
    for name in "msvd":
        client.ok("explain", name, {"x": {} if name == "s" else [1] * (6 if name == "m" else 3)})
        client.send_raw(b"fly", name.encode(), pack({"seq": 1}))
        assert client.receive()[0] == "error"
    client.ok("reload")
    client.ok("checkpoint")
    client.decide("m", "left waiting", [0] * 6)
    assert sum(m["learned"] for m in client.status()["models"]) == EVENTS
    one.stop(0)  # 9: valgrind found something, and the log says what
    one.start()  # restored from the checkpoint
    assert one.client().model()["pending"] == 1
    one.stop(0)
