"""A disk that is full, fails, or may not be written: decisions go on and say that they are not durable, feedback is
refused, status and log say why, and all is well again when the disk is, without a restart.
"""

import errno
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from faults import CUT, FILES, FOLDER, FOREVER, LONG, LOSE, MEMORY, OPEN, READ, REMOVE, RENAME, RESERVE, SYNC, WRITE
from faults import Ledger, seeded, service

SYNCS = ("always", "interval", "never")
MODELS = {"m": 3, "dgt": 2}
CALLS = {
    "open": OPEN,
    "write": WRITE,
    "sync": SYNC,
    "rename": RENAME,
    "cut": CUT,
    "remove": REMOVE,
    "read": READ,
    "reserve": RESERVE,
    "folder": FOLDER,
    "memory": MEMORY,
}


def configuration(sync="interval", segment="64KiB"):
    return (
        service.section("journal", {"sync": sync, "interval": "2ms", "segment": segment})
        + service.section("checkpoint", {"every": "7d", "keep": 2})
        + service.model("m", features=3, reward_window="1d", explain_keep=0, trees=1, height=1)
        + service.model("dgt", "dgt", features=2, reward_window="1d", explain_keep=0)
    )


def journal(client):
    return client.status()["journal"]


def learn(ledger, client, count=5):
    """Decisions and their feedback, all acknowledged and durable."""
    for name in MODELS:
        items = [ledger.new(name) for _ in range(count)]
        status, reply = ledger.call(client, ledger.decide(*items))
        assert status == "ok" and not any("durable" in i for i in reply["items"])
        status, reply = ledger.call(client, ledger.feedback(*items))
        assert [i["result"] for i in reply["items"]] == ["applied"] * count


def suffer(ledger, client):
    """The journal cannot be written: sends until the daemon has noticed, then sees that it serves as it should."""

    def noticed():
        status, reply = ledger.call(client, ledger.decide(ledger.new("m")))
        assert status == "ok"
        return reply.get("durable") is False

    service.wait_for(noticed, "a decision that is not durable")
    items = [ledger.new("m") for _ in range(3)]
    status, reply = ledger.call(client, ledger.decide(*items))
    assert status == "ok" and [i["durable"] for i in reply["items"]] == [False] * 3
    status, reply = ledger.call(client, ledger.feedback(items[0]))
    assert (status, reply["code"]) == ("error", "not_durable"), reply
    ledger.call(client, ledger.feedback(*items[1:]))
    assert items[1].unsure and items[2].unsure
    state = journal(client)
    assert state["state"] != "ok" and state["failures"] > 0 and state["reason"], state


def heal(ledger, client, fault=None):
    """Time passes; what was not durable is so then, and the feedback that was refused can be sent again."""

    def healed():
        if fault is not None:
            fault.hurry(1.5)
        return journal(client)["state"] == "ok"

    service.wait_for(healed, "the journal to heal")
    for items in ledger.items.values():
        for item in items:
            item.durable = True  # the checkpoint that healing writes has them
            if item.unsure:
                ledger.call(client, ledger.feedback(item))
                assert item.applied, item.id
    learn(ledger, client)


def survive(d, ledger):
    """Killed and started again."""
    d.kill()
    ledger.drop_open()
    d.start()
    client = d.client()
    ledger.settle(client)
    return client


FAULTS = {
    "full": (WRITE | RESERVE, errno.ENOSPC),
    "full_for_good": (WRITE | RESERVE | OPEN | CUT, errno.ENOSPC),
    "write_error": (WRITE, errno.EIO),
    "sync_error": (SYNC, errno.EIO),
    "all_fails": (FILES, errno.EIO),
    "read_only": (FILES & ~READ & ~SYNC, errno.EROFS),
    "no_files": (OPEN, errno.EMFILE),
}


@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("name", [n for n in FAULTS if n != "no_files"])
def test_disk_that_fails_while_serving_heals_without_a_restart(daemon, fault, name, sync):
    if sync == "never" and name == "sync_error":
        pytest.skip("nothing is synced")
    ledger = Ledger(seeded(name), MODELS)
    d = daemon(configuration(sync), env=fault.env)
    client = d.client()
    learn(ledger, client)
    for _ in range(2):
        fault.begin(*FAULTS[name])
        suffer(ledger, client)
        fault.hurry()  # it tries, and fails again
        suffer(ledger, client)
        d.logged("journal_broken")
        fault.end()
        heal(ledger, client, fault)
        d.logged("journal_healed")
    client = survive(d, ledger)
    learn(ledger, client)


