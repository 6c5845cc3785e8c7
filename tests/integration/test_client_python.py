"""The client of clients/python against a running daemon: what it returns, how calls share messages, what errors and
time-outs look like. The daemon is killed under it in tests/fault/test_client_killed.py."""

import asyncio
import pickle
import threading
from array import array

import pytest
import zmq
from conftest import DEADLINE, model, spoiled, wait_for
from python_client import coppice
from test_curve import Keys
from test_journal import dump


@pytest.fixture
def client(daemon):
    """client(one, ...): a client of that daemon."""
    made = []

    def make(one, **options):
        made.append(coppice.Client(one.ipc("requests"), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_decide_and_reward_are_what_the_daemon_counts(daemon, client):
    one = daemon()
    ours = client(one)
    action = ours.decide("m", [0.5, 1.0, 0.0])
    assert action.a in (0, 1, 2) and 0 < action.p <= 1 and action.durable and not action.repeated
    again = ours.decide("m", [0.5, 1.0, 0.0], id=action.id)
    assert again.repeated and (again.a, again.p) == (action.a, action.p)
    assert ours.reward("m", action.id, 0.75).result == "applied"
    second = ours.feedback("m", action.id, 0.25)
    assert second.result == "duplicate" and second.taken
    assert not ours.feedback("m", "nobody", 0.25).taken
    counted = one.client().model()
    assert (counted["decisions"], counted["learned"], counted["loss_sum"]) == (1, 1, 0.25)


def test_features_in_every_form_are_the_same_context(daemon, client):
    numpy = pytest.importorskip("numpy")
    ours = client(daemon())
    values = [0.5, 1.0, 0.25]
    forms = [values, tuple(values), array("f", values), array("d", values), array("f", values).tobytes(),
             bytearray(array("f", values).tobytes()), numpy.array(values), numpy.array(values, dtype="float32"),
             {0: 0.5, 1: 1.0, 2: 0.25}, [numpy.float32(v) for v in values], (v for v in values)]
    reasons = [ours.explain("m", x=form) for form in forms]
    assert all(reason == reasons[0] for reason in reasons)
    assert reasons[0] != ours.explain("m", x=[0.5, 1.0, 9.0]) or reasons[0]["rev"] == 0


def test_other_verbs(daemon, client):
    one = daemon(model(reward_window="1h"))
    ours = client(one)
    action = ours.decide("m", [0, 1, 2], defer=True, probabilities=True, mask=[True, False, True], t=17)
    assert action.probabilities[1] == 0 and sum(action.probabilities) == pytest.approx(1)
    assert ours.explain("m", id=action.id)["a"] == action.a
    assert [ours.activate("m", action.id).result for _ in range(2)] == ["applied", "duplicate"]
    assert ours.daemon_version == ours.status()["version"] == one.client().status()["version"]
    assert "version" not in action.body and "version" not in ours.explain("m", id=action.id)
    assert ours.status()["models"][0]["pending"] == ours.status("m")["models"][0]["pending"] == 1
    with pytest.raises(coppice.Forbidden, match="checkpoint is administration; expected at ipc://"):
        ours.request("checkpoint")
    with coppice.Client(one.ipc("admin")) as administrator:
        assert administrator.request("checkpoint")["sequence"] >= 1
    with pytest.raises(coppice.UnknownVerb):
        ours.request("dance")


def test_control_group_by_unit(daemon, client):
    ours = client(daemon(model(holdout=0.5, baseline="caller")))
    made = {unit: ours.decide("m", [0, 1, 2], unit=unit, observed=(1, 1.0)) for unit in range(40)}
    assert {action.by for action in made.values()} == {"holdout", None}
    assert all(action.a == 1 for action in made.values() if action.by)
    assert all(ours.decide("m", [2, 1, 0], unit=unit, observed=(2, 0.5)).by == made[unit].by for unit in made)


def test_limit_that_decided(daemon, client):
    ours = client(daemon(model("n", share_max=["0=0", "1=0"]) + model()))
    assert {(action.a, action.limit) for action in (ours.decide("n", [0, 1, 2]) for _ in range(9))} == {(2, "share_max")}
    assert ours.decide("m", [0, 1, 2]).limit in (None, "least_propensity")


def test_named_losses(daemon, client):
    one = daemon(model(losses=["click=1", "revenue=-0.02"], loss_ranges=["revenue=0:50"], loss_range=[-1, 1]))
    ours = client(one)
    action = ours.decide("m", [0, 1, 2])
    assert ours.feedback("m", action.id, {"click": 1, "revenue": 25.5}).result == "applied"
    assert ours.feedback("m", "elsewhere", {"revenue": 0, "click": 0}, x=[0, 1, 2], a=1, p=0.5).result == "applied"
    assert [x["mean_loss"] for x in ours.status("m")["models"][0]["losses"]] == [0.5, 12.75]
    with pytest.raises(coppice.BadLoss, match="losses: revenue: missing"):
        ours.feedback("m", "x", {"click": 1})
    with pytest.raises(coppice.BadLoss, match="losses of this model have names"):
        ours.feedback("m", "x", 0.5)


def test_arms_by_name(daemon, client, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_text("left\nmiddle\nright\n")
    one = daemon(model(arm_names=names) + model("a", arm_names=names, apprentice=True) + model("n"))
    ours = client(one)
    action = ours.decide("m", [0, 1, 2], mask=["middle"])
    assert (action.a, action.arm) == (1, "middle")
    assert ours.explain("m", x=[0, 1, 2], mask=["right"])["a"] == 2
    assert ours.feedback("m", "own", 0.5, x=[0, 1, 2], a="right", p=0.5, unit="who").result == "applied"
    seen = ours.decide("a", [0, 1, 2], observed=("left", 0.5))
    assert (seen.a, seen.arm, seen.p) == (0, "left", 0.5)
    with pytest.raises(coppice.BadRequest):
        ours.decide("m", [0, 1, 2], mask=["up"])
    assert ours.decide("n", [0, 1, 2]).arm is None
    one.stop()
    assert [line["id"] for line in dump(one, "--unit", "who")] == ["own"]


def test_rank_values_and_apprentice(daemon, client):
    ours = client(daemon(
        model("r", "rank", arms=None, features=2, candidate_features=1, reward_window="1h")
        + model("v", "value", features=1) + model("a", apprentice=True)))
    ranked = ours.rank("r", [1, 0], [[0.1], array("f", [0.2]), [0.3]], order=True, mask=[True, True, False])
    assert sorted(ranked.order) == [0, 1] and ranked.a in (0, 1)
    assert ours.feedback("r", "elsewhere", 1.0, x=[1, 0], c=[0.5], p=0.5).result == "applied"
    value = ours.decide("v", [0.5])
    assert value.a is None and len(value.probe) == 2 and value.y is not None
    assert ours.feedback("v", value.id, (0.25, 0.5)).result == "applied"
    seen = ours.decide("a", [1, 2, 3], observed=(2, 0.5))
    assert (seen.a, seen.p) == (2, 0.5)
    with pytest.raises(coppice.NotDecided):
        ours.decide("a", [1, 2, 3])


def test_bad_input_has_an_error_of_its_own(daemon, client):
    one = daemon()
    ours = client(one)
    for attempt, kind, words in (
        (lambda: ours.decide("m", [1, 2]), coppice.BadFeatures, "x: got 2 values, expected 3"),
        (lambda: ours.decide("m", [1, 2, float("nan")]), coppice.BadFeatures, "x"),
        (lambda: ours.decide("other", [1, 2, 3]), coppice.UnknownModel, "other"),
        (lambda: ours.decide("m", [1, 2, 3], mask=[True]), coppice.BadRequest, "mask"),
        (lambda: ours.rank("m", [1, 2, 3], [[1]]), coppice.BadRequest, ""),
        (lambda: ours.feedback("m", "x", 7), coppice.BadLoss, "loss"),
        (lambda: ours.decide("m", bytes(1024 * 1024)), coppice.TooLarge, ""),
        (lambda: ours.decide("m", bytes(2 * 1024 * 1024)), coppice.TooLarge, "connection ended"),
        (lambda: ours.explain("m", id="nobody"), coppice.BadRequest, "id"),
        (lambda: ours.explain("m"), TypeError, "either id or x"),
        (lambda: ours.decide(7, [1, 2, 3]), TypeError, "model: expected a string, got int"),
        (lambda: ours.decide("m", [1, 2, 3], timeout=float("nan")), ValueError, "timeout: nan, expected seconds"),
        (lambda: ours.decide("m", "text"), TypeError, "x: .* a string"),
        (lambda: ours.decide("m", None), TypeError, "x: .* nothing"),
        (lambda: ours.decide("m", 3), TypeError, "x: .* int"),
        (lambda: ours.decide("m", [1, 2, {3}]), TypeError, "x: a set cannot be sent"),
        (lambda: ours.decide("m", [1, 2, 3], id=True), TypeError, "id: .* bool"),
        (lambda: ours.decide("m", [1, 2, 3], id=""), ValueError, "id: 0 bytes"),
        (lambda: ours.decide("m", [1, 2, 3], id="ä" * 33), ValueError, "id: 66 bytes"),
        (lambda: ours.decide("m", [1, 2, 3], id=2**64), ValueError, "id"),
        (lambda: ours.feedback("m", "x", "0.5"), TypeError, "loss"),
        (lambda: ours.reward("m", "x", 1.5), ValueError, "outside"),
        (lambda: ours.rank("m", [1], "text"), TypeError, "candidates"),
        (lambda: coppice.Client("nowhere"), ValueError, "endpoint 'nowhere'"),
        (lambda: coppice.CurveKeys("a", "b", "c"), ValueError, "server_key: 1 characters"),
    ):
        with pytest.raises(kind, match=words):
            attempt()
    with pytest.raises(coppice.BadFeatures) as caught:
        ours.decide("m", [1, 2], id="mine")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.id, str(copy)) == ("bad_features", "mine", str(caught.value))
    assert one.client().model()["decisions"] == 0


def test_calls_of_64_threads_share_messages(daemon, client):
    one = daemon()
    ours = client(one, retry_after=60)
    ready = threading.Barrier(64)
    actions = {}

    def run(number):
        ready.wait()
        for turn in range(8):
            actions[number, turn] = ours.decide("m", [number / 64, turn / 8, 1.0], id=f"{number}-{turn}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {action.id for action in actions.values()} == {f"{n}-{t}" for n in range(64) for t in range(8)}
    assert all(action.id == f"{n}-{t}" and not action.repeated for (n, t), action in actions.items())
    state = one.client().status()
    assert state["models"][0]["decisions"] == 512
    assert state["requests"]["received"] <= 512 / 4  # each thread waits for its answer before its next call


def test_one_bad_call_of_a_batch_spoils_no_other(daemon, client):
    """A body that is nested too deeply makes the daemon refuse the whole message."""
    ours = client(daemon())
    deep = [1]
    for _ in range(20):
        deep = [deep]
    outcomes = {}
    ready = threading.Barrier(32)

    def run(number):
        ready.wait()
        for turn in range(4):
            try:
                outcomes[number, turn] = ours.decide("m", deep if number == 7 else [1, 2, 3])
            except coppice.RequestError as error:
                outcomes[number, turn] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (number, _), outcome in outcomes.items():
        assert isinstance(outcome, coppice.RequestError if number == 7 else coppice.Action), outcome
    assert ours.status("m")["models"][0]["decisions"] == 31 * 4


def test_many_in_one_message(daemon, client):
    one = daemon()
    ours = client(one, retry_after=60)
    before = one.client().status()["requests"]["received"]
    actions = ours.decide_many("m", [{"id": i, "x": [i, 1, 2]} for i in range(100)] + [{"id": "bad", "x": [1]}])
    assert [action.id for action in actions] == [*range(100), "bad"]
    assert isinstance(actions.pop(), coppice.BadFeatures)
    results = ours.feedback_many("m", [{"id": action.id, "loss": 0.5} for action in actions])
    assert {result.result for result in results} == {"applied"}
    assert one.client().status()["requests"]["received"] - before == 3  # and the status itself
    with pytest.raises(TypeError, match=r"items\[1\]: id"):
        ours.decide_many("m", [{"id": 1, "x": [1, 2, 3]}, {"x": [1, 2, 3]}])


def test_without_a_daemon_calls_end_in_time(daemon, client):
    one = daemon(start=False)
    ours = client(one, timeout=0.2)
    with pytest.raises(coppice.Timeout):
        ours.decide("m", [1, 2, 3])
    with pytest.raises(TimeoutError):
        ours.decide("m", [1, 2, 3], timeout=0)
    one.start()
    assert ours.decide("m", [1, 2, 3], timeout=60).a in (0, 1, 2)


@pytest.mark.skipif(not zmq.has("curve"), reason="libzmq has no CURVE")
@pytest.mark.parametrize("kind", [coppice.Client, coppice.AsyncClient])
def test_refused_key_is_tried_again(daemon, tmp_path, kind):
    """ZeroMQ gives the connection up: the same client is let in when its line is there."""
    keys = Keys(daemon, tmp_path, {"shop": "decide m"})
    public, secret = (key.decode() for key in keys.pairs["stranger"])
    curve = coppice.CurveKeys(keys.public.decode(), public, secret)

    async def of_loop():
        async with coppice.AsyncClient(keys.endpoint("requests"), curve=curve) as ours:
            return await ours.decide("m", [1, 2, 3], id="mine", timeout=DEADLINE)

    letting = keys.let_in_when_refused({"stranger": "decide m"})
    if kind is coppice.AsyncClient:
        assert asyncio.run(of_loop()).id == "mine"
    else:
        with coppice.Client(keys.endpoint("requests"), curve=curve) as ours:
            assert ours.decide("m", [1, 2, 3], id="mine", timeout=DEADLINE).id == "mine"
    letting.join()
    assert keys.local.model()["decisions"] == 1


def test_a_lost_answer_is_asked_for_again_under_the_same_id(daemon):
    one = daemon()
    lost = []

    def lose_the_first(reply):
        if lost:
            return reply
        lost.append(reply)
        return {**reply, "seq": "nobody's"}

    with spoiled(one, b"decide", lose_the_first) as endpoint, coppice.Client(endpoint, retry_after=0.05) as ours:
        action = ours.decide("m", [1, 2, 3], timeout=60)
    assert action.repeated and (action.a, action.p) == (lost[0]["a"], lost[0]["p"])


def test_what_must_not_be_repeated_is_sent_once(daemon):
    one = daemon(model(reward="sum", reward_window="1h"))
    local = one.client()
    with spoiled(one, b"feedback", lambda reply: {**reply, "seq": "nobody's"}) as endpoint:
        with coppice.Client(endpoint, retry_after=0.01) as ours:
            action = ours.decide("m", [1, 2, 3])
            with pytest.raises(coppice.Timeout):
                ours.feedback("m", action.id, 0.5, repeats=False, timeout=0.5)
            wait_for(lambda: local.model()["feedback"]["recorded"] > 0, "the feedback")
            ours.status()  # behind whatever was sent again
    assert local.model()["feedback"]["recorded"] == 1


def test_busy_is_asked_again_until_time_is_over(daemon):
    one = daemon()
    answers = []

    def busy_twice(reply):
        answers.append(reply)
        if len(answers) > 2:
            return reply
        return {"code": "busy", "message": "later", "seq": reply["seq"]}

    def busy_items(reply):
        return {**reply, "items": [busy_twice({**item, "seq": None}) for item in reply["items"]]}

    with spoiled(one, b"feedback_batch", busy_items) as endpoint, coppice.Client(endpoint) as ours:
        (result,) = ours.feedback_many("m", [{"id": "nobody", "loss": 0.5}])
        assert result.result == "unknown" and len(answers) == 3
    with spoiled(one, b"feedback_batch", lambda reply: {**reply, "items": [{"code": "busy", "message": ""}]}) as endpoint:
        with coppice.Client(endpoint) as ours:

            def refused():
                """Within the time, in which no answer at all may have come."""
                try:
                    return ours.feedback_many("m", [{"id": "nobody", "loss": 0.5}], timeout=0.2)
                except coppice.Timeout:
                    return None

            (result,) = wait_for(refused, "an answer in time")
            assert isinstance(result, coppice.Busy)


def test_closing_ends_calls_that_wait(daemon, client):
    ours = client(daemon(start=False), timeout=600)
    outcomes = []

    def run():
        try:
            ours.decide("m", [1, 2, 3])
        except coppice.Closed as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(ours._waiting) == 4, "four threads to wait for the fifth")
    ours.close()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 5
    with pytest.raises(coppice.Closed):
        ours.status()
