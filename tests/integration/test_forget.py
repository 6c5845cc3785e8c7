"""coppice ctl forget: what is kept of a unit, or under an id, is erased, and the models are as if it had never been."""

import contextlib
import json
import random
import re
import shutil
import signal
import struct
import subprocess
import threading

import journal_bytes
import msgpack
import pytest
import zmq
from conftest import DEADLINE, coppice, model, pack, program, section, unpack, wait_for

DISK = section("checkpoint", {"every": "1h"}) + section("journal", {"sync": "never"})
ENSEMBLE, DGT = model("m"), model("d", learner="dgt")
SPARSE = model("s", features=0, bits=10)
RANK = model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4, candidate_features=2)
VALUES = model("v", learner="value", feedback="bins", trees=None, height=None)
TEXT = ENSEMBLE + DGT + SPARSE + RANK + VALUES


def forget(one, *words, status=0):
    return json.loads(coppice("ctl", "--json", "--endpoint", one.ipc("admin"), "forget", *words, status=status)[0])


def context(name, i):
    x = [(i * 7 % 11) / 5 - 1, (i * 5 % 13) / 6 - 1, (i % 3) / 2]
    if name == "s":
        return {"x": {f"page=p{i % 9}": 1, "age": x[0]}}
    return {"x": x, **({"c": [[i % 3, 1], [0, i % 4], [1, 1]]} if name == "r" else {})}


def visit(client, who, i, names="mdsrv", secret=0.0):
    """A decision of each model for the unit, and most of their losses. secret: is added to the context of `who`."""
    for name in names:
        more = context(name, i)
        if name == "r":
            more["names"] = [f"for-{who}", "blue", "red"]
        if secret and name != "s":
            more["x"] = [secret, *more["x"][1:]]
        elif secret:
            more["x"] = {**more["x"], f"user={who}": 1}
        client.ok("rank" if name == "r" else "decide", name, {"id": f"{name}-{who}-{i}", "unit": who, **more})
        if i % 4:
            client.feedback(name, f"{name}-{who}-{i}", (i % 5) / 4)


def live(client, first, last, names="mdsrv", tom=5):
    for i in range(first, last):
        if tom and i % tom == 3:
            visit(client, "tom", i, names, secret=0.123456)
        else:
            visit(client, f"p{i % 7}", i, names)


def sections(data):
    """(name, payload) of a file of sections (lib/store/section_file.h)."""
    assert data[:4] == b"COPF"
    at = 24
    while at < len(data):
        name, _version, length, _crc = struct.unpack_from("<16sIQI", data, at)
        yield name.rstrip(b"\0").decode(), data[at + 32 : at + 32 + length]
        at += 32 + length


def newest(state):
    return max(state.glob("coppice.*.checkpoint"))


def models(state):
    """The saved models of the newest checkpoint, by their stored names: their sections but for names of places, which a
    journal does not have."""
    body = newest(state).read_bytes()[28:]
    files = {p[4 : 4 + p[0]].decode(): p[4 + p[0] :] for name, p in sections(body) if name == "model"}
    return {name: [s for s in sections(file) if s[0] != "names"] for name, file in files.items()}


def records(folder):
    """All records of a journal without compressed segments, by docs/reference/journal.md."""
    for path in sorted(folder.glob("*.journal")):
        data = path.read_bytes()
        at = struct.unpack_from("<I", data, 12)[0]
        while at + 20 <= len(data):
            length, crc, sequence, kind = struct.unpack_from("<IIQB", data, at)
            if length == 0 and crc == 0:
                break
            if kind:
                yield sequence, kind, data[at + 20 : at + 20 + length]
            at += 20 + length


def model_set(folder):
    data = min(folder.glob("*.journal")).read_bytes()
    return data[28 : 28 + struct.unpack_from("<I", data, 24)[0]]


def without(folder, units, until):
    """The records that a daemon would have written to which nobody of `units` had come before record `until`."""
    ids, kept = set(), []
    for sequence, kind, body in records(folder):
        fields = unpack(body)
        key = (fields.get("m"), fields.get("id"))
        if sequence < until and kind == journal_bytes.DECISION and fields.get("unit") in units:
            ids.add(key)
            continue
        if sequence < until and key in ids:
            continue
        if "s" in fields and sequence < until:
            settled = [s for s in fields["s"] if (fields["m"], s[0]) not in ids]
            if settled != fields["s"]:
                if not settled and kind == journal_bytes.EXPIRY:
                    continue
                body = msgpack.packb({**fields, "s": settled}, use_bin_type=True)
        kept.append((kind, body))
    return kept