@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("name", [n for n in FAULTS if n != "no_files"])
def test_kill_while_the_disk_fails_loses_nothing_acknowledged(daemon, fault, name, sync):
    if sync == "never" and name == "sync_error":
        pytest.skip("nothing is synced")
    ledger = Ledger(seeded(name), MODELS)
    d = daemon(configuration(sync), env=fault.env)
    client = d.client()
    for _ in range(3):
        learn(ledger, client)
        fault.begin(*FAULTS[name])
        suffer(ledger, client)
        fault.hurry()
        suffer(ledger, client)
        client.close()
        d.kill()
        fault.end()
        d.start()
        client = d.client()
        ledger.settle(client)


@pytest.mark.parametrize("sync", ["always", "interval"])
def test_failed_sync_that_lost_what_it_was_to_sync_heals_from_memory(daemon, fault, sync):
    """The pages are gone, as they may be after a failed fsync: what the process knows is then all there is."""
    ledger = Ledger(seeded(sync), MODELS)
    d = daemon(configuration(sync), env=fault.env)
    client = d.client()
    for _ in range(2):
        learn(ledger, client)
        failures = journal(client)["failures"]
        fault.begin(SYNC, errno.EIO, times=1, flags=LOSE)
        service.wait_for(lambda: ledger.call(client, ledger.decide(ledger.new("m"))) and fault.get("failed"), "it")
        fault.end()
        service.wait_for(lambda: journal(client)["failures"] > failures, "the daemon to notice")
        heal(ledger, client, fault)
    survive(d, ledger)


def test_stop_while_the_disk_is_full_ends_with_an_error_and_keeps_what_was_durable(daemon, fault):
    ledger = Ledger(seeded("stop"), MODELS)
    d = daemon(configuration(), env=fault.env)
    client = d.client()
    learn(ledger, client)
    fault.begin(*FAULTS["full_for_good"])
    suffer(ledger, client)
    d.stop(status=1)
    assert "cannot be written" in d.log() or "No space left" in d.log()
    fault.end()
    d.start()
    ledger.settle(d.client())


@pytest.mark.parametrize("lived", [False, True])
def test_start_on_a_full_disk_serves_and_heals(daemon, fault, lived):
    """Decisions and no acknowledgements, rather than an end that is repeated until the service manager gives up."""
    ledger = Ledger(seeded("start"), MODELS)
    d = daemon(configuration(), start=False, env=fault.env)
    if lived:
        d.start()
        learn(ledger, d.client())
        d.kill()
    fault.begin(*FAULTS["full"])
    d.start()
    client = d.client()
    assert journal(client)["state"] == "broken" and "No space left" in journal(client)["reason"]
    if lived:
        ledger.check_bounds(client)  # nothing that was acknowledged is lost
    suffer(ledger, client)
    fault.hurry()
    suffer(ledger, client)
    fault.end()
    heal(ledger, client, fault)
    survive(d, ledger)


def test_start_on_a_full_disk_leaves_a_torn_tail_where_it_cannot_be_cut(daemon, fault):
    ledger = Ledger(seeded("tail"), MODELS)
    d = daemon(configuration(), env=fault.env)
    learn(ledger, d.client())
    d.kill()
    with open(sorted((d.state / "journal").glob("*.journal"))[-1], "ab") as file:
        file.write(b"half a record")
    fault.begin(WRITE | RESERVE | CUT, errno.ENOSPC)
    d.start()
    d.logged("cut=0")
    fault.end()
    client = d.client()
    heal(ledger, client, fault)
    survive(d, ledger)
    for path in d.state.glob("coppice.*.checkpoint"):
        path.unlink()
    survive(d, ledger)  # the journal is whole: what was not cut lies behind the base of the next segment


@pytest.mark.parametrize("name", [n for n in FAULTS if n not in ("sync_error", "full")])
def test_start_on_a_disk_that_fails_says_what_and_where(daemon, fault, name):
    d = daemon(configuration(), start=False, env=fault.env)
    fault.begin(*FAULTS[name])
    d.launch()
    d.wait(status=1)
    last = d.log().splitlines()[-2:]
    assert any(str(d.state) in line and os.strerror(FAULTS[name][1]) in line for line in last), last
    fault.end()
    d.start()


