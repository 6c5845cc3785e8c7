"""coppice ctl backup: the copy of a running daemon's state is one that a daemon starts from, with all that was answered."""

import itertools
import json
import shutil
import threading
from contextlib import contextmanager

import pytest
import zmq
from conftest import Client, coppice, free_port, grow, model, pack, section, wait_for

X = [0.25, 1.0, 3.5]
# Of the checkpoints that are asked for, and no others, the newest alone stays.
SMALL = section("journal", {"segment": "64KiB", "keep": "64KiB"}) + section("checkpoint", {"every": "7d", "keep": 1, "older": 0})
BUSY = SMALL.replace("7d", "1s")
OFF = section("journal", {"enabled": False})


def backup(endpoint, folder, *args, status=0):
    out, err = coppice("ctl", "--endpoint", endpoint, "backup", folder, *args, status=status)
    assert (err == "") == (status == 0)
    return out if status == 0 else err


def backup_json(one, folder):
    out = backup(one.ipc("admin"), folder, "--json")
    assert out.count("\n") == 1
    return json.loads(out)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def restore(daemon, folder, text):
    """A daemon whose state folder is this copy, and a client of it."""
    one = daemon(f'state_dir = "{folder}"\n' + text)
    return one, one.client()


def state(client):
    mine = client.model()
    return {key: mine[key] for key in ("rev", "pending", "decisions", "feedback", "loss_sum")}, client.ok(
        "explain", "m", {"x": X}
    )


@contextmanager
def thread_of(work, count=1):
    """Runs work(stop) beside the test, which fails if it fails."""
    stop, failures = threading.Event(), []

    def run():
        try:
            work(stop)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures


# ---- a daemon at rest


@pytest.mark.parametrize("more", ["", SMALL, OFF], ids=["journal", "keep-1", "no-journal"])
def test_restored_backup_decides_as_the_daemon_it_is_of(daemon, tmp_path, more):
    text = model() + more
    one = daemon(text)
    client = one.client()
    grow(client, events=200)
    client.ok("checkpoint")
    grow(client, prefix="more", events=700)
    client.decide("m", "waiting", X)
    told = backup_json(one, tmp_path / "copy")
    assert told["folder"] == str(tmp_path / "copy") and told["state_dir"] == str(one.state)
    segments = [name for name in files(tmp_path / "copy") if name.startswith("journal/")]
    name = f"coppice.{told['sequence']:020}.checkpoint"
    assert files(tmp_path / "copy") == [name, *segments]
    assert (tmp_path / "copy" / name).read_bytes() == (one.state / name).read_bytes()
    assert len(segments) == told.get("segments", 0) == (0 if more == OFF else 1)
    if more != OFF:
        assert told["records"] == 0 and told["last"] == client.status()["journal"]["committed"]
        assert told["journal_bytes"] == (tmp_path / "copy" / segments[0]).stat().st_size
    copy, restored = restore(daemon, tmp_path / "copy", text)
    assert state(restored) == state(client)
    for asked in (client, restored):
        assert asked.feedback("m", "waiting", 0.5) == "applied"
        assert asked.feedback("m", "more-3", 0.5) == "duplicate"
    assert [client.decide("m", i, X) for i in range(50)] == [restored.decide("m", i, X) for i in range(50)]
    copy.stop() if more == OFF else copy.kill()  # goes on as any state folder does
    copy.start()
    restored = copy.client()
    assert state(restored) == state(client)


def test_backup_without_a_journal_starts_with_one(daemon, tmp_path):
    one = daemon(model() + OFF)
    client = one.client()
    grow(client)
    backup_json(one, tmp_path / "copy")
    copy, restored = restore(daemon, tmp_path / "copy", model())
    assert state(restored) == state(client)
    grow(restored, prefix="after")
    expected = state(restored)
    copy.kill()
    copy.start()
    assert state(copy.client()) == expected


def test_text_tells_what_was_copied(daemon, tmp_path):
    one = daemon()
    (tmp_path / "empty").mkdir()
    out = backup(one.ipc("admin"), tmp_path / "empty")
    lines = dict(line.split(None, 1) for line in out.splitlines())
    assert lines["folder"] == str(tmp_path / "empty") and lines["sequence"] == "1" and lines["segments"] == "1"
    assert len(files(tmp_path / "empty")) == 2


