"""coppice replay: what is read and what is estimated, against numpy and Vowpal Wabbit's recorded tables."""

import csv
import gzip
import json
import os
import random
import re
import subprocess
import threading
from pathlib import Path

import numpy
import pytest
from bandit_logs import (
    FEATURES, VW, coppice, events, figures, read_dump, refused, replay, vw_line, write_csv, write_dsjson, write_vw,
)
from conftest import is_sanitized, program


@pytest.fixture
def log(tmp_path):
    return write_vw(tmp_path / "log.vw", events(1500))


# ---- usage


@pytest.mark.parametrize(
    "args, complaint",
    [
        ([], "expected one FILE"),
        (["x"], "expected --format"),
        (["x", "--format", "xml"], "expected one of vw, dsjson, csv, journal"),
        (["x", "y", "--format", "vw"], "unexpected argument 'y'"),
        (["x", "--format", "vw", "--arms", "1"], "--arms: '1' given"),
        (["x", "--format", "vw", "--loss-range", "1,0"], "--loss-range: '1,0' given, expected LOW,HIGH"),
        (["x", "--format", "vw", "--learner", "forest"], "expected ensemble, dgt, rank or value"),
        (["x", "--format", "vw", "--literal"], "--literal goes with --learner dgt"),
        (["x", "--format", "vw", "--model", "m"], "--model goes with --live"),
        (["x", "--format", "vw", "--live", "ipc://x"], "--live needs --model"),
        (["x", "--format", "vw", "--ask"], "--ask goes with --live"),
        (["x", "--format", "vw", "--live", "ipc://x", "--model", "m", "--learner", "dgt"], "daemon's configuration"),
        (["x", "--format", "vw", "--evaluate", "logged", "--compare", "dgt"], "--evaluate goes without --compare"),
        (["x", "--format", "vw", "--evaluate", "unifrom"], "'unifrom' is no file; expected the file of a saved model, constant:K"),
        (["x", "--format", "vw", "--evaluate", "constant:-1"], "'constant:-1' is no file; expected the file of a saved model"),
        (["x", "--format", "vw", "--evaluate", "logged", "--height", "3"], "takes no options of a learner"),
        *((["x", "--format", "vw", "--resume", "r", *option], "--resume goes on as it was saved")
          for option in (["--arms", "3"], ["--seed", "3"], ["--height", "3"], ["--loss-range", "0,2"], ["--candidates", "9"],
                         ["--max-nonzeros", "9"], ["--policy", "epsilon"])),
        (["x", "--format", "vw", "--resume", "r", "--compare", "dgt"], "--resume goes without --evaluate and --compare"),
        (["x", "--format", "vw", "--threads", "2"], "--threads goes with --compare"),
        (["x", "--format", "vw", "--compare", "forest"], "expected ensemble, dgt, rank or value"),
        (["x", "--format", "vw", "--compare", "dgt:depth=3"], "'depth' is no option of a learner"),
        (["x", "--format", "vw", "--compare", "dgt:height"], "'height' needs a value"),
        (["x", "--format", "vw", "--compare", "dgt,dgt"], "another setting has this name"),
        (["x", "--format", "vw", "--compare", "a: --learner dgt --trees 3"], "--trees goes with"),
        (["x", "--format", "vw", "--interval", "wide"], "--interval: 'wide'"),
        (["x", "--format", "vw", "--progress", "0.5"], "expected a factor above 1"),
        (["x", "--format", "csv", "--lines", "one"], "--lines goes with the format vw"),
        (["x", "--format", "vw", "--bits", "25"], "--bits: expected 1 to 24"),
        (["-", "--format", "vw", "--passes", "2"], "--passes needs a file"),
    ],
)
def test_replay_wrong_options_are_told(args, complaint):
    assert complaint in refused(*args, status=2)


def test_replay_log_without_events_is_told(tmp_path):
    (tmp_path / "nothing.vw").write_text("\n\n")
    assert "nothing.vw: no events in it\n" in refused("--format", "vw", tmp_path / "nothing.vw")
    (tmp_path / "nothing.csv").write_text("x,action,probability,cost\n")
    assert "nothing.csv: no events in it\n" in refused("--format", "csv", tmp_path / "nothing.csv")


