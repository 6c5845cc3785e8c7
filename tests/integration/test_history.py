"""A journal read as bandit events, by `coppice convert` and `coppice replay`: what the client saw, joined, and nothing else."""

import csv
import io
import json
import random

import pytest
from conftest import coppice, model, section, wait_for


def rows(folder, *options):
    """[(context, arm, propensity, cost)] in the journal's order of learning"""
    out = coppice("convert", "--from", "journal", "--to", "csv", folder, "-", *options)[0]
    table = list(csv.DictReader(io.StringIO(out)))
    named = ("action", "cost", "probability")
    return [
        (tuple(float(v) for k, v in row.items() if k not in named), int(row["action"]), float(row["probability"]),
         float(row["cost"])) for row in table
    ]


def context(number):
    return (float(number), (number % 7) / 8, 1.0)


class Ledger:
    """What a client decided, and what came of its feedback."""

    def __init__(self, one):
        self.one = one
        self.client = one.client()
        self.decided, self.learned = {}, []

    def restart(self):
        self.one.kill()
        self.one.start()
        self.client = self.one.client()

    def decide(self, number, **more):
        action = self.client.decide("m", number, list(context(number)), **more)
        self.decided[number] = (context(number), action["a"], action["p"])

    def feedback(self, number, loss, **more):
        result = self.client.feedback("m", number, loss, **more)
        if result == "applied":
            known = self.decided.get(number) or (context(number), more["a"], more["p"])
            self.learned.append((*known, loss))
        return result


def test_events_are_the_feedback_that_was_applied_in_its_order(daemon):
    settings = {"segment": "64KiB", "compress": True}
    ledger = Ledger(daemon(model(reward_window="2s") + section("journal", settings)))
    rng = random.Random(5)
    for number in range(10):  # never answered in time
        ledger.decide(number, defer=number % 2 == 0)
    wait_for(lambda: ledger.client.model()["dropped"] == 10, "ten windows to end")
    assert {ledger.feedback(number, 0.5) for number in range(10)} == {"late"}
    numbers = list(range(100, 700))
    late = 0
    for start in range(0, 600, 50):
        some = numbers[start : start + 50]
        for number in some:
            ledger.decide(number, defer=number % 10 == 3)
        if start in (150, 400):
            ledger.restart()
        ledger.client.ok("checkpoint")
        rng.shuffle(some)
        for number in some:
            if number % 10 == 3 and number % 20 != 3:
                ledger.client.ok("activate", "m", {"id": number})
            if number % 20 == 3 or number % 6 == 0:  # never shown, or never answered
                continue
            late += ledger.feedback(number, (number % 8) / 8) == "late"
            if number % 5 == 0:
                assert ledger.feedback(number, 1.0) in ("duplicate", "late")
        known = ledger.feedback(10000 + start, 0.25, x=list(context(10000 + start)), a=1, p=0.5)
        assert known == "applied" and ledger.feedback(20000 + start, 0.5) == "unknown"
    one = ledger.one
    one.stop()
    assert len(list((one.state / "journal").glob("*.journal*"))) >= 3 and len(ledger.learned) > 300 - late
    assert rows(one.state / "journal") == ledger.learned
    figures = json.loads(coppice("replay", "--format", "journal", one.state / "journal", "--json")[0])
    assert figures["events"] >= len(ledger.learned)  # those that were shown and never answered are events too
    mean = sum(row[3] for row in ledger.learned) / len(ledger.learned)
    assert figures["average_loss"] == pytest.approx(mean, rel=1e-9)


def test_sums_and_default_losses_come_at_the_windows_end(daemon):
    one = daemon(model(reward="sum", default_loss=0.75, reward_window="1h"))
    ledger = Ledger(one)
    losses = {}
    for number in range(60):
        ledger.decide(number)
        for turn in range(number % 4):
            assert ledger.feedback(number, 0.375) == "recorded"
        losses[number] = min(1.0, 0.375 * (number % 4)) if number % 4 else 0.75
    ledger.client.ok("model", "m", {"do": "set", "options": {"reward_window": "1ms"}})  # holds for those that wait, too
    wait_for(lambda: ledger.client.model()["pending"] == 0, "all windows to end")
    one.stop()
    assert rows(one.state / "journal") == [(*ledger.decided[n], losses[n]) for n in range(60)]


def test_model_is_named_when_there_are_several(daemon):
    one = daemon(model() + model("other") + model("v", "value"))
    client = one.client()
    action = client.decide("other", "a", [1.0, 2.0, 3.0])
    assert client.feedback("other", "a", 0.5) == "applied"
    one.stop()
    journal = one.state / "journal"
    assert "m, other, v" in coppice("convert", "--from", "journal", "--to", "csv", journal, "-", status=1)[1]
    assert rows(journal, "--model", "other") == [((1.0, 2.0, 3.0), action["a"], action["p"], 0.5)]
    refused = coppice("convert", "--from", "journal", "--to", "csv", journal, "-", "--model", "none", status=1)[1]
    assert "none" in refused and "m, other, v" in refused


def test_damage_is_named_by_file_and_offset(daemon):
    one = daemon(model())
    ledger = Ledger(one)
    for number in range(20):
        ledger.decide(number)
        ledger.feedback(number, 0.25)
    one.stop()
    (segment,) = sorted((one.state / "journal").glob("*.journal"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    told = coppice("convert", "--from", "journal", "--to", "csv", one.state / "journal", "-", status=1)[1]
    assert segment.name in told and "damaged at offset" in told
