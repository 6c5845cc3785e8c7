"""Start, stop, restart: checkpoints, shapes, parked models, the state folder, the service manager."""

import os
import pty
import queue
import signal
import socket
import subprocess
import threading

import pytest
from conftest import DEADLINE, grow, model, program, section, wait_for

X = [0.25, 1.0, 3.5]


def checkpoints(daemon):
    """Newest last."""
    return sorted(daemon.state.glob("coppice.*.checkpoint"))


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def state(client, name="m"):
    return client.model(name), client.ok("explain", name, {"x": X})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_to_stop_writes_checkpoint_and_restart_goes_on(daemon, number):
    texts = model("m") + model("v", learner="value") + model("s", features=0) + model("d", learner="dgt")
    stopped, whole = daemon(texts), daemon(texts)
    clients = [one.client() for one in (stopped, whole)]

    def events(prefix):
        for i in range(30):
            for name in "mvsd":
                x = {"a": i, "b": 1} if name == "s" else [i % 5, i % 3, 1]
                actions = [client.decide(name, f"{prefix}-{i}", x) for client in clients]
                assert actions[0] == actions[1]
                loss = [0.5, 0.25 + i / 100] if name == "v" else (i % 4) / 4
                if i % 3:
                    assert [c.feedback(name, f"{prefix}-{i}", loss) for c in clients] == ["applied"] * 2

    events("before")
    before = [state(clients[0], name) for name in "md"]
    stopped.signal(number)
    stopped.wait(0)
    assert "event=stopping" in stopped.log() and len(checkpoints(stopped)) == 1
    stopped.start()
    clients[0] = stopped.client()
    stopped.logged("event=restored")
    assert [state(clients[0], name) for name in "md"] == before
    for client in clients:  # what waited still does, and what was answered is remembered
        assert client.feedback("m", "before-0", 0.75) == "applied"
        assert client.feedback("m", "before-1", 0.75) == "duplicate"
    events("after")  # decides exactly as the one that never stopped
    assert [m["rev"] for m in clients[0].status()["models"]] == [m["rev"] for m in clients[1].status()["models"]]


NO_JOURNAL = model() + section("journal", {"enabled": False})


def test_killed_without_a_journal_restores_the_checkpoint(daemon):
    one = daemon(NO_JOURNAL)
    client = one.client()
    grow(client)
    client.decide("m", "pending", X)
    client.ok("checkpoint")
    expected = state(client)
    grow(client, prefix="lost")
    one.kill()
    one.start()
    client = one.client()
    assert state(client) == expected
    assert client.status()["checkpoint"]["sequence"] == 1
    assert client.feedback("m", "pending", 0.5) == "applied"
    assert client.ok("checkpoint")["sequence"] == 2


def test_killed_while_writing_leaves_a_checkpoint_that_restores(daemon):
    one = daemon(model(features=0, bits=16))
    client = one.client()
    for round in range(5):
        client.decide("m", round, {"a": 1})
        client.feedback("m", round, 0.5)
        done = client.ok("checkpoint")["sequence"]
        saver = one.admin()
        for _ in range(20):
            saver.send("checkpoint")
        saver.receive()
        one.kill()
        one.start()
        client = one.client()
        assert client.model()["rev"] == round + 1 and client.status()["checkpoint"]["sequence"] > done


def test_killed_with_a_journal_loses_nothing(daemon):
    one = daemon()
    client = one.client()
    grow(client)
    client.decide("m", "pending", X)
    client.ok("checkpoint")
    grow(client, prefix="after")
    expected = state(client)
    one.kill()
    one.start()
    client = one.client()
    assert state(client) == expected
    one.logged("event=replayed")
    assert client.feedback("m", "after-1", 0.5) == "duplicate"
    assert client.feedback("m", "pending", 0.5) == "applied"


def test_damaged_newest_checkpoint_is_made_up_for_by_the_journal(daemon):
    one = daemon()
    client = one.client()
    grow(client)
    client.ok("checkpoint")
    grow(client, prefix="newer")
    expected = state(client)
    one.stop()
    damage(checkpoints(one)[-1])
    one.start()
    client = one.client()
    assert state(client) == expected
    one.logged("warning: event=checkpoint_damaged sequence=2")


