"""A daemon on a machine of its own, whose power is cut again and again (machine.py), and the end of such a test: what
clients saw is judged (checker.py), and the journal from its first record on leads to the same models.
"""

import os
import shutil
from pathlib import Path

from checker import facts, judge, read_journal
from faults import DIE, FILES, Fault, checkpoints, read_checkpoint, service
from machine import Machine

SAME = ("settings", "learner", "pending", "counters")  # sections of a model that a kill does not change


class Host:
    def __init__(self, daemon, rng, folder, text=""):
        folder.mkdir(parents=True)
        self.rng, self.fault, self.machine = rng, Fault(folder), None
        disk = folder / "disk"
        disk.mkdir()
        self.machine = Machine(disk, folder / "record")
        self.d = daemon("", start=False, env={**self.fault.env, **self.machine.env})
        self.d.state = disk / "state"
        self.text = text
        self.d.write_config(text)

    def start(self):
        """In some lives it dies in some call to do with files, maybe of its start."""
        self.fault.end()
        if self.rng.random() < 0.3:
            nth = int(self.rng.expovariate(1 / 150)) + 1
            self.fault.begin(FILES, DIE, nth=nth, times=1, path=str(self.machine.root))
        self.d.launch()

    def start_for_good(self):
        self.fault.end()
        self.d.launch()
        assert self.serves(), self.d.log()[-2000:]

    def died(self):
        return self.d.process.poll() is not None

    def serves(self):
        """Waits until it does, or has died: its status, or None."""
        client = self.d.client()
        try:
            for _ in range(service.DEADLINE):  # one that begins anew forgets what it was asked
                if self.died():
                    return None
                client.send("status")
                if client.socket.poll(1000):
                    return client.receive()[1]
            raise AssertionError(f"no answer, and it has not died: {self.d.log()[-3000:]}")
        finally:
            self.d.clients.remove(client)
            client.close()

    def kill(self):
        self.d.kill()
        self.fault.end()

    def cut(self):
        """The process is killed, and the power of its machine cut."""
        self.kill()
        return self.machine.cut(self.rng)

    def journal(self):
        """Its records. A segment that is being made has another name."""
        return read_journal({p.name: p.read_bytes() for p in (self.d.state / "journal").glob("*.journal")})


def kept(cut):
    """What a cut leaves of the journal in any case."""
    inside = "state/journal/"
    return facts(read_journal({p[len(inside) :]: data for p, data in cut.certain.items() if p.startswith(inside)}))


def state_of(one):
    """{model: {section: bytes}} as of its last checkpoint; it was stopped."""
    models = read_checkpoint(checkpoints(one.state)[-1])
    return {name: {section: model[section] for section in SAME} for name, model in models.items()}


def check_replay(daemon, host, text):
    """Of a host that was stopped."""
    again = daemon(text, start=False)
    again.state.mkdir()
    shutil.copytree(host.d.state / "journal", again.state / "journal")
    again.start().stop()
    assert state_of(again) == state_of(host.d)


def check_history(history, records, status, folder):
    """records: of the journal of one that was stopped after its status was asked for. What was counted."""
    findings, counts = judge(history.entries, records, status)
    if findings:
        history.save(folder / "history")
    assert not findings, f"{len(findings)} findings; the history is in {folder}: {findings[:10]}"
    return counts


class Progress:
    """How many rounds of a long test are done, so that the next run goes on behind them. COPPICE_PROGRESS names the
    folder in which that is kept; when all are done it begins anew."""

    def __init__(self, name, rounds):
        folder = os.environ.get("COPPICE_PROGRESS")
        self.file = Path(folder) / name if folder else None
        self.rounds = rounds

    def left(self):
        done = int(self.file.read_text()) if self.file and self.file.exists() else 0
        for number in range(done, self.rounds):
            yield number
            if self.file:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.file.write_text(str(number + 1))
        if self.file:
            self.file.unlink(missing_ok=True)
