"""The checker itself (checker.py): a true history is passed, and each forged one is found out.

The histories are those of a made-up service, which knows nothing but what the protocol promises, and writes its journal
by journal_bytes.py.
"""

import copy

import journal_bytes as bytes_of
import pytest
from checker import judge, read_journal

MODEL = "m"


class Service:
    """What a service of one model knows, and its history."""

    def __init__(self):
        self.entries, self.records, self.decided, self.fed = [], [], {}, {}

    def add(self, what, **fields):
        self.entries.append({"n": len(self.entries), "what": what, **fields})
        return self.entries[-1]["n"]

    def tell(self, ask, **reply):
        return self.add("told", of=ask, reply=reply)

    def decide(self, id, silent=False):
        ask = self.add("ask", client="c", verb="decide", model=MODEL, id=id)
        again = id in self.decided
        if not again:
            self.decided[id] = {"a": len(id) % 3, "p": 0.5, "rev": len(self.fed), "greedy": True}
            action = self.decided[id]
            record = bytes_of.decision(id, [1.0], 1.0, a=action["a"], p=0.5, rev=action["rev"])
            self.records.append(record)
        if not silent:
            self.tell(ask, id=id, **self.decided[id], **({"repeated": True} if again else {}))

    def feed(self, id, silent=False):
        ask = self.add("ask", client="c", verb="feedback", model=MODEL, id=id, loss=0.25)
        known = id in self.decided
        result = "duplicate" if id in self.fed else "applied" if known else "unknown"
        kind, body = bytes_of.feedback(id, 0.25, 2.0)
        fields = {**bytes_of.msgpack.unpackb(body), "r": {"applied": 0, "duplicate": 2, "unknown": 4}[result]}
        self.records.append((kind, bytes_of.msgpack.packb(fields)))
        if result == "applied":
            self.fed[id] = 0.25
        if not silent:
            self.tell(ask, id=id, result=result)

    def lose(self, *ids):
        """What came of these is gone with the journal's end, from the first of their records on."""
        lost = [r for r in self.records if bytes_of.msgpack.unpackb(r[1])["id"] in ids]
        self.records = [r for r in self.records if r not in lost]
        for id in ids:
            self.decided.pop(id, None)
            self.fed.pop(id, None)

    def files(self, base=1):
        data = bytes_of.header(base) + b"".join(
            bytes_of.record(base + i, kind, body) for i, (kind, body) in enumerate(self.records)
        )
        return {bytes_of.name(base): data}

    def status(self):
        fed = len(self.fed)
        return {"models": [{"name": MODEL, "decisions": len(self.decided), "learned": fed, "feedback": {"applied": fed}}]}

    def findings(self):
        return judge(self.entries, read_journal(self.files()), self.status())[0]


def true_history(kept=None):
    one = Service()
    one.add("start"), one.add("up")
    for id in ("a", "bb", "ccc"):
        one.decide(id)
    one.feed("a")
    one.decide("bb")  # asked again
    one.feed("bb", silent=True)
    one.add("cut", kept=kept)
    one.add("start"), one.add("up")
    one.feed("bb")  # its first answer never came
    one.feed("a")
    one.decide("dddd", silent=True)
    one.decide("dddd")
    one.decide("ccc")
    return one


def test_true_history_passes():
    one = true_history()
    findings, counts = judge(one.entries, read_journal(one.files()), one.status())
    assert not findings
    assert counts == {"decisions": 4, "rewards": 2, "repeated": 5, "gone": 0, "cuts": 1}


def words(findings):
    return {finding.split(":")[0] for finding in findings}


def told(one, id, what, nth=0):
    """The nth answer about an id that has this key."""
    asks = {e["n"]: e for e in one.entries if e["what"] == "ask"}
    found = [e for e in one.entries if e["what"] == "told" and asks[e["of"]]["id"] == id and what in e["reply"]]
    return found[nth]["reply"]


