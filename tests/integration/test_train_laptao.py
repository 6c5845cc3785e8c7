"""coppice train --learner laptao: few labels among many rows, its baselines, and rows whose target is missing."""

import csv
import gzip
import io
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from conftest import coppice

DATA = Path(__file__).parent.parent / "data"


def train(*args):
    return json.loads(coppice("train", "--learner", "laptao", *args, "--json")[0])


def refused(*args, status=1):
    return coppice("train", *args, status=status)[1]


def first_rows(path, count):
    with gzip.open(path, "rt") as stream:
        return [next(stream) for _ in range(count)]


@pytest.fixture
def satimage(tmp_path):
    """The first rows of satimage, so that fits are quick."""
    for part, count in (("train", 1000), ("test", 500)):
        (tmp_path / f"{part}.csv").write_text("".join(first_rows(DATA / f"satimage.{part}.csv.gz", count)))
    return "--train", tmp_path / "train.csv", "--test", tmp_path / "test.csv"


def two_moons(count, seed):
    """Rows that a neighbour graph tells apart, and few labels do not."""
    rng = random.Random(seed)
    rows = []
    for i in range(count):
        kind = i % 2
        x, y = rng.gauss(0, 0.25), rng.uniform(-3, 3)
        rows.append((x + (2 if kind else 0), y, kind))
    return rows


def test_few_labels_predict_better_than_labelled_rows_alone(satimage):
    results = [train(*satimage, "--labelled", 0.05, "--seed", seed, "--baselines", "oblique-lbl,knn")
               for seed in (1, 2, 3)]
    for r in results:
        assert 48 <= r["labelled"] <= 53 and r["labelled"] + r["unlabelled"] == 1000
        assert r["rounds"] >= 1 and 0 <= r["gap"] < 1 and r["unlabelled_components"] >= 0 and r["objective"] > 0
        assert 0 < r["hidden_error"] < 0.5
    mean = sum(r["test_error"] for r in results) / 3
    assert mean < sum(r["baselines"]["oblique-lbl"]["test_error"] for r in results) / 3
    assert mean < 0.3


@pytest.mark.skipif(not os.environ.get("COPPICE_DATA"), reason="COPPICE_DATA is not set: no large datasets")
def test_few_targets_predict_better_than_labelled_rows_alone():
    files = ["--task", "regression"]
    for part in ("train", "test"):
        files += [f"--{part}", f"{os.environ['COPPICE_DATA']}/cpu_act.{part}.csv.gz"]
    results = [train(*files, "--labelled", 0.05, "--seed", seed, "--rounds", 10, "--baselines", "oblique-lbl")
               for seed in (1, 2, 3)]
    assert sum(r["test_rmse"] for r in results) < sum(r["baselines"]["oblique-lbl"]["test_rmse"] for r in results)


@pytest.mark.skipif(not os.environ.get("COPPICE_DATA"), reason="COPPICE_DATA is not set: no large datasets")
def test_teacher_helps_where_values_are_predicted():
    files = ["--task", "regression"]
    for part in ("train", "test"):
        files += [f"--{part}", f"{os.environ['COPPICE_DATA']}/cpu_act.{part}.csv.gz"]
    for seed in (1, 2):
        taught, alone = (train(*files, "--labelled", 0.03, "--seed", seed, "--rounds", 6, *options)["test_rmse"]
                         for options in ((), ("--teacher", 0)))
        assert taught < 3.9 and taught < alone


def test_baselines_are_what_their_names_say(satimage):
    result = train(*satimage, "--labelled", 0.1, "--rounds", 3, "--baselines", "all")
    others = result["baselines"]
    assert list(others) == ["oblique-lbl", "oblique-all", "self-training", "knn"]
    assert others["oblique-lbl"]["rows"] == others["knn"]["rows"] == result["labelled"]
    assert others["oblique-all"]["rows"] == 1000 and others["knn"]["k"] >= 1
    assert result["labelled"] <= others["self-training"]["rows"] <= 1000
    assert 1 <= others["self-training"]["rounds"] <= 10
    alone = json.loads(coppice("train", "--learner", "tao", "--height", 6, *satimage, "--json")[0])  # as laptao's is
    assert others["oblique-all"]["test_error"] == alone["test_error"]
    told, _ = coppice("train", "--learner", "laptao", *satimage, "--labelled", 0.1, "--rounds", 3, "--baselines", "knn")
    assert "of 1000 rows labelled" in told and "knn" in told and "oblique" not in told


