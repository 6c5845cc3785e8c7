"""Judges from what clients saw (crowd.py) and from the surviving daemon's answers and journal whether anything that was
acknowledged was lost, or done twice. It shares no code with coppice: its reader of the journal is faults.py's.

judge() returns findings, each of them a text that begins with one of these words:

    lost       an acknowledged reward or decision is not there
    twice      a reward was learned twice, or a decision made twice
    other      a decision that was asked for again, or that the journal holds, is another one
    nothing    an answer about what nobody can have asked for, a record of what nobody asked
    broken     the journal or an answer is not as the protocol and the journal's format have it

Answers promise what a cut's `kept` does not exclude: with kept None all that was acknowledged; otherwise a fact that is
not in `kept` may have gone with this cut, if it was acknowledged since the start of the last daemon that served, and
asked for before the next one did.
"""

from collections import defaultdict

from faults import ACTIVATION, CONFIG, DECISION, EXPIRY, FEEDBACK, read_segment

END = 1 << 60
TAKEN, DUPLICATE, GONE = ("applied",), "duplicate", ("unknown", "late")
LEARNED = (0, 1, 4, 5)  # outcomes of decisions that ended
KNOWN = {DECISION, FEEDBACK, EXPIRY, ACTIVATION, CONFIG}


def read_journal(files):
    """[record], joined over the segments {name: bytes}; each begins where it counts."""
    segments = sorted((name, data) for name, data in files.items() if name.endswith(".journal"))
    bases = [int(name.split(".")[0]) for name, _ in segments]
    records = []
    for i, (_, data) in enumerate(segments):
        end = bases[i + 1] if i + 1 < len(bases) else END
        records += [r for r in read_segment(data)[1] if r.sequence < end]
    return records


def facts(records):
    """What a journal holds: {"decided": {(model, id)}, "fed": {(model, id)}}."""
    found = {"decided": set(), "fed": set()}
    for record in records:
        fields = record.fields()
        if record.kind == DECISION:
            found["decided"].add((fields["m"], fields["id"]))
        elif record.kind == FEEDBACK and fields["r"] == 0:
            found["fed"].add((fields["m"], fields["id"]))
    return found


class Item:
    """What was asked about one decision, and told: (asked, told, what) in the order of the answers."""

    def __init__(self, key):
        self.key, self.losses, self.decide_asks, self.feed_asks = key, set(), [], []
        self.actions, self.results = [], []