def test_damaged_newest_checkpoint_is_passed_over_with_a_warning(daemon):
    one = daemon(NO_JOURNAL)
    client = one.client()
    grow(client)
    client.ok("checkpoint")
    expected = state(client)
    grow(client, prefix="newer")
    one.stop()
    damage(checkpoints(one)[-1])
    one.start()
    client = one.client()
    assert state(client) == expected
    one.logged("warning: event=checkpoint_damaged sequence=2")
    assert client.ok("checkpoint")["sequence"] > 2  # never the same number again


def test_several_damaged_checkpoints_are_not_kept_instead_of_new_ones(daemon):
    one = daemon(NO_JOURNAL)
    client = one.client()
    for i in range(3):
        grow(client, prefix=f"round-{i}")
        client.ok("checkpoint")
    one.kill()
    for path in checkpoints(one)[1:]:
        damage(path)
    one.write_config(NO_JOURNAL + section("checkpoint", {"keep": 1}))
    one.start()
    client = one.client()
    grow(client, prefix="after")
    expected = state(client)
    assert expected[0]["rev"] == 120
    one.restart()
    assert state(one.client()) == expected


@pytest.mark.foresees("checkpoints_lost")
@pytest.mark.parametrize("ruin", ["damaged", "empty", "cut"])
@pytest.mark.parametrize("journal", [True, False])
def test_only_checkpoint_ruined_starts_from_the_journal_or_anew(daemon, ruin, journal):
    one = daemon(model() + section("journal", {"enabled": journal}))
    grow(one.client())
    one.stop()
    (path,) = checkpoints(one)
    data = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": data[: len(data) // 2]}.get(ruin, data))
    if ruin == "damaged":
        damage(path)
    one.start()
    one.logged("event=checkpoint_damaged")
    one.logged("error: event=checkpoints_lost")
    assert one.client().model()["rev"] == (60 if journal else 0)


def test_checkpoints_kept_are_the_newest(daemon):
    one = daemon(model() + section("checkpoint", {"keep": 2, "older": 0}))
    client = one.client()
    numbers = [client.ok("checkpoint")["sequence"] for _ in range(5)]
    assert numbers == [1, 2, 3, 4, 5]
    assert len(checkpoints(one)) == 2
    one.restart()
    assert one.client().status()["checkpoint"]["sequence"] == 6


def test_checkpoint_timer_writes(daemon):
    client = daemon(model() + section("checkpoint", {"every": "1s"})).client()
    wait_for(lambda: client.status()["checkpoint"]["written"] >= 2, "two checkpoints")
    newest = client.status()["checkpoint"]
    assert newest["bytes"] > 0 and newest["failed"] == 0 and newest["age"] >= 0


@pytest.mark.foresees("checkpoint_failed")
def test_checkpoint_that_cannot_be_written_is_told_and_tried_again(daemon):
    one = daemon()
    client = one.client()
    grow(client)
    taken = one.state / f"coppice.{1:020}.checkpoint.tmp"  # the journal is not touched, which would be looked after
    taken.mkdir()
    assert client.error("checkpoint")["code"] == "internal"
    assert client.status()["checkpoint"]["failed"] == 1 and one.logged("event=checkpoint_failed")
    assert client.decide("m", "goes on", X)
    taken.rmdir()
    assert client.ok("checkpoint")["sequence"] == 1


@pytest.mark.parametrize(
    "change", [{"arms": 2}, {"features": 2}, {"height": 3}, {"trees": 3}, {"learner": "dgt", "trees": None}]
)
def test_changed_shape_is_refused_until_reset(daemon, change):
    one = daemon(model("m") + model("other"))
    grow(one.client())
    grow(one.client(), "other")
    one.stop()
    before = len(one.log())
    one.write_config(model("m", **change) + model("other"))
    one.launch()
    one.wait(1)
    said = one.log()[before:]
    assert 'model "m"' in said and "--reset-model m" in said
    for key, value in change.items():
        if key in ("arms", "features"):
            assert "3" in said and str(value) in said  # both shapes
    one.start("--reset-model", "m")
    client = one.client()
    assert (client.model("m")["rev"], client.model("other")["rev"]) == (0, 60)
    one.restart()  # without the option


