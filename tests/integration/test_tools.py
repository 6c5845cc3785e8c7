"""The program coppice: simulate (in process and live), ctl, inspect, bench and the demo."""

import contextlib
import json
import os
import pty
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest
import conftest
from conftest import ADMINISTRATION, DEADLINE, free_port, model, program, section, wait_for

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SATIMAGE = [DATA / "satimage.train.csv.gz", DATA / "satimage.test.csv.gz"]
ABALONE = [DATA / "abalone.train.csv.gz", DATA / "abalone.test.csv.gz"]
DEMO_MODEL = model("demo", arms=6, features=36, seed=1, height=None, trees=None)
VALUE_MODEL = model("v", learner="value", features=10, seed=3, height=None, trees=None)


def coppice(*args, status=0):
    """As conftest's; an error begins with the program's name."""
    out, err = conftest.coppice(*args, status=status)
    if status != 0:
        assert err.startswith("coppice")
    return out, err


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


def wide_lines(text):
    return [line for line in text.splitlines() if len(line) > 80]


def help_of(name):
    done = subprocess.run([program(name), "--help"], capture_output=True, text=True, timeout=DEADLINE, check=True)
    return done.stdout


def test_help_of_every_subcommand_is_at_most_80_columns_wide():
    texts = [coppice("--help")[0], *(coppice(name, "--help")[0] for name in subcommands())]
    assert [line for text in texts for line in wide_lines(text)] == []


@pytest.mark.parametrize("name", ["COPPICED", "COPPICE_REFIT", "COPPICE_LEASE", "COPPICED_STREAMS"])
def test_help_is_at_most_80_columns_wide(name):
    text = help_of(name)
    assert text.startswith("usage: ") and wide_lines(text) == []


def test_every_subcommand_takes_json():
    parts = re.findall(r"^command (\S+)[^\n]*\n(.*?)(?=^command |\Z)", coppice("--options")[0], re.M | re.S)
    assert {name for name, _ in parts} == set(subcommands())
    assert [name for name, options in parts if not re.search(r"^option --json none", options, re.M)] == []


# ---- part


def test_part_prints_a_number_for_each_key_or_one_json_object():
    for more, keys in ([], ["u1", 'a "key"', "anna", "17"]), (["--integers"], ["17", "-3"]):
        numbers = [int(line) for line in coppice("part", "--of", 4, *more, "--", *keys)[0].splitlines()]
        out, err = coppice("part", "--of", 4, *more, "--json", "--", *keys)
        assert err == "" and out.count("\n") == 1
        parts = [{"key": key, "part": number} for key, number in zip(keys, numbers, strict=True)]
        assert json.loads(out) == {"of": 4, "parts": parts}


def test_part_in_json_prints_nothing_of_a_key_that_is_none():
    out, err = coppice("part", "--of", 4, "--integers", "--json", "17", "x", status=1)
    assert out == "" and 'key "x": expected an integer of 64 bits' in err


# ---- its manual


def subcommands():
    names = re.findall(r"^  (\w+) ", coppice("--help")[0], re.M)
    assert {"simulate", "inspect", "ctl", "bench"} <= set(names)
    return names