# ---- under load


@pytest.mark.parametrize("more", ["", BUSY, OFF], ids=["journal", "keep-1", "no-journal"])
def test_backup_under_load_has_all_that_was_answered_before(daemon, tmp_path, more):
    text = model() + more
    one = daemon(text)
    answered = []  # first ids of batches that were decided and learned
    numbers = itertools.count()

    def load(stop):
        client = Client(one.context, one.ipc("requests"))
        while not stop.is_set():
            prefix = f"batch-{next(numbers)}"
            grow(client, prefix=prefix, events=20)
            answered.append(prefix)
        client.close()

    def checkpoints(stop):  # so that files are removed all the time
        client = Client(one.context, one.ipc("admin"))
        while not stop.wait(0.02):
            client.ok("checkpoint")
        client.close()

    copies = []
    with thread_of(load, 2), thread_of(checkpoints):
        for i in range(4):
            enough = len(answered) + 20
            wait_for(lambda: len(answered) >= enough, "load")
            before = list(answered)
            told = backup_json(one, tmp_path / f"copy-{i}")
            copies.append((before, told))
    for i, (before, told) in enumerate(copies):
        copy, client = restore(daemon, tmp_path / f"copy-{i}", text)
        copy.logged("event=serving")  # behind all that the start says
        assert ("event=replayed" in copy.log()) == (told.get("records", 0) > 0)
        assert "journal_torn" not in copy.log()
        assert client.model()["feedback"]["applied"] >= 20 * len(before)
        items = [{"id": f"{prefix}-{j}", "loss": 0.5} for prefix in before for j in (0, 19)]
        results = client.ok("feedback_batch", "m", {"items": items})["items"]
        assert {r["result"] for r in results} == {"duplicate"}
        copy.stop()


# ---- what cannot be copied


def test_folder_that_is_not_empty_stays_as_it_is(daemon, tmp_path):
    one = daemon()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    assert "is not empty" in backup(one.ipc("admin"), tmp_path / "full", status=1)
    assert files(tmp_path / "full") == ["mine"]
    assert "is not empty" in backup(one.ipc("admin"), one.state, status=1)
    assert "Not a directory" in backup(one.ipc("admin"), tmp_path / "full" / "mine", status=1)
    assert "No such file" in backup(one.ipc("admin"), tmp_path / "missing" / "copy", status=1)


def test_wrong_usage_is_status_2(tmp_path):
    assert "expected FOLDER" in backup("ipc://nobody", "", "more", status=2)
    assert "go with" in backup("ipc://nobody", tmp_path / "copy", "--x", "[1]", status=2)


def test_nobody_there_leaves_no_folder(tmp_path):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    assert endpoint in backup(endpoint, tmp_path / "copy", "--timeout", "0.1", status=1)
    assert not (tmp_path / "copy").exists()


def test_damaged_journal_is_told_and_leaves_no_backup(daemon, tmp_path):
    one = daemon(model() + section("checkpoint", {"keep": 1}))
    client = one.client()
    grow(client)
    committed = client.status()["journal"]["committed"]
    [segment] = (one.state / "journal").glob("*.journal")
    with open(segment, "r+b") as file:
        file.seek(2000)
        file.write(b"\xff" * 16)
    err = backup(one.ipc("admin"), tmp_path / "copy", status=1)
    assert f"record {committed} was written" in err and "coppice journal verify" in err
    assert "damaged at offset" in err
    assert not (tmp_path / "copy").exists()
    (tmp_path / "empty").mkdir()
    backup(one.ipc("admin"), tmp_path / "empty", status=1)
    assert list((tmp_path / "empty").iterdir()) == []


# ---- daemons that are elsewhere, and files that go meanwhile


@contextmanager
def answering(context, answer):
    """The endpoint of something that answers requests with what answer(verb) gives."""
    socket = context.socket(zmq.ROUTER)
    port = socket.bind_to_random_port("tcp://127.0.0.1")

    def serve(stop):
        while not stop.is_set():
            if socket.poll(10):
                peer, verb, *_ = socket.recv_multipart()
                socket.send_multipart([peer, b"ok", pack(answer(verb.decode()))])

    with thread_of(serve):
        yield f"tcp://127.0.0.1:{port}"
    socket.close(linger=0)