def test_reset_holds_from_the_start_on_however_the_daemon_ends(daemon):
    one = daemon(model("m") + model("other"))
    grow(one.client())
    grow(one.client(), "other")
    one.stop()
    one.start("--reset-model", "m")
    assert one.client().status()["checkpoint"]["sequence"] > 1  # no event came since, and yet it is written
    one.kill()
    one.start()
    client = one.client()
    assert (client.model("m")["rev"], client.model("other")["rev"]) == (0, 60)


@pytest.mark.parametrize("started_from", [False, True])
def test_reset_holds_though_later_checkpoints_are_damaged(daemon, tmp_path, started_from):
    one = daemon(model("m") + model("other") + section("checkpoint", {"every": "1h"}))
    grow(one.client())
    one.client().ok("checkpoint")
    (first,) = checkpoints(one)
    if started_from:
        made = tmp_path / "m.model"
        subprocess.run([program("COPPICE"), "replay", "--format", "journal", one.state / "journal", "--model", "m",
                        "--height", "2", "--trees", "2", "--save", made],
                       check=True, capture_output=True, timeout=DEADLINE)
        one.write_config(model("m", start_from=str(made)) + model("other") + section("checkpoint", {"every": "1h"}))
    one.stop()
    one.start("--reset-model", "m")
    grow(one.client(), "m", prefix="then")
    one.client().decide("m", "waits", X)
    before = one.client().model("m")
    one.kill()
    for path in checkpoints(one):
        if path != first:
            damage(path)
    one.start()
    one.logged("event=checkpoint_damaged")
    after = one.client().model("m")
    assert after == before and after["rev"] == (120 if started_from else 60)
    assert one.client().feedback("m", "waits", 0.5) == "applied"


def test_reset_by_an_order_holds_though_later_checkpoints_are_damaged(daemon):
    one = daemon(model("m") + section("checkpoint", {"every": "1h"}))
    grow(one.client())
    one.client().ok("checkpoint")
    (first,) = checkpoints(one)
    one.client().ok("model", "m", {"do": "reset"})
    grow(one.client(), "m", prefix="then", events=20)
    before = one.client().model("m")
    one.client().ok("checkpoint")
    one.kill()
    for path in checkpoints(one):
        if path != first:
            damage(path)
    one.start()
    assert one.client().model("m") == before and before["rev"] == 20


def test_model_removed_is_parked_and_comes_back(daemon):
    one = daemon(model("m") + model("gone", arms=4))
    client = one.client()
    grow(client, "gone")
    expected = state(client, "gone")
    one.stop()
    for _ in range(2):  # through two generations of checkpoints
        one.write_config(model("m"))
        one.start()
        client = one.client()
        assert client.status()["parked"] == ["gone"]
        assert client.error("decide", "gone", {"id": 1, "x": X})["code"] == "unknown_model"
        client.ok("checkpoint")
        one.stop()
    assert "event=model_parked model=gone" in one.log()
    one.write_config(model("m") + model("gone", arms=4))
    one.start()
    assert state(one.client(), "gone") == expected
    assert one.client().status()["parked"] == []


def test_second_daemon_on_the_same_state_is_refused(daemon):
    first, second = daemon(), daemon(start=False)
    second.write_config(f'state_dir = "{first.state}"\n' + model())
    second.launch()
    second.wait(1)
    assert "another coppiced" in second.log() and str(first.state) in second.log()
    assert first.client().status()


def test_endpoint_that_cannot_be_bound_is_named(daemon):
    one = daemon(start=False)
    one.write_config(model() + section("sockets", {"requests": ["ipc:///nowhere/at/all"]}))
    one.launch()
    one.wait(1)
    assert "ipc:///nowhere/at/all" in one.log() and "requests" in one.log()


