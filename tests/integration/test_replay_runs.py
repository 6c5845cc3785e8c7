"""coppice replay: runs that stop and go on, settings side by side, daemons taught."""

import csv
import json
import math
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from bandit_logs import (
    ARMS, FEATURES, VW, coppice, events, figures, read_dump, refused, replay, vw_line, write_dsjson, write_vw,
)
from conftest import DEADLINE, model, program, spoiled, wait_for


@pytest.fixture
def log(tmp_path):
    return write_vw(tmp_path / "log.vw", events(1500))


# ---- going on


def model_bytes(path):
    return Path(path).read_bytes()


@pytest.mark.parametrize("args", [["--learner", "dgt"], ["--learner", "ensemble", "--trees", "4"],
                                  ["--features", "hashed", "--bits", "8", "--policy-value", "exploring"]])
def test_replay_resumed_is_the_replay_that_never_stopped(tmp_path, args):
    log = events(2000)
    whole = write_vw(tmp_path / "whole.vw", log)
    first, second = write_vw(tmp_path / "first.vw", log[:901]), write_vw(tmp_path / "second.vw", log[901:])
    expected = figures(replay(whole, *args, "--save", tmp_path / "whole.model"))
    replay(first, *args, "--save", tmp_path / "half.model")
    result = figures(replay(second, "--resume", tmp_path / "half.model", "--save", tmp_path / "resumed.model"))
    assert result == expected
    assert model_bytes(tmp_path / "whole.model") == model_bytes(tmp_path / "resumed.model")


def test_replay_candidates_resumed_are_the_same(tmp_path):
    log = events(600)
    whole = write_dsjson(tmp_path / "whole.json", log)
    lines = whole.read_text().splitlines(keepends=True)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text("".join(lines[:250]))
    second.write_text("".join(lines[250:]))
    args = {"format": "dsjson"}
    expected = figures(replay(whole, "--bits", "10", "--save", tmp_path / "whole.model", **args))
    replay(first, "--bits", "10", "--save", tmp_path / "half.model", **args)
    result = replay(second, "--resume", tmp_path / "half.model", "--save", tmp_path / "resumed.model", **args)
    assert figures(result) == expected
    assert model_bytes(tmp_path / "whole.model") == model_bytes(tmp_path / "resumed.model")


def test_replay_stopped_early_goes_on_with_skip(tmp_path, log):
    expected = figures(replay(log, "--save", tmp_path / "whole.model"))
    replay(log, "--events", "700", "--save", tmp_path / "half.model")
    result = figures(replay(log, "--skip", "700", "--resume", tmp_path / "half.model", "--save", tmp_path / "r.model"))
    assert result == expected
    assert model_bytes(tmp_path / "whole.model") == model_bytes(tmp_path / "r.model")


def test_replay_saved_model_is_evaluated_as_it_is(tmp_path, log):
    replay(log, "--save", tmp_path / "a.model")
    before = model_bytes(tmp_path / "a.model")
    other = write_vw(tmp_path / "other.vw", events(800, seed=11))
    result = replay(other, "--evaluate", tmp_path / "a.model")
    assert result["learner"] == "ensemble" and result["events"] == 800 and result["snips"] < result["average_loss"]
    assert figures(replay(other, "--evaluate", tmp_path / "a.model")) == figures(result)
    assert model_bytes(tmp_path / "a.model") == before


def test_replay_saved_dense_model_names_its_features(tmp_path, log):
    replay(log, "--save", tmp_path / "a.model")
    assert (tmp_path / "a.model.features.txt").read_text() == "".join(f"x^f{i}\n" for i in range(FEATURES))


def test_replay_damaged_or_foreign_files_are_refused(tmp_path, log):
    saved = tmp_path / "a.model"
    replay(log, "--learner", "dgt", "--height", "2", "--save", saved)
    data = saved.read_bytes()
    bad = tmp_path / "bad.model"
    rng = random.Random(3)
    for cut in sorted(rng.sample(range(len(data)), 25)):
        bad.write_bytes(data[:cut])
        assert str(bad) in refused("--format", "vw", log, "--resume", bad)
    for at in sorted(rng.sample(range(len(data)), 25)):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1:])
        assert str(bad) in refused("--format", "vw", log, "--evaluate", bad)
    assert str(log) in refused("--format", "vw", log, "--resume", log)
    other = tmp_path / "other.vw"
    other.write_text("9:0:0.5 |x f0:1\n")
    assert "action 9" in refused("--format", "vw", other, "--evaluate", saved)