def traces(state, texts):
    """Files in the state folder, and where in them, that have one of the texts."""
    found = []
    for path in state.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # it went meanwhile, as segments do
            data = path.read_bytes() if path.is_file() else b""
            found += [(path.name, text) for text in texts if text in data]
    return found


SECRET = struct.pack("<f", 0.123456)


def test_unit_is_erased_and_models_are_as_if_it_had_never_been(daemon, tmp_path):
    one = daemon(TEXT + DISK)
    client = one.client()
    live(client, 0, 60, tom=0)
    live(client, 60, 160)
    before = tmp_path / "before"
    shutil.copytree(one.state, before)
    assert traces(one.state, [b"tom", SECRET])
    waiting = {m["name"]: m["pending"] for m in client.status()["models"]}
    done = forget(one, "tom")
    assert done["done"] and done["relearned"] and done["from"] == 1
    assert {m["name"]: (m["decisions"], m["feedback"]) for m in done["models"]} == {n: (20, 15) for n in "mdsrv"}
    assert done["waiting"] == 5 * 5
    assert traces(one.state, [b"tom", SECRET]) == []
    assert {m["name"]: m["pending"] for m in client.status()["models"]} == {n: waiting[n] - 5 for n in "mdsrv"}
    assert client.feedback("m", "m-tom-64", 0.5) == "unknown"
    assert client.feedback("m", "m-p2-72", 0.5) == "applied"
    live(client, 200, 220, tom=0)
    one.stop()
    # The oracle: a journal in which its records never were, replayed by a daemon that never heard of it.
    cut = re.search(r"event=forgotten .* records=(\d+)", one.log())
    assert int(cut[1]) >= 35 * 5
    last = max(sequence for sequence, kind, _ in records(before / "journal"))
    other = daemon(TEXT + DISK, start=False)
    kept = without(before / "journal", {"tom"}, last + 1)
    kept += [(kind, body) for sequence, kind, body in records(one.state / "journal") if sequence > last and kind != 8]
    other.state.mkdir()
    journal_bytes.segment(other.state / "journal", 1, kept, model_set=model_set(before / "journal"))
    other.start()
    other.stop()
    assert models(other.state) == models(one.state)


def test_forgotten_unit_stays_forgotten_over_kills_and_may_come_back(daemon):
    one = daemon(ENSEMBLE + DGT + DISK)
    client = one.client()
    live(client, 0, 80, "md")
    assert forget(one, "tom")["relearned"]
    live(client, 80, 120, "md", tom=0)
    state = {n: client.model(n) for n in "md"}
    one.kill()
    one.start()
    client = one.client()
    assert {n: client.model(n) for n in "md"} == state
    assert traces(one.state, [b"tom", SECRET]) == []
    visit(client, "tom", 123, "md")
    last = forget(one, "tom")
    assert last["models"] != []
    assert forget(one, "tom", status=1) | {"seconds": 0} == {
        "order": last["order"] + 1, "done": True, "models": [], "records": 0, "waiting": 0,
        "contexts": 0, "segments": 0, "checkpoints": 0, "refits": 0, "refits_serving": 0,
        "relearned": False, "why": "nothing", "parked": 0, "seconds": 0,
        "version": forget(one, "nobody", status=1)["version"]}


def test_newer_checkpoints_go_and_older_ones_stay(daemon):
    one = daemon(ENSEMBLE + section("checkpoint", {"every": "1h", "keep": 9}) + section("journal", {"sync": "never"}))
    client = one.client()
    live(client, 0, 40, "m", tom=0)
    client.ok("checkpoint")
    old = newest(one.state)
    live(client, 40, 80, "m")
    client.ok("checkpoint")
    live(client, 80, 90, "m")
    client.ok("checkpoint")
    assert traces(one.state, [SECRET])
    done = forget(one, "tom")
    assert done["relearned"] and done["from"] > 1 and done["checkpoints"] == 2
    assert traces(one.state, [b"tom", SECRET]) == []
    assert old.exists() and len(list(one.state.glob("coppice.*.checkpoint"))) == 2
    state = client.model()
    newest(one.state).unlink()  # from the older one on, the journal leads to the same
    one.kill()
    one.start()
    assert one.client().model() == state