@pytest.mark.parametrize("arguments, file", [
    (("--height", 4), "satimage"),
    (("--height", 3, "--trees", 3), "satimage"),
    (("--height", 3, "--leaves", "linear"), "satimage"),
    (("--height", 4, "--task", "regression"), "abalone"),
])
def test_model_file_predicts_what_training_reported(arguments, file, tmp_path):
    paths = []
    for part, count in (("train", 500), ("test", 200)):
        paths.append(tmp_path / f"{part}.csv")
        paths[-1].write_text("".join(first_rows(DATA / f"{file}.{part}.csv.gz", count)))
    model = tmp_path / "model"
    result = train("--train", paths[0], "--test", paths[1], "--labelled", 0.2, "--rounds", 4, *arguments, "--model", model)
    evaluated = json.loads(coppice("evaluate", model, paths[1], "--json")[0])
    key = "rmse" if file == "abalone" else "error"
    assert evaluated[key] == pytest.approx(result[f"test_{key}"], rel=1e-9)
    out, _ = coppice("predict", model, paths[1], "--leaves", *(["--probabilities"] if key == "error" else []))
    rows = list(csv.DictReader(io.StringIO(out)))
    truth = [line.strip().rsplit(",", 1)[1] for line in paths[1].read_text().split()]
    assert len(rows) == 200
    if key == "error":
        wrong = sum(row[list(rows[0])[0]] != t for row, t in zip(rows, truth)) / 200
        assert wrong == pytest.approx(result["test_error"])
        if "--trees" not in arguments and "--leaves" not in arguments:
            for row in rows:
                assert sum(float(v) for k, v in row.items() if k.startswith("p(")) == pytest.approx(1, abs=1e-4)
    assert "learner: laptao" in coppice("inspect", model)[0]
    assert len(coppice("inspect", model, "--view", "rules")[0]) > 0
    source = tmp_path / "model.c"
    coppice("export", "--c", model, "--out", source)
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "-o", tmp_path / "model.o", source], check=True)


def test_same_seed_is_the_same_model_whatever_the_threads(satimage, tmp_path):
    models = []
    for threads in (1, 2, 3):
        path = tmp_path / f"model{threads}"
        train(*satimage, "--labelled", 0.1, "--rounds", 3, "--solver", "gradients", "--threads", threads, "--model", path)
        models.append(path.read_bytes())
    assert models[0] == models[1] == models[2]
    train(*satimage, "--labelled", 0.1, "--rounds", 3, "--solver", "gradients", "--seed", 2, "--model", path)
    assert path.read_bytes() != models[0]


@pytest.mark.parametrize("field", ["", "?", "NA"])
@pytest.mark.parametrize("names", [("0", "1"), ("left", "right")])
def test_rows_without_a_target_are_used_without(field, names, tmp_path):
    rows = two_moons(300, 5)
    file, test = tmp_path / "rows.csv", tmp_path / "test.csv"
    lines = [f"{x},{y},{names[kind] if i in (10, 11, 150, 151) else field}\n" for i, (x, y, kind) in enumerate(rows)]
    file.write_text("x,y,kind\n" + "".join(lines))
    test.write_text("x,y,kind\n" + "".join(f"{x},{y},{names[kind]}\n" for x, y, kind in two_moons(200, 6)))
    options = ("--train", file, "--test", test, "--height", 2, "--neighbours", 8)
    result = train(*options)
    assert result["labelled"] == 4 and result["unlabelled"] == 296 and "hidden_error" not in result
    assert result["test_error"] < 0.02
    for learner in ("tao", "cart"):
        assert "is the target and missing" in refused("--learner", learner, "--train", file)


def test_targets_that_are_missing_are_used_without(tmp_path):
    file, model = tmp_path / "rows.csv", tmp_path / "model"
    lines = [f"{x},{y},{5 + 3 * kind if i % 20 < 2 else ''}\n" for i, (x, y, kind) in enumerate(two_moons(300, 7))]
    file.write_text("".join(lines))
    result = train("--task", "regression", "--train", file, "--height", 2, "--model", model)
    assert result["labelled"] == 30 and result["train_rmse"] < 0.5
    told = coppice("predict", model, file, "--no-header")[0].split()
    assert len(told) == 300
    for i, (value, (_, _, kind)) in enumerate(zip(told, two_moons(300, 7))):
        assert abs(float(value) - 5 - 3 * kind) < 1, i