def test_state_folder_that_is_not_here_is_told(daemon, tmp_path):
    one = daemon(start=False)

    def answer(verb):
        assert verb == "backup"
        return {"sequence": 1, "bytes": 10, "seconds": 0.1, "state_dir": str(tmp_path / "elsewhere"), "journal": {"state": "off"}}

    with answering(one.context, answer) as endpoint:
        err = backup(endpoint, tmp_path / "copy", status=1)
    assert str(tmp_path / "elsewhere") in err and "No such file" in err and "on the daemon's machine" in err
    assert not (tmp_path / "copy").exists()


def test_answers_that_lack_something_are_told(daemon, tmp_path):
    one = daemon(start=False)
    checkpoint = {"sequence": 1, "bytes": 10}
    for answer, told in [
        ({"sequence": 1}, "sequence and bytes"),
        ({"sequence": "x", "bytes": -1}, "sequence and bytes"),
        ([], "sequence and bytes"),
        ({**checkpoint, "state_dir": "state", "journal": {"state": "off"}}, "absolute state_dir"),
        ({**checkpoint, "state_dir": "/"}, "journal state"),
        ({**checkpoint, "state_dir": "/", "journal": {"state": "ok"}}, "committed"),
    ]:
        with answering(one.context, lambda verb: answer) as endpoint:
            assert told in backup(endpoint, tmp_path / "copy", status=1)
    assert not (tmp_path / "copy").exists()


def test_state_folder_of_another_daemon_is_not_taken(daemon, tmp_path):
    one = daemon()
    client = one.client()
    told = client.ok("backup")
    assert told["state_dir"] == client.status()["state_dir"] and told["journal"]["state"] == "ok"

    def answer(verb):
        return {**told, "bytes": told["bytes"] + 1}

    with answering(one.context, answer) as endpoint:
        assert "not what the daemon at" in backup(endpoint, tmp_path / "copy", status=1)
    assert not (tmp_path / "copy").exists()


def test_segments_that_are_gone_for_good_are_told(daemon, tmp_path):
    """Of another folder than the daemon's, which would see within a second that they are gone, and begin one."""
    one = daemon(model() + section("checkpoint", {"every": "7d"}))
    client = one.client()
    grow(client)
    asked, state = [], tmp_path / "without"
    (state / "journal").mkdir(parents=True)

    def answer(verb):
        asked.append(client.ok(verb))
        shutil.copy(one.state / f"coppice.{asked[-1]['sequence']:020}.checkpoint", state)
        return {**asked[-1], "state_dir": str(state)}

    with answering(one.context, answer) as endpoint:
        assert "no segment holds record" in backup(endpoint, tmp_path / "copy", status=1)
    assert [told["sequence"] for told in asked] == [1, 2, 3, 4]  # each time with a new checkpoint
    assert not (tmp_path / "copy").exists()


def backup_beside(daemon, tmp_path, checkpoint):
    """(checkpoints that there were, what was told) of a backup for which `checkpoint` answers that request."""
    text = model() + SMALL
    one = daemon(text)
    client = one.client()
    asked = []

    def answer(verb):
        return checkpoint(one, client, asked)

    grow(client)
    with answering(one.context, answer) as endpoint:
        told = json.loads(backup(endpoint, tmp_path / "copy", "--json"))
    assert state(restore(daemon, tmp_path / "copy", text)[1]) == state(client)
    return asked, told


@pytest.mark.parametrize("times", [1, 3])
def test_of_a_checkpoint_removed_meanwhile_the_newer_one_is_taken(daemon, tmp_path, times):
    def checkpoint(one, client, asked):
        asked.extend(client.ok("backup") for _ in range(times + 1))  # the first's file is gone before it is read
        return asked[0]

    asked, told = backup_beside(daemon, tmp_path, checkpoint)
    assert len(asked) == times + 1 and told["sequence"] == asked[-1]["sequence"]


def test_checkpoint_that_is_gone_is_asked_for_again(daemon, tmp_path):
    def checkpoint(one, client, asked):
        asked.append(client.ok("backup"))
        if len(asked) == 1:
            (one.state / f"coppice.{asked[0]['sequence']:020}.checkpoint").unlink()
        return asked[-1]

    asked, told = backup_beside(daemon, tmp_path, checkpoint)
    assert len(asked) == 2 and told["sequence"] == asked[-1]["sequence"]