def test_replay_one_line_labels_from_0_are_told(tmp_path):
    (tmp_path / "log.vw").write_text("0:1:0.5 | a\n1:0:0.5 | a\n")
    assert "log.vw:2: column 1: a second candidate" in (err := refused("--format", "vw", tmp_path / "log.vw"))
    assert "actions from 1 where an event is one line" in err


def test_replay_missing_file_is_told(tmp_path):
    assert "nothing.vw" in refused("--format", "vw", tmp_path / "nothing.vw")


# ---- what is estimated


def numpy_estimates(d, cost_low=0.0):
    w, c, e = d["policy_probability"] / d["probability"], d["cost"], d["weight"]
    q, m = d["predicted_cost"], d["policy_cost"]
    mean = lambda v: float((e * v).sum() / e.sum())
    result = {
        "average_loss": mean(c), "ips": mean(w * c), "snips": float((e * w * c).sum() / (e * w).sum()),
        "effective_sample_size": float((e * w).sum() ** 2 / ((e * w) ** 2).sum()),
        "matched": float((d["policy_probability"] > 0).mean()), "mean_weight": mean(w),
        "largest_weight": float(w.max()), "clipped": mean(numpy.minimum(w, 10) * c),
    }
    if not numpy.isnan(q).any():
        result["dm"] = mean(m)
        result["dr"] = mean(m + w * (c - q))
        result["switch"] = mean(m + numpy.where(w <= 10, w * (c - q), 0))
    return result


@pytest.mark.parametrize("args", [
    [], ["--learner", "dgt"], ["--policy-value", "exploring"], ["--learner", "dgt", "--policy-value", "exploring"],
    ["--evaluate", "logged"], ["--evaluate", "uniform"], ["--evaluate", "constant:1"],
])
def test_replay_estimates_agree_with_numpy(tmp_path, args):
    log = events(3000, low=-2.0, high=3.0)
    dump = tmp_path / "dump.csv"
    result = replay(write_vw(tmp_path / "log.vw", log), "--dump", dump, *args)
    d = read_dump(dump)
    assert len(d["cost"]) == result["events"] == 3000
    numpy.testing.assert_array_equal(d["action"], [e[1] for e in log])
    numpy.testing.assert_array_equal(d["cost"], [e[2] for e in log])
    expected = numpy_estimates(d)
    for key, value in expected.items():
        assert result[key] == pytest.approx(value, rel=1e-9), key
    for key in ("ips", "snips", "average_loss"):
        assert result[f"{key}_low"] <= result[key] <= result[f"{key}_high"] or key == "ips"
    if args[:1] == ["--evaluate"]:
        assert "dm" not in result and "learner" not in result


def test_replay_estimates_of_a_thinned_log_agree_with_numpy(tmp_path):
    path = write_dsjson(tmp_path / "log.json", events(900))
    lines = path.read_text().splitlines()
    lines[::3] = [line[:-1] + ',"pdrop":0.6}' for line in lines[::3]]
    path.write_text("\n".join(lines) + "\n")
    for args in ([], ["--policy-value", "exploring"]):
        result = replay(path, "--dump", tmp_path / "dump.csv", *args, format="dsjson")
        d = read_dump(tmp_path / "dump.csv")
        assert sorted(set(d["weight"])) == pytest.approx([1, 2.5])
        for key, value in numpy_estimates(d).items():
            assert result[key] == pytest.approx(value, rel=1e-9), key


def test_replay_json_has_the_promised_keys(log):
    result = replay(log)
    assert {"events", "average_loss", "ips", "snips", "dr", "snips_low", "snips_high", "effective_sample_size",
            "events_per_second", "seconds", "dm", "switch", "clipped", "ips_low", "ips_high", "dr_low", "dr_high",
            "matched", "policy", "learner", "arms", "features", "skipped"} <= result.keys()
    assert (result["events"], result["arms"], result["features"]) == (1500, 3, 4)
    assert result["learner"] == "ensemble" and result["skipped"] == {"events": 0} and "holdout" not in result


def test_replay_logged_policy_is_worth_the_logs_average(log):
    result = replay(log, "--evaluate", "logged")
    assert result["ips"] == result["snips"] == pytest.approx(result["average_loss"], rel=1e-12)
    assert result["effective_sample_size"] == pytest.approx(1500)


def test_replay_learns_what_the_log_shows(tmp_path):
    path = write_vw(tmp_path / "long.vw", events(6000))
    result = replay(path, "--holdout-after", "4000")
    assert result["average_loss"] > 0.5 and result["holdout"]["snips"] < 0.35
    assert result["holdout"]["events"] == 2000 and result["events"] == 6000


