"""Known pitfalls of ZeroMQ, syslog, OpenBLAS and of learners elsewhere, one test each.

Others stand where they belong: replies that ROUTER drops, and actions at a subscriber's high-water mark
(test_slow_peers), waiting for a slow joiner's subscription (test_streams), nested array headers and MAXMSGSIZE
(test_hostile), AF_NETLINK in the unit's filter and its one thread for OpenBLAS (test_unit_file).
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import zmq
from conftest import DEADLINE, free_port, grow, model, pack, section, wait_for
from test_api import Api
from test_streams import Streams

X = [0.25, 1.0, 3.5]


def test_burst_of_5000_requests_is_all_answered(daemon):
    """ZMQ_FD is edge-triggered: a loop that does not drain leaves messages lying until the next one comes."""
    client = daemon().client(SNDHWM=0, RCVHWM=0)
    for turn in range(3):
        for i in range(5000):
            client.send("decide", "m", {"id": f"{turn}-{i}", "x": X, "seq": i})
        assert [client.receive()[1]["seq"] for _ in range(5000)] == list(range(5000))


def test_burst_from_many_clients_is_all_answered(daemon):
    """The same when the burst comes over many connections at once."""
    one = daemon()
    clients = [one.client() for _ in range(50)]
    for i in range(100):
        for number, client in enumerate(clients):
            client.send("decide", "m", {"id": f"{number}-{i}", "x": X, "seq": i})
    for client in clients:
        assert [client.receive()[1]["seq"] for _ in range(100)] == list(range(100))


def test_publisher_loss_at_high_water_mark_shows_in_gap_counter(daemon):
    """PUB drops beyond its high-water mark and says nothing; src and n make it visible."""
    streams = Streams(daemon)
    publisher = streams.daemon.socket(zmq.XPUB, connect=streams.daemon.ipc("contexts"), SNDHWM=10)
    streams.joined(publisher)
    body = {"x": X, "src": "hasty", "later": b"z" * 2000}
    sent = 0

    def burst():
        nonlocal sent
        for _ in range(5000):
            publisher.send_multipart([b"ctx.m", pack({"id": sent, "n": sent, **body})])
            sent += 1
        return streams.model()["contexts"]["lost"] > 0

    wait_for(burst, "a loss")

    def last():  # sent again until it has come through, so that the losses before it are all counted
        nonlocal sent
        publisher.send_multipart([b"ctx.m", pack({"id": sent, "n": sent, **body})])
        sent += 1
        counted = streams.model()["contexts"]
        return counted["received"] + counted["lost"] == sent

    wait_for(last, "every message to be either received or counted as lost")


def test_tcp_loopback_binds_and_serves(daemon):
    """libzmq looks up interfaces over netlink to bind tcp://127.0.0.1 and aborts where it may not."""
    one = daemon(start=False)
    ports = [free_port() for _ in range(4)]
    endpoints = [f"tcp://127.0.0.1:{port}" for port in ports]
    names = ["requests", "contexts_bind", "feedback_bind", "actions_bind"]
    sockets = {name: [endpoint] for name, endpoint in zip(names, endpoints)}
    sockets["requests"].append(one.ipc("requests"))
    one.write_config(model() + section("sockets", sockets))
    one.start()
    assert one.client(zmq.REQ, endpoints[0]).decide("m", 1, X)["id"] == 1
    contexts, actions = one.socket(zmq.XPUB, connect=endpoints[1]), one.socket(zmq.SUB, connect=endpoints[3])
    actions.subscribe(b"act.m")
    client = one.client()
    wait_for(lambda: client.status()["streams"]["subscribers"] == 1, "the subscription")
    Streams.joined(contexts)
    contexts.send_multipart([b"ctx.m", pack({"id": 2, "x": X})])
    assert actions.poll(60000) and actions.recv_multipart()[0] == b"act.m"


def threads(daemon):
    return sorted(int(name) for name in os.listdir(f"/proc/{daemon.process.pid}/task"))


def takes(daemon, thread, number):
    """Whether the thread does not block the signal (ZeroMQ's own do)."""
    lines = Path(f"/proc/{daemon.process.pid}/task/{thread}/status").read_text().splitlines()
    (blocked,) = [line.split()[1] for line in lines if line.startswith("SigBlk:")]
    return int(blocked, 16) >> (number - 1) & 1 == 0


def test_signals_to_the_process_wait_until_they_are_read(daemon):
    """No thread's handler takes them: one that waits elsewhere may leave a signal undelivered until it wakes."""
    pages = section("http", {"listen": f"127.0.0.1:{free_port()}"})
    one = daemon(pages + Api().section + section("journal", {"enabled": True}) + model())
    client = one.client()
    client.decide("m", 1, X)
    assert client.feedback("m", 1, 0.5) == "applied"
    assert len(threads(one)) > 5
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        assert not [thread for thread in threads(one) if takes(one, thread, number)]


@pytest.mark.parametrize("number", [None, "8"])
def test_signal_to_any_thread_stops_cleanly(daemon, number):
    """OpenBLAS starts threads before main, which block no signal: it may be one of them that gets it."""
    one = daemon(env={"OPENBLAS_NUM_THREADS": number, "OMP_NUM_THREADS": number})
    libc = ctypes.CDLL(None, use_errno=True)
    tgkill = {"x86_64": 234, "aarch64": 131}.get(os.uname().machine)
    if tgkill is None:
        pytest.skip("the number of tgkill is not known here")
    for generation in range(64):
        client = one.client()
        client.decide("m", generation, X)
        assert client.feedback("m", generation, 0.5) == "applied"
        targets = [t for t in threads(one) if t == one.process.pid or takes(one, t, signal.SIGTERM)]
        if generation >= len(targets):
            break
        target = targets[generation]
        assert libc.syscall(tgkill, one.process.pid, target, signal.SIGHUP) == 0
        one.logged("event=reload ", generation + 1)
        assert libc.syscall(tgkill, one.process.pid, target, signal.SIGTERM) == 0
        one.wait(0)
        one.start()
        assert one.client().model()["rev"] == generation + 1