def test_inspect_shows_a_saved_replay(tmp_path, log):
    replay(log, "--learner", "dgt", "--save", tmp_path / "a.model")
    out, _ = coppice("inspect", tmp_path / "a.model", "--json")
    shown = json.loads(out)
    assert shown["replay"]["events"] == 1500 and {"features", "replay"} <= {s["name"] for s in shown["sections"]}
    assert shown["models"][0]["learner"] == "dgt"
    result = replay(log, "--holdout-after", "1000", "--passes", 2, "--save", tmp_path / "held.model")
    text = coppice("inspect", tmp_path / "held.model")[0]
    told = json.loads(coppice("inspect", tmp_path / "held.model", "--json")[0])["replay"]
    shown = dict(line.split(None, 1) for line in text[text.index("\nreplay\n"):].replace("average loss", "loss").splitlines()[2:])
    assert shown == {"events": str(result["events"]), "labelled": "1500", "loss": f"{told['progressive_loss']:.6f}",
                     "policy": "greedy", "features": f"{FEATURES}, dense"}
    assert told["labelled"] == 1500 and told["events"] == result["events"]


# ---- logs of which more than the beginning has to be known


@pytest.mark.parametrize("last,features,key,value", [
    ("1:0:.5 |x a b c", "dense", "features", 3),
    ("3:0:.5 |x a b", "dense", "arms", 3),
    ("1:7:.5 |x a b", "dense", "loss_range", [0, 7]),
    ("1:-2:.5 |x a b", "hashed", "loss_range", [-2, 1]),
    ("1:0:.5 |x " + " ".join(f"g{i}" for i in range(3000)), "hashed", "events", 20002),
])
def test_replay_later_events_may_go_beyond_the_beginning(tmp_path, last, features, key, value):
    path = tmp_path / "log.vw"
    path.write_text("1:0:.5 |x a b\n2:1:.5 |x a\n" * 10000 + f"1:0:.5 |x a\n{last}\n")
    result = replay(path, "--features", features, "--learner", "dgt", "--height", 1)
    assert result["skipped"] == {"events": 0} and result["events"] == 20002
    assert result[key] == value, result


# ---- passes, holding out


def test_replay_passes_learn_again_and_estimate_once(log):
    one, three = replay(log), replay(log, "--passes", "3")
    assert three["events"] == 3 * one["events"]
    for key in ("ips", "snips", "dr", "average_loss", "effective_sample_size"):
        assert one[key] == three[key]


def test_replay_holdout_is_not_learned(tmp_path, log):
    replay(log, "--holdout-after", "1000", "--save", tmp_path / "held.model")
    replay(log, "--events", "1000", "--save", tmp_path / "part.model")
    rest = tmp_path / "rest.vw"
    rest.write_text("\n".join(log.read_text().splitlines()[1000:]) + "\n")
    held = replay(log, "--holdout-after", "1000")
    part = replay(rest, "--evaluate", tmp_path / "part.model")
    for key in ("ips", "snips", "dr", "average_loss", "snips_low", "snips_high"):
        assert held["holdout"][key] == part[key]
    assert held["labelled"] == 1500 and part["labelled"] == 500
    assert held["ips"] == replay(log, "--events", "1000")["ips"]


# ---- several settings


SPECS = ["--compare", "dgt,dgt:height=3:epsilon=0.1,uniform", "--compare", "small: --learner ensemble --trees 2"]


def test_replay_compare_does_not_depend_on_threads(log):
    results = [figures(replay(log, *SPECS, "--threads", n)) for n in (1, 2, 4)]
    assert results[0] == results[1] == results[2]


def test_replay_compare_settings_are_as_when_alone(log):
    together = {c["name"]: c for c in replay(log, *SPECS)["compare"]}
    alone = replay(log, "--learner", "dgt", "--height", "3", "--epsilon", "0.1")
    for key in ("ips", "snips", "dr", "dm", "snips_low", "dr_high"):
        assert together["dgt:height=3:epsilon=0.1"][key] == alone[key]
    assert together["uniform"]["ips"] == replay(log, "--evaluate", "uniform")["ips"]