def test_state_folder_that_cannot_be_made_is_named(daemon):
    one = daemon(start=False)
    one.write_config('state_dir = "/proc/nothing"\n' + model())
    one.launch()
    one.wait(1)
    assert "/proc/nothing" in one.log()


@pytest.fixture
def manager(tmp_path):
    """A service manager's end of the notification socket: messages(needed) reads on until it has seen that text. A thread
    takes them, as a daemon that tells more than the socket holds would wait."""
    path = f"\0coppice-test-{os.getpid()}-{tmp_path.name}"
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.bind(path)
    seen, told = [], queue.Queue()

    def take():
        while message := end.recv(4096):
            told.put(message.decode())

    def messages(needed):
        seen.append("")
        while needed not in seen[-1].split("\n"):
            seen.append(told.get(timeout=DEADLINE))
        return seen

    thread = threading.Thread(target=take)
    thread.start()
    messages.address = "@" + path[1:]
    yield messages
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
        last.sendto(b"", path)  # ends the thread
    thread.join()
    end.close()


def test_service_manager_is_told_of_each_step(daemon, manager):
    one = daemon(env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "1000000"})
    manager("READY=1")
    manager("WATCHDOG=1")
    one.signal(signal.SIGHUP)
    reloading = manager("RELOADING=1")[-1]
    assert any(line.startswith("MONOTONIC_USEC=") and int(line[15:]) > 0 for line in reloading.split("\n"))
    manager("READY=1")
    manager("WATCHDOG=1")
    one.signal(signal.SIGTERM)
    manager("STOPPING=1")
    one.wait(0)


def test_watchdog_is_fed_while_requests_come(daemon, manager):
    one = daemon(env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "400000"})
    client = one.client()
    manager("READY=1")
    for _ in range(4):
        for _ in range(2000):
            client.send("status")
        for _ in range(2000):
            client.receive()
        manager("WATCHDOG=1")


def test_terminal_gets_the_log_without_being_asked(daemon):
    d = daemon(model(), args=(), start=False)
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    told = b""

    def serves():
        nonlocal told
        try:
            told += os.read(ours, 65536)
        except BlockingIOError:
            pass
        return b"event=serving" in told

    with open(d.log_path, "ab") as log:
        d.process = subprocess.Popen([d.program, "--config", d.config], stdout=log, stderr=theirs, env=d.env, cwd=d.folder)
    os.close(theirs)
    wait_for(serves, "the log on the terminal")
    assert d.client().model("m")["rev"] == 0
    os.close(ours)


def test_ipc_files_go_at_a_clean_stop_and_left_ones_are_replaced(daemon):
    one = daemon(model(), start=False)
    names = ["requests", "admin", "contexts", "feedback", "pull", "actions"]
    options = ["requests", "admin", "contexts_bind", "feedback_bind", "feedback_pull_bind", "actions_bind"]
    one.write_config(model() + section("sockets", {o: [one.ipc(n)] for o, n in zip(options, names)}))
    one.start()
    assert sorted(os.listdir(one.sockets.name)) == sorted(names)
    one.stop()
    assert os.listdir(one.sockets.name) == []
    one.start()
    one.kill()
    assert sorted(os.listdir(one.sockets.name)) == sorted(names)
    one.start()
    one.stop()
    assert os.listdir(one.sockets.name) == []


def test_ipc_file_that_another_process_serves_is_not_taken(daemon):
    first = daemon(model())
    client = first.client()
    second = daemon(model(), start=False)
    second.write_config(model() + section("sockets", {"requests": [first.ipc("requests")]}))
    second.launch().wait(1)
    assert "another process serves it" in second.log() and "requests" in second.log()
    assert client.decide("m", "still", X)["id"] == "still"
    assert first.client().ok("status")  # a new connection finds the file too
    path = os.path.join(second.sockets.name, "file")
    second.write_config(model() + section("sockets", {"requests": [f"ipc://{path}"]}))
    with open(path, "w") as file:
        file.write("kept")
    second.launch().wait(1)
    assert "no socket" in second.log() and open(path).read() == "kept"