# ---- a real small file system ----


class SmallDisk:
    """A tmpfs of its own, seen by the processes in its namespace, and from here through /proc."""

    def __init__(self, folder, size):
        self.folder = folder
        mount = f"mount -t tmpfs -o size={size} none '{folder}' && echo ready && exec cat"
        self.holder = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", mount], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if self.holder.stdout.readline() != b"ready\n":
            self.holder.wait()
            pytest.skip("a file system cannot be mounted here: " + self.holder.stderr.read().decode().strip())
        self.command = ["nsenter", "-t", str(self.holder.pid), "-m"]
        self.view = Path(f"/proc/{self.holder.pid}/root{folder}")

    def remount(self, how):
        subprocess.run([*self.command, "mount", "-o", f"remount,{how}", self.folder], check=True)

    def fill(self):
        """Leaves not a byte."""
        with open(self.view / "filler", "ab", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError as error:
                    assert error.errno == errno.ENOSPC

    def free(self):
        (self.view / "filler").unlink()

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()


@pytest.fixture
def small_disk(tmp_path):
    made = []

    def make(folder, size):
        if shutil.which("unshare") is None or shutil.which("nsenter") is None:
            pytest.skip("needs unshare and nsenter")
        folder.mkdir()
        made.append(SmallDisk(folder, size))
        return made[-1]

    yield make
    for disk in made:
        disk.close()


@pytest.mark.foresees("journal_broken", "journal_still_broken", "checkpoint_failed")
@pytest.mark.parametrize("sync", SYNCS)
def test_full_file_system_heals_when_there_is_space_again(daemon, small_disk, sync):
    ledger = Ledger(seeded(sync), MODELS)
    d = daemon(configuration(sync), start=False)
    disk = small_disk(d.state, "2m")
    d.command = disk.command
    d.start()
    client = d.client()
    for kill in (False, True):
        learn(ledger, client)
        disk.fill()
        suffer(ledger, client)
        assert client.error("checkpoint")["code"] == "internal"
        if not kill:
            disk.free()
            heal(ledger, client)
            continue
        client.close()
        d.kill()
        d.start()
        client = d.client()
        assert "No space left" in journal(client)["reason"]
        ledger.check_bounds(client)  # nothing that was acknowledged is lost
        disk.free()
        service.wait_for(lambda: journal(client)["state"] == "ok", "the journal to heal")
        ledger.settle(client)
    d.stop()


def test_read_only_file_system_is_refused_at_start_by_name(daemon, small_disk):
    ledger = Ledger(seeded("ro"), MODELS)
    d = daemon(configuration(), start=False)
    disk = small_disk(d.state, "2m")
    d.command = disk.command
    d.start()
    learn(ledger, d.client())
    d.kill()
    disk.remount("ro")
    d.launch()
    d.wait(status=1)
    assert "Read-only file system" in d.log() and str(d.state) in d.log()
    disk.remount("rw")
    d.start()
    ledger.settle(d.client())
    d.stop()


# ---- the n-th call fails, for every n ----


class Visit:
    """Start, events, checkpoints, events, end."""

    PATIENCE = 300  # milliseconds; without memory a reply may be dropped

    def __init__(self, d, fault, ledger):
        self.d, self.fault, self.ledger = d, fault, ledger

    def answered(self, client=None):
        """Whether an answer comes. If not, the fault ends here."""
        memory = self.fault.get("kinds") == MEMORY
        if (client or self.client).socket.poll(self.PATIENCE if memory else 1000 * service.DEADLINE):
            return True
        assert memory, "no answer"
        self.fault.end()
        self.client = self.d.client()  # to which a late answer does not come
        return False

    def started(self):
        """False when it ended, which has to be an orderly end."""
        before = len(self.d.log())
        self.d.launch()
        self.client = self.d.client()
        self.client.send("status")
        ended = self.d.process.poll
        service.wait_for(lambda: self.client.socket.poll(2) or ended() is not None or self.stuck(), "an answer")
        if ended() is not None:
            assert ended() == 1, self.d.log()
            assert "coppiced" in self.d.log()[before:], self.d.log()
            return False
        self.client.receive()
        return True

    def stuck(self):
        """The answer was dropped: asks again, with memory."""
        if self.fault.get("kinds") == MEMORY and self.fault.get("failed") and "serving" in self.d.log():
            if not self.client.socket.poll(self.PATIENCE) and self.d.process.poll() is None:
                self.fault.end()
                self.client.close()
                self.client = self.d.client()  # to which the first answer does not come, if it is only late
                self.client.send("status")
        return False

    def talk(self):
        for name in MODELS:
            items = [self.ledger.new(name) for _ in range(2)]
            for make in (self.ledger.decide, self.ledger.feedback, self.ledger.feedback):
                request = make(*items)
                self.client.send(request.verb, request.model, request.body)
                if not self.answered():
                    request.drop()
                    continue
                status, reply = self.client.receive()
                assert status == "ok" or reply["code"] in ("not_durable", "internal"), reply
                request.take(status, reply)
        saver = self.d.admin()
        saver.send("checkpoint")
        if self.answered(saver):
            saver.receive()

    def run(self, end):
        """end: how it ends, "stop", "heal" or "kill". False: it did not start."""
        if not self.started():
            self.client.close()
            return False
        self.talk()
        self.talk()
        if end == "kill":
            self.d.kill()
        self.fault.end()
        if end == "stop":
            self.d.signal(signal.SIGTERM)
            assert self.d.process.wait(service.DEADLINE) in (0, 1), self.d.log()
        elif end == "heal":
            self.heal()
            self.d.kill()
        self.client.close()
        return True

    def heal(self):
        fault, client = self.fault, self.client
        service.wait_for(lambda: fault.hurry(1.5) or journal(client)["state"] == "ok", "the journal to heal")
        client.ok("checkpoint")
        for items in self.ledger.items.values():
            for item in items:
                item.durable = True


def test_feedback_whose_record_finds_no_memory_is_not_acknowledged(daemon, fault):
    ledger = Ledger(seeded("memory"), MODELS)
    d = daemon(configuration("interval"), env=fault.env)
    client = d.client()

    def burst(requests):
        """All there at once: the loop's turns take more and more of them, up to 64."""
        d.signal(signal.SIGSTOP)
        for request in requests:
            ledger.send(client, request)
        d.signal(signal.SIGCONT)
        while ledger.open:
            ledger.take(*client.receive())

    items = [ledger.new("m") for _ in range(240)]
    for item in items:
        item.id += "-with-a-long-name"  # so that a turn's records take more room than the first ones, of configurations
    ledger.pipeline(client, [ledger.decide(i) for i in items], width=1)
    for _ in range(240):  # room for as many answers, and none for records
        client.send("decide", "m", {"id": 1, "x": []})
    for _ in range(240):
        assert client.receive()[0] == "error"
    fault.begin(MEMORY, errno.ENOMEM)
    burst([ledger.feedback(i) for i in items])
    assert fault.get("failed") > 0
    refused = sum(i.unsure for i in items)
    d.kill()
    fault.end()
    d.start()
    ledger.settle(d.client())
    print(f"{refused} of {len(items)} refused")
    assert refused > 0


def cases():
    for call, kind in CALLS.items():
        yield pytest.param(kind, 1, id=f"{call}-once")
        yield pytest.param(kind, FOREVER, id=f"{call}-from-then-on")


@pytest.mark.parametrize("kind,times", cases())
def test_nth_call_that_fails_neither_aborts_nor_loses_what_was_acknowledged(daemon, fault, kind, times):
    rng = seeded("nth")
    d = daemon(configuration("always", segment="64KiB"), start=False, env=fault.env)
    ledger = Ledger(rng, MODELS)

    def prepare():
        """Something to recover: a checkpoint and records after it."""
        d.start()
        client = d.client()
        ledger.settle(client)
        learn(ledger, client, 2)
        client.close()
        d.kill()

    prepare()
    fault.count(kind)
    assert Visit(d, fault, ledger).run("stop")
    calls = fault.get("count")
    print(f"{calls} calls")
    step = 1 if LONG else max(1, calls // 16)
    code = errno.ENOMEM if kind == MEMORY else errno.ENOSPC if kind == RESERVE else errno.EIO
    nth = 1
    while nth <= calls:
        prepare()
        fault.begin(kind, code, nth=nth, times=times)
        ledger.forgetful = kind == MEMORY
        Visit(d, fault, ledger).run(rng.choice(("stop", "heal", "heal", "kill", "kill")))
        fault.end()
        ledger.forgetful = False
        nth += 1 if LONG else 1 + rng.randrange(2 * step)
    prepare()