def test_replay_compare_ranks_with_paired_differences(tmp_path, log):
    result = replay(log, *SPECS)
    ranking = result["compare"]
    assert [c["rank"] for c in ranking] == [1, 2, 3, 4]
    values = [c.get("dr", c["ips"]) if "learner" in c else c["ips"] for c in ranking]
    assert values == sorted(values)
    assert "less_best" not in ranking[0]
    for c, value in zip(ranking[1:], values[1:]):
        d = c["less_best"]
        assert d["value"] == pytest.approx(value - values[0], abs=1e-9) and d["low"] <= d["value"] <= d["high"]
    uniform = next(c for c in ranking if c["name"] == "uniform")
    assert uniform["less_best"]["low"] > 0  # learning beats chance, beyond doubt
    out, _ = coppice("replay", "--format", "vw", log, *SPECS)
    names = [c["name"] for c in ranking]
    assert [line.split("  ")[0].strip() for line in out.splitlines() if line.split("  ")[0].strip() in names] == names


def test_replay_compare_difference_agrees_with_numpy(tmp_path, log):
    values = []
    for name in ("dgt", "ensemble"):
        replay(log, "--learner", name, "--dump", tmp_path / f"{name}.csv")
        d = read_dump(tmp_path / f"{name}.csv")
        w = d["policy_probability"] / d["probability"]
        values.append(d["policy_cost"] + w * (d["cost"] - d["predicted_cost"]))
    expected = values[0] - values[1]
    ranking = {c["name"]: c for c in replay(log, "--compare", "ensemble,dgt")["compare"]}
    d = ranking["dgt"]["less_first"]
    assert d["value"] == pytest.approx(expected.mean(), rel=1e-9)
    half = 1.96 * expected.std(ddof=1) / math.sqrt(len(expected))
    assert d["high"] - d["low"] >= 2 * half * 0.999  # never narrower than what the normal distribution says
    assert d["low"] <= d["value"] <= d["high"] and d["high"] - d["low"] < 6 * half


def test_replay_compare_saves_the_best(tmp_path, log):
    best = replay(log, *SPECS, "--save", tmp_path / "best.model")["compare"][0]
    again = replay(log, "--resume", tmp_path / "best.model", "--events", "1")
    assert again["learner"] == best["learner"]


# ---- interrupts, broken pipes, other people's files


def test_replay_interrupt_prints_what_there_is(tmp_path):
    lines = "".join(vw_line(e) + "\n" for e in events(3000))
    args = ["--format", "vw", "-", "--arms", "3", "--bits", "6", "--json"]
    process = subprocess.Popen([program("COPPICE"), "replay", *args],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdin.write(lines)
        process.stdin.flush()
        # It has read all and waits for more: its read position is the pipe's end.
        wait_for(lambda: Path(f"/proc/{process.pid}/wchan").exists(), "the process")
        wait_for(lambda: pipe_is_empty(process), "replay to read its input")
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        err = process.stderr.read()
        assert process.wait(DEADLINE) == 1
        result = json.loads(out)
        assert 0 < result["events"] <= 3000 and "interrupted after" in err
    finally:
        process.kill()
        process.stdin.close()


def pipe_is_empty(process):
    import fcntl
    import struct
    import termios

    waiting = fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, struct.pack("i", 0))
    return struct.unpack("i", waiting)[0] == 0


def test_replay_closed_output_ends_without_noise(log):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([program("COPPICE"), "replay", "--format", "vw", log], stdout=write, stderr=subprocess.PIPE,
                          timeout=DEADLINE)
    os.close(write)
    assert done.returncode != 0


def test_replay_unwritable_results_fail(tmp_path, log):
    nowhere = tmp_path / "no" / "such" / "folder"
    for option in ("--save", "--dump"):
        assert str(nowhere) in refused_after(log, option, nowhere)