def options_of(help_text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", help_text)) - {"--help"}


def page_of(name):
    return (ROOT / "docs" / "reference" / f"{name}.scd").read_text()


def heads_of(page, word):
    """What the entries of a manual page begin with: `word` is a pattern of one name."""
    lines = [line for line in page.splitlines() if line.startswith("*")]
    return {name for line in lines for name in re.findall(rf"\*({word})\*", line)}


def test_manual_holds_the_help_of_every_subcommand():
    manual = (ROOT / "docs" / "reference" / "coppice.md").read_text()
    for name in subcommands():
        assert coppice(name, "--help")[0] in manual, name


def test_manual_page_of_coppice_has_the_options_of_every_subcommand():
    sections = dict(re.findall(r"^# ([A-Z ]+)\n(.*?)(?=^# |\Z)", page_of("coppice.1"), re.M | re.S))
    for name in subcommands():
        assert heads_of(sections[name.upper()], "--[a-z0-9-]+") == options_of(coppice(name, "--help")[0]), name


PAGES = ("coppice.1", "coppiced.8", "coppiced-streams.8", "coppice-lease.8", "coppice-mpi.1", "coppice.conf.5")


def test_every_manual_page_is_judged_here():
    assert {path.stem for path in (ROOT / "docs/reference").glob("*.scd")} == set(PAGES)



@pytest.mark.parametrize("page", PAGES)
def test_manual_pages_have_examples(page):
    assert re.search(r"^# EXAMPLES\n.*?^```\n.+?^```$", page_of(page), re.M | re.S)


def test_manual_pages_do_not_capitalise_what_is_typed():
    typed = {"ensemble", "dgt", "value", "rank", "cart", "tao", "laptao", "vw", "dsjson", "csv", "hashed", "dense", "load",
             "parse", "dump", "softmax"}
    wrong = []
    for page in PAGES:
        for head in re.findall(r"^\t([A-Z][a-z]+(?:(?:, | and )[a-z]+)*)(?=:| \()", page_of(page), re.M):
            if set(re.split(", | and ", head.lower())) <= typed:
                wrong.append((page, head))
    assert wrong == []


@pytest.mark.parametrize("page", ["coppiced.8", "coppiced-streams.8", "coppice-lease.8"])
def test_manual_page_of_a_program_has_its_options(page):
    options = page_of(page).split("# OPTIONS")[1]
    expected = options_of(help_of(page[:-2].upper().replace("-", "_")))
    assert heads_of(options, "--[a-z0-9-]+") - {"--help"} == expected


def test_manual_page_of_the_configuration_has_its_options(tmp_path):
    example = set(re.findall(r"^\s*(?:# ?)?\s*([a-z_]+) = ", (ROOT / "conf" / "coppice.conf").read_text(), re.M))
    options = page_of("coppice.conf.5").split("# GLOBAL OPTIONS")[1].split("# SEE ALSO")[0]
    described = heads_of(options, "[a-z_]+")
    assert described == example
    path = tmp_path / "all.conf"
    path.write_text(f'state_dir = "{tmp_path}"\nsockets {{ requests = {{ "ipc://r" }} }}\n' + model("e") +
                    model("d", learner="dgt") + model("v", learner="value") + model("s", features=0))
    done = subprocess.run([program("COPPICED"), "--config", path, "--print-config"], capture_output=True, text=True,
                          timeout=DEADLINE, check=True)
    assert set(re.findall(r"^\s*([a-z_]+) = ", done.stdout, re.M)) <= described


# ---- simulate, in process


@pytest.mark.parametrize(
    "args, complaint",
    [
        (["--data", "x.csv", "--seed", "-1"], "--seed: '-1' given, expected a whole number"),
        (["--data", "x.csv", "--learner", "forest"], "'forest' given, expected ensemble, dgt, value or rank"),
        (["--data", "x.csv", "--epsilon", "1.5"], "--epsilon: '1.5' given, expected a number from 0 to 1"),
        (["--data", "x.csv", "--missing", "half"], "--missing: 'half'"),
        (["--data", "x.csv", "extra"], "unexpected argument 'extra'"),
        ([], "expected --data FILE"),
        (["--data", "x.csv", "--model", "m"], "--model goes with --live"),
        (["--data", "x.csv", "--first-id", "3"], "--first-id goes with --live"),
        (["--data", "x.csv", "--value-range", "0,2"], "--value-range goes with --live"),
        (["--data", "x.csv", "--live", "ipc://x", "--model", "m", "--value-range", "0,2"], "--learner value"),
        (["--data", "x.csv", "--epsilon", "0.1"], "--epsilon goes with --policy epsilon"),
        (["--data", "x.csv", "--gamma", "9", "--policy", "epsilon"], "--gamma goes with --policy squarecb, fastcb or matching"),
        (["--data", "x.csv", "--gamma", "9", "--learner", "dgt"], "--gamma goes with --policy squarecb, fastcb or matching"),
        (["--data", "x.csv", "--policy", "epsilon", "--learner", "value"], "--policy goes with"),
        (["--data", "x.csv", "--trees", "9", "--learner", "dgt"], "--trees goes with"),
        (["--data", "x.csv", "--trees", "65"], "expected a whole number from 0 to 64"),
        (["--data", "x.csv", "--height", "9"], "expected 1 to 8 for ensemble and rank"),
        (["--data", "x.csv", "--height", "9", "--learner", "rank"], "expected 1 to 8 for ensemble and rank"),
        (["--data", "x.csv", "--items", "i.csv"], "--items goes with --learner rank"),
        (["--data", "x.csv", "--feedback", "one"], "--feedback goes with --learner value"),
        (["--data", "x.csv", "--delta", "0.1"], "--delta goes with --learner value"),
        (
            ["--data", "x.csv", "--learner", "value", "--feedback", "bins", "--delta", "0.1"],
            "--delta goes with --feedback one or two",
        ),
        (["--data", "x.csv", "--loss", "huber"], "--loss goes with --learner value"),
        (["--data", "x.csv", "--learner", "value", "--huber-width", "1"], "--loss huber"),
        (["--data", "x.csv", "--literal"], "--literal goes with --learner dgt"),
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


def test_simulate_of_labels_that_are_no_classes_names_line_and_way_out(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2,0\n\n1,3,0.5\n")
    told = coppice("simulate", "--data", path, status=1)[1]
    assert f"{path}:3: target 0.5 is no class" in told and "--learner value" in told
    signs = tmp_path / "signs.svm"
    signs.write_text("+1 1:2\n-1 2:1\n")
    told = coppice("simulate", "--data", signs, status=1)[1]
    assert f"{signs}:2: target -1 is no class" in told and "classes count from 0 (write -1 and +1 as 0 and 1)" in told
    good = tmp_path / "good.csv"
    good.write_text("1,2,0\n2,1,1\n")
    assert f"{path}:3:" in coppice("simulate", "--data", good, "--data", path, status=1)[1]
    assert f"{path}:3:" in coppice("simulate", "--data", good, "--holdout", path, status=1)[1]


def test_simulate_of_files_that_do_not_fit_together_says_how():
    for option in ("--data", "--holdout"):
        told = coppice("simulate", "--data", ABALONE[0], option, SATIMAGE[0], status=1)[1]
        assert f"{SATIMAGE[0]}: 37 columns with the label, expected 11 as in {ABALONE[0]}" in told


def test_simulate_of_sparse_with_dense_says_so(tmp_path):
    path = write_sparse(tmp_path / "rows.libsvm", rows=5)
    assert "it is sparse, expected dense" in coppice("simulate", "--data", SATIMAGE[0], "--data", path, status=1)[1]
    assert "--bits goes with sparse data" in coppice("simulate", "--data", SATIMAGE[0], "--bits", 9, status=1)[1]


def test_simulate_of_another_format_is_not_called_empty(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1 | price:0.23 sqft:0.25\n")
    assert "taken for the columns' names" in coppice("simulate", "--data", path, status=1)[1]


def on_terminal(*args):
    """Standard output, and what a terminal at standard error showed."""
    ours, theirs = pty.openpty()
    command = [program("COPPICE"), *map(str, args)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=DEADLINE, check=True)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # at the end, which is no end of file
        while some := os.read(ours, 65536):
            shown += some
    os.close(ours)
    return done.stdout, shown.decode()


def test_simulate_on_a_terminal_first_says_what_the_rows_are():
    _, shown = on_terminal("simulate", "--data", SATIMAGE[0], "--events", 4)
    assert shown.startswith("4435 rows, 36 features, 6 arms") and "average" in shown
    _, shown = on_terminal("simulate", "--data", ABALONE[1], "--events", 4, "--learner", "value")
    assert re.match(r"\d+ rows, 10 features, target [0-9.]+ to [0-9.]+\r\n", shown)


def test_simulate_interrupted_prints_what_there_is():
    command = [program("COPPICE"), "simulate", *map(str, data(SATIMAGE[:1])), "--passes", "100000", "--curve", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        bit = 1 << (signal.SIGINT - 1)
        caught = re.compile(r"^SigCgt:\s*([0-9a-f]+)$", re.M)
        wait_for(lambda: int(caught.search(Path(f"/proc/{process.pid}/status").read_text())[1], 16) & bit,
                 "the run to begin")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE)
    result = json.loads(out)
    assert process.returncode == 1 and f"interrupted after {result['events']} events" in err
    assert 0 < result["events"] < 443500000
    assert result["curve"][-1]["events"] == result["events"]
    assert result["curve"][-1]["progressive_loss"] == result["progressive_loss"]


def test_simulate_json_has_the_promised_keys():
    result = simulate(*data(SATIMAGE), "--events", 500, "--holdout", SATIMAGE[1])
    assert result.keys() == {"events", "progressive_loss", "holdout_accuracy", "events_per_second", "seconds"}
    assert result["events"] == 500 and 0 < result["progressive_loss"] < 1 and 0 < result["holdout_accuracy"] < 1


def test_simulate_curve_ends_in_the_progressive_loss():
    result = simulate(*data(SATIMAGE), "--events", 1000, "--curve", "--points", 5)
    curve = result["curve"]
    assert [point["events"] for point in curve] == [200, 400, 600, 800, 1000]
    assert curve[-1]["progressive_loss"] == result["progressive_loss"]
    assert curve[0]["loss_since_last"] == curve[0]["progressive_loss"]
    for before, point in zip(curve, curve[1:]):
        summed = point["progressive_loss"] * point["events"] - before["progressive_loss"] * before["events"]
        assert abs(point["loss_since_last"] - summed / 200) < 1e-9
    out, _ = coppice("simulate", *data(SATIMAGE), "--events", 1000, "--curve", "--points", 5)
    assert f"{result['progressive_loss']:.6f}" in out


def test_simulate_with_one_seed_gives_one_result():
    args = [*data(SATIMAGE), "--events", 1500, "--holdout", SATIMAGE[1]]
    first = figures(simulate(*args, "--seed", 5))
    assert first == figures(simulate(*args, "--seed", 5))
    assert first != figures(simulate(*args, "--seed", 6))


def test_simulate_takes_two_probes_beside_what_bins_lack():
    args = [*data(ABALONE[:1]), "--learner", "value", "--events", 500]
    two = figures(simulate(*args, "--feedback", "two", "--delta", 0.2))
    assert figures(simulate(*args, "--delta", 0.2)) == two
    assert figures(simulate(*args)) == figures(simulate(*args, "--feedback", "bins")) != two


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
    alone = figures(simulate(*args))
    assert figures(simulate(*args, *through)) == alone


@pytest.mark.parametrize("feedback", ["bins", "one", "two"])
def test_simulate_live_values_gives_the_in_process_figures(daemon, feedback):
    text = model("v", learner="value", features=10, seed=3, height=None, trees=None,
                 feedback=None if feedback == "bins" else feedback)
    one = started(daemon, text)
    args = [*data(ABALONE[:1]), "--holdout", ABALONE[1], "--learner", "value", "--feedback", feedback, "--seed", 3]
    assert figures(simulate(*args, *live(one, "v"))) == figures(simulate(*args))


def test_simulate_live_values_in_a_range_gives_the_same_but_for_rounding(daemon):
    text = model("v", learner="value", features=10, seed=3, height=None, trees=None, value_range=(1, 29), delta=2.8)
    one = started(daemon, text)
    args = [*data(ABALONE[:1]), "--holdout", ABALONE[1], "--learner", "value", "--feedback", "two", "--seed", 3]
    there = simulate(*args, *live(one, "v"), "--value-range", "1,29")
    here = simulate(*args)
    assert there["progressive_loss"] == pytest.approx(here["progressive_loss"], rel=1e-3)
    assert there["holdout_rmse"] == pytest.approx(here["holdout_rmse"], rel=1e-2)


def test_simulate_live_refuses_more_classes_than_arms_and_too_few_bits(daemon, tmp_path):
    path = write_sparse(tmp_path / "rows.libsvm", rows=20)
    one = started(daemon, model("two", arms=2, features=36) + model("small", features=0, bits=6))
    told = coppice("simulate", *data(SATIMAGE), *live(one, "two"), status=1)[1]
    assert "has 2 arms, the rows have 6 classes" in told
    told = coppice("simulate", "--data", path, *live(one, "small"), status=1)[1]
    assert "has bits = 6, expected" in told
    told = coppice("simulate", "--data", path, "--bits", 9, *live(one, "small"), status=1)[1]
    assert "has bits = 6, expected 9 (--bits)" in told


def test_simulate_live_takes_range_and_feedback_from_the_daemon(daemon):
    text = model("v", learner="value", features=10, seed=3, value_range=(1, 29), delta=2.8, feedback="one")
    one = started(daemon, text)
    args = [*data(ABALONE[:1]), "--learner", "value", "--seed", 3, "--height", 2, "--trees", 2]
    there = simulate(*args, *live(one, "v"), "--delta", 0.1)
    assert there["progressive_loss"] == pytest.approx(simulate(*args, "--feedback", "one")["progressive_loss"], rel=1e-2)


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
    values = [*data(ABALONE), "--learner", "value"]
    assert "model 'demo' has arms, expected values" in complaint(*values, *live(one, "demo"))
    assert "learns values, expected arms (--learner value?)" in complaint(*data(ABALONE[:1]), *live(one, "v"))
    assert "has 36 features, the rows have 10" in complaint(*data(ABALONE), *live(one, "demo"))
    assert "has 10 features, the rows have 36" in complaint(*rows, "--learner", "value", *live(one, "v"))
    assert 'has feedback = "two", --feedback is one' in complaint(*values, "--feedback", "one", *live(one, "v"))
    assert "has value_range = { 0, 1 }, --value-range is 0,2" in complaint(
        *values, *live(one, "v"), "--value-range", "0,2")
    assert "has delta = 0.1, --delta 0.2" in complaint(*values, *live(one, "v"), "--delta", "0.2")
    assert one.client().model("v")["decisions"] == one.client().model("demo")["decisions"] == 0
    assert "expected an endpoint" in complaint(*rows, "--live", "nonsense", "--model", "demo")


# ---- ctl


def ctl(one, *args, status=0):
    endpoint = one.ipc("admin" if {*ADMINISTRATION, "backup"} & set(args) else "requests")
    return coppice("ctl", "--endpoint", endpoint, *args, status=status)


def ctl_json(one, *args):
    out, _ = ctl(one, "--json", *args)
    assert out.count("\n") == 1
    return json.loads(out)


def test_ctl_decides_explains_and_teaches(daemon):
    one = daemon(model())
    action = ctl_json(one, "decide", "m", "7", "--x", "[0.25, 1, 3.5]")
    assert action["id"] == 7 and action["a"] in range(3)
    x = ["--x", "[0.25, 1, 3.5]"]
    assert ctl_json(one, "decide", "m", "7", "--string", *x)["id"] == "7"
    for text, id in (("-7", -7), ("0", 0), ("007", "007"), ("-0", "-0"), ("--", "--"), (str(2**64 - 1), 2**64 - 1),
                     (str(2**64), str(2**64)), (str(-2**63), -2**63)):
        assert ctl_json(one, "decide", *x, "--", "m", text)["id"] == id
    assert ctl_json(one, "decide", "m", "-8", *x)["id"] == -8
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
    assert err == (f"coppice ctl: {endpoint}: no daemon answers within 0.2 s: No such file or directory, "
                   "expected a running coppiced's file that this user may open\n")
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    _, err = coppice("ctl", "--endpoint", endpoint, "--timeout", "0.2", "status", status=1)
    assert err == (f"coppice ctl: {endpoint}: no daemon answers within 0.2 s, "
                   "expected a running coppiced that takes clients without keys\n")


@pytest.mark.parametrize("args", [["explain", "m"], ["explain", "m", "1", "--x", "[1]"], ["decide", "m", "--x", "[1]"],
                                  ["feedback", "m", "1"], ["status", "a", "b"], ["dance"], ["status", "--x", "[1]"],
                                  ["--timeout", "0", "status"]])
def test_ctl_with_wrong_arguments_is_status_2(args):
    coppice("ctl", "--endpoint", "ipc:///nobody", *args, status=2)


def test_unknown_option_is_told_with_the_name_of_the_subcommand():
    for name in ("simulate", "inspect", "ctl", "bench"):
        assert coppice(name, "-q", status=2)[1].startswith(f"coppice {name}: invalid option")


# ---- inspect


def checkpoint_of(one):
    ctl(one, "checkpoint")
    return max(one.state.glob("*.checkpoint"))


def test_inspect_of_a_checkpoint_agrees_with_status(daemon, tmp_path):
    one = daemon(model("m", height=3) + model("v", learner="value", features=10, value_range=(1, 29), delta=2.8))
    client = one.client()
    for i in range(20):
        client.decide("m", i, [i % 5, 1, 2])
        if i < 15:
            client.feedback("m", i, 0.25)
    path = checkpoint_of(one)
    shown = json.loads(coppice("inspect", path, "--json")[0])
    assert shown["kind"] == "checkpoint" and [m["name"] for m in shown["models"]] == ["m", "v"]
    assert [s["model"] for s in shown["sections"] if s["name"] == "model"] == ["m", "v"]
    status = client.model("m")
    for key in ("learner", "arms", "features", "policy", "rev", "pending", "decisions", "greedy", "learned"):
        assert shown["models"][0][key] == status[key], key
    assert [e["name"] for e in shown["models"][0]["experts"]] == ["linear", "trees", "quadratic", "forest", "average"]
    assert shown["models"][0]["gamma"] == 60 and shown["models"][0]["optimism"] == pytest.approx(0.3)
    assert "chosen_experts" not in shown["models"][0] and "optimism" not in shown["models"][1]
    assert [t["nodes"] for t in shown["models"][0]["trees"]] == [7, 7]
    assert shown["models"][1]["delta"] == pytest.approx(2.8)
    assert re.search(r"^  model +1 +[0-9]+  v$", coppice("inspect", path)[0], re.M)
    text, _ = coppice("inspect", path, "--model", "v")
    assert "model v\n" in text and "model m\n" not in text
    names = tmp_path / "names"
    names.write_text("price\nhour\nrain\n")
    text, _ = coppice("inspect", path, "--model", "m", "--tree", "1", "--names", names)
    assert text.count("node 0: ") == 1 and "leaf 7: arm" in text and "price" in text and "x2" not in text
    whole = json.loads(coppice("inspect", path, "--model", "m", "--tree", "all", "--json", "--names", names)[0])
    trees = whole["models"][0]["trees"]
    assert len(trees) == 2 and len(trees[0]["nodes"]) == 7 and len(trees[0]["leaves"]) == 8
    assert trees[0]["feature_names"] == ["price", "hour", "rain"]


def test_inspect_faults_are_told(daemon, tmp_path):
    one = daemon(model())
    path = checkpoint_of(one)
    whole = path.read_bytes()
    out, err = coppice("inspect", path, "--model", "x", status=1)
    assert out == "" and "no model 'x'" in err
    out, err = coppice("inspect", path, "--tree", "2", status=1)
    assert out == "" and "no tree 2" in err
    names = tmp_path / "names"
    names.write_text("price\nhour\n")
    out, err = coppice("inspect", path, "--tree", "0", "--names", names, status=1)
    assert out == "" and f"{names}: 2 names, expected 3" in err
    assert "--names goes with --tree" in coppice("inspect", path, "--names", names, status=2)[1]
    assert coppice("inspect", tmp_path, status=1)[1] == f"coppice inspect: {tmp_path}: no regular file\n"
    assert "No such file" in coppice("inspect", tmp_path / "absent", status=1)[1]
    assert "neither a checkpoint nor a model file" in coppice("inspect", ROOT / "README.md", status=1)[1]
    bad = tmp_path / "bad.checkpoint"
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        bad.write_bytes(whole[:at])
        assert str(bad) in coppice("inspect", bad, status=1)[1]
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1:])
        assert str(bad) in coppice("inspect", bad, "--json", status=1)[1]


def test_inspect_of_plain_model_files(tmp_path):
    corpus = ROOT / "tests" / "fuzz" / "corpus" / "section_file"
    shown = json.loads(coppice("inspect", corpus / "heap_tree", "--tree", "all", "--json")[0])
    assert shown["kind"] == "model" and [section["name"] for section in shown["sections"]] == ["oblique_tree"]
    for name in ("cut", "flipped", "newer", "nothing", "section_too_long"):
        assert name in coppice("inspect", corpus / name, status=1)[1]


# ---- bench


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
    assert "nothing was lost" in done.stdout
    assert list(tmp_path.iterdir()) == []