def test_component_without_a_label_is_reported(tmp_path):
    """Two clusters far apart, one of which has no label."""
    file = tmp_path / "rows.csv"
    rng = random.Random(2)
    near = [f"{rng.random()},{rng.random()},{i % 2 if i < 20 else ''}\n" for i in range(60)]
    far = [f"{1000 + rng.random()},{1000 + rng.random()},\n" for _ in range(60)]
    file.write_text("".join(near + far))
    options = ("--train", file, "--height", 2, "--neighbours", 5)
    assert train(*options)["unlabelled_components"] >= 1
    assert "no labelled row" in coppice("train", "--learner", "laptao", *options)[0]


def test_search_chooses_by_labelled_rows_only(satimage):
    result = train(*satimage, "--labelled", 0.1, "--search", "--trials", 4, "--rounds", 3, "--height", 4)
    assert 1 <= result["trials"] <= 4 and 0 < result["search_error"] < 0.6
    again = train(*result["settings"].split()[2:], *satimage)
    assert again["test_error"] == result["test_error"] and again["labelled"] == result["labelled"]
    folds = train(*satimage, "--labelled", 0.1, "--search", "--trials", 2, "--cross-validation", 3, "--rounds", 2)
    assert folds["search_standard_error"] >= 0


def test_start_model_is_begun_with(satimage, tmp_path):
    first = tmp_path / "first"
    coppice("train", "--learner", "tao", "--height", 3, "--keep-dead", *satimage[:2], "--model", first)
    assert train(*satimage, "--labelled", 0.1, "--rounds", 2, "--start-model", first)["depth"] <= 3


def test_sparse_rows_are_taken(tmp_path):
    rng = random.Random(3)
    lines = []
    for i in range(200):
        kind = i % 2
        present = sorted(rng.sample(range(1 + 20 * kind, 21 + 20 * kind), 8))
        lines.append(f"{kind} " + " ".join(f"{j}:1" for j in present))
    file = tmp_path / "rows.libsvm"
    file.write_text("\n".join(lines) + "\n")
    result = train("--train", file, "--test", file, "--labelled", 0.1, "--height", 2, "--model", tmp_path / "model",
                   "--baselines", "knn")
    assert result["test_error"] < 0.1 and result["baselines"]["knn"]["test_error"] < 0.1
    assert "is for csv" in refused("--learner", "laptao", "--train", file, "--graph", "logs")


def test_wrong_arguments_say_what_was_expected(satimage, tmp_path):
    for arguments, words in [
            (("--learner", "tao", "--labelled", 0.1), "--labelled is for laptao"),
            (("--learner", "tao", "--baselines", "knn"), "--baselines is for laptao"),
            (("--learner", "tao", "--gamma", 1), "--gamma is not for tao"),
            (("--learner", "laptao", "--labelled", 0), "--labelled"),
            (("--learner", "laptao", "--labelled", 1.5), "--labelled"),
            (("--learner", "laptao", "--baselines", "oak"), "expected oblique-lbl"),
            (("--learner", "laptao", "--baselines", ","), "expected names"),
            (("--learner", "laptao", "--alpha", "1,2"), "a list of --alpha is for tao"),
            (("--learner", "laptao", "--loss", "squared"), "--loss is not for laptao"),
            (("--learner", "laptao", "--forest", "adaboost"), "--forest is not for laptao"),
            (("--learner", "laptao", "--growth", 1), "--growth"),
            (("--learner", "laptao", "--solver", "luck"), "gradients"),
    ]:
        assert words in refused(*arguments, *satimage, status=2)
    assert "expected --test" in refused("--learner", "laptao", "--baselines", "all", *satimage[:2], status=2)
    assert "expected less" in refused("--learner", "laptao", "--growth", 100, "--rounds", 500, *satimage)
    file = tmp_path / "rows.csv"
    file.write_text("1,?\n2,\n")
    assert "no row has a target" in refused("--learner", "laptao", "--train", file)
    file.write_text("1,0\n")
    assert "at least two" in refused("--learner", "laptao", "--train", file)
    file.write_text("1,0\n2,1\n")
    train("--train", file, "--height", 1)
    test = tmp_path / "test.csv"
    test.write_text("1,0\n2,?\n")
    assert "target and missing" in refused("--learner", "laptao", "--train", file, "--test", test)
