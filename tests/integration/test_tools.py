"""The program coppice: simulate (in process and live), ctl, inspect, bench and the demo."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, model, program, section

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SATIMAGE = [DATA / "satimage.train.csv.gz", DATA / "satimage.test.csv.gz"]
ABALONE = [DATA / "abalone.train.csv.gz", DATA / "abalone.test.csv.gz"]
DEMO_MODEL = model("demo", arms=6, features=36, policy="epsilon", epsilon=0.1, seed=1, height=None, trees=None)
VALUE_MODEL = model("v", learner="value", features=10, seed=3, height=None, trees=None)


def coppice(*args, status=0):
    """(standard output, standard error) of the program, which must end with this status."""
    command = [program("COPPICE"), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == status, (command, done.stdout, done.stderr)
    if status != 0:
        assert done.stderr.startswith("coppice")
    return done.stdout, done.stderr


def data(paths):
    return [word for path in paths for word in ("--data", path)]


def simulate(*args):
    out, err = coppice("simulate", *args, "--json")
    assert err == "" and out.count("\n") == 1
    return json.loads(out)


def figures(result):
    """What must not depend on the machine."""
    return {key: value for key, value in result.items() if key not in ("seconds", "events_per_second")}


def write_sparse(path, rows=400):
    rng = random.Random(7)
    lines = []
    for _ in range(rows):
        label = rng.randrange(3)
        indices = sorted(rng.sample(range(20, 400), 4)) + [500 + label]
        lines.append(f"{label} " + " ".join(f"{i}:{rng.uniform(0.5, 2):.3f}" for i in indices))
    path.write_text("\n".join(lines) + "\n")
    return path


# ---- the program


def test_help_of_every_subcommand_is_on_standard_output():
    for name in ("simulate", "inspect", "ctl", "bench"):
        out, err = coppice(name, "--help")
        assert out.startswith(f"usage: coppice {name}") and err == ""
        assert name in coppice("--help")[0]


def test_version_is_printed():
    assert coppice("--version")[0].startswith("coppice ")


@pytest.mark.parametrize("args", [(), ("prune",), ("simulate", "--epsillon", "1"), ("ctl",), ("inspect",),
                                  ("bench", "everything")])
def test_wrong_usage_is_status_2(args):
    done = subprocess.run([program("COPPICE"), *args], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 2 and done.stdout == "" and done.stderr != ""


# ---- simulate, in process


@pytest.mark.parametrize(
    "args, complaint",
    [
        (["--data", "x.csv", "--seed", "-1"], "--seed: '-1' given, expected a whole number"),
        (["--data", "x.csv", "--learner", "forest"], "'forest' given, expected one of ensemble, dgt, value"),
        (["--data", "x.csv", "--epsilon", "1.5"], "--epsilon: '1.5' given, expected a number from 0 to 1"),
        (["--data", "x.csv", "--missing", "half"], "--missing: 'half'"),
        (["--data", "x.csv", "extra"], "unexpected argument 'extra'"),
        ([], "expected --data FILE"),
        (["--data", "x.csv", "--model", "m"], "go with --live"),
        (["--data", "x.csv", "--live", "ipc://x"], "--live needs --model"),
        (["--data", "x.csv", "--live", "ipc://x", "--model", "m", "--contexts", "ipc://c"], "needed together"),
    ],
)
def test_simulate_with_a_wrong_option_says_what_was_expected(args, complaint):
    assert complaint in coppice("simulate", *args, status=2)[1]


def test_simulate_of_an_absent_file_names_it():
    assert "no-such.csv" in coppice("simulate", "--data", "no-such.csv", status=1)[1]


def test_simulate_of_a_file_with_a_wrong_value_names_the_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2,0\n1,two,1\n")
    assert f"{path}:2:" in coppice("simulate", "--data", path, status=1)[1]


def test_simulate_json_has_the_promised_keys():
    result = simulate(*data(SATIMAGE), "--events", 500, "--holdout", SATIMAGE[1])
    assert result.keys() == {"events", "progressive_loss", "holdout_accuracy", "events_per_second", "seconds"}
    assert result["events"] == 500 and 0 < result["progressive_loss"] < 1 and 0 < result["holdout_accuracy"] < 1


def test_simulate_curve_ends_in_the_progressive_loss():
    result = simulate(*data(SATIMAGE), "--events", 1000, "--curve", "--points", 5)
    curve = result["curve"]
    assert [point["events"] for point in curve] == [200, 400, 600, 800, 1000]
    assert curve[-1]["progressive_loss"] == result["progressive_loss"]
    out, _ = coppice("simulate", *data(SATIMAGE), "--events", 1000, "--curve", "--points", 5)
    assert f"{result['progressive_loss']:.6f}" in out


def test_simulate_with_one_seed_gives_one_result():
    args = [*data(SATIMAGE), "--events", 1500, "--holdout", SATIMAGE[1]]
    first = figures(simulate(*args, "--seed", 5))
    assert first == figures(simulate(*args, "--seed", 5))
    assert first != figures(simulate(*args, "--seed", 6))


def test_simulate_learns_satimage():
    assert simulate(*data(SATIMAGE))["progressive_loss"] < 0.19


def test_simulate_late_and_missing_feedback_costs_but_learns():
    args = [*data(SATIMAGE), "--events", 3000]
    prompt = simulate(*args)["progressive_loss"]
    late = simulate(*args, "--delay", 200, "--missing", 0.5)["progressive_loss"]
    assert prompt < late < 0.5
    silent = simulate(*args, "--missing", 1)["progressive_loss"]
    assert silent > 0.6


def test_simulate_values_learns_abalone():
    result = simulate(*data(ABALONE[:1]), "--holdout", ABALONE[1], "--learner", "value", "--passes", 4)
    assert "holdout_accuracy" not in result
    assert result["holdout_rmse"] < 2.8
    huber = simulate(*data(ABALONE[:1]), "--learner", "value", "--loss", "huber")
    assert 0 < huber["progressive_loss"] < 0.1


def test_simulate_sparse_rows_are_learned(tmp_path):
    path = write_sparse(tmp_path / "rows.libsvm")
    for learner in ("ensemble", "dgt"):
        result = simulate("--data", path, "--passes", 10, "--learner", learner)
        assert result["events"] == 4000 and result["progressive_loss"] < 0.6


# ---- simulate, live


def endpoints(one):
    return {"requests": [one.ipc("requests")], "contexts_bind": [one.ipc("contexts")],
            "feedback_bind": [one.ipc("feedback")], "actions_bind": [one.ipc("actions")]}


def started(daemon, text):
    """A daemon with all streams."""
    one = daemon(text, start=False)
    one.write_config(section("sockets", endpoints(one)) + text)
    return one.start()


def live(one, name):
    return ["--live", one.ipc("requests"), "--model", name]


def streams(one):
    return ["--contexts", one.ipc("contexts"), "--actions", one.ipc("actions"), "--feedback-to", one.ipc("feedback")]


@pytest.mark.parametrize("path", ["requests", "streams"])
@pytest.mark.parametrize("more", [[], ["--delay", 30, "--missing", 0.2]])
def test_simulate_live_gives_the_in_process_figures_bit_for_bit(daemon, path, more):
    one = started(daemon, DEMO_MODEL)
    args = [*data(SATIMAGE[1:]), "--events", 800, "--holdout", SATIMAGE[1], "--seed", 1, *more]
    through = live(one, "demo") + (streams(one) if path == "streams" else [])
    alone = figures(simulate(*args, "--policy", "epsilon"))
    assert figures(simulate(*args, *through)) == alone


@pytest.mark.parametrize("feedback", ["one", "two"])
def test_simulate_live_values_gives_the_in_process_figures(daemon, feedback):
    text = model("v", learner="value", features=10, seed=3, height=None, trees=None, feedback=feedback)
    one = started(daemon, text)
    args = [*data(ABALONE[:1]), "--holdout", ABALONE[1], "--learner", "value", "--feedback", feedback, "--seed", 3]
    assert figures(simulate(*args, *live(one, "v"))) == figures(simulate(*args))


def test_simulate_live_values_in_a_range_gives_the_same_but_for_rounding(daemon):
    text = model("v", learner="value", features=10, seed=3, height=None, trees=None, value_range=(1, 29), delta=2.8)
    one = started(daemon, text)
    args = [*data(ABALONE[:1]), "--holdout", ABALONE[1], "--learner", "value", "--seed", 3]
    there = simulate(*args, *live(one, "v"), "--value-range", "1,29")
    here = simulate(*args)
    assert there["progressive_loss"] == pytest.approx(here["progressive_loss"], rel=1e-3)
    assert there["holdout_rmse"] == pytest.approx(here["holdout_rmse"], rel=1e-2)


def test_simulate_live_sparse_gives_the_in_process_figures(daemon, tmp_path):
    path = write_sparse(tmp_path / "rows.libsvm")
    text = model("s", features=0, bits=14, seed=2, height=None, trees=None)
    one = started(daemon, text)
    args = ["--data", path, "--seed", 2, "--passes", 3]
    assert figures(simulate(*args, *live(one, "s"))) == figures(simulate(*args))


def test_simulate_live_faults_are_told(daemon):
    one = started(daemon, DEMO_MODEL + VALUE_MODEL)
    rows = data(SATIMAGE[1:])

    def complaint(*args):
        return coppice("simulate", *args, status=1)[1]

    assert "unknown_model" in complaint(*rows, *live(one, "nobody"))
    assert "bad_features" in complaint(*data(ABALONE), "--learner", "value", *live(one, "demo"))
    assert "expected arms" in complaint(*data(ABALONE[:1]), *live(one, "v"))
    assert "answers with arms" in complaint(*rows, "--learner", "value", *live(one, "demo"))
    assert "two probes" in complaint(*data(ABALONE), "--learner", "value", "--feedback", "one", *live(one, "v"))
    assert "expected an endpoint" in complaint(*rows, "--live", "nonsense", "--model", "demo")


# ---- ctl


def ctl(one, *args, status=0):
    return coppice("ctl", "--endpoint", one.ipc("requests"), *args, status=status)


def ctl_json(one, *args):
    out, _ = ctl(one, "--json", *args)
    assert out.count("\n") == 1
    return json.loads(out)


def test_ctl_decides_explains_and_teaches(daemon):
    one = daemon(model())
    action = ctl_json(one, "decide", "m", "7", "--x", "[0.25, 1, 3.5]")
    assert action["id"] == 7 and action["a"] in range(3)
    assert ctl_json(one, "decide", "m", "7", "--string", "--x", "[0.25, 1, 3.5]")["id"] == "7"
    why = ctl_json(one, "explain", "m", "7")
    assert why["id"] == 7 and why["state"] == "decision" and why["a"] == action["a"]
    text, _ = ctl(one, "explain", "m", "7")
    for expert in why["experts"]:
        assert f"expert {expert['name']}: weight {expert['weight']:.4f}" in text
        for tree in expert["trees"]:
            for node in tree["path"]:
                assert f"node {node['node']} " in text
    assert ctl_json(one, "feedback", "m", "7", "--loss", "0.5")["result"] == "applied"
    assert ctl_json(one, "feedback", "m", "7", "--loss", "0.5")["result"] == "duplicate"
    assert one.client().model()["rev"] == 1


def test_ctl_explains_a_context_of_text_file_or_standard_input(daemon, tmp_path):
    one = daemon(model())
    path = tmp_path / "x.json"
    path.write_text("[0.25, 1, 3.5]")
    inline = ctl_json(one, "explain", "m", "--x", "[0.25, 1, 3.5]")
    assert inline == ctl_json(one, "explain", "m", "--x", path)
    assert inline == ctl_json(one, "explain", "m", "--x", '{"0": 0.25, "1": 1, "2": 3.5}')
    assert inline["state"] == "current"


def test_ctl_explains_sparse_names(daemon):
    one = daemon(model("s", features=0, bits=10))
    why = ctl_json(one, "explain", "s", "--x", '{"country=de": 1, "hour": 0.5, "9": 2}')
    assert why["model"] == "s"


def test_ctl_status_shows_daemon_and_models(daemon):
    one = daemon(model("m") + model("second"))
    client = one.client()
    client.decide("m", 1, [1, 2, 3])
    client.feedback("m", 1, 0.5)
    status = ctl_json(one, "status")
    assert [m["name"] for m in status["models"]] == ["m", "second"] and status["pid"] == one.process.pid
    assert status["models"][0]["decisions"] == 1
    assert [m["name"] for m in ctl_json(one, "status", "second")["models"]] == ["second"]
    text, _ = ctl(one, "status")
    assert "model m\n" in text and "model second\n" in text and f"pid               {one.process.pid}\n" in text


def test_ctl_checkpoint_and_reload(daemon):
    one = daemon(model())
    assert ctl_json(one, "checkpoint")["sequence"] == 1
    assert "sequence" in ctl(one, "checkpoint")[0]
    assert ctl_json(one, "reload").keys() >= {"applied", "restart"}
    one.config.write_text("nonsense = 1\n")
    assert "bad_request" in ctl(one, "reload", status=1)[1]


def test_ctl_error_reply_is_status_1_with_its_message(daemon):
    one = daemon(model())
    assert "unknown_model: no model 'x'" in ctl(one, "status", "x", status=1)[1]
    assert "bad_request: id:" in ctl(one, "explain", "m", "404", status=1)[1]
    assert "bad_features: x: got 2 values, expected 3" in ctl(one, "explain", "m", "--x", "[1,2]", status=1)[1]
    assert "expected numbers only" in ctl(one, "explain", "m", "--x", '["a"]', status=1)[1]
    assert "--x:1:" in ctl(one, "explain", "m", "--x", "[1,", status=1)[1]


def test_ctl_without_a_daemon_says_so(tmp_path):
    endpoint = f"ipc://{tmp_path}/nobody"
    _, err = coppice("ctl", "--endpoint", endpoint, "--timeout", "0.2", "status", status=1)
    assert err == f"coppice ctl: {endpoint}: nobody answers within 0.2 s, expected a running coppiced\n"


@pytest.mark.parametrize("args", [["explain", "m"], ["explain", "m", "1", "--x", "[1]"], ["decide", "m", "--x", "[1]"],
                                  ["feedback", "m", "1"], ["status", "a", "b"], ["dance"], ["status", "--x", "[1]"],
                                  ["--timeout", "0", "status"]])
def test_ctl_with_wrong_arguments_is_status_2(args):
    coppice("ctl", "--endpoint", "ipc:///nobody", *args, status=2)


# ---- inspect


def checkpoint_of(one):
    ctl(one, "checkpoint")
    return max(one.state.glob("*.checkpoint"))


def test_inspect_of_a_checkpoint_agrees_with_status(daemon, tmp_path):
    one = daemon(model("m", height=3) + VALUE_MODEL)
    client = one.client()
    for i in range(20):
        client.decide("m", i, [i % 5, 1, 2])
        if i < 15:
            client.feedback("m", i, 0.25)
    path = checkpoint_of(one)
    shown = json.loads(coppice("inspect", path, "--json")[0])
    assert shown["kind"] == "checkpoint" and [m["name"] for m in shown["models"]] == ["m", "v"]
    assert [s["name"] for s in shown["sections"]] == ["model", "model"]
    status = client.model("m")
    for key in ("learner", "arms", "features", "policy", "rev", "pending", "decisions", "greedy", "learned"):
        assert shown["models"][0][key] == status[key], key
    assert sum(e["weight"] for e in shown["models"][0]["experts"]) == pytest.approx(1)
    assert [t["nodes"] for t in shown["models"][0]["trees"]] == [7, 7]
    text, _ = coppice("inspect", path, "--model", "v")
    assert "model v\n" in text and "model m\n" not in text
    names = tmp_path / "names"
    names.write_text("price\nhour\n")
    text, _ = coppice("inspect", path, "--model", "m", "--tree", "1", "--names", names)
    assert text.count("node 0: ") == 1 and "leaf 7: arm" in text and "price" in text and "x2" in text
    whole = json.loads(coppice("inspect", path, "--model", "m", "--tree", "all", "--json", "--names", names)[0])
    trees = whole["models"][0]["trees"]
    assert len(trees) == 2 and len(trees[0]["nodes"]) == 7 and len(trees[0]["leaves"]) == 8
    assert trees[0]["feature_names"] == ["price", "hour", "x2"]


def test_inspect_faults_are_told(daemon, tmp_path):
    one = daemon(model())
    path = checkpoint_of(one)
    whole = path.read_bytes()
    assert "no model 'x'" in coppice("inspect", path, "--model", "x", status=1)[1]
    assert "no tree 2" in coppice("inspect", path, "--tree", "2", status=1)[1]
    assert "No such file" in coppice("inspect", tmp_path / "absent", status=1)[1]
    assert "neither a checkpoint nor a model file" in coppice("inspect", ROOT / "README.md", status=1)[1]
    bad = tmp_path / "bad.checkpoint"
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        bad.write_bytes(whole[:at])
        assert str(bad) in coppice("inspect", bad, status=1)[1]
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1:])
        assert str(bad) in coppice("inspect", bad, "--json", status=1)[1]


def test_inspect_of_plain_model_files(tmp_path):
    corpus = ROOT / "tests" / "fuzz" / "corpus" / "model_file"
    shown = json.loads(coppice("inspect", corpus / "heap_tree", "--tree", "all", "--json")[0])
    assert shown["kind"] == "model" and shown["trees"][0]["nodes"]
    assert "node 0: " in coppice("inspect", corpus / "heap_tree", "--tree", "0")[0]
    for name in ("cut", "flipped", "newer", "nothing", "section_too_long"):
        assert name in coppice("inspect", corpus / name, status=1)[1]


# ---- bench


def test_bench_kernels_measures_all():
    result = json.loads(coppice("bench", "kernels", "--json")[0])
    for learner in ("dgt", "ensemble", "value"):
        assert all(result[learner][key] > 0 for key in ("decide_ns", "learn_ns", "learn_mean_ns"))
    calls = {(call["variant"], call["call"]) for call in result["calls"]}
    assert {("openblas", "sgemv"), ("openblas", "sger"), ("plain", "forward"), ("plain", "adagrad")} <= calls


@pytest.mark.parametrize("batch", [1, 7])
def test_bench_load_decides_and_teaches_every_event(daemon, batch):
    one = daemon(model() + VALUE_MODEL)
    for name, features in (("m", 3), ("v", 10)):
        args = ["--endpoint", one.ipc("requests"), "--model", name, "--features", features]
        out, _ = coppice("bench", "load", *args, "--events", 300, "--inflight", 16, "--batch", batch, "--json")
        result = json.loads(out)
        for part in ("one_at_a_time", "pipelined"):
            assert result[part]["events_per_second"] > 0
            assert 0 < result[part]["decide"]["p50_us"] <= result[part]["decide"]["p999_us"]
        status = one.client().model(name)
        assert status["decisions"] == status["learned"] == 600 and status["pending"] == 0
    args = ["--endpoint", one.ipc("requests"), "--model", "m", "--features", 4]
    assert "bad_features" in coppice("bench", "load", *args, "--batch", batch, status=1)[1]


# ---- the demo


def test_demo_ends_well_and_leaves_nothing(tmp_path):
    build = Path(program("COPPICE")).parents[1]
    if not Path(program("COPPICED")).is_relative_to(build):
        pytest.skip("the programs are of two builds")
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([ROOT / "tools" / "demo", build], capture_output=True, text=True, timeout=DEADLINE, env=env)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "nothing was forgotten" in done.stdout
    assert list(tmp_path.iterdir()) == []