def test_replay_event_is_predicted_before_it_is_learned(tmp_path):
    # Nothing can be known of a single event: what the policy would do does not depend on its label.
    a = write_vw(tmp_path / "a.vw", [([1, 2, 3, 4], 0, 0.0, 0.5)])
    b = write_vw(tmp_path / "b.vw", [([1, 2, 3, 4], 0, 1.0, 0.5)])
    for path in (a, b):
        replay(path, "--arms", "3", "--dump", f"{path}.csv")
    left, right = read_dump(f"{a}.csv"), read_dump(f"{b}.csv")
    assert left["best"] == right["best"] and left["predicted_cost"] == right["predicted_cost"]


@pytest.mark.parametrize("method", ["delta", "cressie-read", "bernstein", "clopper-pearson", "sequence"])
def test_replay_interval_methods_hold_the_value(log, method):
    result = replay(log, "--interval", method, "--level", "0.95")
    lows = [key for key in result if key.endswith("_low")]
    assert lows
    for key in lows:
        assert result[key] <= result[key[:-3] + "high"]


# ---- formats


def test_replay_same_log_in_csv_and_vw_gives_the_same_estimates(tmp_path):
    log = events(800)
    vw = replay(write_vw(tmp_path / "log.vw", log))
    table = replay(write_csv(tmp_path / "log.csv", log), format="csv")
    bare = replay(write_csv(tmp_path / "bare.csv", log, header=False), format="csv")
    reward = replay(write_csv(tmp_path / "reward.csv", log, reward=True), "--reward", format="csv")
    assert figures(vw) == figures(table) == figures(bare) == figures(reward)


def test_replay_dsjson_ranks_candidates(tmp_path):
    result = replay(write_dsjson(tmp_path / "log.json", events(1200)), format="dsjson")
    assert result["learner"] == "rank" and result["candidates"] == 3 and "arms" not in result
    assert result["events"] == 1200 and result["features_kind"] == "hashed"
    assert result["snips"] < result["average_loss"]


def test_replay_compressed_log_is_the_same(tmp_path, log):
    packed = tmp_path / "log.vw.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert figures(replay(packed)) == figures(replay(log))


def test_replay_hashed_log_is_learned(tmp_path):
    rng = random.Random(5)
    lines = []
    for _ in range(3000):
        words = rng.sample(range(400), 5)
        a = rng.randrange(2)
        cost = float(a != (words[0] % 2))
        lines.append(f"{a + 1}:{cost:g}:0.5 |w " + " ".join(f"word{w}" for w in words) + f" parity{words[0] % 2}")
    path = tmp_path / "words.vw"
    path.write_text("\n".join(lines) + "\n")
    result = replay(path, "--bits", "12")
    assert result["features"] == 4096 and result["features_kind"] == "hashed" and result["snips"] < 0.2
    assert replay(path)["features"] == 1 << 15  # 402 names
    text = path.read_text()
    assert replay("-", "--arms", "2", input=text, format="vw")["features"] == 1 << 18


def test_replay_candidates_need_the_rank_learner(tmp_path):
    path = write_dsjson(tmp_path / "log.json", events(50))
    assert "expected --learner rank" in refused("--format", "dsjson", path, "--learner", "dgt")
    flat = write_vw(tmp_path / "flat.vw", events(50))
    assert "--learner rank does not take" in refused("--format", "vw", flat, "--learner", "rank")


# ---- the log's shape


def test_replay_late_surprises_are_found_by_a_second_look(tmp_path):
    log = events(20500)
    short = [vw_line(e) for e in log[:20400]]
    for name, line in (("arm", "5:1:0.5 |x f0:1 f1:1 f2:1 f3:1"), ("cost", "1:7:0.5 |x f0:1 f1:1 f2:1 f3:1"),
                       ("column", "1:1:0.5 |x f0:1 f1:1 f2:1 f3:1 f4:1")):
        path = tmp_path / f"{name}.vw"
        path.write_text("\n".join([*short, line]) + "\n")
        out, err = coppice("replay", "--format", "vw", path, "--learner", "dgt", "--json")
        assert "all of the log is looked at" in err and f"{path}:20401" in err
        result = json.loads(out)
        assert result["arms"] == (5 if name == "arm" else 3)
        assert result["loss_range"] == ([0, 7] if name == "cost" else [0, 1])
        assert result["features"] == (5 if name == "column" else 4)


