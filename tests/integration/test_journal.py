"""The daemon's journal as an operator sees it: segments, retention, compression, what an answer waits for."""

import pytest
from conftest import grow, model, section, wait_for

X = [0.25, 1.0, 3.5]


def segments(one):
    return sorted((one.state / "journal").glob("*.journal*"))


def journal(**options):
    return model() + section("journal", options)


@pytest.mark.parametrize("sync", ["always", "interval", "never"])
def test_answered_feedback_outlives_a_kill(daemon, sync):
    one = daemon(journal(sync=sync, interval="5ms"))
    client = one.client()
    grow(client)
    expected = client.model()["feedback"]
    one.kill()
    one.start()
    assert one.client().model()["feedback"] == expected


def test_synced_under_always_before_the_answer(daemon):
    client = daemon(journal(sync="always")).client()
    client.decide("m", 1, X)
    client.feedback("m", 1, 0.5)
    state = client.status()["journal"]
    assert state["durable"] == state["committed"] == state["next"] - 1 and state["lag_bytes"] == 0
    assert state["syncs"] >= 2


def test_synced_under_interval_soon_after(daemon):
    client = daemon(journal(sync="interval", interval="1ms")).client()
    client.decide("m", 1, X)
    wait_for(lambda: client.status()["journal"]["lag_bytes"] == 0, "the sync")
    state = client.status()["journal"]
    assert state["durable"] == state["next"] - 1


def many_checkpoints(one, done, what):
    """Events and checkpoints until old segments have been cared for."""
    client = one.client()
    turn = 0

    def step():
        nonlocal turn
        grow(client, prefix=f"turn-{turn}", events=200)
        client.ok("checkpoint")
        turn += 1
        return turn > 8 and done()

    wait_for(step, what)
    expected = client.model()["learned"]
    one.kill()
    one.start()
    assert one.client().model()["learned"] == expected == 200 * turn


def test_old_segments_go_by_size(daemon):
    one = daemon(journal(segment="64KiB", keep="128KiB") + section("checkpoint", {"keep": 1}))
    many_checkpoints(one, lambda: segments(one)[0].name[:20] != f"{1:020}", "retention")


def test_closed_segments_are_compressed_and_still_replayed(daemon):
    one = daemon(journal(segment="64KiB", compress=True))
    many_checkpoints(one, lambda: any(p.suffix == ".zst" for p in segments(one)), "compression")


def test_segments_that_a_checkpoint_needs_stay_whatever_their_age(daemon):
    one = daemon(journal(segment="64KiB", keep_age="1ms"))
    client = one.client()
    grow(client, events=400)
    one.kill()
    one.start()
    assert one.client().model()["learned"] == 400


def test_switched_off_there_is_none(daemon):
    one = daemon(journal(enabled=False))
    client = one.client()
    grow(client)
    assert client.status()["journal"] == {"state": "off"}
    assert not segments(one)
