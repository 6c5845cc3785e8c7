"""coppice bakeoff: runs, resuming, reports, and what it refuses."""

import csv
import fcntl
import gzip
import html.parser
import json
import math
import os
import random
import re
import signal
import statistics
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import DEADLINE, coppice, program, wait_for

HEADER = "dataset,seed,events,features,classes,setting,progressive_loss,seconds"
VOID = {"meta", "link", "br", "hr", "img", "input"}


def bakeoff(*args, status=0):
    """(standard output, standard error) of the command, which must end with this status."""
    out, err = coppice("bakeoff", *args, status=status)
    if status != 0:
        assert err.startswith("coppice bakeoff: "), err
    return out, err


def refused(*args, status=1):
    out, err = bakeoff(*args, status=status)
    return err


def toy_rows(seed, rows, classes=3, features=4):
    rng = random.Random(seed)
    for _ in range(rows):
        x = [rng.uniform(-1, 1) for _ in range(features)]
        label = max(range(classes), key=lambda k: x[k % features] * (1 if k < features else -1))
        yield [f"{v:.4f}" for v in x] + [str(label)]


def write_rows(path, rows):
    text = "".join(",".join(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


@pytest.fixture
def folder(tmp_path):
    """Two datasets: easy (training and test file) and hard (one file)."""
    data = tmp_path / "data"
    data.mkdir()
    write_rows(data / "easy.train.csv.gz", toy_rows(1, 300))
    write_rows(data / "easy.test.csv", toy_rows(2, 100))
    write_rows(data / "hard.csv", toy_rows(3, 350, classes=5, features=6))
    return data


def rows_of(path):
    with open(path, newline="") as file:
        assert file.readline().rstrip("\n") == HEADER
        file.seek(0)
        return list(csv.DictReader(file))


def figures(path):
    """All that must not depend on the machine or on the order of runs."""
    return sorted(tuple(v for k, v in row.items() if k != "seconds") for row in rows_of(path))


def curves(path):
    return sorted(Path(path).read_text().splitlines())


def peers_file(path, rows):
    path.write_text(HEADER + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


# ---- runs


def test_runs_every_pair_over_the_seeds(folder, tmp_path):
    out, err = bakeoff("--data-dir", folder, "--seeds", 2, "--csv", tmp_path / "o.csv")
    assert err == ""
    rows = rows_of(tmp_path / "o.csv")
    assert {(r["dataset"], r["setting"], r["seed"]) for r in rows} == {
        (d, s, n) for d in ("easy", "hard") for s in ("default", "epsilon", "dgt") for n in ("1", "2")}
    assert len(rows) == 12
    for row in rows:
        shape = (row["events"], row["features"], row["classes"])
        assert shape == (("400", "4", "3") if row["dataset"] == "easy" else ("350", "6", "5"))
        assert 0 < float(row["progressive_loss"]) < 1 and float(row["seconds"]) > 0
        errors = float(row["progressive_loss"]) * int(row["events"])
        assert abs(errors - round(errors)) < 1e-9
    assert "easy" in out and "hard" in out and "default" in out


def test_loss_is_that_of_simulate(folder, tmp_path):
    bakeoff("--data-dir", folder, "--datasets", "easy", "--settings", "default", "--events", 250, "--seeds", 2, "--csv",
            tmp_path / "o.csv")
    done = subprocess.run([program("COPPICE"), "simulate", "--data", folder / "easy.train.csv.gz", "--data",
                           folder / "easy.test.csv", "--events", "250", "--seed", "2", "--json"],
                          capture_output=True, text=True, timeout=DEADLINE, check=True)
    loss = {r["seed"]: float(r["progressive_loss"]) for r in rows_of(tmp_path / "o.csv")}
    assert loss["2"] == json.loads(done.stdout)["progressive_loss"]


def test_jobs_do_not_change_results(folder, tmp_path):
    for jobs in (1, 2, 7):
        bakeoff("--data-dir", folder, "--seeds", 3, "--jobs", jobs, "--csv", tmp_path / f"{jobs}.csv")
        assert figures(tmp_path / f"{jobs}.csv") == figures(tmp_path / "1.csv")
        assert curves(tmp_path / f"{jobs}.curves.csv") == curves(tmp_path / "1.curves.csv")


def test_curves_end_at_the_loss(folder, tmp_path):
    bakeoff("--data-dir", folder, "--csv", tmp_path / "o.csv", "--settings", "default")
    points = {}
    for row in csv.DictReader(open(tmp_path / "o.curves.csv", newline="")):
        points.setdefault(row["dataset"], []).append((int(row["at"]), float(row["progressive_loss"])))
    for row in rows_of(tmp_path / "o.csv"):
        curve = points[row["dataset"]]
        assert curve[0][0] == 10 and [at for at, _ in curve] == sorted({at for at, _ in curve})
        assert curve[-1] == (int(row["events"]), float(row["progressive_loss"]))


def test_events_of_single_datasets(folder, tmp_path):
    bakeoff("--data-dir", folder, "--events", "200,hard=50", "--settings", "dgt", "--csv", tmp_path / "o.csv")
    assert {r["dataset"]: r["events"] for r in rows_of(tmp_path / "o.csv")} == {"easy": "200", "hard": "50"}


def test_own_settings_and_a_file_of_them(folder, tmp_path):
    (tmp_path / "s.txt").write_text("# remarks\n\n  flat: --learner ensemble --trees 0\ndgt:height=3\n")
    bakeoff("--data-dir", folder, "--datasets", "easy", "--settings", "tall=dgt:height=8,default", "--settings",
            "one hot: --learner rank", "--settings-file", tmp_path / "s.txt", "--csv", tmp_path / "o.csv")
    names = {r["setting"] for r in rows_of(tmp_path / "o.csv")}
    assert names == {"tall", "default", "one hot", "flat", "dgt:height=3"}


def test_skyline_is_told_every_loss(folder, tmp_path):
    write_rows(folder / "easy.items.csv", [["1", "0.5", "0"], ["0", "1", "0"], ["0", "0.3", "1"], ["1", "1", "1"]])
    bakeoff("--data-dir", folder, "--settings", "default,skyline", "--seeds", 2, "--csv", tmp_path / "o.csv")
    loss = {(r["dataset"], r["setting"], r["seed"]): float(r["progressive_loss"]) for r in rows_of(tmp_path / "o.csv")}
    assert len(loss) == 8
    for seed in ("1", "2"):
        for dataset in ("easy", "hard"):  # easy is one of ranking
            assert loss[dataset, "skyline", seed] < loss[dataset, "default", seed]
    assert ",--learner ensemble --skyline" in (tmp_path / "o.settings.csv").read_text()


def test_skyline_is_a_word_of_any_setting(folder, tmp_path):
    own = "ensemble:skyline,policy=ensemble:skyline:policy=epsilon:epsilon=1,skyline,told=dgt:skyline,dgt"
    bakeoff("--data-dir", folder, "--datasets", "easy", "--settings", own, "--settings", "long: --learner ensemble --skyline",
            "--csv", tmp_path / "o.csv")
    loss = {r["setting"]: float(r["progressive_loss"]) for r in rows_of(tmp_path / "o.csv")}
    assert loss["policy"] == loss["skyline"] == loss["ensemble:skyline"] == loss["long"]  # it does not explore
    assert loss["told"] < loss["dgt"]
    assert "takes no value" in refused("--data-dir", folder, "--settings", "ensemble:skyline=1", "--csv", tmp_path / "a.csv",
                                       status=2)
    assert "no refits" in refused("--data-dir", folder, "--settings", "ensemble:skyline:refit-every=100", "--csv",
                                  tmp_path / "a.csv", status=2)
    done = subprocess.run([program("COPPICE"), "simulate", "--data", folder / "hard.csv", "--skyline"],
                          capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 2 and "skyline" in done.stderr


def test_errors_are_counted_with_their_deviation(folder, tmp_path):
    args = ("--data-dir", folder, "--settings", "default", "--seeds", 4, "--events", 300, "--csv", tmp_path / "o.csv")
    out, _ = bakeoff(*args, "--report", tmp_path / "r")
    errors = {}
    for r in sorted(rows_of(tmp_path / "o.csv"), key=lambda r: int(r["seed"])):  # written as they finish
        errors.setdefault(r["dataset"], []).append(round(float(r["progressive_loss"]) * 300))
    told = json.loads(bakeoff(*args, "--json")[0])["settings"][0]["errors"]
    for dataset, counts in errors.items():
        assert told[dataset]["seeds"] == 4
        assert told[dataset]["mean"] == pytest.approx(statistics.mean(counts))
        assert told[dataset]["deviation"] == pytest.approx(statistics.stdev(counts))
        cell = f"{statistics.mean(counts):.1f} ({statistics.stdev(counts):.1f})"
        assert re.search(rf"^{dataset} +{re.escape(cell)}$", out, re.M)
        assert f"<td>{cell}</td>" in (tmp_path / "r.html").read_text()
    one = json.loads(bakeoff(*args[:5], 1, *args[6:], "--json")[0])["settings"][0]["errors"]
    assert one["easy"] == {"seeds": 1, "mean": pytest.approx(errors["easy"][0])}


def test_items_make_it_a_problem_of_ranking(folder, tmp_path):
    write_rows(folder / "easy.items.csv", [["1", "0.5", "0"], ["0", "1", "0"], ["0", "0.3", "1"], ["1", "1", "1"]])
    args = ("--data-dir", folder, "--datasets", "easy,hard", "--settings", "default,dgt,rank")
    bakeoff(*args, "--csv", tmp_path / "ranked.csv")
    loss = {(r["dataset"], r["setting"]): r["progressive_loss"] for r in rows_of(tmp_path / "ranked.csv")}
    assert loss["easy", "default"] == loss["easy", "rank"]
    assert loss["hard", "default"] != loss["hard", "rank"]
    (folder / "easy.items.csv").unlink()
    bakeoff(*args, "--csv", tmp_path / "arms.csv")
    arms = {(r["dataset"], r["setting"]): r["progressive_loss"] for r in rows_of(tmp_path / "arms.csv")}
    assert arms["easy", "default"] != loss["easy", "default"]
    assert arms["easy", "dgt"] == loss["easy", "dgt"] and arms["hard", "rank"] == loss["hard", "rank"]


def test_sparse_rows(folder, tmp_path):
    rng = random.Random(5)
    lines = [f"{k} {1 + k}:1 {rng.randrange(10, 40)}:0.5" for k in (rng.randrange(3) for _ in range(200))]
    (folder / "sparse.train.svm").write_text("\n".join(lines) + "\n")
    bakeoff("--data-dir", folder, "--datasets", "sparse", "--settings", "default,rank", "--csv", tmp_path / "o.csv")
    assert len(rows_of(tmp_path / "o.csv")) == 2


def test_list_shows_what_there_is(folder):
    write_rows(folder / "numbers.train.csv", [["1", "2.5"], ["2", "3.5"]])
    (folder / "log.log.csv").write_text("1,2,3\n")
    (folder / "README.md").write_text("nothing\n")
    out, _ = bakeoff("--data-dir", folder, "--list")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert set(lines) == {"easy", "hard", "numbers"}
    assert "400 rows" in lines["easy"] and "3 classes" in lines["easy"]
    assert "no dataset" in lines["numbers"]


def test_bundled_and_real_data(tmp_path):
    data = os.environ.get("COPPICE_DATA")
    if not data:
        pytest.skip("COPPICE_DATA does not name a folder of datasets")
    bakeoff("--data-dir", data, "--datasets", "glass,tictactoe", "--settings", "default,dgt", "--seeds", 2, "--csv",
            tmp_path / "o.csv", "--report", tmp_path / "r")
    loss = {}
    for row in rows_of(tmp_path / "o.csv"):
        loss.setdefault((row["dataset"], row["setting"]), []).append(float(row["progressive_loss"]))
    assert sum(loss["tictactoe", "default"]) < sum(loss["tictactoe", "dgt"])


# ---- going on


def test_what_is_there_is_not_run_again(folder, tmp_path):
    args = ("--data-dir", folder, "--settings", "default,dgt", "--csv", tmp_path / "o.csv")
    bakeoff(*args, "--seeds", 1)
    before = (tmp_path / "o.csv").read_text()
    out, _ = bakeoff(*args, "--seeds", 1)
    assert (tmp_path / "o.csv").read_text() == before
    bakeoff(*args, "--seeds", 2)
    after = (tmp_path / "o.csv").read_text()
    assert after.startswith(before) and len(after.splitlines()) == 9
    bakeoff(*args, "--seeds", 2, "--events", 100)
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 17
    bakeoff(*args, "--seeds", 2, "--events", 100)
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 17


def test_killed_in_the_middle_goes_on(folder, tmp_path):
    write_rows(folder / "easy.train.csv.gz", toy_rows(1, 6000))
    args = ["--data-dir", folder, "--seeds", 6, "--jobs", 2, "--csv"]
    bakeoff(*args, tmp_path / "whole.csv")
    target = tmp_path / "o.csv"
    kills = 0
    while True:
        process = subprocess.Popen([program("COPPICE"), "bakeoff", *map(str, args), str(target)],
                                   stdout=subprocess.DEVNULL)
        lines = target.read_text().count("\n") if target.exists() else 0
        wait_for(lambda: process.poll() is not None or
                 (target.exists() and target.read_text().count("\n") > lines + 3), "some rows")
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        with open(target, "a") as file:  # as if it had been killed within a line
            file.write("easy,1,6100,4")
    assert kills > 0
    assert figures(target) == figures(tmp_path / "whole.csv")
    assert set(curves(tmp_path / "o.curves.csv")) == set(curves(tmp_path / "whole.curves.csv"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_reports_what_there_is(folder, tmp_path, number):
    write_rows(folder / "easy.train.csv.gz", toy_rows(1, 20000))
    target = tmp_path / "o.csv"
    process = subprocess.Popen([program("COPPICE"), "bakeoff", "--data-dir", folder, "--seeds", "1000", "--jobs", "2",
                                "--csv", target, "--report", tmp_path / "r"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: target.exists() and target.read_text().count("\n") > 4, "some rows")
    process.send_signal(number)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1 and "interrupted" in err
    assert "not complete" in out and out == (tmp_path / "r.txt").read_text()
    assert target.read_text().endswith("\n")
    check_page(tmp_path / "r.html")
    assert "not complete" in (tmp_path / "r.html").read_text()


def test_changed_setting_is_refused_and_replaced(folder, tmp_path):
    args = ("--data-dir", folder, "--csv", tmp_path / "o.csv", "--settings")
    bakeoff(*args, "default,mine=dgt:height=3")
    before = (tmp_path / "o.csv").read_text()
    err = refused(*args, "mine=dgt:height=4")
    assert "mine" in err and "--height 4" in err and "--height 3" in err and "--replace" in err
    assert (tmp_path / "o.csv").read_text() == before
    bakeoff(*args, "mine=dgt:height=4", "--replace")
    rows = rows_of(tmp_path / "o.csv")
    assert sorted(r["setting"] for r in rows) == ["default"] * 2 + ["mine"] * 2
    assert [r for r in rows if r["setting"] == "default"] == [
        r for r in csv.DictReader(before.splitlines()) if r["setting"] == "default"]


def test_setting_that_decides_otherwise_is_refused(folder, tmp_path):
    args = ("--data-dir", folder, "--csv", tmp_path / "o.csv", "--settings", "default")
    bakeoff(*args)
    record = tmp_path / "o.settings.csv"
    name, mark, options = record.read_text().splitlines()[1].split(",")
    record.write_text(record.read_text().replace(mark, "00000001"))
    assert "another build" in refused(*args)


def test_two_writers_are_refused(folder, tmp_path):
    with open(tmp_path / "o.csv", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another bakeoff" in refused("--data-dir", folder, "--csv", tmp_path / "o.csv")


def test_feature_beyond_the_hashed_space_is_refused(tmp_path):
    (tmp_path / "big.libsvm").write_text("0 1:1\n1 20000000:1\n")
    err = refused("--data-dir", tmp_path, "--csv", tmp_path / "o.csv", "--seeds", 1)
    assert "dataset big" in err and "feature index up to 19999999, expected at most 2^24" in err


# ---- reports


class Page(html.parser.HTMLParser):
    """Every element is closed in order; texts and attributes are kept."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        self.links += [attrs[k] for k in ("href", "src") if k in attrs]
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


def check_page(path):
    text = Path(path).read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == [] and page.links == [] and "script" not in page.tags
    assert len(page.ids) == len(set(page.ids))
    assert 'name="viewport"' in text and "prefers-color-scheme" in text
    charts = re.findall(r"<svg xmlns.*?\n</svg>\n</figure>", text, re.S)
    for chart in charts:
        svg = ElementTree.fromstring(chart[:-len("</figure>")])
        names = {element.tag.split("}")[1] for element in svg.iter()}
        assert {"title", "desc", "path", "text"} <= names
        for element in svg.iter():
            assert "nan" not in element.get("d", "") and "inf" not in element.get("d", "")
    return text, charts


def test_report_files(folder, tmp_path):
    out, _ = bakeoff("--data-dir", folder, "--seeds", 2, "--csv", tmp_path / "o.csv", "--report", tmp_path / "r")
    assert out == (tmp_path / "r.txt").read_text()
    text, charts = check_page(tmp_path / "r.html")
    assert re.findall(r"<h2>(.*?)</h2>", text) == [
        "Summary", "Losses", "Wins and losses", "Learning curves", "Time", "What the figures mean"]
    assert re.findall(r"<caption>(.*?)</caption>", text) == [
        "Settings", "Progressive loss", "Wrong events of a run, mean over the seeds (standard deviation)",
        "Significant wins / losses of the row over the column; datasets with less loss", "Microseconds an event"]
    assert len(charts) == 2
    assert all(chart.count('class="line c') == 6 for chart in charts)  # three curves, three keys
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "o.csv", "o.curves.csv", "o.settings.csv", "r.html",
                                                          "r.txt"]


def test_report_after_a_resume_is_that_of_one_go(folder, tmp_path):
    bakeoff("--data-dir", folder, "--seeds", 1, "--csv", tmp_path / "o.csv", "--settings", "dgt")
    bakeoff("--data-dir", folder, "--seeds", 2, "--csv", tmp_path / "o.csv", "--report", tmp_path / "two")
    bakeoff("--data-dir", folder, "--seeds", 2, "--csv", tmp_path / "p.csv", "--report", tmp_path / "one")
    charts = [check_page(tmp_path / f"{name}.html")[1] for name in ("one", "two")]
    assert charts[0] == charts[1]


def test_report_without_running(folder, tmp_path):
    out, _ = bakeoff("--data-dir", folder, "--seeds", 2, "--csv", tmp_path / "o.csv", "--settings", "default,dgt")
    again, _ = bakeoff("--csv", tmp_path / "o.csv", "--report", tmp_path / "r")
    assert sorted(re.findall(r"\d\.\d{4}", again)) == sorted(re.findall(r"\d\.\d{4}", out))
    check_page(tmp_path / "r.html")


def test_figures_are_as_computed_here(folder, tmp_path):
    out, _ = bakeoff("--data-dir", folder, "--seeds", 2, "--csv", tmp_path / "o.csv", "--json")
    result = json.loads(out)
    loss, n = {}, {}
    for row in rows_of(tmp_path / "o.csv"):
        loss.setdefault((row["setting"], row["dataset"]), []).append(float(row["progressive_loss"]))
        n[row["dataset"]] = int(row["events"])
    p = {key: sum(v) / len(v) for key, v in loss.items()}
    assert result["datasets"] == result["common"] == 2 and result["complete"] is True
    for s in result["settings"]:
        mine = [p[s["setting"], d] for d in n]
        best = [min(p[t["setting"], d] for t in result["settings"]) for d in n]
        assert math.isclose(s["mean_loss"], sum(mine) / 2)
        assert math.isclose(s["relative_loss"], sum((a - b) / b for a, b in zip(mine, best)) / 2, abs_tol=1e-12)
        for other in s["against"]:
            wins = losses = 0
            for d in n:
                a, b = p[s["setting"], d], p[other["setting"], d]
                z = (a - b) / math.sqrt(a * (1 - a) / n[d] + b * (1 - b) / n[d])
                wins += 0.5 * math.erfc(-z / math.sqrt(2)) < 0.05
                losses += 0.5 * math.erfc(z / math.sqrt(2)) < 0.05
            assert (other["wins"], other["losses"]) == (wins, losses)


def test_peers_are_compared(folder, tmp_path):
    peers = peers_file(tmp_path / "vw.csv", [
        ("easy", 1, 400, 4, 3, "eps <&> 'l2'", 0.9, 0.1), ("hard", 1, 350, 6, 5, "eps <&> 'l2'", 0.8, 0.1),
        ("easy", 1, 400, 4, 3, "only easy", 0.001, 0.1), ("easy", 2, 400, 4, 3, "only easy", 0.003, 0.1),
        ("hard", 1, 350, 6, 5, "default", 0.85, 0.1), ("easy", 1, 400, 4, 3, "default", 0.95, 0.1),
        ("elsewhere", 1, 350, 6, 5, "default", 0.85, 0.1)])
    args = ("--data-dir", folder, "--csv", tmp_path / "o.csv", "--peers", peers, "--report", tmp_path / "r")
    settings = {s["setting"]: s for s in json.loads(bakeoff(*args, "--json")[0])["settings"]}
    assert set(settings) == {"default", "epsilon", "dgt", "eps <&> 'l2'", "only easy", "vw: default",
                             "vw: best per dataset"}
    assert settings["eps <&> 'l2'"]["best_single"] and math.isclose(settings["eps <&> 'l2'"]["mean_loss"], 0.85)
    assert settings["only easy"]["missing"] == 1 and not settings["only easy"]["best_single"]
    assert math.isclose(settings["vw: best per dataset"]["mean_loss"], (0.002 + 0.8) / 2)
    text, charts = check_page(tmp_path / "r.html")
    assert "eps &lt;&amp;&gt; &#39;l2&#39;" in text and "eps <" not in text
    assert len(charts) == 2 and "elsewhere" not in text
    to = {s["setting"]: s for s in json.loads(bakeoff(*args, "--json", "--reference", "vw: default")[0])["settings"]}
    assert to["vw: default"]["relative_loss"] == 0 and to["default"]["relative_loss"] < 0


def test_names_are_escaped(folder, tmp_path):
    write_rows(folder / "<b>&'.csv", toy_rows(3, 50))
    bakeoff("--data-dir", folder, "--datasets", "<b>&'", "--settings", "<i>x</i>: --learner dgt", "--csv",
            tmp_path / "o.csv", "--report", tmp_path / "r")
    text, charts = check_page(tmp_path / "r.html")
    assert len(charts) == 1 and "<b>" not in text and "<i>" not in text


# ---- what is refused


def test_unknown_dataset_is_refused_before_anything_runs(folder, tmp_path):
    err = refused("--data-dir", folder, "--datasets", "easy,eazy", "--csv", tmp_path / "o.csv")
    assert "eazy" in err and "easy, hard" in err
    assert not (tmp_path / "o.csv").exists()
    assert "eazy" in refused("--data-dir", folder, "--events", "eazy=3", "--csv", tmp_path / "o.csv")


def test_targets_that_are_no_classes(folder, tmp_path):
    write_rows(folder / "numbers.train.csv", [["1", "2.5"], ["2", "3.5"]])
    write_rows(folder / "flat.csv", [["1", "0"], ["2", "0"]])
    args = ("--data-dir", folder, "--settings", "dgt", "--csv", tmp_path / "o.csv")
    err = refused(*args, "--datasets", "numbers,easy")
    assert "numbers" in err and "classes count from 0" in err and "1 of 2 runs failed" in err
    assert [r["dataset"] for r in rows_of(tmp_path / "o.csv")] == ["easy"]
    out, err = bakeoff(*args)  # found, not asked for
    assert "numbers is left out" in err and "flat is left out" in err
    assert {r["dataset"] for r in rows_of(tmp_path / "o.csv")} == {"easy", "hard"}


def test_damaged_dataset_fails_alone(folder, tmp_path):
    (folder / "torn.train.csv.gz").write_bytes((folder / "easy.train.csv.gz").read_bytes()[:200])
    (folder / "text.csv").write_text("1,2,0\n1,x,1\n")
    write_rows(folder / "odd.train.csv", [["1", "2", "0"], ["1", "3", "1"]])
    write_rows(folder / "odd.test.csv", [["1", "0"]])
    write_rows(folder / "odd2.csv", [["1", "2", "0"], ["1", "3", "1"]])
    write_rows(folder / "odd2.items.csv", [["1", "2"]])
    err = refused("--data-dir", folder, "--settings", "dgt", "--csv", tmp_path / "o.csv")
    for name in ("torn", "text", "odd", "odd2"):
        assert f"dataset {name}: " in err
    assert {r["dataset"] for r in rows_of(tmp_path / "o.csv")} == {"easy", "hard"}


def test_two_files_of_one_name_are_refused(folder, tmp_path):
    write_rows(folder / "easy.csv", toy_rows(1, 30))
    assert "both dataset 'easy'" in refused("--data-dir", folder, "--csv", tmp_path / "o.csv")


def test_wrong_csv_is_refused_and_left_alone(folder, tmp_path):
    for text in ("a,b\n1,2\n", "something else", HEADER + "\neasy,1\n", HEADER.replace("seed,", "") + "\n"):
        (tmp_path / "o.csv").write_text(text)
        assert "o.csv" in refused("--data-dir", folder, "--csv", tmp_path / "o.csv")
        assert (tmp_path / "o.csv").read_text() == text
        assert "o.csv" in refused("--csv", tmp_path / "o.csv")
        (tmp_path / "p.csv").write_text(text)
        assert "p.csv" in refused("--data-dir", folder, "--csv", tmp_path / "q.csv", "--peers", tmp_path / "p.csv")


def test_what_cannot_be_written_is_refused(folder, tmp_path):
    assert "No such file" in refused("--data-dir", folder, "--csv", tmp_path / "none" / "o.csv")
    (tmp_path / "d.csv").mkdir()
    assert "d.csv" in refused("--data-dir", folder, "--csv", tmp_path / "d.csv")
    assert ".csv" in refused("--data-dir", folder, "--csv", tmp_path / "o.txt")
    err = refused("--data-dir", folder, "--csv", tmp_path / "o.csv", "--report", tmp_path / "none" / "r")
    assert "none/r" in err
    assert len(rows_of(tmp_path / "o.csv")) == 6


def test_empty_folder_and_none(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "no datasets" in refused("--data-dir", tmp_path / "empty", "--csv", tmp_path / "o.csv")
    assert "expected a folder" in refused("--data-dir", tmp_path / "none", "--csv", tmp_path / "o.csv")
    assert "none.csv" in refused("--csv", tmp_path / "none.csv")


@pytest.mark.parametrize("args", [
    (), ("--data-dir", "d"), ("--csv", "o.csv", "--seeds", "2"), ("--data-dir", "d", "--csv", "o.csv", "--seeds", "0"),
    ("--data-dir", "d", "--csv", "o.csv", "--settings", "default,default"),
    ("--data-dir", "d", "--csv", "o.csv", "--settings", "forest"),
    ("--data-dir", "d", "--csv", "o.csv", "--settings", "x: --learner value"),
    ("--data-dir", "d", "--csv", "o.csv", "--settings-file", "/none"),
    ("--data-dir", "d", "--csv", "o.csv", "--datasets", "a,a"), ("--data-dir", "d", "--csv", "o.csv", "--datasets", ","),
    ("--data-dir", "d", "--csv", "o.csv", "--events", "a=b=c"), ("--data-dir", "d", "--csv", "o.csv", "--events", "0"),
    ("--data-dir", "d", "--csv", "o.csv", "--jobs", "0"), ("--data-dir", "d", "--csv", "o.csv", "--risk", "1"),
    ("--data-dir", "d", "--csv", "o.csv", "more"), ("--data-dir", "d", "--list", "--csv", "o.csv"),
])
def test_wrong_usage_is_status_2(args):
    out, _ = bakeoff(*args, status=2)
    assert out == ""


def test_report_curves_stay_inside_their_plot(tmp_path):
    (tmp_path / "o.csv").write_text("dataset,seed,events,features,classes,setting,progressive_loss,seconds\n"
                                    "steep,1,1000,3,2,default,0.05,0.1\n")
    losses = {10: 0.9, 12: 0.02, 20: 0.5, 50: 0.04, 60: 0.06, 100: 0.05, 300: 0.06, 1000: 0.05}
    (tmp_path / "o.curves.csv").write_text("dataset,seed,events,setting,at,progressive_loss\n" + "".join(
        f"steep,1,1000,default,{at},{loss}\n" for at, loss in losses.items()))
    bakeoff("--csv", tmp_path / "o.csv", "--report", tmp_path / "r")
    chart = check_page(tmp_path / "r.html")[1][0]
    axis = re.search(r'class="axis" d="M(\d+) (\d+)V(\d+)H(\d+)"', chart)
    left, top, bottom, right = map(int, axis.groups())
    curve = re.search(r'class="line c0 d0" d="([^"]*L[^"]*)"', chart).group(1)
    places = [tuple(map(float, place.split())) for place in re.split("[ML]", curve)[1:]]
    assert all(left <= x <= right and top <= y <= bottom for x, y in places)
    # It enters at the upper edge, leaves there between 12 and 20, and enters again.
    assert curve.count("M") == 2 and [y for _, y in places].count(top) == 3
