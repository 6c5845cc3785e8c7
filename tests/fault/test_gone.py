"""The journal's files, its folder, the state folder and its lock are taken away under a running daemon, or while it is
down: what was acknowledged is kept, and nothing more is acknowledged on a file that is not there.
"""

import errno
import os
import shutil
import signal

import pytest
from faults import RENAME, Ledger, checkpoints, seeded, segments, service
from test_disk import MODELS, SYNCS, configuration, journal, learn, survive


def unlink(d):
    segments(d.state / "journal")[-1].unlink()


def cut(d):
    os.truncate(segments(d.state / "journal")[-1], 100)


def rename(d):
    path = segments(d.state / "journal")[-1]
    path.rename(path.with_suffix(".mine"))


def remove(path, d):
    """At once, or what the daemon makes in it meanwhile would be in the way."""
    shutil.rmtree(path.rename(d.folder / "removed"))


def remove_journal(d):
    remove(d.state / "journal", d)


def remove_state(d):
    remove(d.state, d)


def move_state(d):
    d.state.rename(d.folder / "moved")


TAKEN = {f.__name__: f for f in (unlink, cut, rename, remove_journal, remove_state, move_state)}
AT_ONCE = ("unlink", "cut")  # found before the next record is written


def noticed_and_healed(d, client, fault, times=1):
    """The daemon looks each second, and it has come to that."""
    service.wait_for(
        lambda: fault.hurry(1.5) or (journal(client)["failures"] >= times and journal(client)["state"] == "ok"),
        "the journal to heal",
    )
    d.logged("event=journal_healed", times)


@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("how", TAKEN)
def test_what_is_taken_away_is_noticed_and_nothing_acknowledged_is_lost(daemon, fault, how, sync):
    ledger = Ledger(seeded(how), MODELS)
    d = daemon(configuration(sync), env=fault.env)
    client = d.client()
    for times in (1, 2):
        learn(ledger, client)
        TAKEN[how](d)
        noticed_and_healed(d, client, fault, times)
        learn(ledger, client)
        shutil.rmtree(d.folder / "moved", ignore_errors=True)
    assert d.log().count("event=journal_broken") == 2
    client = survive(d, ledger)
    learn(ledger, client)


@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("how", AT_ONCE)
def test_feedback_is_not_acknowledged_on_a_file_that_is_gone(daemon, fault, how, sync):
    """Not a second later, but before the answer: killed right behind it, what it told is still there."""
    ledger = Ledger(seeded(how), MODELS)
    d = daemon(configuration(sync), env=fault.env)
    client = d.client()
    for _ in range(3):
        learn(ledger, client)
        items = [ledger.new("m") for _ in range(4)]
        ledger.call(client, ledger.decide(*items))
        failures = journal(client)["failures"]
        TAKEN[how](d)
        status, reply = ledger.call(client, ledger.feedback(items[0]))
        if status == "error":
            assert reply["code"] == "not_durable"
        assert journal(client)["failures"] == failures + 1  # else a sync had found it before, and it was healed
        # Healed at once; what could not be recorded is in the checkpoint.
        ledger.call(client, ledger.feedback(*items[1:]))
        assert all(i.applied for i in items[1:])
        client = survive(d, ledger)


def test_removed_lock_file_lets_no_second_daemon_in(daemon):
    d = daemon(configuration())
    client = d.client()
    (d.state / "lock").unlink()
    other = daemon(f'state_dir = "{d.state}"\n' + configuration(), start=False)
    other.launch()
    other.wait(status=1)
    assert "another coppiced is running" in other.log() and str(d.state) in other.log()
    service.wait_for(lambda: client.status()["journal"]["state"] == "ok", "the journal to stand")  # it may be healing


def test_folder_that_another_daemon_took_is_left_to_it(daemon, fault):
    ledger = Ledger(seeded("two"), MODELS)
    d = daemon(configuration(), env=fault.env)
    client = d.client()
    learn(ledger, client)
    d.signal(signal.SIGSTOP)  # or it may notice, and make the folder anew, before the other one has it
    move_state(d)
    other = daemon(f'state_dir = "{d.state}"\n' + configuration())
    d.signal(signal.SIGCONT)
    service.wait_for(lambda: fault.hurry(1.5) or journal(client)["state"] == "broken", "the daemon to notice")
    fault.hurry(2)
    assert client.error("feedback", "m", {"id": "x", "loss": 0.5})["code"] == "not_durable"
    assert other.client().status()["journal"]["state"] == "ok"
    other.stop()
    before = sorted(p.name for p in d.state.rglob("*"))
    fault.hurry(100)
    d.logged("event=journal_still_broken")
    assert "another folder is in the state folder's place" in d.log()
    assert sorted(p.name for p in d.state.rglob("*")) == before  # nothing is mixed in
    shutil.rmtree(d.state)
    (d.folder / "moved").rename(d.state)
    service.wait_for(lambda: fault.hurry(1.5) or journal(client)["state"] == "ok", "the journal to heal")
    survive(d, ledger)


