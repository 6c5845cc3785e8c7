"""Files that were cut or changed: what is replayed is a prefix of what was written, or the start is refused by name and
offset with the ways out; never a wrong number, never a crash.

Quick form: a sample of the bytes. COPPICE_TORTURE=1: every byte.
"""

import os
import shutil
import struct
import subprocess

import pytest
from faults import CONFIG, DECISION, FEEDBACK, LONG, checkpoints, read_segment, seeded, segments, service

STARTS = int(os.environ.get("COPPICE_STARTS", 120))  # of each test in the quick form


def configuration():
    return (
        service.section("journal", {"sync": "always", "segment": "64KiB"})
        + service.section("checkpoint", {"every": "7d", "keep": 3})
        + service.model("m", "dgt", features=1, arms=2, height=1, reward_window="1d", explain_keep=0)
    )


def learn(client, first, count):
    for i in range(first, first + count):
        client.decide("m", i, [i / 10])
        if i % 2 == 0:
            assert client.feedback("m", i, 0.5) == "applied"


def numbers(client):
    status = client.model("m")
    return status["decisions"], status["feedback"]["applied"]


class Case:
    """A state folder to be damaged, again and again, and what the daemon makes of it."""

    def __init__(self, daemon, rng):
        self.d = daemon(configuration(), start=False)
        self.rng = rng

    def save(self):
        self.saved = self.d.folder / "saved"
        shutil.copytree(self.d.state, self.saved)

    def restore(self):
        shutil.rmtree(self.d.state)
        shutil.copytree(self.saved, self.d.state)

    def start(self, *args):
        """(decisions, applied) after a start, or None when it was refused; and what it logged."""
        d = self.d
        before = len(d.log())
        d.launch(*args)
        client = d.client()
        client.send("status", "m")
        service.wait_for(lambda: client.socket.poll(2) or d.process.poll() is not None, "an answer or the end")
        result = None
        if client.socket.poll(0):
            status = client.receive()[1]["models"][0]
            result = status["decisions"], status["feedback"]["applied"]
            service.wait_for(lambda: "event=serving" in d.log()[before:], "what was logged before serving")
            d.kill()
        else:
            assert d.process.wait() == 1, d.log()
        d.clients.remove(client)
        client.close()
        return result, d.log()[before:]


def prefix_numbers(records):
    """(decisions, applied) after these records."""
    kinds = [r.kind for r in records]
    return kinds.count(DECISION), kinds.count(FEEDBACK)


@pytest.fixture
def one_segment(daemon):
    """A journal of one segment with everything in it, and no checkpoint."""
    case = Case(daemon, seeded("damage"))
    case.d.start()
    learn(case.d.client(), 0, 6)
    case.d.kill()
    case.save()
    assert not checkpoints(case.d.state) and len(segments(case.d.state / "journal")) == 1
    return case


@pytest.fixture
def three_lives(daemon):
    """A journal of several segments, and checkpoints that need some of them."""
    case = Case(daemon, seeded("damage"))
    for life in range(3):
        case.d.start()
        learn(case.d.client(), 10 * life, 4)
        case.d.kill()
    case.save()
    assert len(checkpoints(case.d.state)) == 2 and len(segments(case.d.state / "journal")) == 3
    return case


def sample(rng, low, high, count=None):
    every = range(low, high)
    count = count or STARTS
    return every if LONG or len(every) <= count else sorted(rng.sample(every, count))


def test_journal_cut_at_any_byte_replays_what_is_whole(one_segment):
    case = one_segment
    path = segments(case.d.state / "journal")[0]
    data = path.read_bytes()
    header, records, marks = read_segment(data)
    assert prefix_numbers(records) == (6, 3) and len(marks) > 2 and records[0].kind == CONFIG
    bounds = {header, *(r.end for r in records), *(m + 20 for m in marks)}
    # All of the header, and of the configuration's text less than of the rest.
    cuts = [*range(header + 1), *sample(case.rng, header + 1, records[0].end, 20)]
    cuts += sample(case.rng, records[0].end, len(data) + 1)
    for cut in cuts:
        case.restore()
        path.write_bytes(data[:cut])
        found, log = case.start()
        assert found == prefix_numbers([r for r in records if r.end <= cut]), cut
        assert ("journal_torn" in log) == (cut not in bounds), (cut, log)


def test_journal_with_a_changed_bit_replays_what_is_before_it_or_is_refused(one_segment):
    case = one_segment
    path = segments(case.d.state / "journal")[0]
    data = path.read_bytes()
    header, records, _ = read_segment(data)
    refused = torn = 0
    for at in [*range(header), *sample(case.rng, header, len(data))]:
        changed = bytearray(data)
        changed[at] ^= 1 << case.rng.randrange(8)
        case.restore()
        path.write_bytes(changed)
        found, log = case.start()
        before = [r for r in records if r.end <= at]
        if found is None:
            refused += 1
            assert path.name in log and ("offset" in log or at < header), (at, log)
            if at >= header:
                assert "coppice journal salvage" in log and "--checkpoint-only" in log, (at, log)
        else:
            torn += 1
            # A mark that is damaged, and the last record: nothing behind it tells a torn tail from damage.
            assert found == prefix_numbers(before), (at, log)
            assert "journal_torn" in log, (at, log)
    assert refused > torn
    print(f"{refused} refused, {torn} torn tails")