def test_one_model_or_one_id_alone(daemon):
    one = daemon(ENSEMBLE + DGT + DISK)
    client = one.client()
    live(client, 0, 40, "md")
    assert [m["name"] for m in forget(one, "tom", "d")["models"]] == ["d"]
    left = traces(one.state, [b"m-tom-3", b"d-tom-3"])
    assert {text for _, text in left} == {b"m-tom-3"}
    client.ok("decide", "m", {"id": 17, "x": [0.1, 0.2, 0.3]})
    client.ok("decide", "m", {"id": "17", "x": [0.1, 0.2, 0.3]})
    assert forget(one, "--id", "17")["waiting"] == 1
    assert client.feedback("m", 17, 0.5) == "unknown" and client.feedback("m", "17", 0.5) == "applied"
    assert forget(one, "--id", "--string", "17")["models"][0]["feedback"] == 1
    one.kill()
    one.start()


def test_serving_goes_on_meanwhile_and_nothing_is_lost(daemon):
    """Decisions and losses of others before, while and after the models are learned again, a control group among them."""
    one = daemon(model("m", holdout=0.1, baseline=0) + model("d", learner="dgt") + DISK)
    client = one.client()
    live(client, 0, 300, "md")
    admin, i, during = one.admin(), 1000, 0
    one.signal(signal.SIGSTOP)  # so that a decision is there when the order has just been taken, whoever is slow
    admin.send("forget", "", {"unit": "tom"})
    admin.send("decide", "m", {"id": "m-p0-during", "unit": "p0", **context("m", 0)})
    admin.send("status")
    one.signal(signal.SIGCONT)
    order = admin.receive()[1]
    assert order["order"] == 1 and not order["done"]
    assert admin.receive()[0] == "ok"
    during += admin.receive()[1]["forget"]["orders"] > 0
    while client.status()["forget"]["orders"] > 0 or i < 1100:
        visit(client, f"p{i % 7}", i, "md")
        during += client.status()["forget"]["orders"] > 0
        i += 1
    assert during > 0
    state = {n: client.model(n) for n in "md"}
    assert all(state[n]["decisions"] == 240 + i - 1000 + (n == "m") for n in "md")
    assert all(client.feedback(n, f"{n}-p{k % 7}-{k}", 0.5) == "applied" for n in "md" for k in range(1000, i, 4))
    state = {n: client.model(n) for n in "md"}
    one.kill()
    for path in one.state.glob("coppice.*.checkpoint"):
        path.unlink()
    one.start()
    assert {n: one.client().model(n) for n in "md"} == state
    assert one.client().model("m")["holdout"]["policy"]["decisions"] == state["m"]["holdout"]["policy"]["decisions"]


@pytest.mark.parametrize("seed", range(3))
def test_kills_at_any_moment(daemon, seed):
    """Wherever it is killed, the next start carries the order out, and the models are what the journal leads to."""
    rng = random.Random(seed)
    one = daemon(ENSEMBLE + DGT + DISK)
    client = one.client()
    live(client, 0, 60, "md", tom=0)
    client.ok("checkpoint")
    live(client, 60, 200, "md")
    one.admin().ok("forget", "", {"unit": "tom"})
    for i in range(6):
        if rng.random() < 0.5:
            visit(client, "p1", 300 + i, "md")
        wait_for(lambda: rng.random() < 0.2, "a moment")
        one.kill()
        one.start()
        client = one.client()
    wait_for(lambda: client.status()["forget"]["orders"] == 0, "the order to be carried out")
    assert traces(one.state, [b"tom", SECRET]) == []
    live(client, 400, 420, "md", tom=0)
    state = {n: client.model(n) for n in "md"}
    one.kill()
    for path in sorted(one.state.glob("coppice.*.checkpoint"))[1:]:
        path.unlink()
    one.start()
    assert {n: one.client().model(n) for n in "md"} == state


