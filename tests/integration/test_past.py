"""coppiced --explain: decisions of the past, explained byte for byte as the daemon explained them when they were made."""

import contextlib
import datetime
import json

import journal_bytes
import msgpack
import pytest
from bandit_logs import coppice
from conftest import model, section, unpack, wait_for
from test_feature_names import named_files
from test_forget import model_set, records

RANKS = dict(learner="rank", arms=None, trees=None, height=None, max_candidates=4, candidate_features=2)
TEXT = (model("m", holdout=0.2) + model("d", learner="dgt") + model("s", features=0, bits=8) + model("r", **RANKS) +
        model("v", learner="value"))


def context(name, i):
    x = [(i * 7 % 11) / 5 - 1, (i * 5 % 13) / 6 - 1, (i % 3) / 2]
    if name == "s":
        return {"x": {f"user=u{i % 9}": 1, "age": x[0]}}
    masked = {"mask": [i % 14 == 3, True, True]} if name in "md" and i % 7 == 3 else {}
    named = {"names": ["red", "blue", f"item-{i}"]} if i % 5 else {}
    return {"x": x, **({"c": [[i % 3, 1], [0, i % 4], [1, 1]], **named} if name == "r" else {}), **masked}


def live(client, first, last, names="mdsrv"):
    """Decisions and losses; each decision's explanation as it was made."""
    explained = {}
    for i in range(first, last):
        for name in names:
            client.ok("rank" if name == "r" else "decide", name, {"id": f"{name}-{i}", **context(name, i)})
            explained[f"{name}-{i}"] = client.ok("explain", name, {"id": f"{name}-{i}"})
            if i % 4:
                client.feedback(name, f"{name}-{i}", [0.25, 0.5] if name == "v" else (i % 5) / 4)
    return explained


def past(one, name, id, *args, status=0):
    done = one.run("--explain", name, str(id), *args)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def without_names(explanation):
    """The journal has places, not the names of sparse features."""
    explanation.pop("names", None)
    for expert in explanation["experts"]:
        for features in (expert["features"], *(node["features"] for tree in expert["trees"] for node in tree["path"])):
            for feature in features:
                del feature["feature"]
    return explanation


def check(one, explained, ids):
    for id in ids:
        got, expected = json.loads(past(one, id[0], id)), json.loads(json.dumps(explained[id]))
        if id[0] == "s":
            got, expected = without_names(got), without_names(expected)
        assert got == expected, id


def test_every_learners_decisions_are_explained_as_they_were(daemon):
    one = daemon(TEXT)
    explained = live(one.client(), 0, 60)
    picked = [f"{name}-{i}" for name in "mdsrv" for i in (0, 17, 59)]
    check(one, explained, picked)  # while it serves
    one.client().ok("checkpoint")
    more = live(one.client(), 60, 80)
    one.kill()
    check(one, {**explained, **more}, [*picked, *(f"{name}-{i}" for name in "mdsrv" for i in (60, 79))])
    text = past(one, "m", "m-17")
    assert all(e["state"] == "decision" for e in (json.loads(text), explained["m-17"]))
    assert [explained[f"{name}-{i}"].get("eligible") for name in "md" for i in (3, 10, 17)] == [None, 2, None] * 2
    assert explained["r-17"]["arm"] in ("red", "blue", "item-17") and "arm" not in explained["r-0"]
    assert past(one, "m", "m-17") == text


def test_journal_that_begins_later_needs_a_checkpoint_from_before(daemon):
    one = daemon(model() + section("journal", {"segment": "64KiB", "keep": "64KiB"}) + section("checkpoint", {"keep": 2}))
    client = one.client()
    explained = live(client, 0, 100, "m")
    client.ok("checkpoint")
    explained |= live(client, 100, 150, "m")
    for start in range(0, 3000, 100):
        client.ok("decide_batch", "m", {"items": [{"id": i, "x": [0, 0, 0]} for i in range(start, start + 100)]})
    explained |= live(client, 150, 160, "m")
    first = one.state / "journal" / f"{1:020}.journal"
    wait_for(lambda: client.ok("checkpoint") and not first.exists(), "the first segment to go, which a thread removes")
    explained |= live(client, 160, 170, "m")
    check(one, explained, ["m-165"])
    err = past(one, "m", "m-20", status=1)
    assert "no decision 'm-20' of the model m" in err or "is no longer known" in err