def test_older_segment_that_is_cut_or_changed_is_refused_or_not_needed(three_lives):
    case = three_lives
    whole, _ = case.start()
    assert whole == (12, 6)
    needed = struct.unpack_from("<Q", checkpoints(case.saved)[-1].read_bytes(), 28 + 24 + 32 + 8)[0]
    for saved in segments(case.saved / "journal"):
        path = case.d.state / "journal" / saved.name
        data = saved.read_bytes()
        _, records, _ = read_segment(data)
        for at in sample(case.rng, 0, len(data), max(10, STARTS // 4)):
            case.restore()
            changed = bytearray(data)
            if case.rng.random() < 0.5:
                changed[at] ^= 1 << case.rng.randrange(8)
            else:
                del changed[at:]
            path.write_bytes(changed)
            found, log = case.start()
            if records[-1].sequence < needed:
                assert found == whole, (path, at, log)  # the checkpoint has it all
            elif found is None:
                assert path.name in log, (at, log)
            else:  # the newest segment: a torn tail
                lost = [r for r in records if r.end > at]
                decisions, applied = prefix_numbers(lost)
                assert found == (whole[0] - decisions, whole[1] - applied), (path, at, log)


@pytest.mark.parametrize("damage", ["bit", "cut"])
def test_damaged_checkpoint_falls_back_to_the_one_before_and_the_journal(three_lives, damage):
    case = three_lives
    newest = checkpoints(case.d.state)[-1]
    data = newest.read_bytes()
    for at in sample(case.rng, 0, len(data)):
        case.restore()
        changed = bytearray(data)
        if damage == "bit":
            changed[at] ^= 1 << case.rng.randrange(8)
        else:
            del changed[at:]
        newest.write_bytes(changed)
        found, log = case.start()
        assert found == (12, 6), (at, log)
        assert "checkpoint_damaged" in log and "sequence=2" in log, (at, log)


@pytest.mark.foresees("checkpoints_lost")
def test_all_checkpoints_damaged_replays_the_whole_journal(three_lives):
    case = three_lives
    for path in checkpoints(case.d.state):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    found, log = case.start()
    assert found == (12, 6) and "checkpoints_lost" in log


def test_journal_that_begins_behind_the_checkpoint_is_refused(three_lives):
    case = three_lives
    for path in checkpoints(case.d.state):
        path.unlink()
    segments(case.d.state / "journal")[0].unlink()
    found, log = case.start()
    assert found is None and "--checkpoint-only" in log


def test_checkpoint_only_sets_the_journal_aside(three_lives):
    case = three_lives
    path = segments(case.d.state / "journal")[-1]
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    assert case.start()[0] is None
    found, log = case.start("--checkpoint-only")
    assert found == (8, 4) and "journal_set_aside" in log  # what the newest checkpoint has
    assert len(list(case.d.state.glob("journal.aside.*"))) == 1
    assert case.start()[0] == (8, 4)  # and from then on as ever


def test_salvaged_journal_is_replayed_as_far_as_it_goes_together(one_segment):
    case = one_segment
    path = segments(case.d.state / "journal")[0]
    data = bytearray(path.read_bytes())
    _, records, _ = read_segment(bytes(data))
    hit = records[4]
    data[hit.offset + 20] ^= 1
    path.write_bytes(data)
    assert case.start()[0] is None
    folder = case.d.state / "journal"
    run = subprocess.run(
        [service.program("COPPICE"), "journal", "salvage", folder, case.d.folder / "rescued"],
        capture_output=True, text=True,
    )
    assert run.returncode in (0, 1), run.stderr
    rescued = [r for p in segments(case.d.folder / "rescued") for r in read_segment(p.read_bytes())[1]]
    assert [r.sequence for r in rescued] == [r.sequence for r in records if r is not hit]
    shutil.move(folder, case.d.folder / "damaged")
    shutil.move(case.d.folder / "rescued", folder)
    found, log = case.start("--salvaged")
    decisions, applied = prefix_numbers([r for r in records if r is not hit])
    orphans = hit.kind == DECISION and hit.fields()["id"] % 2 == 0  # its feedback belongs to nothing now
    assert found == (decisions, applied - orphans), (found, log)


@pytest.mark.foresees("checkpoints_lost")
def test_strange_files_in_the_state_folder_are_left_alone_or_refused(one_segment):
    case = one_segment
    journal = case.d.state / "journal"
    (case.d.state / "coppice.00000000000000000007.checkpoint").mkdir()
    (journal / "notes.txt").write_text("mine")
    (journal / "00000000000000000099.journal.tmp").write_bytes(b"half")
    found, log = case.start()
    assert found == (6, 3), log
    assert (journal / "notes.txt").exists() and not list(journal.glob("*.tmp"))
    case.restore()
    (journal / "00000000000000000099.journal").write_bytes(b"")
    found, log = case.start()
    assert found in (None, (6, 3)) and "00000000000000000099" in log, log