def test_replay_given_shape_is_kept(tmp_path, log):
    result = replay(log, "--arms", "5", "--loss-range=-1,2")
    assert result["arms"] == 5 and result["loss_range"] == [-1, 2]
    assert "action 3, expected 1 to 2 (--arms 2)" in refused("--format", "vw", log, "--arms", "2")
    assert "outside the loss range" in refused("--format", "vw", log, "--loss-range", "0,0.5")


def test_replay_standard_input_needs_arms(log):
    text = log.read_text()
    assert "cannot be scanned, expected --arms" in refused("--format", "vw", "-", input=text)
    from_input = replay("-", "--arms", "3", "--bits", "10", input=text)
    assert figures(from_input) == figures(replay(log, "--arms", "3", "--bits", "10"))


def test_replay_log_that_can_be_read_only_once_is_refused_and_not_taken_for_empty(tmp_path, log):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert f"{pipe}: it can be read only once" in refused("--format", "vw", pipe)
    once = ("--arms", "3", "--bits", "10")
    coppice("replay", "--format", "vw", log, *once, "--events", "50", "--save", tmp_path / "half")
    writer = threading.Thread(target=lambda: pipe.write_bytes(log.read_bytes()))
    writer.start()
    piped = replay(pipe, "--evaluate", tmp_path / "half")  # needs no scan
    writer.join()
    assert figures(piped) == figures(replay(log, "--evaluate", tmp_path / "half"))


def test_replay_columns_of_a_file_make_standard_input_dense(tmp_path, log):
    names = tmp_path / "names.txt"
    names.write_text("".join(f"x^f{i}\n" for i in range(FEATURES)))
    from_input = replay("-", "--arms", "3", "--columns", names, input=log.read_text())
    assert figures(from_input) == figures(replay(log))
    names.write_text("x^f0\nx^f0\n")
    assert "stands twice" in refused("--format", "vw", "-", "--arms", "3", "--columns", names, input=log.read_text())


# ---- bad events


BAD = {
    "format": "1:0:zero |x f0:1",
    "number": "1:inf:0.5 |x f0:1",
    "action": "9:0:0.5 |x f0:1",
    "cost": "1:3:0.5 |x f0:1",
}


def test_replay_bad_event_is_told_with_its_line_and_column(tmp_path):
    lines = [vw_line(e) for e in events(10)]
    for cause, bad in BAD.items():
        path = tmp_path / f"{cause}.vw"
        path.write_text("\n".join(lines[:4] + [bad] + lines[4:]) + "\n")
        err = refused("--format", "vw", path, "--arms", "3", "--loss-range", "0,1")
        assert f"{path}:5" in err and "expected" in err
        if cause == "format":
            assert re.search(rf"{re.escape(str(path))}:5: column \d+: ", err), err


def test_replay_bad_event_behind_a_beginning_without_losses_is_told(tmp_path):
    """The beginning does not say what arms there are: the whole file is looked at, and what is wrong there."""
    path = tmp_path / "log.vw"
    path.write_text("| a:1\n" * 20001 + "1:nonsense:1 | a:1\n")
    assert f"{path}:20002" in refused("--format", "vw", path)


def test_replay_name_that_leaves_no_room_for_that_of_the_columns_is_told(tmp_path, log):
    path = f"{tmp_path}{'/.' * ((3884 - len(str(tmp_path))) // 2)}/{'m' * 200}"
    _, told = coppice("replay", "--format", "vw", log, "--features", "dense", "--save", path, status=1)
    assert told == f"coppice replay: {path[:255]}: the name is too long\n"


def test_replay_skipped_events_are_counted_and_spoil_nothing(tmp_path):
    log = events(2000)
    good = [vw_line(e) for e in log]
    mixed = []
    for i, line in enumerate(good):
        if i % 100 == 50:
            mixed += list(BAD.values())
        mixed.append(line)
    clean, dirty = tmp_path / "clean.vw", tmp_path / "dirty.vw"
    clean.write_text("\n".join(good) + "\n")
    dirty.write_text("\n".join(mixed) + "\n")
    shape = ["--arms", "3", "--loss-range", "0,1", "--features", "hashed", "--bits", "8"]
    out, err = coppice("replay", "--format", "vw", dirty, *shape, "--on-error", "skip", "--json")
    result = json.loads(out)
    skipped = result.pop("skipped")
    assert skipped["events"] == 80 and sum(v for k, v in skipped.items() if k != "events") == 80
    assert skipped["action"] == skipped["cost"] == 20
    expected = figures(replay(clean, *shape))
    expected.pop("skipped")
    assert figures(result) == expected
    assert err.count("coppice replay: ") == 11 and "further bad events are counted" in err