def refused_after(log, *args):
    done = subprocess.run([program("COPPICE"), "replay", "--format", "vw", log, *map(str, args), "--json"],
                          capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 1
    return done.stderr


LOGS = (".json", ".ldf", ".data", ".dsjson", ".dat", ".txt")


@pytest.mark.parametrize("file", sorted(p.name for p in VW.glob("*") if p.suffix in LOGS))
def test_replay_no_file_ends_the_process_badly(file):
    for format in ("vw", "dsjson", "csv"):
        for more in ([], ["--on-error", "skip", "--bits", "8"], ["--arms", "4"]):
            done = subprocess.run([program("COPPICE"), "replay", "--format", format, VW / file, *more, "--json"],
                                  capture_output=True, timeout=DEADLINE)
            assert done.returncode in (0, 1), (format, more, done.stderr)


# ---- journals and daemons


def test_replay_live_teaches_the_daemon(daemon, tmp_path, log):
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS, height=4))
    result = replay(log, "--live", one.ipc("requests"), "--model", "m")
    assert result["events"] == result["applied"] == result["learned"] == 1500
    assert one.client().model()["learned"] == 1500
    again = replay(log, "--live", one.ipc("requests"), "--model", "m", "--ask", "--first-id", "5000")
    assert again["applied"] == 1500 and 0 < again["matched"] < 1
    assert again["ips"] < again["average_loss"]  # what was learned shows


def test_replay_live_model_of_another_shape_is_refused(daemon, log):
    one = daemon(model(learner="dgt", features=FEATURES + 1, arms=ARMS))
    live = ["--format", "vw", log, "--live", one.ipc("requests")]
    assert "has 5 features, the log has 4" in refused(*live, "--model", "m")
    assert "unknown_model" in refused(*live, "--model", "n")


def test_replay_live_refused_events_are_told(daemon, tmp_path):
    path = tmp_path / "log.vw"
    path.write_text("\n".join([vw_line(e) for e in events(5)] + ["9:0:0.5 |x f0:1"]) + "\n")
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS))
    assert f"{path}:6" in refused("--format", "vw", path, "--live", one.ipc("requests"), "--model", "m")
    result = replay(path, "--live", one.ipc("requests"), "--model", "m", "--on-error", "skip", "--first-id", "100")
    assert result["applied"] == 5 and result["refused"] == 1


def test_replay_live_hashed_model_takes_hashed_features(daemon, log):
    one = daemon(model(learner="dgt", features=0, bits=10, arms=ARMS))
    assert replay(log, "--live", one.ipc("requests"), "--model", "m")["applied"] == 1500


def test_replay_live_ranks_candidates(daemon, tmp_path):
    path = write_dsjson(tmp_path / "log.json", events(500))
    one = daemon(model(learner="rank", features=0, bits=10, arms=None, max_candidates=5))
    more = ["--live", one.ipc("requests"), "--model", "m"]
    assert replay(path, *more, format="dsjson")["applied"] == 500
    again = replay(path, *more, format="dsjson")
    assert again["duplicate"] == 500 and again["learned"] == 0  # their ids were answered
    asked = replay(path, *more, "--ask", format="dsjson")
    assert asked["applied"] == 500 and 0 < asked["matched"] < 1
    flat = write_vw(tmp_path / "flat.vw", events(20))
    assert "ranks candidates, and the log has numbered arms" in refused("--format", "vw", flat, *more)


def test_replay_live_keeps_its_pace(daemon, log):
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS))
    result = replay(log, "--live", one.ipc("requests"), "--model", "m", "--events", "60", "--rate", "200")
    assert result["applied"] == 60 and result["events_per_second"] < 220