def test_models_that_are_not_what_records_lead_to_are_not_explained(daemon):
    keep = section("checkpoint", {"keep": 1, "older": 0})
    one = daemon(model() + keep + section("journal", {"enabled": False}))
    live(one.client(), 0, 40, "m")
    one.stop()
    one.write_config(model() + keep)  # from here on there is a journal, of a model that knows more
    one.start()
    explained = live(one.client(), 40, 60, "m")
    check(one, explained, ["m-50"])  # from the checkpoint of before
    one.restart("--reset", "m")
    explained |= live(one.client(), 60, 80, "m")
    one.client().ok("checkpoint")
    for id in ("m-50", "m-70"):
        assert "no longer known" in past(one, "m", id, status=1)
    check(one, live(one.client(), 80, 90, "m"), ["m-85"])


def test_time_chooses_among_decisions_of_one_id(daemon):
    one = daemon(model(reward_window="1h"))
    client = one.client()
    told = []
    for i in range(3):  # an id comes again once its decision was rewarded
        client.ok("decide", "m", {"id": "again", "x": [i, 0, 1]})
        told.append(client.ok("explain", "m", {"id": "again"}))
        client.feedback("m", "again", i / 2)
    records = [json.loads(line) for line in coppice("journal", "dump", one.state, "--json", "--id", "again")[0].splitlines()]
    times = [r["t"] for r in records if r["type"] == "decision"]
    assert json.loads(past(one, "m", "again")) == told[2]
    for i, time in enumerate(times):
        assert json.loads(past(one, "m", "again", "--at", repr(time))) == told[i]
    later = datetime.datetime.fromtimestamp(times[2] + 2, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert json.loads(past(one, "m", "again", "--at", later)) == told[2]
    assert "at or before that time" in past(one, "m", "again", "--at", repr(times[0] - 1), status=1)


def test_ids_that_are_numbers_are_found_and_texts_come_first(daemon):
    one = daemon(model())
    client = one.client()
    client.decide("m", 17, [1, 0, 0])
    number = client.ok("explain", "m", {"id": 17})
    client.decide("m", -3, [0, 1, 0])
    below = client.ok("explain", "m", {"id": -3})
    assert json.loads(past(one, "m", 17)) == number
    client.decide("m", "17", [0, 0, 1])
    text = client.ok("explain", "m", {"id": "17"})
    assert json.loads(past(one, "m", 17)) == text
    assert one.run("--explain", "--", "m", "-3").returncode == 0 and json.loads(one.run("--explain", "--", "m", "-3").stdout) == below


def test_what_is_not_there_is_told(daemon):
    one = daemon(model())
    one.client().decide("m", "a", [0, 0, 0])
    assert "no model 'z'; expected one of the configuration" in past(one, "z", "a", status=1)
    assert "no decision 'b' of the model m" in past(one, "m", "b", status=1)
    for args, why in ((("m",), "expected MODEL and ID"), (("m", "a", "x"), "expected MODEL and ID"),
                      (("m", "a", "--at", "noon"), "--at: 'noon' given, expected unix seconds or a time like")):
        done = one.run("--explain", *args)
        assert done.returncode == 2 and why in done.stderr


def test_explanations_that_are_not_kept_live_are_made_of_the_past(daemon):
    one = daemon(model(explain_keep=0))
    client = one.client()
    client.decide("m", "a", [1, 2, 3])
    assert json.loads(past(one, "m", "a"))["state"] == "decision"


@pytest.mark.parametrize("files", (True, False))
def test_state_folder_is_not_changed(daemon, files):
    one = daemon(model())
    live(one.client(), 0, 20, "m")
    one.kill()
    before = {p: p.read_bytes() for p in one.state.rglob("*") if p.is_file()}
    past(one, "m", "m-3" if files else "nobody", status=0 if files else 1)
    assert {p: p.read_bytes() for p in one.state.rglob("*") if p.is_file()} == before


def test_earlier_lives_and_removed_models_are_explained(daemon):
    one = daemon(model("g") + model("rg"))
    client, admin = one.client(), one.admin()
    told = live(client, 0, 20, ["g", "rg"])
    client.ok("decide", "g", {"id": "same", "x": [0, 0, 1]})
    between = client.ok("explain", "g", {"id": "same"})
    admin.ok("model", "g", {"do": "reset", "options": {"arms": 5}})
    moment = json.loads(coppice("journal", "dump", one.state, "--json", "--type", "decision", "--id", "same")[0])["t"]
    admin.ok("model", "g", {"do": "set", "options": {"holdout": 0.1}})
    later = live(client, 20, 30, ["g"])
    client.ok("decide", "g", {"id": "same", "x": [0, 1, 0]})
    again = client.ok("explain", "g", {"id": "same"})
    admin.ok("model", "rg", {"do": "remove"})
    client.ok("checkpoint")
    check(one, {**later, **{id: told[id] for id in told if id[0] == "g"}}, ["g-0", "g-3", "g-19", "g-20", "g-29"])
    for id in ("rg-0", "rg-19"):
        assert json.loads(past(one, "rg", id)) == json.loads(json.dumps(told[id]))
    for words, expected in ((("g", "same"), again), (("g#1", "same"), again), (("g#0", "same"), between),
                            (("g", "same", "--at", str(moment)), between)):
        assert json.loads(past(one, *words)) == json.loads(json.dumps(expected)), words
    assert "no decision 'g-3' of the model g#1" in past(one, "g#1", "g-3", status=1)
    assert "no decision 'g-20' of the model g#0" in past(one, "g#0", "g-20", status=1)
    assert "no model 'rg'; expected one of the configuration" in past(one, "rg", "none", status=1)
    assert "no model 'h'" in past(one, "h", "g-3", status=1)
    found = wait_for(lambda: (a := client.ok("decision", "g", {"id": "g-3"})).get("state") != "looking" and a, "the answer")
    assert (found["life"], found["a"], found["state"]) == (0, told["g-3"]["a"], "decision")
    listed = wait_for(lambda: (a := client.ok("decisions", "g", {"prefix": "same"})).get("state") == "done" and a, "these")
    assert [d.get("life") for d in listed["decisions"]] == [None, 0]
    assert [d.get("waits") for d in listed["decisions"]] == [True, True]


def segments(one):
    """{number of its first record: bytes}"""
    found = {}
    for path in (one.state / "journal").glob("*.journal"):
        with contextlib.suppress(FileNotFoundError):  # it may go meanwhile
            found[int(path.name.split(".")[0])] = path.stat().st_size
    return found


def test_journal_that_is_cut_back_keeps_states_of_all_that_it_holds(daemon):
    """Somebody comes for the first time while the journal no longer has its beginning, and many checkpoints follow."""
    one = daemon(model("m", learner="dgt") + section("journal", {"segment": "64KiB", "keep": "192KiB", "sync": "never"}) +
                 section("checkpoint", {"every": "1h", "keep": 2, "older": 6}))
    client = one.client()
    explained = {}
    for turn in range(16):
        for part in range(3):
            items = [{"id": f"{turn}-{part}-{i}", "unit": f"u{i % 9}", "x": [i / 99, part, turn]} for i in range(80)]
            client.ok("decide_batch", "m", {"items": items})
            client.ok("feedback_batch", "m", {"items": [{"id": x["id"], "loss": len(x["id"]) % 2} for x in items]})
        if turn == 13:
            client.ok("decide", "m", {"id": "new-0", "unit": "new", "x": [0.5, 0.5, 0.5]})
        client.ok("decide", "m", {"id": f"at-{turn}", "x": [turn, 0, 1]})
        explained[f"at-{turn}"] = client.ok("explain", "m", {"id": f"at-{turn}"})
        client.ok("checkpoint")
    files = sorted(one.state.glob("coppice.*.checkpoint"))
    assert 5 <= len(files) <= 2 + 6
    kept = wait_for(lambda: sum((of := segments(one)).values()) < (192 + 64) << 10 and of, "a thread to cut the journal back")
    assert 1 < min(kept)
    held = [id for id in explained if "no decision" not in one.run("--explain", "m", id).stderr]
    assert 3 < len(held) < 16
    got = {id: one.run("--explain", "m", id) for id in held}
    known = {id: json.loads(run.stdout) for id, run in got.items() if run.returncode == 0}
    assert set(held[2:]) <= set(known)  # but for a part of the first segment
    assert known == {id: json.loads(json.dumps(explained[id])) for id in known}
    out, _ = coppice("whatif", one.state, "--model", "m", "--json")
    assert json.loads(out)["events"] > 241 * (len(known) - 1)
    out, _ = coppice("ctl", "--json", "--endpoint", one.ipc("admin"), "forget", "new")
    done = json.loads(out)
    assert done["relearned"] and done["from"] > 1 and done["checkpoints"] > 0
    client.ok("checkpoint")
    assert len(list(one.state.glob("coppice.*.checkpoint"))) <= 8 and past(one, "m", held[-1]) != ""


# ---- names of then


def same(one, name, id, explained, *args):
    assert json.loads(past(one, name, id, *args)) == json.loads(json.dumps(explained))


@pytest.mark.parametrize("checkpoint", [False, True])
def test_arms_and_features_have_the_names_of_then(daemon, tmp_path, checkpoint):
    """The files' names are exchanged twice, by a reload and by a restart; the model is removed in the end."""
    files = named_files(tmp_path, arm=["news", "sport", "music"], feature=["age", "hour", "mobile"])
    one = daemon(model("m", learner="dgt", **files) + model("g") +
                 section("checkpoint", {"every": "1h", "keep": 9}))
    client = one.client()
    told = live(client, 0, 20, "m")
    if checkpoint:
        client.ok("checkpoint")
    told |= live(client, 20, 30, "m")
    named_files(tmp_path, arm=["a", "b", "c"], feature=["one", "two", "three"])
    client.ok("reload")
    told |= live(client, 30, 40, "m")
    one.stop()
    named_files(tmp_path, arm=["x", "y", "z"], feature=["p", "q", "r"])
    one.start()
    client = one.client()
    told |= live(client, 40, 50, "m")
    assert {told["m-0"]["arm"], told["m-35"]["arm"], told["m-45"]["arm"]} <= {"news", "sport", "music", *"abcxyz"}
    picked = ["m-0", "m-19", "m-20", "m-29", "m-30", "m-39", "m-40", "m-49"]
    for id in picked:
        same(one, "m", id, told[id])
        if int(id[2:]) % 4 == 0:
            continue  # it waits, and is explained as the daemon has it now
        found = wait_for(lambda: (a := client.ok("decision", "m", {"id": id})).get("state") != "looking" and a, "the answer")
        assert found["arm"] == told[id]["arm"] and found["experts"] == told[id]["experts"] and "names" not in found
    one.admin().ok("model", "m", {"do": "remove"})
    for id in picked:
        same(one, "m", id, told[id])


def test_names_of_today_are_told_where_those_of_then_are_not_known(daemon, tmp_path):
    """A journal whose records of the configuration do not have them."""
    files = named_files(tmp_path, arm=["news", "sport", "music"])
    text = model("m", learner="dgt", **files)
    one = daemon(text)
    told = live(one.client(), 0, 10, "m")
    one.stop()
    kept = [(kind, msgpack.packb({k: v for k, v in unpack(body).items() if k != "names"}, use_bin_type=True))
            for _, kind, body in records(one.state / "journal")]
    assert any(kind == journal_bytes.CONFIG for kind, _ in kept)
    other = daemon(text, start=False)
    other.state.mkdir()
    journal_bytes.segment(other.state / "journal", 1, kept, model_set=model_set(one.state / "journal"))
    named_files(tmp_path, arm=["a", "b", "c"])
    got = json.loads(past(other, "m", "m-5"))
    assert got.pop("names") == {"today": True}
    assert (told["m-5"].pop("arm"), got.pop("arm")) in (("news", "a"), ("sport", "b"), ("music", "c"))
    assert got == json.loads(json.dumps(told["m-5"]))


def test_names_of_sparse_features_that_came_since_the_checkpoint(daemon):
    """They are places until the next checkpoint has them; then they are as they were, and it is told."""
    one = daemon(model("s", features=0, bits=8) + section("checkpoint", {"every": "1h", "keep": 9}))
    client = one.client()
    told = live(client, 0, 30, "s")
    names = json.loads(past(one, "s", "s-29"))
    assert names["names"] == {"unknown": True} and names["experts"] != json.loads(json.dumps(told["s-29"]))["experts"]
    client.ok("checkpoint")
    got = json.loads(past(one, "s", "s-29"))
    assert got.pop("names") == {"later": True} and got == json.loads(json.dumps(told["s-29"]))
    told |= live(client, 30, 40, "s")
    same(one, "s", "s-39", told["s-39"])  # by names of the checkpoint before it