def test_client_says_when_the_daemon_ends_before_the_order(daemon):
    one = daemon(ENSEMBLE + DISK)
    live(one.client(), 0, 20, "m")
    one.write_config((model("m", reward_window="20min")) + DISK)
    asked = subprocess.Popen([program("COPPICE"), "ctl", "--timeout", "1", "--endpoint", one.ipc("admin"), "forget", "tom"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "goes on later" in asked.stderr.readline()
    one.kill()
    printed, told = asked.communicate(timeout=DEADLINE)
    assert asked.returncode != 0 and printed == "" and "no daemon answers" in told, (printed, told)


def test_order_waits_for_a_reload_of_a_changed_file(daemon):
    one = daemon(ENSEMBLE + DISK)
    client = one.client()
    live(client, 0, 20, "m")
    one.write_config((model("m", reward_window="20min")) + DISK)
    one.admin().ok("forget", "", {"unit": "tom"})
    one.logged("expected a reload")
    assert client.ok("status")["forget"]["state"] == "pause" and "reload" in client.status()["forget"]["reason"]
    client.ok("reload")
    one.restart()
    client = one.client()
    wait_for(lambda: client.status()["forget"]["orders"] == 0, "the order to be carried out")
    assert traces(one.state, [b"tom", SECRET]) == []


def test_without_a_journal_what_waits_under_an_id_ends(daemon):
    one = daemon(ENSEMBLE + section("checkpoint", {"every": "1h"}) + section("journal", {"enabled": False}))
    client = one.client()
    client.decide("m", "secret-id", [0.1, 0.2, 0.3])
    client.ok("checkpoint")
    assert traces(one.state, [b"secret-id"])
    done = forget(one, "--id", "secret-id")
    assert (done["relearned"], done["why"], done["waiting"], done["checkpoints"]) == (False, "journal", 1, 1)
    assert traces(one.state, [b"secret-id"]) == []


@pytest.mark.parametrize("body, expected", [
    ({}, "one of unit"), ({"unit": "a", "id": "b"}, "one of unit"), ({"unit": ""}, "64 bytes"),
    ({"order": 7}, "at most 0"), ({"order": 0}, "order"), ({"who": "a"}, "who"), ({"unit": 1.5}, "unit"), ({"unit": "a", "seq": []}, "seq"),
])
def test_wrong_orders(daemon, body, expected):
    one = daemon()
    assert expected in one.admin().error("forget", "", body)["message"]
    client = one.client()
    client.send("forget", "", {"unit": "a"})
    assert client.receive()[1]["code"] == "forbidden"
    assert one.client().status()["forget"] == {"state": "nothing", "orders": 0, "done": 0, "failed": 0}


KEEP_MANY = section("checkpoint", {"every": "1h", "keep": 9}) + section("journal", {"sync": "never"})
KEEP_ONE = section("checkpoint", {"every": "1h", "keep": 1, "older": 0}) + section("journal", {"sync": "never"})
NO_JOURNAL = section("checkpoint", {"every": "1h", "keep": 1, "older": 0}) + section("journal", {"enabled": False})


def order(one, *words):
    """Gives the order alone."""
    return forget(one, "--no-wait", *words)


def is_gap(one, decisions):
    """What was learned stays where the journal does not lead to it; records go all the same."""
    done = forget(one, "tom")
    assert (done["relearned"], done["why"]) == (False, "gap")
    assert one.client().model()["decisions"] == decisions
    assert traces(one.state, [b"tom"]) == []
    one.kill()
    one.start()
    assert one.client().model()["decisions"] == decisions
    # From here on it is as ever.
    visit(one.client(), "tom", 3001, "m")
    assert forget(one, "tom")["relearned"]


def test_model_that_was_reset_at_a_start_is_not_what_it_was_before(daemon):
    one = daemon(ENSEMBLE + KEEP_MANY)
    live(one.client(), 0, 40, "m")
    one.stop()
    one.start("--reset", "m")
    live(one.client(), 40, 60, "m", tom=0)
    is_gap(one, 20)


def test_reset_of_another_model_is_nothing_to_this_one(daemon):
    one = daemon(ENSEMBLE + DGT + KEEP_MANY)
    live(one.client(), 0, 40, "md")
    one.stop()
    one.start("--reset", "d")
    live(one.client(), 40, 60, "m", tom=0)
    assert forget(one, "tom", "m")["relearned"] and one.client().model()["decisions"] == 52


@pytest.mark.parametrize("keep", [1, 9])
def test_what_was_learned_while_there_was_no_journal_stays(daemon, keep):
    one = daemon(ENSEMBLE + NO_JOURNAL)
    live(one.client(), 0, 40, "m", tom=0)
    one.stop()
    one.write_config(ENSEMBLE + (KEEP_ONE if keep == 1 else KEEP_MANY))
    one.start()
    live(one.client(), 40, 60, "m")
    one.client().ok("checkpoint")
    if keep == 1:
        is_gap(one, 60)
    else:
        assert forget(one, "tom")["relearned"] and one.client().model()["decisions"] == 56


@pytest.mark.foresees("journal_broken")
def test_segment_that_was_lost_while_it_was_written(daemon):
    """What it had is in a checkpoint alone."""
    one = daemon(ENSEMBLE + KEEP_MANY)
    live(one.client(), 0, 40, "m")
    one.restart()
    live(one.client(), 40, 80, "m", tom=0)
    max((one.state / "journal").glob("*.journal")).unlink()
    one.logged("journal_healed")
    live(one.client(), 80, 100, "m", tom=0)
    is_gap(one, 100)


def test_segment_that_is_missing_between_others(daemon):
    one = daemon(SPARSE.replace('"s"', '"m"') + KEEP_MANY)
    client = one.client()
    for first, tom in ((0, 5), (40, 0), (80, 0)):
        for i in range(first, first + 40):
            who = "tom" if tom and i % tom == 3 else f"p{i % 7}"
            one.client().ok("decide", "m", {"id": f"m-{who}-{i}", "unit": who, "x": {f"user={who}": 1, "age": 0.5}})
        one.restart()
    client = one.client()
    assert traces(one.state, [b"user=tom"])
    sorted((one.state / "journal").glob("*.journal"))[1].unlink()
    done = forget(one, "tom")
    assert (done["relearned"], done["why"]) == (False, "gap")
    assert client.model()["decisions"] == 120 and traces(one.state, [b"tom"]) == []


@pytest.mark.parametrize("now", ["same", "other", "gone"])
def test_saved_model_that_it_began_as(daemon, tmp_path, now):
    """From the journal's beginning on it is learned again over the same saved model, not over one of the same path."""
    one = daemon(ENSEMBLE)
    saved = []
    for first in (0, 40):
        live(one.client(), first, first + 40, "m", tom=0)
        one.restart()
        body = newest(one.state).read_bytes()[28:]
        saved += [p[4 + p[0] :] for name, p in sections(body) if name == "model"]
    base = tmp_path / "base"
    base.write_bytes(saved[0])
    two = daemon(model("m", start_from=str(base)) + KEEP_ONE)
    live(two.client(), 80, 120, "m")
    two.client().ok("checkpoint")
    if now == "other":
        base.write_bytes(saved[1])
    elif now == "gone":
        base.unlink()
    done = forget(two, "tom")
    assert done["relearned"] == (now == "same") and traces(two.state, [b"tom", SECRET]) == []
    assert done.get("why") == {"same": None, "other": "gap", "gone": "start"}[now]
    assert two.client().model()["decisions"] == 80 - 8 * (now == "same")


@pytest.mark.parametrize("rule", ["earliest", "sum"])
def test_decision_that_waits_since_before_the_journal(daemon, rule):
    small = section("checkpoint", {"every": "1h", "keep": 2}) + section(
        "journal", {"sync": "never", "segment": "64KiB", "keep": "64KiB"})
    one = daemon(model("m", reward=rule) + small)
    client = one.client()
    client.ok("decide", "m", {"id": "secret-id", "x": [0.123456, 0.2, 0.3]})
    live(client, 0, 1500, "m", tom=0)
    for _ in range(3):
        client.ok("checkpoint")
    wait_for(lambda: not [1 for name, _ in traces(one.state, [b"secret-id"]) if "journal" in name], "its record to go")
    live(client, 1500, 1550, "m", tom=0)
    client.feedback("m", "secret-id", 0.5)
    assert forget(one, "--id", "secret-id")["relearned"]
    assert traces(one.state, [b"secret-id", SECRET]) == []
    assert client.feedback("m", "secret-id", 0.5) == "late"
    state = client.model()
    one.kill()
    one.start()
    assert one.client().model() == state


@pytest.mark.parametrize("by_id", [False, True])
def test_model_that_is_not_served_keeps_nothing_that_can_be_read(daemon, by_id):
    one = daemon(ENSEMBLE + DGT + SPARSE + DISK)
    client = one.client()
    live(client, 0, 40, "mds")
    pending = {n: client.model(n)["pending"] for n in "ds"}
    one.write_config(ENSEMBLE + DISK)
    client.ok("reload")
    assert traces(one.state, [b"tom", SECRET])
    if by_id:
        done = forget(one, "--id", "d-tom-8")
        assert (done["parked"], done["waiting"], done["relearned"]) == (0, 1, True)
        assert traces(one.state, [b"d-tom-8"]) == []
        return
    done = forget(one, "tom")
    assert (done["parked"], done["waiting"], done["relearned"]) == (0, 6, True)
    assert {m["name"]: m["relearned"] for m in done["models"]} == dict.fromkeys("mds", True)
    assert "event=forget_parked" not in one.log() and "event=model_relearned model=d" in one.log()
    assert traces(one.state, [b"tom", SECRET]) == []
    one.write_config(ENSEMBLE + DGT + SPARSE + DISK)
    client.ok("reload")
    for n in "ds":
        assert client.model(n)["pending"] == pending[n] - 2 and client.model(n)["decisions"] == 40 - 8
        assert client.feedback(n, f"{n}-tom-8", 0.5) == "unknown" and client.feedback(n, f"{n}-p4-4", 0.5) == "applied"
    one.kill()
    one.start()
    assert one.client().feedback("d", "d-p5-12", 0.5) == "applied"


def as_if_never(one, before, daemon):
    """The models of a daemon that recovers what `before` holds without tom, and what was recorded since."""
    last = max(sequence for sequence, _, _ in records(before / "journal"))
    kept = without(before / "journal", {"tom"}, last + 1)
    kept += [(kind, body) for sequence, kind, body in records(one.state / "journal") if sequence > last and kind != 8]
    other = daemon(ENSEMBLE + DGT.replace("arms = 3", "arms = 5") + SPARSE + KEEP_MANY, start=False)
    other.state.mkdir()
    journal_bytes.segment(other.state / "journal", 1, kept, model_set=model_set(before / "journal"))
    other.start()
    other.stop()
    return models(other.state)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_model_that_is_not_served_is_as_if_the_unit_had_never_been(daemon, tmp_path, checkpoint):
    """Two models are removed, one of them had been before, and been given arms. They come back as those of a journal in
    which its records never were; what follows is the same, too."""
    one = daemon(ENSEMBLE + DGT + SPARSE + KEEP_MANY)
    client = one.client()
    live(client, 0, 40, "mds", tom=0)
    if checkpoint:
        client.ok("checkpoint")
    live(client, 40, 50, "mds", tom=0)
    client.ok("model", "d", {"do": "set", "options": {"arms": 5}})
    live(client, 50, 70, "mds")
    client.ok("model", "d", {"do": "remove"})
    live(client, 70, 80, "ms")
    client.ok("model", "d", {"do": "add", "options": {"arms": 5}})
    live(client, 80, 120, "mds")
    for name in "ds":
        client.ok("model", name, {"do": "remove"})
    live(client, 120, 140, "m")
    before = tmp_path / "before"
    shutil.copytree(one.state, before)
    done = forget(one, "tom")
    assert done["relearned"] and done["parked"] == 0 and (done["from"] > 1) == checkpoint
    assert traces(one.state, [b"tom", SECRET]) == []
    one.kill()
    one.start()
    assert sorted(one.client().status()["parked"]) == ["d", "s"]
    one.stop()
    assert models(one.state) == as_if_never(one, before, daemon)
    one.start()
    for n in "ds":
        one.client().ok("model", n, {"do": "add", "options": {"arms": 5} if n == "d" else {}})
    live(one.client(), 200, 240, "mds", tom=0)
    one.stop()
    assert models(one.state) == as_if_never(one, before, daemon)


def test_model_that_is_not_served_and_is_not_what_records_lead_to(daemon):
    """It keeps what it learned, as one that is served would; the others are learned again all the same."""
    one = daemon(ENSEMBLE + DGT + DISK)
    live(one.client(), 0, 40, "md")
    one.stop()
    one.start("--reset", "d")
    client = one.client()
    live(client, 40, 80, "md")
    client.ok("model", "d", {"do": "remove"})
    done = forget(one, "tom")
    assert (done["parked"], done["relearned"]) == (1, True) and one.logged("forget_parked")
    assert {m["name"]: m["relearned"] for m in done["models"]} == {"m": True, "d": False}
    assert traces(one.state, [b"tom", SECRET]) == []
    client.ok("model", "d", {"do": "add"})
    assert client.model("d")["decisions"] == 40


def test_only_models_that_are_not_served_had_something(daemon):
    one = daemon(ENSEMBLE + DGT + DISK)
    client = one.client()
    live(client, 0, 40, "d")
    live(client, 40, 60, "m", tom=0)
    client.ok("model", "d", {"do": "remove"})
    done = forget(one, "tom")
    assert (done["parked"], done["relearned"], [m["name"] for m in done["models"]]) == (0, True, ["d"])
    client.ok("model", "d", {"do": "add"})
    assert (client.model("d")["decisions"], client.model("m")["decisions"]) == (32, 20)


def test_nothing_is_learned_again_of_a_model_that_is_not_served_without_its_journal(daemon):
    """No state from before the unit's first record is kept: what they learned stays, and is reported."""
    one = daemon(ENSEMBLE + DGT + KEEP_ONE)
    live(one.client(), 0, 40, "md", tom=0)
    one.restart()  # a segment of its own
    client = one.client()
    live(client, 40, 80, "md")
    client.ok("model", "d", {"do": "remove"})
    client.ok("checkpoint")
    min((one.state / "journal").glob("*.journal")).unlink()
    done = forget(one, "tom")
    assert (done["parked"], done["relearned"], done["why"]) == (1, False, "start") and one.logged("forget_parked")
    assert {m["name"]: m["relearned"] for m in done["models"]} == {"m": False, "d": False}
    assert traces(one.state, [b"tom", SECRET]) == []


def test_order_that_cannot_be_read_holds_up_the_others(daemon):
    one = daemon(ENSEMBLE + DISK)
    live(one.client(), 0, 40, "m")
    one.stop()
    wrong = one.state / "forget.00000000000000000001.checkpoint"
    wrong.write_bytes(b"xxx")
    left = one.state / "forget.00000000000000000007.checkpoint.tmp"
    left.write_bytes(b"tom")
    one.start()
    assert not left.exists()
    given = order(one, "tom")
    assert (given["order"], given["done"]) == (2, False) and wrong.name in given["reason"]
    wrong.unlink()
    one.restart()
    client = one.client()
    wait_for(lambda: client.status()["forget"]["orders"] == 0, "the order to be carried out")
    assert traces(one.state, [b"tom", SECRET]) == []


def test_order_waits_while_the_journal_is_off_and_its_segments_are_there(daemon):
    one = daemon(ENSEMBLE + KEEP_ONE)
    live(one.client(), 0, 40, "m")
    one.stop()
    one.write_config(ENSEMBLE + NO_JOURNAL)
    one.start()
    assert not order(one, "tom")["done"]
    one.logged("the journal is off")
    one.write_config(ENSEMBLE + KEEP_ONE)
    one.restart()
    client = one.client()
    wait_for(lambda: client.status()["forget"]["orders"] == 0, "the order to be carried out")
    assert traces(one.state, [b"tom", SECRET]) == []


@pytest.mark.parametrize("refused", ["busy", "unknown_model"])
def test_model_that_leaves_while_its_order_is_waited_for(refused):
    """The order stands: the command asks on, without the model, and has the report."""
    context = zmq.Context()
    front = context.socket(zmq.ROUTER)
    endpoint = f"tcp://127.0.0.1:{front.bind_to_random_port('tcp://127.0.0.1')}"
    asked = []

    def answer():
        while len(asked) < 3 and front.poll(1000 * DEADLINE):
            peer, verb, name, body = front.recv_multipart()
            asked.append((verb, name, unpack(body)))
            if "unit" in asked[-1][2]:
                status, reply = b"ok", {"order": 7, "done": False}
            elif name:
                status, reply = b"error", {"code": refused, "message": "the model m is being removed"}
            else:
                status, reply = b"ok", {"order": 7, "done": True, "models": [{"name": "m", "decisions": 1}]}
            front.send_multipart([peer, status, pack({**reply, "version": "0.1.0"})])

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        out, err = coppice("ctl", "--json", "--endpoint", endpoint, "forget", "tom", "m")
        assert json.loads(out)["done"] and err == ""
    finally:
        thread.join()
        front.close(linger=0)
        context.term()
    assert asked == [(b"forget", b"m", {"unit": "tom"}), (b"forget", b"m", {"order": 7}), (b"forget", b"", {"order": 7})]