def test_replay_live_waits_for_its_pace_alone(daemon, log):
    """Under clocks that go on with each look at them and with what is slept (ticks.c)."""
    asan = os.environ.get("ASAN_OPTIONS", "")
    env = {**os.environ, "LD_PRELOAD": program("COPPICE_TICKS"),
           "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":")}
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS))
    took = []
    for pace in ([], ["--rate", "100"], ["--rate", "10"]):
        command = ["replay", "--format", "vw", log, "--live", one.ipc("requests"), "--model", "m", "--events", "200",
                   "--first-id", str(1000 * len(took)), *pace, "--json"]
        done = subprocess.run([program("COPPICE"), *command], env=env, capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        took.append(json.loads(done.stdout)["seconds"])
    assert took[0] < 0.5 and took[1] == pytest.approx(2, abs=0.1) and took[2] == pytest.approx(20, abs=0.2), took


def first_item(item):
    """Puts another item in the place of a batch's first one."""
    return lambda reply: {**reply, "items": [item, *reply["items"][1:]]}


UNCLEAR = "model 'm': its answer cannot be understood"


@pytest.mark.parametrize("verb,spoil,says", [
    (b"status", lambda reply: {**reply, "models": []}, "model 'm': its status cannot be understood"),
    *[(verb, spoil, UNCLEAR) for verb in (b"decide_batch", b"feedback_batch") for spoil in (
        lambda reply: {**reply, "items": reply["items"][:-1]},
        lambda reply: {**reply, "seq": [1]},
        lambda reply: {"seq": 1},
        lambda reply: [],
        first_item({}),
        first_item({"code": 1, "message": "no"}),
    )],
    (b"decide_batch", first_item({"code": "bad_arm", "message": "not that"}), "the daemon refused it: not that"),
    (b"feedback_batch", first_item({"code": "bad_arm", "message": "not that"}), "the daemon refused it: not that"),
])
def test_replay_live_answers_that_are_wrong_are_told(daemon, log, verb, spoil, says):
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS, height=2))
    with spoiled(one, verb, spoil) as endpoint:
        live = ["--format", "vw", log, "--live", endpoint, "--model", "m", "--ask", "--events", "10"]
        err = refused(*live)
    assert says in err and (verb == b"status" or says != UNCLEAR or endpoint in err)


def decisions(one):
    """{id: action} of a daemon's journal."""
    records = map(json.loads, coppice("journal", "dump", one.state / "journal", "--json")[0].splitlines())
    return {record["id"]: record["a"] for record in records if record["type"] == "decision"}


def test_replay_live_tells_all_that_it_met(daemon, tmp_path):
    """Ten of each kind that goes wrong are told, all are counted; what the daemon decided is in its journal."""
    log = events(140)
    lines = [vw_line(e) for e in log] + ["|x f0:1"] * 3 + ["9:0.5:0.25 |x f0:1"] * 12 + ["1:no:0.5 |x f0:1"] * 11
    path = tmp_path / "log.vw"
    path.write_text("\n".join(lines) + "\n")
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS, height=2))
    client = one.client()
    more = ["--format", "vw", path, "--live", one.ipc("requests"), "--model", "m", "--ask", "--on-error", "skip"]
    before = client.status()["requests"]["received"]
    out, err = coppice("replay", *more, "--skip", 2, "--first-id", 1000, "--json")
    assert client.status()["requests"]["received"] - before == 1 + 2 + 3 * 2  # ours, its status twice, three batches
    for first, last, why in ((144, 155, "the daemon refused it: a: got 8"), (156, 166, 'column 3: "no" is no cost')):
        told = [line for line in range(first, last + 1) if f"{path}:{line}: {why}" in err]
        assert told == list(range(first, first + 10)), err
    result = figures(json.loads(out))
    decided = decisions(one)
    sent = [*log[2:], *[(None, 8, 0.5, 0.25)] * 12]
    matched = [(cost, p) for i, (_, a, cost, p) in enumerate(sent) if decided[1000 + i] == a]
    assert 0 < len(matched) < 138
    assert result == {
        "events": 150, "average_loss": pytest.approx(sum(e[2] for e in sent) / 150), "applied": 138, "recorded": 0,
        "duplicate": 0, "late": 0, "unknown": 0, "refused": 12, "unlabelled": 3, "skipped": 11,
        "matched": pytest.approx(len(matched) / 150), "ips": pytest.approx(sum(c / p for c, p in matched) / 150),
        "learned": 138}

    out, _ = coppice("replay", *more, "--events", 148)
    lines = out.splitlines()
    decided = decisions(one)
    sent = [*log, *sent[-8:]]
    matched = [(cost, p) for i, (_, a, cost, p) in enumerate(sent) if decided[i] == a]
    assert lines.pop().startswith("events per second ")
    assert lines == [
        "events sent       148", "  applied         140", "  refused         8", "without a label   3, not sent",
        f"mean logged cost  {sum(e[2] for e in sent) / 148:.6f}", f"actions matched   {len(matched) / 148:.4f}",
        f"value, ips        {sum(c / p for c, p in matched) / 148:.6f}", "learned           140, in all 278"]
    assert "passed over       11" in coppice("replay", *more, "--first-id", 2000)[0].splitlines()


