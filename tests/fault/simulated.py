"""Runs of tests/sim: what clients of simulated machines saw, judged by checker.py; and beside it what the machines' files
hold in the end.

A run prints lines: `seed N`, entries of a history (crowd.py), `lead NODE EPOCH` for each order that was answered,
`alarm NODE EVENT ...` of a follower that stopped, `stuck WHAT`, then `status HEX`, `leader NODE of COUNT` and `end STATUS`.
"""

import shutil
import subprocess
from pathlib import Path

from checker import judge, read_journal
from faults import checkpoints, read_checkpoint, service

SAME = ("settings", "learner", "pending", "counters")  # sections of a model that are equal in a group
PLANTS = ("none", "lying disk", "early answers", "dropped record", "record twice", "skipped record", "deaf leader")


class Run:
    """What one seed printed."""

    def __init__(self, seed):
        self.seed, self.entries, self.findings = seed, [], []
        self.epochs, self.status, self.leader, self.count, self.lines = {}, None, None, 0, []

    def take(self, line):
        self.lines.append(line)
        words = line.split(" ")
        kind = words[0]
        if kind in ("ask", "told", "cut", "start", "up"):
            self.take_entry(kind, words)
        elif kind == "lead":
            if self.epochs.setdefault(int(words[2]), words[1]) != words[1]:
                self.findings.append(f"other: epoch {words[2]} is led by {words[1]} and {self.epochs[int(words[2])]}")
        elif kind == "status":
            self.status = service.unpack(bytes.fromhex(words[1]))
        elif kind == "leader":
            self.leader, self.count = int(words[1]), int(words[3])
        elif kind == "end":
            if words[1] != "0" and not self.findings:
                self.findings.append(f"broken: the run ended with status {words[1]}")
        else:
            self.findings.append(line)

    def take_entry(self, kind, words):
        entry = {"n": int(words[1]), "what": kind}
        if kind == "ask":
            entry |= dict(zip(("client", "verb", "model", "id"), words[2:]))
            if entry["verb"] == "feedback":
                entry["loss"] = float(words[6])
        elif kind == "told":
            reply = service.unpack(bytes.fromhex(words[3]))
            entry |= {"of": int(words[2]), "reply": {k: v for k, v in reply.items() if k not in ("seq", "version")}}
        elif kind == "cut":
            entry["kept"] = None
        self.entries.append(entry)


def journal_of(folder):
    return read_journal({p.name: p.read_bytes() for p in folder.iterdir()})


def lineage(run, folder):
    """{number: record} by which the group went: a leader's journal stands for what is not in a later one's."""
    records = {}
    lines = sorted(folder.glob("line.*"), key=lambda p: int(p.name.split(".")[1]))
    for path in [*lines, folder / str(run.leader) / "state" / "journal"]:
        found = journal_of(path)
        if found:
            for number in [n for n in records if n > found[-1].sequence]:
                del records[number]
            records |= {record.sequence: record for record in found}
    return [records[number] for number in sorted(records)]


def judge_group(run, folder):
    """All of a group have the same records and the same models."""
    states = [folder / str(node) / "state" for node in range(run.count)]
    journals = [{r.sequence: (r.kind, r.body) for r in journal_of(state / "journal")} for state in states]
    models = []
    for state in states:
        found = read_checkpoint(checkpoints(state)[-1])
        models.append({name: [model[section] for section in SAME] for name, model in found.items()})
    for node in range(1, run.count):
        both = journals[0].keys() & journals[node].keys()
        if not both or max(journals[0]) != max(journals[node]):
            yield f"differs: the journals of 0 and {node} end differently"
        elif any(journals[0][n] != journals[node][n] for n in both):
            yield f"differs: the journals of 0 and {node}"
        if models[0] != models[node]:
            yield f"differs: the models of 0 and {node}"


def judge_run(run, folder):
    if run.findings:
        return {}
    records = lineage(run, folder)
    findings, counts = judge(run.entries, records, run.status)
    run.findings += findings
    run.findings += judge_group(run, folder)
    return counts


def play(folder, first, end, plant=0, trace=None, keep=None):
    """Yields (run, counts) of each seed of [first, end). plant: of PLANTS. trace: a file that takes what machines did.
    keep: called with a run's folder before that is removed. Whoever goes no further ends the program."""
    program = service.program("SIM_COPPICED")
    command = [program, str(folder), str(first), str(end), str(plant), *(["trace"] if trace else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=trace, text=True) as process:
        try:
            yield from judged(process, Path(folder), keep)
        except GeneratorExit:
            process.kill()
            raise
        assert process.wait() == 0


def judged(process, folder, keep):
    run = None
    for line in process.stdout:
        line = line.rstrip("\n")
        if line.startswith("seed "):
            run = Run(int(line[5:]))
            continue
        run.take(line)
        if line.startswith("end "):
            own = folder / str(run.seed)
            counts = judge_run(run, own)
            if keep:
                keep(own)
            shutil.rmtree(own)
            yield run, counts