def test_removed_state_folder_is_made_again_without_a_journal(daemon, fault):
    d = daemon(service.section("journal", {"enabled": False}) + service.model("m"), env=fault.env)
    client = d.client()
    client.ok("checkpoint")
    remove_state(d)
    service.wait_for(lambda: fault.hurry(1.5) or checkpoints(d.state), "a checkpoint")
    d.logged("event=state_lost")


def test_missing_segment_is_named_at_start_with_the_ways_out(daemon):
    """Also the newest one, which no gap between numbers tells of."""
    d = daemon(configuration("always"))
    for life in range(3):
        client = d.client()
        for i in range(3):
            client.decide("dgt", 10 * life + i, [0.5, 1.0])
        d.kill()
        if life < 2:
            d.start()
    saved = d.folder / "saved"
    shutil.copytree(d.state, saved)
    for path in checkpoints(d.state)[1:]:
        path.unlink()
    missing = segments(d.state / "journal")[1]
    missing.unlink()
    d.launch()
    d.wait(status=1)
    said = d.log()
    assert missing.name in said and "--checkpoint-only" in said and "coppice journal salvage" in said
    shutil.rmtree(d.state)
    saved.rename(d.state)
    newest = segments(d.state / "journal")[-1]
    newest.unlink()
    before = len(d.log())
    d.launch()
    d.wait(status=1)
    assert newest.name in d.log()[before:] and "is missing" in d.log()[before:]
    d.start("--checkpoint-only")
    d.restart()


@pytest.mark.parametrize("where", ["checkpoint", "journal"])
def test_file_whose_number_leaves_none_is_refused_by_name(daemon, where):
    d = daemon(configuration())
    d.client().decide("dgt", 1, [0.5, 1.0])
    d.stop()
    folder = d.state if where == "checkpoint" else d.state / "journal"
    newest = (checkpoints(d.state) if where == "checkpoint" else segments(folder))[-1]
    name = newest.name.replace(newest.name.split(".")[-2 if where == "checkpoint" else 0], "18446744073709551615")
    shutil.copy(newest, folder / name)
    names = sorted(p.name for p in d.state.rglob("*"))
    d.launch()
    d.wait(status=1)
    assert name in d.log() and "move the file out of the folder" in d.log()
    assert sorted(p.name for p in d.state.rglob("*")) == names
    (folder / name).unlink()
    d.start()
    assert d.client().model("dgt")["decisions"] == 1


def test_timed_checkpoint_lets_old_segments_go(daemon, fault):
    """Nobody asks for a checkpoint: each that is due removes what the kept ones do not need."""
    text = (
        service.section("journal", {"segment": "64KiB", "keep": "64KiB"})
        + service.section("checkpoint", {"every": "1s", "keep": 1})
        + service.model("dgt", "dgt", features=2, reward_window="1d", explain_keep=0)
    )
    d = daemon(text, env=fault.env)
    client = d.client()
    first = segments(d.state / "journal")[0]
    made = 0

    def gone():
        nonlocal made
        items = [{"id": f"{made}-{i}", "x": [0.5, 1.0]} for i in range(200)]
        client.ok("decide_batch", "dgt", {"items": items})
        made += 1
        fault.hurry(1.5)
        return made > 10 and not first.exists()

    service.wait_for(gone, "the first segment to go")
    assert len(segments(d.state / "journal")) >= 1


def test_journal_that_cannot_be_set_aside_stops_the_start(daemon, fault):
    d = daemon(configuration(), env=fault.env)
    client = d.client()
    for i in range(3):
        client.decide("dgt", i, [0.5, 1.0])
    d.kill()
    fault.begin(RENAME, errno.EIO, path="/state/journal")
    d.launch("--checkpoint-only")
    d.wait(status=1)
    assert fault.get("failed") == 1 and "cannot be set aside" in d.log()
    fault.end()
    d.start()
    assert d.client().model("dgt")["decisions"] == 3
