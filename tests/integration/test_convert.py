"""coppice convert: logs from one format to another, and labelled rows that become logs."""

import csv
import gzip
import json
import math
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from conftest import coppice, grow, model

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SATIMAGE = [DATA / "satimage.train.csv.gz", DATA / "satimage.test.csv.gz"]
LOG = """1:0.5:0.25 'a1| age:31 town |item price:9.5
3:1:0.5 'a2| age:20 town:2 |item price:0.25
2:-1:1 |item price:3
"""
CANDIDATES = """shared 'u1|user age:31
|item price:4 sports
0:0.5:0.25 |item price:2

shared |user age:20
0:1:0.75 |item price:3 news
|item sports

"""


def convert(*args, status=0, text=None):
    """(standard output, standard error)"""
    return coppice("convert", *args, status=status, input=text)


def through(text, source, target, *args):
    """The text in another format, from standard input to standard output."""
    out, err = convert("--from", source, "--to", target, "-", "-", *args, text=text)
    assert err == ""
    return out


def rows_of(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def classes(tmp_path, *args, source=SATIMAGE[:1]):
    out = tmp_path / "log.csv"
    convert("--from", "class", "--to", "csv", *source, out, *args)
    return rows_of(out)


# ---- between formats


def test_vw_becomes_dsjson_with_names_kept():
    lines = [json.loads(line) for line in through(LOG, "vw", "dsjson").splitlines()]
    assert [line["c"] for line in lines] == [
        {"age": 31, "town": 1, "item": {"price": 9.5}},
        {"age": 20, "town": 2, "item": {"price": 0.25}},
        {"item": {"price": 3}},
    ]
    assert [line["_label_cost"] for line in lines] == [0.5, 1, -1]
    assert [line["_label_probability"] for line in lines] == [0.25, 0.5, 1]
    assert [line["_labelIndex"] for line in lines] == [0, 2, 1]
    assert [line.get("EventId") for line in lines] == ["a1", "a2", None]


def test_vw_through_dsjson_comes_back():
    assert through(through(LOG, "vw", "dsjson"), "dsjson", "vw") == LOG


def test_candidates_through_dsjson_come_back():
    middle = through(CANDIDATES, "vw", "dsjson")
    assert [len(json.loads(line)["c"]["_multi"]) for line in middle.splitlines()] == [2, 2]
    assert through(middle, "dsjson", "vw") == CANDIDATES


def test_hashed_features_keep_their_places_through_every_format():
    first = through(LOG, "vw", "vw", "--features", "hashed", "--bits", "12")
    assert "age" not in first
    assert through(first, "vw", "vw", "--features", "hashed", "--bits", "12") == first
    middle = through(first, "vw", "dsjson", "--features", "hashed", "--bits", "12")
    assert through(middle, "dsjson", "vw", "--features", "hashed", "--bits", "12") == first


def test_csv_gets_all_columns_of_the_log(tmp_path):
    source, out = tmp_path / "log.vw", tmp_path / "log.csv"
    source.write_text("1:0:0.5 | b:1\n2:1:0.5 | a:2 b:3\n")
    convert("--from", "vw", "--to", "csv", source, out)
    assert out.read_text() == "b,a,action,probability,cost\n1,0,0,0.5,0\n3,2,1,0.5,1\n"
    assert through(out.read_text(), "csv", "vw") == "1:0:0.5 | b a:0\n2:1:0.5 | b:3 a:2\n"
    assert through(out.read_text(), "csv", "vw", "--zeros", "drop") == "1:0:0.5 | b\n2:1:0.5 | b:3 a:2\n"


def test_csv_from_standard_input_that_tells_names_late_is_refused():
    told = convert("--from", "vw", "--to", "csv", "-", "-", status=1, text=LOG)[1]
    assert "read only once" in told


def test_csv_from_a_pipe_that_tells_names_late_is_refused_and_not_taken_for_empty(tmp_path):
    pipe, out = tmp_path / "pipe", tmp_path / "out.csv"
    os.mkfifo(pipe)
    told = convert("--from", "vw", "--to", "csv", pipe, out, status=1)[1]
    assert f"{pipe}: " in told and "read only once" in told and not out.exists()


def test_columns_are_chosen_by_name():
    text = "why,x,when,p,arm,gain\n1,2,3,0.5,1,0.25\n"
    out = through(text, "csv", "csv", "--context", "x", "--action", "arm", "--probability", "p", "--reward=gain")
    assert out == "x,action,probability,cost\n2,1,0.5,0.75\n"


def test_columns_of_one_name_are_refused_and_not_added_up():
    for header, said in (("x,x,action,probability,cost", 'columns 1 and 2 of the context are both named "x"'),
                         (",x0,action,probability,cost", 'columns 1 and 2 of the context are both named "x0"'),
                         ("cost,x,action,probability,cost", 'columns 1 and 5 are both named "cost"')):
        err = convert("--from", "csv", "--to", "dsjson", "-", "-", status=1, text=f"{header}\n1,2,0,0.5,1\n")[1]
        assert said in err
    text = "x,x,action,probability,cost\n1,2,0,0.5,1\n"
    assert through(text, "csv", "csv", "--context", "2") == "x,action,probability,cost\n2,0,0.5,1\n"


def test_fields_in_quotes_are_what_they_are_without():
    text = 'x,y,action,probability,cost\n1.5,"a ""b""",0,0.5,1\n-2,c,1,0.25,0\n'
    rows = list(csv.reader(text.splitlines()))
    quoted = "".join(",".join('"' + field.replace('"', '""') + '"' for field in row) + "\n" for row in rows)
    assert through(quoted, "csv", "dsjson") == through(text, "csv", "dsjson")
    assert json.loads(through(quoted, "csv", "dsjson").splitlines()[0])["c"] == {"x": 1.5, 'y=a "b"': 1}


def test_several_files_become_one_and_events_ends_early(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(LOG)
    out = tmp_path / "out.vw"
    told = json.loads(convert("--from", "vw", "--to", "vw", tmp_path / "a", tmp_path / "b", out, "--json")[0])
    assert told["events"] == 6 and out.read_text() == LOG + LOG
    assert told["bytes"] == out.stat().st_size and told["skipped"] == 0 and told["seconds"] >= 0
    convert("--from", "vw", "--to", "vw", tmp_path / "a", tmp_path / "b", out, "--events", 4)
    assert out.read_text() == LOG + LOG.splitlines(keepends=True)[0]


def test_endings_compress_and_content_is_told_when_read(tmp_path):
    source = tmp_path / "log.vw"
    source.write_text(LOG)
    convert("--from", "vw", "--to", "vw", source, tmp_path / "log.gz")
    assert gzip.decompress((tmp_path / "log.gz").read_bytes()).decode() == LOG
    convert("--from", "vw", "--to", "vw", tmp_path / "log.gz", tmp_path / "log.zst")
    assert (tmp_path / "log.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    convert("--from", "vw", "--to", "vw", tmp_path / "log.zst", tmp_path / "again")
    assert (tmp_path / "again").read_text() == LOG


def test_a_log_may_be_converted_onto_itself(tmp_path):
    path = tmp_path / "log"
    path.write_text(LOG)
    convert("--from", "vw", "--to", "dsjson", path, path)
    assert path.read_text() == through(LOG, "vw", "dsjson")


def test_journal_becomes_a_log_of_what_was_learned(daemon, tmp_path):
    one = daemon(model(features=3, arms=3) + model("other", features=2, arms=2))
    client = one.client()
    grow(client, events=40)
    client.decide("m", "unanswered", [0, 0, 0])
    client.ok("decide_batch", "other", {"items": [{"id": "o", "x": [0.5, 1]}]})
    client.feedback("other", "o", 0.5)
    one.stop()
    for target in ("vw", "dsjson", "csv"):
        out = tmp_path / f"log.{target}"
        convert("--from", "journal", "--to", target, one.state / "journal", out, "--model", "m")
        assert len(out.read_text().splitlines()) == 40 + (target == "csv")
    lines = [json.loads(line) for line in (tmp_path / "log.dsjson").read_text().splitlines()]
    for i, line in enumerate(lines):
        assert line["EventId"] == f"grow-{i}"
        assert math.isclose(line["_label_cost"], 0.25 * (line["_labelIndex"] + i % 2), abs_tol=1e-12)
        assert 0 < line["_label_probability"] <= 1
        x = [((i * 7 + j * 3) % 11) / 11 for j in range(3)]
        assert all(math.isclose(line["c"][f"x{j}"], x[j], rel_tol=1e-6) for j in range(3))
    told = convert("--from", "journal", "--to", "vw", one.state / "journal", tmp_path / "x", status=1)[1]
    assert "other" in told


# ---- what goes wrong


def test_bad_event_stops_with_its_line_and_leaves_the_output_alone(tmp_path):
    source, out = tmp_path / "log.vw", tmp_path / "out.vw"
    source.write_text(LOG + "1:nan:0.5 | a\n" + LOG)
    out.write_text("before")
    told = convert("--from", "vw", "--to", "vw", source, out, status=1)[1]
    assert f"{source}:4:" in told
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.vw", "out.vw"]


def test_bad_events_are_skipped_and_counted_when_asked(tmp_path):
    source, out = tmp_path / "log.vw", tmp_path / "out.vw"
    source.write_text(LOG + "1:nan:0.5 | a\n" + LOG)
    printed, told = convert("--from", "vw", "--to", "vw", source, out, "--on-error", "skip", "--json")
    assert json.loads(printed)["events"] == 6 and json.loads(printed)["skipped"] == 1
    assert f"{source}:4:" in told
    assert out.read_text() == LOG + LOG
    printed, told = convert("--from", "vw", "--to", "vw", source, "-", "--on-error", "skip")
    assert printed == LOG + LOG and "1 events skipped" in told
    printed, _ = convert("--from", "vw", "--to", "vw", source, out, "--on-error", "skip")
    assert "skipped  1\n" in printed


def test_what_the_format_cannot_hold_names_the_event(tmp_path):
    source, out = tmp_path / "log.vw", tmp_path / "out.csv"
    source.write_text(CANDIDATES)
    told = convert("--from", "vw", "--to", "csv", source, out, status=1)[1]
    assert str(source) in told and "line 1" in told and "candidates" in told
    assert not out.exists()


def test_names_that_the_format_cannot_have_are_refused_or_renamed():
    text = '{"_label_cost":1,"_label_probability":0.5,"_labelIndex":0,"c":{"two words":0.5}}\n'
    told = convert("--from", "dsjson", "--to", "vw", "-", "-", status=1, text=text)[1]
    assert '"two words"' in told and "standard input" in told
    assert through(text, "dsjson", "vw", "--rename") == "1:1:0.5 | two_words:0.5\n"


def test_full_disk_is_told():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    told = convert("--from", "class", "--to", "vw", SATIMAGE[0], "/dev/full", status=1)[1]
    assert "/dev/full: cannot be written" in told


@pytest.mark.parametrize("args, complaint", [
    ((), "expected IN and OUT"),
    (("a", "b"), "expected --from"),
    (("--from", "vw", "a", "b"), "expected --to"),
    (("--from", "xml", "--to", "vw", "a", "b"), "--from: 'xml' given"),
    (("--from", "vw", "--to", "journal", "a", "b"), "--to: 'journal' given"),
    (("--from", "vw", "--to", "vw", "a"), "expected IN and OUT"),
    (("--from", "vw", "--to", "vw", "-", "-", "b"), "read once only"),
    (("--from", "vw", "--to", "vw", "--json", "a", "-"), "standard output"),
    (("--from", "csv", "--to", "vw", "--keep", "a", "a", "b"), "--keep goes with"),
    (("--from", "vw", "--to", "vw", "--shuffle", "a", "b"), "--shuffle goes with --from class"),
    (("--from", "vw", "--to", "vw", "--model", "m", "a", "b"), "--model goes with"),
    (("--from", "class", "--to", "vw", "--bits", "3", "a", "b"), "--from class"),
    (("--from", "class", "--to", "vw", "--cost", "gold", "a", "b"), "--cost: 'gold' given"),
    (("--from", "class", "--to", "vw", "--epsilon", "0.5", "a", "b"), "--epsilon goes with"),
    (("--from", "class", "--to", "vw", "--logging", "constant", "--base", "trees", "a", "b"), "arm's number"),
    (("--from", "class", "--to", "csv", "--zeros", "drop", "a", "b"), "--zeros goes with"),
])
def test_wrong_usage_says_what_was_expected(args, complaint):
    assert complaint in convert(*args, status=2)[1]


def test_absent_file_is_named_and_leaves_nothing(tmp_path):
    for source in ("vw", "dsjson", "csv", "class", "journal"):
        told = convert("--from", source, "--to", "vw", tmp_path / "absent", tmp_path / "out", status=1)[1]
        assert str(tmp_path / "absent") in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.plain
@pytest.mark.parametrize("kept,advised", [(61440, True), (61439, False)])
def test_names_beyond_those_that_can_be_kept_are_told(tmp_path, kept, advised):
    """Whose log has that many of them, or almost, is advised to do without."""
    log = tmp_path / "many.vw"
    lines = [range(kept), range(kept, 65537)]
    log.write_text("".join("1:0:0.5 |x " + " ".join(f"f{i}" for i in line) + "\n" for line in lines))
    advice = "; names beyond 65536 cannot be kept, --features hashed writes their places instead" if advised else ""
    for to in ("csv", "dsjson"):
        err = convert("--from", "vw", "--to", to, log, tmp_path / f"many.{to}", status=1)[1]
        assert err == (f"coppice convert: {log}:2: column 9: too many names for columns of their own; expected at most "
                       f"65536 (hash them){advice}\n")


# ---- from labelled rows


def labels(paths):
    rows = []
    for path in paths:
        with gzip.open(path, "rt") as file:
            rows += [int(float(line.rsplit(",", 1)[1])) for line in file]
    return rows


def test_uniform_log_holds_every_row_and_its_cost(tmp_path):
    rows = classes(tmp_path, source=SATIMAGE)
    truth = labels(SATIMAGE)
    assert len(rows) == len(truth)
    for row, label in zip(rows, truth):
        assert float(row["cost"]) == (0 if int(row["action"]) == label else 1)
        assert float(row["probability"]) == 1 / 6
    counts = Counter(row["action"] for row in rows)
    assert set(counts) == set("012345") and max(counts.values()) < 1.2 * min(counts.values())


def test_values_are_the_rows_own(tmp_path):
    rows = classes(tmp_path)
    with gzip.open(SATIMAGE[0], "rt") as file:
        for row, line in zip(rows, file):
            assert [float(row[f"x{i}"]) for i in range(36)] == [float(v) for v in line.split(",")[:-1]]


def test_one_seed_makes_one_log_and_another_another(tmp_path):
    one = classes(tmp_path, "--seed", 3, "--shuffle")
    assert classes(tmp_path, "--seed", 3, "--shuffle") == one
    assert classes(tmp_path, "--seed", 4, "--shuffle") != one


def test_shuffled_passes_hold_every_row_as_often(tmp_path):
    plain = classes(tmp_path)
    twice = classes(tmp_path, "--shuffle", "--passes", 2)

    def contexts(rows):
        return Counter(tuple(row[f"x{i}"] for i in range(36)) for row in rows)

    assert len(twice) == 2 * len(plain)
    assert contexts(twice[:len(plain)]) == contexts(plain) == contexts(twice[len(plain):])
    assert twice[:len(plain)] != twice[len(plain):]


def assert_propensities(rows, arms):
    """Of any policy, sums of 1 / (arms p) have the expectation 1 for each row."""
    weights = [1 / (arms * float(row["probability"])) for row in rows]
    mean = sum(weights) / len(weights)
    deviation = math.sqrt(sum((w - mean) ** 2 for w in weights) / len(weights))
    assert abs(mean - 1) < 5 * deviation / math.sqrt(len(weights)) + 1e-9


@pytest.mark.parametrize("base", ["linear", "trees"])
def test_epsilon_around_a_learned_base_knows_something(tmp_path, base):
    rows = classes(tmp_path, "--shuffle", "--logging", "epsilon", "--epsilon", 0.25, "--base", base)
    values = {float(row["probability"]) for row in rows}
    assert len(values) == 2 and math.isclose(max(values), 0.75 + 0.25 / 6) and math.isclose(min(values), 0.25 / 6)
    greedy = [float(row["cost"]) for row in rows if float(row["probability"]) > 0.5]
    assert len(greedy) > 0.7 * len(rows) and sum(greedy) / len(greedy) < 0.35
    assert_propensities(rows, 6)


def test_softmax_prefers_what_it_thinks_right(tmp_path):
    rows = classes(tmp_path, "--shuffle", "--logging", "softmax", "--temperature", 0.2)
    assert len({row["probability"] for row in rows}) > 1000
    mean = sum(float(row["cost"]) for row in rows) / len(rows)
    uniform = sum(float(row["cost"]) / float(row["probability"]) for row in rows) / len(rows) / 6
    assert mean < 0.7 and abs(uniform - 5 / 6) < 0.1
    assert_propensities(rows, 6)


def test_softmax_gives_what_no_log_can_hold_to_the_others(tmp_path):
    """exp(-1 / temperature) is a probability below 1e-6, or just above it."""
    for temperature, held in ((0.072, False), (0.073, True)):
        rows = classes(tmp_path, "--logging", "softmax", "--base", 2, "--epsilon", 0, "--temperature", temperature)
        small = math.exp(-1 / temperature) if held else 0
        assert {row["action"] for row in rows} == {"2"}
        assert [float(row["probability"]) for row in rows] == pytest.approx([1 / (1 + 5 * small)] * len(rows), abs=1e-12)


def test_base_may_be_an_arm(tmp_path):
    rows = classes(tmp_path, "--logging", "epsilon", "--epsilon", 0.5, "--base", 2)
    counts = Counter(row["action"] for row in rows)
    assert abs(counts["2"] / len(rows) - (0.5 + 0.5 / 6)) < 0.05
    assert all(math.isclose(float(row["probability"]), 0.5 / 6 + (0.5 if row["action"] == "2" else 0)) for row in rows)


def test_constant_logging_is_certain(tmp_path):
    rows = classes(tmp_path, "--logging", "constant", "--base", 5)
    assert {(row["action"], row["probability"]) for row in rows} == {("5", "1")}
    told = convert("--from", "class", "--to", "vw", SATIMAGE[0], tmp_path / "x", "--logging", "constant", "--base", 6,
                   status=1)[1]
    assert "arm 6 is none of the 6 classes" in told


def test_negative_costs_are_minus_one_and_zero(tmp_path):
    rows = classes(tmp_path, "--cost", "negative")
    truth = labels(SATIMAGE[:1])
    assert all(float(row["cost"]) == (-1 if int(row["action"]) == label else 0) for row, label in zip(rows, truth))


def test_header_names_are_kept(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("height,width,kind\n1,2,0\n3,4,1\n")
    out, _ = convert("--from", "class", "--to", "vw", path, "-")
    assert out.splitlines()[0].endswith("| height width:2")


def test_sparse_rows_keep_their_places(tmp_path):
    rng = random.Random(3)
    lines = [f"{i % 3} " + " ".join(f"{k}:{rng.randrange(1, 9) / 4:g}" for k in sorted(rng.sample(range(1, 90), 4)))
             for i in range(200)]
    path = tmp_path / "rows.libsvm"
    path.write_text("\n".join(lines) + "\n")
    for more in ((), ("--logging", "epsilon"), ("--logging", "softmax", "--base", "trees")):
        out, _ = convert("--from", "class", "--to", "vw", path, "-", *more)
        for line, made in zip(lines, out.splitlines(), strict=True):
            expected = {int(k) - 1: float(v) for k, v in (pair.split(":") for pair in line.split()[1:])}
            words = [(word + ":1").split(":")[:2] for word in made.split("| ")[1].split()]
            assert {int(k): float(v) for k, v in words} == expected


def test_files_that_do_not_fit_together_are_told():
    told = convert("--from", "class", "--to", "vw", SATIMAGE[0], DATA / "abalone.test.csv.gz", "/dev/null", status=1)[1]
    assert "abalone.test.csv.gz" in told


def test_targets_that_are_no_classes_are_told_with_their_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,0\n2,1\n3,1.5\n")
    assert f"{path}:3:" in convert("--from", "class", "--to", "vw", path, "/dev/null", status=1)[1]
    path.write_text("1,0\n2,0\n")
    assert "two classes" in convert("--from", "class", "--to", "vw", path, "/dev/null", status=1)[1]
