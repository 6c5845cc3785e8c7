"""coppice replay: bandit logs into models and estimates, against numpy and against Vowpal Wabbit's recorded tables."""

import csv
import gzip
import json
import math
import os
import random
import re
import signal
import subprocess
from pathlib import Path

import numpy
import pytest
from conftest import DEADLINE, model, program, wait_for

ROOT = Path(__file__).resolve().parents[2]
VW = ROOT / "tests" / "data" / "vw"
ARMS, FEATURES = 3, 4


def coppice(*args, status=0, **more):
    """(standard output, standard error) of the program, which must end with this status."""
    command = [program("COPPICE"), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, **more)
    assert done.returncode == status, (command, done.stdout, done.stderr)
    return done.stdout, done.stderr


def replay(path, *args, format="vw", **more):
    out, err = coppice("replay", "--format", format, path, *args, "--json", **more)
    assert out.count("\n") == 1
    return json.loads(out)


def figures(result):
    """What must not depend on the machine, nor on where events came from."""
    return {k: v for k, v in result.items() if k not in ("seconds", "events_per_second", "cached")}


def refused(*args, status=1, **more):
    out, err = coppice("replay", *args, status=status, **more)
    assert out == "" and err.startswith("coppice replay: ")
    return err


def events(count, seed=7, arms=ARMS, low=0.0, high=1.0):
    """(x, action, cost, p): an unequal logging policy, and costs that depend on x and action."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        x = [round(rng.uniform(-1, 1), 3) for _ in range(FEATURES)]
        weights = [1 + (x[0] > 0), 2, 1][:arms] + [1] * (arms - 3)
        a = rng.choices(range(arms), weights)[0]
        best = 0 if x[1] > 0 else 1
        cost = low + (high - low) * float(rng.random() < (0.2 if a == best else 0.8))
        result.append((x, a, cost, weights[a] / sum(weights)))
    return result


def vw_line(event):
    x, a, cost, p = event
    return f"{a + 1}:{cost:g}:{p!r} |x " + " ".join(f"f{i}:{v!r}" for i, v in enumerate(x))


def write_vw(path, log):
    path.write_text("".join(vw_line(e) + "\n" for e in log))
    return path


def write_dsjson(path, log):
    lines = []
    for i, (x, a, cost, p) in enumerate(log):
        features = {f"f{k}": v for k, v in enumerate(x)}
        rest = [k for k in range(ARMS) if k != a]
        lines.append(json.dumps({
            "_label_cost": cost, "_label_probability": p, "_label_Action": a + 1, "_labelIndex": a,
            "EventId": f"e{i}", "a": [a + 1] + [k + 1 for k in rest], "p": [p] + [(1 - p) / 2] * 2,
            "c": {"x": features, "_multi": [{"item": {f"arm{k}": 1}} for k in range(ARMS)]},
        }, separators=(",", ":")))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_csv(path, log, header=True, reward=False):
    with open(path, "w", newline="", encoding="ascii") as stream:
        out = csv.writer(stream)
        if header:
            out.writerow([f"f{i}" for i in range(FEATURES)] + ["action", "probability", "reward" if reward else "cost"])
        for x, a, cost, p in log:
            out.writerow([*x, a, repr(p), 1 - cost if reward else cost])
    return path


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
        (["x", "--format", "vw", "--learner", "value"], "expected one of ensemble, dgt, rank"),
        (["x", "--format", "vw", "--literal"], "--literal goes with --learner dgt"),
        (["x", "--format", "vw", "--model", "m"], "--model goes with --live"),
        (["x", "--format", "vw", "--live", "ipc://x"], "--live needs --model"),
        (["x", "--format", "vw", "--ask"], "--ask goes with --live"),
        (["x", "--format", "vw", "--live", "ipc://x", "--model", "m", "--learner", "dgt"], "daemon's configuration"),
        (["x", "--format", "vw", "--evaluate", "logged", "--compare", "dgt"], "--evaluate goes without --compare"),
        (["x", "--format", "vw", "--evaluate", "logged", "--height", "3"], "takes no options of a learner"),
        (["x", "--format", "vw", "--resume", "r", "--arms", "3"], "--resume goes on as it was saved"),
        (["x", "--format", "vw", "--threads", "2"], "--threads goes with --compare"),
        (["x", "--format", "vw", "--compare", "forest"], "expected one of ensemble, dgt, rank"),
        (["x", "--format", "vw", "--compare", "dgt:depth=3"], "'depth' is no option of a learner"),
        (["x", "--format", "vw", "--compare", "dgt:height"], "'height' needs a value"),
        (["x", "--format", "vw", "--compare", "dgt,dgt"], "another setting has this name"),
        (["x", "--format", "vw", "--compare", "a: --learner dgt --trees 3"], "--trees goes with"),
        (["x", "--format", "vw", "--interval", "wide"], "--interval: 'wide'"),
        (["x", "--format", "vw", "--progress", "0.5"], "expected a factor above 1"),
        (["x", "--format", "csv", "--lines", "one"], "--lines goes with the format vw"),
        (["x", "--format", "vw", "--bits", "25"], "--bits: expected 1 to 24"),
        (["-", "--format", "vw", "--passes", "2"], "--passes needs a file"),
        (["-", "--format", "vw", "--cache", "c"], "--cache needs a file"),
    ],
)
def test_replay_wrong_options_are_told(args, complaint):
    assert complaint in refused(*args, status=2)


def test_replay_missing_file_is_told(tmp_path):
    assert "nothing.vw" in refused("--format", "vw", tmp_path / "nothing.vw")


# ---- what is estimated


def read_dump(path):
    rows = list(csv.DictReader(open(path, encoding="ascii")))
    return {key: numpy.array([float(r[key]) if r[key] else math.nan for r in rows]) for key in rows[0]}


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
    assert "replay" in coppice("inspect", tmp_path / "a.model")[0]


# ---- the cache


@pytest.mark.parametrize("format", ["vw", "dsjson"])
def test_replay_from_the_cache_is_the_same(tmp_path, format):
    write = write_vw if format == "vw" else write_dsjson
    path = write(tmp_path / "log", events(1000))
    cache = tmp_path / "log.cache"
    text = replay(path, format=format)
    first = replay(path, "--cache", cache, format=format)
    second = replay(path, "--cache", cache, format=format)
    assert first["cached"] is False and second["cached"] is True
    assert figures(text) == figures(first) == figures(second)
    other = replay(path, "--cache", cache, "--policy-value", "exploring", "--passes", "2", format=format)
    assert other["cached"] is True and other["events"] == 2000
    assert figures(other) == figures(replay(path, "--policy-value", "exploring", "--passes", "2", format=format))


def test_replay_old_cache_is_made_anew(tmp_path, log):
    cache = tmp_path / "log.cache"
    replay(log, "--cache", cache)
    log.write_text(log.read_text() + vw_line(events(1, seed=99)[0]) + "\n")
    out, err = coppice("replay", "--format", "vw", log, "--cache", cache, "--json")
    assert "made anew" in err and json.loads(out)["events"] == 1501 and json.loads(out)["cached"] is False
    out, err = coppice("replay", "--format", "vw", log, "--cache", cache, "--arms", "4", "--json")
    assert "made anew" in err and json.loads(out)["arms"] == 4


def test_replay_damaged_cache_is_refused(tmp_path, log):
    cache = tmp_path / "log.cache"
    replay(log, "--cache", cache)
    data = cache.read_bytes()
    for at in range(10, len(data), len(data) // 20):
        cache.write_bytes(data[:at] + bytes([data[at] ^ 0x11]) + data[at + 1:])
        done = subprocess.run([program("COPPICE"), "replay", "--format", "vw", log, "--cache", cache, "--json"],
                              capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode in (0, 1)
        assert str(cache) in done.stderr
    cache.write_text("my only copy of something else")
    refused("--format", "vw", log, "--cache", cache)
    assert cache.read_text() == "my only copy of something else"


def test_replay_part_of_a_log_leaves_no_cache(tmp_path, log):
    cache = tmp_path / "log.cache"
    replay(log, "--cache", cache, "--events", "100")
    assert not cache.exists() and os.listdir(tmp_path) == ["log.vw"]


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
    half = 1.9615 * expected.std(ddof=1) / math.sqrt(len(expected))
    assert d["high"] - d["value"] == pytest.approx(half, rel=1e-3)


def test_replay_compare_saves_the_best(tmp_path, log):
    best = replay(log, *SPECS, "--save", tmp_path / "best.model")["compare"][0]
    again = replay(log, "--resume", tmp_path / "best.model", "--events", "1")
    assert again["learner"] == best["learner"]


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
        assert next(x for x in our_summary if x.startswith(word)) == next(x for x in their_summary if x.startswith(word))


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


# ---- interrupts, broken pipes, other people's files


def test_replay_interrupt_prints_what_there_is(tmp_path):
    lines = "".join(vw_line(e) + "\n" for e in events(3000))
    process = subprocess.Popen([program("COPPICE"), "replay", "--format", "vw", "-", "--arms", "3", "--bits", "6", "--json"],
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
    for option in ("--save", "--dump", "--cache"):
        assert str(nowhere) in refused_after(log, option, nowhere)


def refused_after(log, *args):
    done = subprocess.run([program("COPPICE"), "replay", "--format", "vw", log, *map(str, args), "--json"],
                          capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("file", sorted(p.name for p in VW.glob("*") if p.suffix in (".json", ".ldf", ".data", ".dsjson",
                                                                                    ".dat", ".txt")))
def test_replay_no_file_ends_the_process_badly(file):
    for format in ("vw", "dsjson", "csv"):
        for more in ([], ["--on-error", "skip", "--bits", "8"], ["--arms", "4"]):
            done = subprocess.run([program("COPPICE"), "replay", "--format", format, VW / file, *more, "--json"],
                                  capture_output=True, timeout=DEADLINE)
            assert done.returncode in (0, 1), (format, more, done.stderr)


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


def test_replay_open_bandit_end_to_end(tmp_path):
    path, items = open_bandit("obd_bts_men.log.csv.gz"), open_bandit("obd_men.items.csv.gz")
    uniform = replay(path, "--reward", "--evaluate", "uniform", format="csv")
    assert uniform["effective_sample_size"] == pytest.approx(655.7098, rel=1e-5)  # as recorded with the data
    assert uniform["mean_weight"] == pytest.approx(0.9433136, rel=1e-5)
    learned = replay(path, "--reward", format="csv")
    ranked = replay(path, "--reward", "--items", items, "--save", tmp_path / "r.model", format="csv")
    assert learned["events"] == ranked["events"] == 10000
    assert ranked["learner"] == "rank" and ranked["candidates"] == 34


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
    assert "has 5 features, the log has 4" in refused("--format", "vw", log, "--live", one.ipc("requests"), "--model", "m")
    assert "unknown_model" in refused("--format", "vw", log, "--live", one.ipc("requests"), "--model", "n")


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


def test_replay_saved_model_starts_a_daemon(daemon, tmp_path, log):
    saved = tmp_path / "start.model"
    replay(log, "--learner", "dgt", "--height", "4", "--save", saved)
    text = model(learner="dgt", features=FEATURES, arms=ARMS, height=4, start_from=str(saved),
                 feature_names=f"{saved}.features.txt")
    one = daemon(text)
    assert one.client().model()["learned"] == 1500
