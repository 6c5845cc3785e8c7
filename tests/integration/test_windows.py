"""Reward windows and reward rules: what ends them, what is learned then, what is remembered."""

import pytest
from conftest import end_windows, model, wait_for

X = [0.25, 1.0, 3.5]


def no_pending(client, name="m"):
    wait_for(lambda: client.model(name)["pending"] == 0, "the reward windows to end")


def test_window_end_without_default_drops_and_says_late(daemon):
    client = daemon(model(reward_window="2s")).client()
    client.decide("m", "d", X)
    no_pending(client)
    assert client.feedback("m", "d", 0.5) == "late"
    state = client.model()
    assert (state["rev"], state["dropped"], state["defaulted"], state["feedback"]["late"]) == (0, 1, 0, 1)
    # Remembered for one more window, then forgotten.
    wait_for(lambda: client.feedback("m", "d", 0.5) == "unknown", "the id to be forgotten")
    assert client.model()["rev"] == 0


def test_window_end_with_default_loss_learns_it(daemon):
    client = daemon(model(reward_window="300ms", default_loss=0.75, loss_range=(0, 2))).client()
    for i in range(20):
        client.decide("m", i, X)
    no_pending(client)
    state = client.model()
    assert (state["learned"], state["defaulted"], state["dropped"]) == (20, 20, 0)
    assert state["loss_sum"] == pytest.approx(20 * 0.75)


def test_answered_in_time_is_not_defaulted(daemon):
    client = daemon(model(reward_window="2s", default_loss=1)).client()
    client.decide("m", "answered", X)
    assert client.feedback("m", "answered", 0) == "applied"
    client.decide("m", "other", X)
    no_pending(client)
    state = client.model()
    assert (state["learned"], state["defaulted"], state["loss_sum"]) == (2, 1, 1)


def test_reward_rule_first_learns_the_first_at_window_end(daemon):
    one = daemon(model(reward_window="1h", reward="first", default_loss=1))
    client = one.client()
    for id in ("answered", "silent"):
        client.decide("m", id, X)
    assert [client.feedback("m", "answered", loss) for loss in (0.25, 0.0)] == ["recorded", "duplicate"]
    assert client.model()["rev"] == 0
    one.restart()  # and it is not forgotten
    client = one.client()
    assert client.feedback("m", "answered", 0.5) == "duplicate"
    end_windows(one, client)
    state = client.model()
    assert (state["learned"], state["defaulted"], state["loss_sum"]) == (2, 1, 1.25)


def test_earliest_is_learned_at_window_end_where_silence_is_usual(daemon):
    one = daemon(model(reward_window="1h", default_loss=1))
    client = one.client()
    client.decide("m", "before", X)
    assert client.feedback("m", "before", 0.25) == "applied"
    for i in range(100):
        client.decide("m", i, X)
    end_windows(one, client)
    client.decide("m", "after", X)
    assert [client.feedback("m", "after", loss) for loss in (0.5, 0)] == ["recorded", "duplicate"]
    one.restart()  # and it is not forgotten
    client = one.client()
    end_windows(one, client)
    state = client.model()
    assert (state["learned"], state["defaulted"], state["loss_sum"]) == (102, 100, 100.75)


@pytest.mark.parametrize("reward, expected", [("last", 0.25), ("sum", 0.75)])
def test_reward_rule_learns_at_window_end(daemon, reward, expected):
    one = daemon(model(reward_window="1h", reward=reward))
    client = one.client()
    client.decide("m", "several", X)
    assert [client.feedback("m", "several", loss) for loss in (0.5, 0.0, 0.25)] == ["recorded"] * 3
    assert client.model()["rev"] == 0
    end_windows(one, client)
    assert client.feedback("m", "several", 1) == "duplicate"
    state = client.model()
    assert (state["learned"], state["rev"], state["dropped"]) == (1, 1, 0)
    assert state["loss_sum"] == pytest.approx(expected)


def test_reward_rule_sum_is_of_losses_as_sent(daemon):
    one = daemon(model(reward_window="1h", reward="sum", loss_range=(-1, 3)))
    client = one.client()
    client.decide("m", "several", X)
    assert [client.feedback("m", "several", loss) for loss in (-0.5, 2, 1)] == ["recorded"] * 3
    end_windows(one, client)
    assert client.model()["loss_sum"] == pytest.approx(2.5)


def test_reward_rule_sum_beyond_range_is_bounded(daemon):
    one = daemon(model(reward_window="1h", reward="sum"))
    client = one.client()
    client.decide("m", "much", X)
    for _ in range(5):
        assert client.feedback("m", "much", 0.5) in ("recorded", "duplicate")
    end_windows(one, client)
    assert client.model()["loss_sum"] <= 1


def test_pending_max_evicts_the_oldest_and_counts(daemon):
    client = daemon(model(pending_max=10)).client()
    for i in range(25):
        client.decide("m", i, X)
    state = client.model()
    assert (state["pending"], state["evicted"], state["decisions"]) == (10, 15, 25)
    assert client.feedback("m", 14, 0.5) in ("late", "unknown")
    assert client.feedback("m", 15, 0.5) == "applied"


def test_deferred_decision_waits_for_activate(daemon):
    one = daemon(model(reward_window="1h", default_loss=1))
    client = one.client()
    for id in ("shown", "hidden", "answered"):
        client.decide("m", id, [1, 2, 3], defer=True)
    assert client.ok("activate", "m", {"id": "shown"})["result"] == "applied"
    assert client.ok("activate", "m", {"id": "shown"})["result"] == "duplicate"
    assert client.ok("activate", "m", {"id": "nobody"})["result"] == "unknown"
    assert client.feedback("m", "answered", 0.5) == "applied"
    end_windows(one, client)
    state = client.model()
    assert (state["defaulted"], state["dropped"], state["learned"]) == (1, 1, 2)
    assert client.ok("activate", "m", {"id": "hidden"})["result"] == "late"


def test_another_arm_than_the_decided_one_is_learned_as_sent(daemon):
    client = daemon().client()
    decided = client.decide("m", "one", [1, 2, 3])
    other = (decided["a"] + 1) % 3
    assert client.feedback("m", "one", 0.0, x=[1, 2, 3], a=other, p=0.5) == "applied"
    assert client.feedback("m", "one", 0.0) == "duplicate"
    assert client.model()["pending"] == 0 and client.model()["learned"] == 1