def test_replay_journal_is_what_the_daemon_learned(daemon, tmp_path, log):
    one = daemon(model(learner="dgt", features=FEATURES, arms=ARMS, height=4, seed=1))
    client = one.client()
    losses = []
    for i, (x, _, _, _) in enumerate(events(300)):
        a = client.decide("m", i, x)["a"]
        losses.append(float(a != (x[1] <= 0)))
        assert client.feedback("m", i, losses[-1]) == "applied"
    one.stop()
    result = replay(one.state / "journal", "--learner", "dgt", "--height", "4", format="journal")
    assert result["events"] == 300 and result["arms"] == ARMS and result["features"] == FEATURES
    assert result["average_loss"] == pytest.approx(sum(losses) / 300)


def teach(client, items, verb="decide_batch"):
    """Decides and answers in batches; items: (decision, feedback)."""
    for at in range(0, len(items), 1000):
        part = items[at:at + 1000]
        client.ok(verb, "m", {"items": [decision for decision, _ in part]})
        told = client.ok("feedback_batch", "m", {"items": [feedback for _, feedback in part]})["items"]
        assert {item.get("result") for item in told} == {"applied"}, told


def test_replay_journal_of_values_may_lose_more_behind_its_beginning(daemon, tmp_path):
    """The first 20000 events do not show how much can be lost."""
    one = daemon(model(learner="value", features=1, height=None, trees=None, feedback=None))
    losses = [0.5] * 20001 + [3]
    teach(one.client(), [({"id": i, "x": [1]}, {"id": i, "loss": loss}) for i, loss in enumerate(losses)])
    one.stop()
    result = replay(one.state / "journal", "--evaluate", "logged", format="journal")
    assert result["events"] == 20002 and result["average_loss"] == pytest.approx(sum(losses) / 20002)


def test_replay_journal_of_candidates_may_have_more_behind_its_beginning(daemon, tmp_path):
    one = daemon(model(learner="rank", features=1, candidate_features=1, arms=None, max_candidates=3, height=1, trees=0))
    teach(one.client(), [({"id": i, "x": [1], "c": [[0], [1]] + [[0.5]] * (i == 20001)}, {"id": i, "loss": 0.5})
                         for i in range(20002)], "rank_batch")
    one.stop()
    assert replay(one.state / "journal", "--evaluate", "logged", format="journal")["events"] == 20002


def test_replay_saved_model_starts_a_daemon(daemon, tmp_path, log):
    saved = tmp_path / "start.model"
    replay(log, "--learner", "dgt", "--height", "4", "--save", saved)
    text = model(learner="dgt", features=FEATURES, arms=ARMS, height=4, start_from=str(saved),
                 feature_names=f"{saved}.features.txt")
    one = daemon(text)
    assert one.client().model()["learned"] == 1500


def test_replay_saved_ranking_model_is_inspected(tmp_path):
    saved = tmp_path / "rank.model"
    replay(VW / "cb_test.ldf", "--save", saved)
    models = json.loads(coppice("inspect", saved, "--json")[0])["models"]
    assert len(models) == 1 and models[0]["learner"] == "rank"
    assert "max_candidates" in coppice("inspect", saved)[0]


def test_replay_files_that_would_be_lost_are_refused(tmp_path, log):
    content = log.read_bytes()
    other = tmp_path / "other"
    link = tmp_path / "link"
    link.symlink_to(log)
    for args in (["--dump", log], ["--save", log], ["--dump", link],
                 ["--save", other, "--dump", other], ["--save", tmp_path], ["--save", tmp_path / "no" / "model"]):
        err = refused("--format", "vw", log, *args)
        assert str(args[-1]) in err
    assert log.read_bytes() == content and not other.exists()


def test_replay_resumed_places_of_features_are_the_saved_ones(tmp_path, log):
    saved = tmp_path / "saved.model"
    replay(log, "--save", saved)
    for given in (["--resume", saved], ["--evaluate", saved]):
        for args in (["--bits", "10"], ["--features", "hashed"], ["-q", "::"], ["--keep", "x"], ["--hash", "all"]):
            assert "places" in refused("--format", "vw", log, *given, *args, status=2)
    replay(log, "--resume", saved, "--save", saved)