def test_threads_stay_few_while_serving(daemon):
    """Serving starts no threads of its own, however many clients and events there are."""
    one = daemon()
    client = one.client()
    grow(client)
    before = len(threads(one))
    others = [one.client() for _ in range(20)]
    for number, other in enumerate(others):
        grow(other, prefix=f"client-{number}")
    assert len(threads(one)) == before <= 8


def test_saving_changes_no_later_prediction(daemon):
    """Saving a model must not touch it, nor what it will draw."""
    saved, plain = daemon(), daemon()
    clients = [saved.client(), plain.client()]
    for i in range(150):
        clients[0].ok("checkpoint")
        actions = [client.decide("m", i, [i % 7, i % 3, 1]) for client in clients]
        assert actions[0] == actions[1]
        assert [client.feedback("m", i, (i % 5) / 4) for client in clients] == ["applied"] * 2


def test_saving_under_load_leaves_a_checkpoint_that_loads(daemon):
    """Models elsewhere were corrupted when saved while learning."""
    one = daemon()
    busy, saver = one.client(), one.admin()
    for turn in range(20):
        for i in range(200):
            busy.send("decide", "m", {"id": f"{turn}-{i}", "x": X})
            busy.send("feedback", "m", {"id": f"{turn}-{i}", "loss": 0.5})
            if i % 20 == 0:
                saver.send("checkpoint")
        assert all(busy.receive()[0] == "ok" for _ in range(400))
        assert all(saver.receive()[0] == "ok" for _ in range(10))
    one.kill()
    one.start()
    state = one.client().model()
    one.logged("event=serving", 2)  # comes behind what was said of checkpoints
    assert "checkpoint_damaged" not in one.log()
    assert 3000 < state["rev"] == state["feedback"]["applied"] <= 4000


def test_logged_propensity_counts_not_the_one_sent_back(daemon):
    """A cost sent with another probability must not be learned with that one."""
    client = daemon(model("a") + model("b")).client()
    for i in range(60):
        x = [i % 5, 1, 0]
        decided = client.decide("a", i, x)
        assert decided == client.decide("b", i, x)
        assert client.feedback("a", i, (i % 4) / 4) == "applied"
        assert client.feedback("b", i, (i % 4) / 4, x=[9, 9, 9], a=decided["a"], p=0.001) == "applied"
    a, b = (client.ok("explain", name, {"x": X}) for name in "ab")
    assert a.pop("model") != b.pop("model") and a == b


def private_syslog(folder):
    """A /dev of its own for coppiced, with a syslog socket in it that we hold: (socket, command)."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    dev = folder / "dev"
    dev.mkdir()
    script = (
        'set -e; for n in null zero urandom random shm; do [ -e "/dev/$n" ] || continue; '
        f'if [ -d "/dev/$n" ]; then mkdir -p "{dev}/$n"; else [ -e "{dev}/$n" ] || : >"{dev}/$n"; fi; '
        f'mount --rbind "/dev/$n" "{dev}/$n"; done; mount --rbind "{dev}" /dev; exec "$@"'
    )
    command = ["unshare", "--mount", "sh", "-c", script, "sh"]
    trial = subprocess.run([*command, "true"], capture_output=True, text=True, timeout=DEADLINE)
    if trial.returncode != 0:
        pytest.skip(f"no private /dev: {trial.stderr.strip()}")
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    here = os.getcwd()
    os.chdir(dev)  # the whole path may be too long for a socket
    try:
        end.bind("log")
    finally:
        os.chdir(here)
    return end, command


@pytest.mark.parametrize("receiver", ["comes back", "never reads"])
def test_syslog_that_blocks_does_not_block_serving_or_stopping(daemon, tmp_path, receiver):
    """syslog() blocks after some ten messages when nobody reads: lines wait in a bounded ring or are counted."""
    end, command = private_syslog(tmp_path)
    with end:
        one = daemon(args=[], command=command)
        client = one.client()
        for i in range(3000):  # each logs a line
            client.ok("reload")
        grow(client)
        assert client.model()["rev"] == 60
        assert client.status()["log_dropped"] > 0
        if receiver == "comes back":
            end.settimeout(DEADLINE)
            lines = []
            while not lines or "event=log_dropped" not in lines[-1]:
                lines.append(end.recv(8192).decode())
            assert "coppiced" in lines[0] and any("event=serving" in line for line in lines)
            assert any("event=reload result=ok" in line for line in lines)
        one.stop()
        one.start("--foreground")
        assert one.client().model()["rev"] == 60


def test_syslog_that_is_absent_does_no_harm(daemon, tmp_path):
    end, command = private_syslog(tmp_path)
    end.close()
    (tmp_path / "dev" / "log").unlink()
    client = daemon(args=[], command=command).client()
    grow(client)
    for _ in range(50):
        client.ok("reload")


def test_serving_forks_no_children(daemon):
    """A child that OpenBLAS's threads would not survive is never forked: serving has no child processes."""
    one = daemon()
    grow(one.client())
    children = Path(f"/proc/{one.process.pid}/task/{one.process.pid}/children")
    if not children.exists():
        pytest.skip("the kernel does not list children")
    assert children.read_text().split() == []
