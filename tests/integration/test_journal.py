"""The daemon's journal as an operator sees it: segments, retention, compression, what an answer waits for."""

import json
import shutil
import subprocess

import pytest
from conftest import DEADLINE, grow, model, program, section, wait_for

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


@pytest.mark.parametrize("how", ["beside", "instead", "of no use"])
def test_files_that_were_away_are_put_back(daemon, tmp_path, how):
    """docs/how-to/repair.md: beside the newer ones after a clean stop; after a kill, in the place of what came since."""
    one = daemon()
    client = one.client()
    grow(client, events=20)
    client.ok("checkpoint")
    grow(client, events=20, prefix="late")
    if how == "beside":
        one.stop()
    else:
        one.kill()
    checkpoints = set(one.state.glob("*.checkpoint"))
    (one.state / "journal").rename(tmp_path / "found")
    one.start()
    one.logged("event=journal_missing")
    client = one.client()
    assert client.model()["learned"] == (40 if how == "beside" else 20)
    grow(client, events=5, prefix="since")
    one.stop()
    if how == "instead":
        for path in {one.state / "journal", *one.state.glob("*.checkpoint")} - checkpoints:
            path.rename(tmp_path / path.name)
        (tmp_path / "found").rename(one.state / "journal")
    else:
        for path in (tmp_path / "found").iterdir():
            assert not (one.state / "journal" / path.name).exists()
            shutil.copy(path, one.state / "journal")
    one.start()
    assert one.client().model()["learned"] == {"beside": 45, "instead": 40, "of no use": 25}[how]


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


def dump(one, *args):
    command = [program("COPPICE"), "journal", "dump", str(one.state), "--json", *args]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def test_journal_alone_tells_what_its_models_are(daemon):
    one = daemon(model(default_loss=0.5) + model("v", "value", features=0, bits=10, value_range=[1, 5]))
    command = [program("COPPICE"), "journal", "ls", str(one.state), "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE).stdout)
    assert [s["models"] for s in listed["segments"]] == [["m", "v"]]
    one.write_config(model(default_loss="none", reward="sum", reward_window="5s") + one.config.read_text()
                     .split("\n}\n", 1)[1])
    one.client().ok("reload")
    wait_for(lambda: len(dump(one, "--type", "config")) == 2, "the new configuration in the journal")
    first, second = [line["models"]["models"] for line in dump(one, "--type", "config")]
    assert first[0]["default_loss"] == 0.5 and first[0]["reward"] == "earliest" and first[0]["reward_window"] == 600
    assert "default_loss" not in second[0] and second[0]["reward"] == "sum" and second[0]["reward_window"] == 5
    assert first[1] == second[1] and first[1]["bits"] == 10 and first[1]["value_range"] == [1, 5]


def test_records_report_what_feedback_came_to_and_what_gave_way(daemon):
    one = daemon(model(pending_max=2))
    client = one.client()
    for id in range(4):
        client.decide("m", id, X)
    results = [client.feedback("m", id, 0.5) for id in (3, 3, 1, 99)]
    assert results == ["applied", "duplicate", "late", "unknown"]
    one.stop()
    assert [line["r"] for line in dump(one, "--type", "feedback")] == [0, 2, 3, 4]
    assert [line.get("s") for line in dump(one, "--type", "decision")] == [None, None, [[0, 3]], [[1, 3]]]


def test_windows_ends_report_the_losses_that_were_learned(daemon):
    """Recorded losses, the default loss, nothing: each end stands in one record with what it taught."""
    one = daemon(model(reward="sum", reward_window="1h", default_loss=0.25))
    client = one.client()
    for id in ("sum", "default", "deferred"):
        client.decide("m", id, X, **({"defer": True} if id == "deferred" else {}))
    assert [client.feedback("m", "sum", loss) for loss in (0.25, 0.5)] == ["recorded", "recorded"]
    client.ok("model", "m", {"do": "set", "options": {"reward_window": "1ms"}})  # holds for those that wait, too
    wait_for(lambda: client.model("m")["pending"] == 0, "the windows' ends")
    one.stop()
    ends = [end for line in dump(one, "--type", "expiry") for end in line["s"]]
    assert sorted(ends) == [["default", 1, 0.25], ["deferred", 2], ["sum", 0, 0.75]]


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
