"""A clock that is years ahead at the start ends no reward window, says so, and is believed when it is set or when an
operator says that it is right.
"""

import time

from faults import service

YEAR = 365 * 86400


def configuration(tolerance=None):
    top = "" if tolerance is None else f'clock_tolerance = "{tolerance}"\n'
    return (
        top
        + service.section("journal", {"keep_age": "1d", "segment": "64KiB"})
        + service.section("checkpoint", {"every": "7d", "keep": 1})
        + service.model("m", "dgt", features=2, reward_window="1d", default_loss=1, explain_keep=0)
    )


def waiting(daemon, fault, tolerance=None):
    """A daemon with three decisions that wait, stopped; and the time."""
    fault.set(real=time.time())
    d = daemon(configuration(tolerance), env=fault.env)
    client = d.client()
    for i in range(3):
        client.decide("m", i, [0.5, 1.0])
    d.stop()
    return d, fault.get("real")


def pending(client):
    """After a turn that has looked at the windows: a request is answered in one, and they are ended in its end."""
    client.status()
    return client.model()["pending"]


def test_clock_years_ahead_ends_no_window(daemon, fault):
    d, now = waiting(daemon, fault)
    fault.set(real=now + 10 * YEAR)
    d.start()
    client = d.client()
    assert pending(client) == 3
    assert client.status()["clock_ahead"] > 9 * YEAR
    d.logged("event=clock_ahead")
    for _ in range(3):  # segments do not go by age either
        client.ok("checkpoint")
        d.restart()
        client = d.client()
    assert len(list((d.state / "journal").glob("*.journal*"))) == 5
    assert client.feedback("m", 0, 0.5) == "applied"
    fault.set(real=now + 60)  # somebody sets it
    service.wait_for(lambda: fault.hurry(1.5) or "clock_ahead" not in client.status(), "the clock to be believed")
    d.logged("event=clock_believed")
    assert client.model()["pending"] == 2 and client.model()["defaulted"] == 0
    assert client.feedback("m", 1, 0.5) == "applied"
    d.restart()
    assert d.client().model()["pending"] == 1


def test_clock_set_to_the_end_of_a_window_ends_it(daemon, fault):
    d, now = waiting(daemon, fault)
    fault.set(real=now + 10 * YEAR)
    d.start()
    client = d.client()
    assert pending(client) == 3
    fault.set(real=now + 2 * 86400)
    service.wait_for(lambda: fault.hurry(1.5) or client.model()["pending"] == 0, "the windows to end")
    assert client.model()["defaulted"] == 3


def test_clock_is_believed_when_the_operator_says_so(daemon, fault):
    d, now = waiting(daemon, fault)
    fault.set(real=now + 10 * YEAR)
    d.start()
    client = d.client()
    assert pending(client) == 3
    d.write_config(configuration("0s"))
    assert any("clock_tolerance" in change for change in client.ok("reload")["applied"])
    service.wait_for(lambda: fault.hurry(1.5) or client.model()["pending"] == 0, "the windows to end")
    assert "clock_ahead" not in client.status()


def test_clock_is_believed_at_a_start_that_trusts_it(daemon, fault):
    d, now = waiting(daemon, fault)
    fault.set(real=now + 10 * YEAR)
    d.start("--trust-clock")
    client = d.client()
    service.wait_for(lambda: client.model()["pending"] == 0, "the windows to end")
    assert "clock_ahead" not in client.status() and "clock_ahead" not in d.log()
    client.decide("m", "new", [0.5, 1.0])
    d.restart()  # what is recorded now has that time
    assert pending(d.client()) == 1 and "clock_ahead" not in d.log()


def test_clock_within_the_tolerance_is_believed(daemon, fault):
    d, now = waiting(daemon, fault, "30d")
    fault.set(real=now + 20 * 86400)
    d.start()
    client = d.client()
    service.wait_for(lambda: client.model()["pending"] == 0, "the windows to end")
    assert client.model()["defaulted"] == 3 and "clock_ahead" not in client.status()