def test_replay_infinite_cost_spoils_nothing(tmp_path):
    lines = [vw_line(e) for e in events(500)]
    path = tmp_path / "inf.vw"
    path.write_text("\n".join(lines[:250] + ["1:inf:0.5 |x f0:1"] + lines[250:]) + "\n")
    assert ":251" in refused("--format", "vw", path)
    clean = tmp_path / "clean.vw"
    clean.write_text("\n".join(lines) + "\n")
    result = replay(path, "--on-error", "skip")
    assert result.pop("skipped")["events"] == 1
    expected = figures(replay(clean))
    expected.pop("skipped")
    assert figures(result) == expected


# ---- the progress table, as Vowpal Wabbit prints it


def recorded(name):
    text = (VW / f"{name}.stderr.txt").read_text()
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("average"))
    end = lines.index("finished run") - 1
    return lines[start:end], lines[end + 1:]


def table(path, *args, format="vw"):
    out, err = coppice("replay", "--format", format, path, *args)
    return err.splitlines(), out.splitlines()


@pytest.mark.parametrize("name, file, format, args", [
    ("dsjson_cb.adf", "dsjson_cb.json", "dsjson", ["--policy-value", "exploring", "--progress", "1"]),
    ("decisionservice.adf", "decisionservice.json", "dsjson", ["--policy-value", "exploring", "--progress", "1"]),
    ("cb_test.adf", "cb_test.ldf", "vw", ["--progress", "1"]),
])
def test_replay_table_is_vowpal_wabbits(name, file, format, args):
    if not (VW / file).exists() or not (VW / f"{name}.stderr.txt").exists():
        pytest.skip("tests/data/vw lacks the recorded table")
    theirs, their_summary = recorded(name)
    ours, our_summary = table(VW / file, *args, format=format)
    assert ours[:2] == theirs[:2]
    assert len(ours) == len(theirs)
    for mine, his in zip(ours[2:], theirs[2:]):
        m, h = mine.split(), his.split()
        assert (m[2], m[3], m[4], m[6]) == (h[2], h[3], h[4], h[6])  # counter, weight, label, features
        assert (m[1] == "n.a.") == (h[1] == "n.a.")
        # Columns stand in the same places.
        assert [f.end() for f in re.finditer(r"\S+", mine)][2:] == [f.end() for f in re.finditer(r"\S+", his)][2:]
    for word in ("number of examples", "weighted example sum"):
        assert [x for x in our_summary if x.startswith(word)] == [x for x in their_summary if x.startswith(word)]


def test_replay_table_first_event_is_explored_evenly_as_theirs():
    # Before anything is learned both play every action with the same probability (of 12), whatever the learner.
    path = VW / "decisionservice.json"
    if not path.exists():
        pytest.skip("tests/data/vw lacks decisionservice.json")
    ours, _ = table(path, "--policy-value", "exploring", "--progress", "1", format="dsjson")
    assert ours[2] == "-0.10204 -0.10204            1            1.0      9:-1:0.82         0:0.08      433"


def test_replay_table_losses_are_of_the_policy_evaluated(tmp_path):
    log = events(70)
    path = write_vw(tmp_path / "log.vw", log)
    ours, _ = table(path, "--evaluate", "constant:1", "--progress", "2.0")
    terms = [e[2] / e[3] if e[1] == 1 else 0.0 for e in log]
    rows = [line.split() for line in ours[2:]]
    assert [int(r[2]) for r in rows] == [1, 2, 4, 8, 16, 32, 64]
    before = 0
    for r in rows:
        n = int(r[2])
        assert float(r[0]) == pytest.approx(sum(terms[:n]) / n, abs=2e-6)
        assert float(r[1]) == pytest.approx(sum(terms[before:n]) / (n - before), abs=2e-6)
        x, a, cost, p = log[n - 1]
        assert r[4].split(":")[0] == str(a + 1) and r[5].startswith("2:") and int(r[6]) == FEATURES + 1
        before = n