class Judge:
    def __init__(self, entries):
        self.findings, self.items, self.cuts = [], {}, []
        asks, since, started = {}, 0, 0
        for entry in entries:
            if entry["what"] == "ask":
                asks[entry["n"]] = entry
                self.ask(entry)
            elif entry["what"] == "told":
                self.told(asks.pop(entry["of"]), entry)
            elif entry["what"] == "cut":
                self.cuts.append([since, entry["n"], END, entry["kept"]])
            elif entry["what"] == "start":
                started = entry["n"]
            else:
                since = started
                for cut in self.cuts:
                    cut[2] = min(cut[2], entry["n"])

    def find(self, text):
        self.findings.append(text)

    def item(self, entry):
        key = entry["model"], entry["id"]
        return self.items.setdefault(key, Item(key))

    def ask(self, entry):
        item = self.item(entry)
        if entry["verb"] == "decide":
            item.decide_asks.append(entry["n"])
        else:
            item.feed_asks.append(entry["n"])
            item.losses.add(entry["loss"])

    def told(self, ask, entry):
        item, reply = self.item(ask), entry["reply"]
        if "code" in reply:
            return
        if reply["id"] != ask["id"]:
            self.find(f"broken: {ask['id']} was answered as {reply['id']}")
        elif ask["verb"] == "feedback":
            item.results.append((ask["n"], entry["n"], reply["result"]))
        elif reply.get("durable", True):
            action = {k: v for k, v in reply.items() if k not in ("durable", "repeated")}
            item.actions.append((ask["n"], entry["n"], action))

    def may_be_lost(self, fact, key, asked, told, until=END):
        """Whether a cut before `until` may have taken what was acknowledged at `told`."""
        return any(
            kept is not None and key not in kept[fact] and since < told and asked < up and cut < until
            for since, cut, up, kept in self.cuts
        )

    # -- what clients saw --

    def judge_answers(self):
        for item in self.items.values():
            self.judge_actions(item)
            for number, (asked, told, result) in enumerate(item.results):
                if result in TAKEN:
                    self.judge_applied(item, number)
                elif result == DUPLICATE:
                    if not any(other < told and other != asked for other in item.feed_asks):
                        self.find(f"nothing: {item.key} has feedback already, and none was sent before {asked}")
                elif result in GONE:
                    self.judge_gone(item, asked, told, result)
                else:
                    self.find(f"broken: {item.key} was told {result}")

    def judge_actions(self, item):
        for (asked, heard, first), (_, told, again) in zip(item.actions, item.actions[1:]):
            if first != again and not self.may_be_lost("decided", item.key, asked, heard, told):
                self.find(f"other: {item.key} was decided as {first}, and when it was asked for again, as {again}")

    def judge_applied(self, item, number):
        asked, told, _ = item.results[number]
        for before, heard, result in item.results[:number]:
            known = result in TAKEN or (result == DUPLICATE and heard < asked)
            if known and not self.may_be_lost("fed", item.key, before, heard, told):
                self.find(f"twice: {item.key} was learned before {heard}, and again before {told}")
                return

    def judge_gone(self, item, asked, told, result):
        for before, heard, known in item.results:
            if known not in GONE and heard < asked and not self.may_be_lost("fed", item.key, before, heard, told):
                self.find(f"lost: the reward of {item.key}, acknowledged at {heard}, is {result} at {told}")
                return
        for before, heard, _ in item.actions:
            if heard < asked and not self.may_be_lost("decided", item.key, before, heard, told):
                self.find(f"lost: decision {item.key}, acknowledged at {heard}, is {result} at {told}")
                return

    # -- what the journal holds --

    def judge_journal(self, records):
        decided, fed = {}, {}
        for number, record in enumerate(records, 1):
            if record.sequence != number or record.kind not in KNOWN:
                self.find(f"broken: record {record.sequence} of type {record.kind} in place {number}")
            fields = record.fields()
            key = fields.get("m"), fields.get("id")
            if record.kind == DECISION:
                self.take_decision(key, fields, decided)
            elif record.kind == FEEDBACK and fields["r"] == 0:
                self.take_feedback(key, fields, decided, fed)
            for id, outcome, *_ in fields.get("s", ()):
                if outcome in LEARNED and (key[0], id) in fed:
                    self.find(f"twice: {key[0], id} was learned, and again when it ended")
        for item in self.items.values():
            self.judge_kept(item, decided, fed)
        return decided, fed

    def take_decision(self, key, fields, decided):
        if key in decided:
            self.find(f"twice: {key} was decided in two records")
        if key not in self.items or not self.items[key].decide_asks:
            self.find(f"nothing: a record of decision {key}, which nobody asked for")
        decided[key] = fields

    def take_feedback(self, key, fields, decided, fed):
        if key in fed:
            self.find(f"twice: {key} was learned in two records")
        if key not in decided:
            self.find(f"broken: {key} was learned, and its decision is not in the journal")
        if key not in self.items or not set(fields["loss"]) <= self.items[key].losses:
            self.find(f"nothing: a record of loss {fields['loss']} of {key}, which nobody sent")
        fed[key] = fields

    def judge_kept(self, item, decided, fed):
        for asked, told, result in item.results:
            if result in GONE or item.key in fed or self.may_be_lost("fed", item.key, asked, told):
                continue
            self.find(f"lost: the reward of {item.key}, acknowledged at {told} ({result}), is not in the journal")
        for asked, told, action in item.actions:
            if self.may_be_lost("decided", item.key, asked, told):
                continue
            if item.key not in decided:
                self.find(f"lost: decision {item.key}, acknowledged at {told}, is not in the journal")
            elif any(action[name] != decided[item.key][key] for name, key in (("a", "a"), ("p", "p"), ("greedy", "g"))):
                self.find(f"other: {item.key} was told as {action}, and the journal has {decided[item.key]}")

    # -- what the daemon counts --

    def judge_status(self, status, decided, fed):
        for model in status["models"]:
            name = model["name"]
            counts = model["decisions"], model["learned"], model["feedback"]["applied"]
            learned = sum(key[0] == name for key in fed)
            expected = sum(key[0] == name for key in decided), learned, learned
            if counts != expected:
                self.find(f"broken: {name} counts {counts} decisions, learned, applied; its journal has {expected}")


def judge(entries, records, status):
    """entries: a history that ends with an audit; records: the journal's; status: the survivor's, after it. (findings,
    {what: how many})"""
    one = Judge(entries)
    one.judge_answers()
    decided, fed = one.judge_journal(records)
    one.judge_status(status, decided, fed)
    counts = defaultdict(int)
    for item in one.items.values():
        counts["decisions"] += bool(item.actions)
        counts["rewards"] += any(result not in GONE for _, _, result in item.results)
        counts["repeated"] += max(0, len(item.decide_asks) - 1) + max(0, len(item.feed_asks) - 1)
        counts["gone"] += any(result in GONE for _, _, result in item.results)
    counts["cuts"] = len(one.cuts)
    return one.findings, dict(counts)
