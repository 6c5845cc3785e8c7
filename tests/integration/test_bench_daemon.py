"""coppice bench daemon: that it runs whole in a short time, and what it refuses; no figure is judged here."""

import json

import pytest
from conftest import coppice, model, spoiled

PARTS = ("decide_one_at_a_time", "decide_pipelined", "learn_pipelined", "learn_batched")
QUICK = ("--rounds", 3, "--seconds", 0.02, "--timeout", 60)


def bench(*args, status=0):
    return coppice("bench", *args, status=status)


def of(endpoint, features=3):
    return ("daemon", "--endpoint", endpoint, "--model", "m", "--features", features, *QUICK)


def check_figures(result):
    assert set(result["events_per_second"]) == set(PARTS)
    figures = list(result["events_per_second"].values())
    figures += [result["latency"][key] for key in ("p50_us", "p99_us", "p999_us")]
    for figure in figures:
        assert 0 < figure["low"] <= figure["daemon"] <= figure["high"]
    learned = result["events_per_second"]["learn_pipelined"]["daemon"]
    assert result["latency"]["requests_per_second"] == pytest.approx(learned / 2)


@pytest.mark.parametrize("more", [(), ("--floats", "--batch", 3, "--inflight", 5)])
def test_bench_daemon_measures_a_running_daemon(daemon, more):
    one = daemon(model())
    result = json.loads(bench(*of(one.ipc("requests")), *more, "--json")[0])
    check_figures(result)
    assert (result["features"], result["rounds"], result["seconds"]) == (3, 3, 0.02)
    assert (result["batch"], result["inflight"]) == ((3, 5) if more else (64, 64))
    status = one.client().model("m")
    assert status["decisions"] > status["learned"] > 0


def test_bench_daemon_text_is_whole(daemon):
    out, err = bench(*of(daemon(model()).ipc("requests")), "--inflight", 9)
    assert err == ""
    for line in ("model m; 3 features as packed float32; medians of 3 rounds", "decide, one at a time", "decide, 9 in flight",
                 "decide + feedback, 9 in flight", "batches of 64", "p50", "p99", "p99.9"):
        assert line in out


@pytest.mark.parametrize("args,says", [
    ((), "expected load, daemon or parse FILE"),
    (("daemon",), "daemon: expected --endpoint EP, --model NAME and --features D"),
    (("daemon", "--endpoint", "ipc://x", "--features", 3), "daemon: expected --endpoint EP, --model NAME and --features D"),
    (("daemon", "--model", "m", "--endpoint", "ipc://x"), "daemon: expected --endpoint EP, --model NAME and --features D"),
    (("load", "--endpoint", "ipc://x", "--model", "m"), "load: expected --endpoint EP, --model NAME and --features D"),
    (("daemon", "--events", 5), "daemon does not take all of these options"),
    (("load", "--rounds", 5), "load does not take all of these options"),
    (("--rounds", 5, "load"), "load does not take all of these options"),
    (("daemon", "more"), "expected load, daemon or parse FILE"),
    (("daemon", "--rounds", 0), "--rounds: '0' given"),
    (("kernels",), "expected load, daemon or parse FILE"),
])
def test_bench_daemon_refuses_wrong_usage(args, says):
    out, err = bench(*args, status=2)
    assert out == "" and err.startswith(f"coppice bench: {says}")


def test_bench_daemon_of_wrong_features_fails(daemon):
    assert "bad_features" in bench(*of(daemon(model()).ipc("requests"), 4), status=1)[1]


def test_bench_daemon_of_a_model_of_values_is_refused_by_its_endpoint(daemon):
    endpoint = daemon(model(learner="value")).ipc("requests")
    err = bench(*of(endpoint), status=1)[1]
    assert err == f"coppice bench: {endpoint}: a model of arms is expected, this one has values\n"


def without_last(reply):
    return {**reply, "items": reply["items"][:-1]}


def with_first_refused(reply):
    return {**reply, "items": [{"code": "bad_features", "message": "no"}, *reply["items"][1:]]}


def without_seq(reply):
    return {key: value for key, value in reply.items() if key != "seq"}


@pytest.mark.parametrize("verb,spoil,says", [
    (b"decide_batch", without_last, "the reply to a batch has other items"),
    (b"feedback_batch", without_last, "the reply to a batch has other items"),
    (b"decide_batch", with_first_refused, "an event of a batch was refused"),
    (b"feedback_batch", with_first_refused, "an event of a batch was refused"),
    (b"decide_batch", without_seq, "a reply carries no seq of ours"),
    (b"decide", without_seq, "a reply carries no seq of ours"),
    (b"decide", lambda reply: {**reply, "seq": reply["seq"] + 64}, "a reply carries no seq of ours"),
    (b"decide", lambda reply: {"id": reply["id"]}, "a: the key is missing"),
    (b"feedback", lambda reply: {"id": reply["id"]}, "result: the key is missing"),
])
def test_bench_daemon_answers_that_are_wrong_are_told(daemon, verb, spoil, says):
    one = daemon(model())
    with spoiled(one, verb, spoil) as endpoint:
        out, err = bench(*of(endpoint), status=1)
    assert out == "" and err.startswith(f"coppice bench: {endpoint}: ") and says in err