FORGED = {
    # what clients saw
    "reward gone": ("lost", lambda one: told(one, "a", "result", 1).update(result="unknown")),
    "reward late": ("lost", lambda one: told(one, "a", "result", 1).update(result="late")),
    "decision gone": ("lost", lambda one: told(one, "bb", "result").update(result="unknown")),
    "learned again": ("twice", lambda one: told(one, "a", "result", 1).update(result="applied")),
    "another arm": ("other", lambda one: told(one, "ccc", "a", 1).update(a=2)),
    "another propensity": ("other", lambda one: told(one, "bb", "a", 1).update(p=0.25)),
    "duplicate of nothing": ("nothing", lambda one: told(one, "a", "result").update(result="duplicate")),
    "unknown word": ("broken", lambda one: told(one, "a", "result").update(result="perhaps")),
    "another's answer": ("broken", lambda one: told(one, "a", "result").update(id="bb")),
    # the journal
    "feedback's record gone": ("lost", lambda one: one.records.pop(3)),
    "decision's record gone": ("lost", lambda one: one.records.pop(2)),
    "learned in two records": ("twice", lambda one: one.records.append(one.records[3])),
    "decided in two records": ("twice", lambda one: one.records.append(one.records[0])),
    "journal has another arm": ("other", lambda one: change(one, 0, a=2)),
    "journal has another propensity": ("other", lambda one: change(one, 0, p=0.25)),
    "journal has another loss": ("nothing", lambda one: change(one, 3, loss=[0.75])),
    "decision nobody asked for": ("nothing", lambda one: change(one, 2, id="zzz")),
    "learned before decided": ("broken", lambda one: one.records.insert(0, one.records.pop(3))),
    "learned and ended": ("twice", lambda one: one.records.append((3, bytes_of.body(t=3.0, m=MODEL, s=[["a", 1, 0.5]])))),
    # the counts
    "one more is counted": ("broken", lambda one: one.fed.update(zzz=0.25)),
    "one decision fewer is counted": ("broken", lambda one: one.decided.pop("ccc")),
}


def change(one, number, **fields):
    kind, body = one.records[number]
    one.records[number] = kind, bytes_of.msgpack.packb({**bytes_of.msgpack.unpackb(body), **fields})


@pytest.mark.parametrize("name", FORGED)
def test_forged_history_is_found_out(name):
    word, forge = FORGED[name]
    one = true_history()
    forge(one)
    assert word in words(one.findings()), one.findings()


def test_gap_in_the_journal_is_found_out():
    one = true_history()
    files = one.files()
    (data,) = files.values()
    first = read_journal(files)[0]
    data = data[: first.offset] + data[first.end :]
    findings, _ = judge(one.entries, read_journal({bytes_of.name(1): data}), one.status())
    assert "broken" in words(findings)


def with_losses(kept):
    """Answered and not synced when the machine died: `a`; synced: `bb`."""
    one = Service()
    one.add("start"), one.add("up")
    one.decide("bb"), one.feed("bb")
    one.decide("a"), one.feed("a")
    one.add("cut", kept=kept)
    one.lose("a")
    one.add("start"), one.add("up")
    one.feed("a"), one.feed("bb")
    return one


SYNCED = {(MODEL, "bb")}


def test_what_was_not_synced_may_go_where_no_more_was_promised():
    assert not with_losses({"decided": SYNCED, "fed": SYNCED}).findings()
    assert words(with_losses(None).findings()) == {"lost"}


def test_what_was_synced_may_not_go():
    both = SYNCED | {(MODEL, "a")}
    assert words(with_losses({"decided": both, "fed": both}).findings()) == {"lost"}
    assert words(with_losses({"decided": SYNCED, "fed": both}).findings()) == {"lost"}


def test_what_was_acknowledged_before_the_last_start_or_after_the_cut_may_not_go():
    nothing = {"decided": set(), "fed": set()}
    one = Service()
    one.add("start"), one.add("up")
    one.decide("a"), one.feed("a")
    one.add("start"), one.add("up")  # after a kill of the process alone
    one.add("cut", kept=nothing)
    one.add("start"), one.add("up")
    assert not one.findings()
    one.lose("a")
    one.feed("a")
    assert words(one.findings()) == {"lost"}
    one = Service()
    one.add("start"), one.add("up")
    one.add("cut", kept=nothing)
    one.add("start"), one.add("up")
    one.decide("a"), one.feed("a")
    one.lose("a")
    one.feed("a")
    assert words(one.findings()) == {"lost"}


def test_learned_twice_is_found_also_where_losses_are_allowed():
    one = with_losses({"decided": SYNCED, "fed": SYNCED})
    forged = copy.deepcopy(one)
    told(forged, "bb", "result", 1).update(result="applied")
    assert words(forged.findings()) == {"twice"}