def test_replay_unlabelled_events_have_no_loss(tmp_path):
    path = tmp_path / "log.vw"
    path.write_text("|x f0:1\n1:1:0.5 |x f0:2\n|x f0:3\n")
    ours, summary = table(path, "--arms", "2", "--progress", "1")
    rows = [line.split() for line in ours[2:]]
    assert [r[1] == "n.a." for r in rows] == [True, False, True] and [r[4] for r in rows][0] == "unknown"
    assert "number of examples = 3" in summary


def test_replay_prints_no_table_unless_asked(log):
    assert coppice("replay", "--format", "vw", log)[1] == ""


def test_replay_memory_does_not_grow_with_the_stream(tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("".join(f"x^f{i}\n" for i in range(FEATURES)))
    chunk = "".join(vw_line(e) + "\n" for e in events(20000)).encode()
    most = []
    for chunks in (2, 30):
        args = ["--format", "vw", "-", "--arms", "3", "--learner", "dgt", "--columns", names, "--json"]
        process = subprocess.Popen([program("COPPICE"), "replay", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(chunks):
            process.stdin.write(chunk)
        process.stdin.close()
        assert json.loads(process.stdout.read())["events"] == 20000 * chunks
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0
        most.append(usage.ru_maxrss)
    if not is_sanitized(program("COPPICE")):
        assert most[1] < most[0] + 2048  # KiB


# ---- the Open Bandit sample


def open_bandit(name):
    folder = os.environ.get("COPPICE_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"COPPICE_DATA has no {name}")
    return Path(folder) / name


@pytest.mark.parametrize("policy", ["random", "bts"])
def test_replay_open_bandit_logged_policies_are_worth_their_averages(policy):
    path = open_bandit(f"obd_{policy}_men.log.csv.gz")
    rewards = [float(row[-1]) for row in csv.reader(gzip.open(path, "rt"))]
    mean = 1 - sum(rewards) / len(rewards)
    result = replay(path, "--reward", "--evaluate", "logged", format="csv")
    assert result["events"] == len(rewards) == 10000 and result["arms"] == 34
    for key in ("ips", "snips", "average_loss"):
        assert result[key] == pytest.approx(mean, rel=1e-9)


@pytest.mark.plain
def test_replay_open_bandit_end_to_end(tmp_path):
    path, items = open_bandit("obd_bts_men.log.csv.gz"), open_bandit("obd_men.items.csv.gz")
    uniform = replay(path, "--reward", "--evaluate", "uniform", format="csv")
    assert uniform["effective_sample_size"] == pytest.approx(655.7098, rel=1e-5)  # as recorded with the data
    assert uniform["mean_weight"] == pytest.approx(0.9433136, rel=1e-5)
    learned = replay(path, "--reward", format="csv")
    ranked = replay(path, "--reward", "--items", items, "--save", tmp_path / "r.model", format="csv")
    assert learned["events"] == ranked["events"] == 10000
    assert ranked["learner"] == "rank" and ranked["candidates"] == 34


def test_replay_estimates_outside_their_intervals_are_explained(tmp_path):
    """Arm 1 is drawn twice as often as it should be, at cost 1: ips is 2, beyond all costs; clipped lacks what was cut."""
    drawn = [([0.5] * FEATURES, 0 if i % 3 else 1, 1.0, 1 / 3) for i in range(300)]
    path = write_vw(tmp_path / "often.vw", drawn)
    out, _ = coppice("replay", "--format", "vw", path, "--arms", "3", "--evaluate", "constant:0", "--clip", "1")
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith(("ips", "snips", "clipped"))}
    assert rows["ips"].endswith("2.000000*") and not rows["snips"].endswith("*")
    reasons = [line for line in out.splitlines() if line.startswith("* outside its interval: ")]
    assert any("beyond the range of costs" in line for line in reasons), out
    result = replay(path, "--arms", "3", "--evaluate", "constant:0", "--clip", "1")
    assert result["ips"] > result["ips_high"]
    inside, _ = coppice("replay", "--format", "vw", write_vw(tmp_path / "log.vw", events(1500)), "--evaluate", "uniform")
    assert "outside its interval" not in inside or "lacks what was cut off" in inside
