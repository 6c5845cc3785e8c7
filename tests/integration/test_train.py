"""coppice train, predict and evaluate: real data end to end, what files may hold, and what is refused."""

import csv
import gzip
import io
import json
import re
import os
import random
import subprocess
from pathlib import Path

import pytest
from conftest import coppice, is_sanitized, program

DATA = Path(__file__).parent.parent / "data"
SATIMAGE = ("--train", DATA / "satimage.train.csv.gz", "--test", DATA / "satimage.test.csv.gz")
ABALONE = ("--train", DATA / "abalone.train.csv.gz", "--test", DATA / "abalone.test.csv.gz", "--task", "regression")


def train(*args):
    return json.loads(coppice("train", *args, "--json")[0])


def refused(*args, status=1):
    return coppice(*args, status=status)[1]


def rows_of(path):
    with gzip.open(path, "rt") as stream:
        return [line.strip().split(",") for line in stream]


def rows_text(value, features=20, rows=60):
    """Rows whose features are value(row, feature) and whose class is by the first one."""
    lines = [[value(i, j) for j in range(features)] for i in range(rows)]
    return "".join(",".join(map(str, line)) + f",{int(line[0] > 2)}\n" for line in lines)


@pytest.fixture
def small(tmp_path):
    """The first rows of satimage, so that fits are quick."""
    for part, count in (("train", 600), ("test", 200)):
        rows = rows_of(DATA / f"satimage.{part}.csv.gz")[:count]
        (tmp_path / f"{part}.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    return "--train", tmp_path / "train.csv", "--test", tmp_path / "test.csv"


# What scikit-learn's CART, linear regression's error and the DGT paper's CART column say of these files, with room.
@pytest.mark.parametrize("arguments, key, limit", [
    (("--learner", "cart", *SATIMAGE), "test_error", 0.17),
    (("--learner", "cart", *ABALONE), "test_rmse", 2.45),
    (("--learner", "tao", "--height", 6, "--iterations", 8, *SATIMAGE), "test_error", 0.16),
    (("--learner", "tao", "--height", 4, "--leaves", "linear", "--iterations", 6, *ABALONE), "test_rmse", 2.25),
    (("--learner", "dgt", "--height", 6, "--layers", 1, "--epochs", 60, *SATIMAGE), "test_error", 0.17),
    (("--learner", "dgt", "--height", 4, "--layers", 1, "--epochs", 60, *ABALONE), "test_rmse", 2.35),
    (("--learner", "latent", *SATIMAGE), "test_error", 0.14),
    (("--learner", "latent", *ABALONE), "test_rmse", 2.2),
    (("--learner", "polytope", *SATIMAGE), "test_error", 0.14),
    (("--learner", "polytope", "--height", 4, *ABALONE), "test_rmse", 2.35),
])
def test_train_real_data_predicts_as_well_as_is_known(arguments, key, limit):
    result = train(*arguments)
    assert 0 < result[key] < limit
    assert result["leaves"] >= 2 and result["depth"] >= 1 and result["parameters"] > result["leaves"]
    assert 0 < result["flops"] <= result["parameters"] and result["seconds"] > 0
    assert ("objective" in result) == ("tao" in arguments)
    assert "train_auc" not in result and ("test_error" in result) != ("test_rmse" in result)


def test_settings_that_are_not_given_are_chosen_and_reported():
    """Heights follow the data: the fixed default of 6 has 0.114 to 0.13, by the seed."""
    if is_sanitized(program("COPPICE")):
        pytest.skip("small rows are enough for sanitizers")
    result = train("--learner", "tao", *SATIMAGE)
    assert result["test_error"] < 0.13 and result["trials"] > 5 and result["search_error"] < 0.13
    assert "--learner tao" in result["settings"] and "--alpha" in result["settings"]
    again = [word for word in result["settings"].split() if word != "--learner"]
    repeated = train("--learner", *again, *SATIMAGE)
    assert (repeated["test_error"], repeated["objective"]) == (result["test_error"], result["objective"])
    assert "trials" not in repeated


def test_learner_that_is_not_given_is_chosen_and_reported(small):
    result = train(*small)
    assert result["trials"] > 10
    assert re.search("--learner (cart|tao|dgt) ", result["settings"])
    assert train(*small) | {"seconds": 0, "search_seconds": 0} == result | {"seconds": 0, "search_seconds": 0}
    if not is_sanitized(program("COPPICE")):
        values = train(*ABALONE)
        assert values["test_rmse"] < 2.25 and values["search_rmse"] < 2.3
    told, _ = coppice("train", *small)
    assert re.search(r"chosen in \d+ trials \(\d+ s\), on rows held back error .*: --learner ", told)


@pytest.mark.parametrize("learner", [(), ("--learner", "cart")])
def test_forest_that_is_not_described_is_chosen_and_reported(small, learner):
    result = train(*learner, "--trees", 8, *small)
    assert result["trials"] > 5 and result["search_error"] < 0.2 and "--learner cart" in result["settings"]
    again = train(*result["settings"].split(), *small)
    assert "trials" not in again and again["test_error"] == result["test_error"] and again["leaves"] == result["leaves"]


def test_bagged_forest_of_classes_draws_the_root_of_the_features(small):
    forest = ("--learner", "cart", "--trees", 3, "--share", 0.5)
    plain, root, all_of_them = (train(*forest, *more, *small)["leaves"] for more in ((), ("--features", 6), ("--features", 0)))
    assert plain == root != all_of_them
    boosted = ("--learner", "cart", "--trees", 3, "--forest", "adaboost")
    assert train(*boosted, *small)["leaves"] == train(*boosted, "--features", 0, *small)["leaves"]


def test_given_settings_are_kept_whatever_is_chosen(small):
    assert train("--height", 2, *small)["depth"] <= 2
    assert "trials" not in train("--learner", "tao", "--height", 3, *small)
    assert "trials" not in train("--learner", "cart", *small)
    for arguments, expected in ((("--alpha", 1), "for some learners only"), (("--search",), "for one learner"),
                                (("--start-model", "x"), "is for tao, softmax and laptao")):
        assert expected in coppice("train", *arguments, *small, status=None)[1]


@pytest.mark.parametrize("learner", ["cart", "dgt", "tao", "softmax", "latent", "polytope"])
def test_model_file_predicts_what_training_reported(learner, small, tmp_path):
    model = tmp_path / "model"
    extra = ("--height", 4, "--layers", 1, "--epochs", 10) if learner in ("dgt", "latent") else ("--height", 4)
    result = train("--learner", learner, *small, *extra, "--model", model)
    evaluated = json.loads(coppice("evaluate", model, small[3], "--json")[0])
    assert evaluated["error"] == pytest.approx(result["test_error"], abs=1e-12)
    assert evaluated["parameters"] == result["parameters"] and evaluated["rows"] == 200
    out, _ = coppice("predict", model, small[3], "--probabilities", "--leaves")
    predicted = list(csv.DictReader(io.StringIO(out)))
    truth = [row[-1] for row in (line.split(",") for line in Path(small[3]).read_text().split())]
    target = list(predicted[0])[0]
    wrong = sum(p[target] != t for p, t in zip(predicted, truth)) / len(truth)
    assert len(predicted) == len(truth) and wrong == pytest.approx(result["test_error"], abs=1e-12)
    for row in predicted:
        probabilities = [float(value) for name, value in row.items() if name.startswith("p(")]
        assert sum(probabilities) == pytest.approx(1, abs=1e-4) and 0 <= int(row["leaf0"]) < result["leaves"]


def test_latent_model_shows_its_splits_and_starts_a_hard_tree(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "latent", *small, "--height", 3, "--epochs", 10, "--elu", "--dropout", 0.1, "--lambda", 5,
          "--model", model)
    shown = json.loads(coppice("inspect", model, "--json")[0])
    assert shown["rule"] == "latent" and len(shown["trees"]) == 1
    assert "the splits of a latent tree" in coppice("inspect", model)[0]
    assert "expected a hard tree, as train --learner tao" in refused("export", "--c", model)
    hard = train("--learner", "tao", "--start-model", model, *small, "--scale", "standard", "--iterations", 3)
    assert hard["test_error"] < 0.35 and hard["leaves"] > 1
    for arguments, wanted in ((("--height", 11), "at most 10 high"), (("--width", 2000), "at most 1024 wide"),
                              (("--trees", 2), "--trees is not for latent"), (("--alpha", 1), "not for latent")):
        complaint = coppice("train", "--learner", "latent", *small, *arguments, status=None)[1]
        assert wanted in complaint


def test_polytope_model_is_shown_exported_and_refused_as_a_start(small, tmp_path):
    model, source, page = tmp_path / "model", tmp_path / "model.c", tmp_path / "page.html"
    result = train("--learner", "polytope", *small, "--height", 3, "--facets", 6, "--model", model)
    assert 2 <= result["leaves"] <= 8 and result["depth"] <= 3
    splits = result["leaves"] - 1
    assert splits <= result["facets"] <= 6 * splits
    assert result["facets_per_split"] == pytest.approx(result["facets"] / splits)
    assert re.search(rf"^{result['facets']} facets, ", coppice(
        "train", "--learner", "polytope", *small, "--height", 3, "--facets", 6)[0], re.M)
    shown = json.loads(coppice("inspect", model, "--json")[0])
    nodes = shown["trees"][0]["nodes"]
    assert sum(len(node["facets"]) for node in nodes) == result["facets"]
    for node in nodes:
        assert node["weights"] == [] and node["test"].startswith(f"outside a polytope of {len(node['facets'])} facet")
        assert all(facet["r"] > 0 and len(facet["index"]) == len(facet["weights"]) for facet in node["facets"])
    assert "s(z) = ln(1 + e^z)" in coppice("inspect", model)[0]
    assert re.search(r"if +(in|out)side a polytope", coppice("inspect", model, "--view", "rules")[0])
    assert "outside a polytope" in coppice("inspect", model, "--view", "dot")[0]
    coppice("inspect", model, "--view", "html", "--out", page)
    assert '"y":"outside a polytope of' in page.read_text()
    assert coppice("inspect", model, "--importance")[0]
    coppice("export", "--c", model, "--out", source)
    driver = tmp_path / "driver.c"
    driver.write_text('#include <stdio.h>\n#include "model.c"\nint main(void)\n{\n\tdouble x[36], out[16];\n'
                      '\tfor (;;) {\n\t\tfor (int j = 0; j < 36; j++)\n\t\t\tif (scanf("%lf", &x[j]) != 1)\n'
                      '\t\t\t\treturn 0;\n\t\tputs(predict_class((unsigned long)predict(x, out)));\n\t}\n}\n')
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "driver", driver, "-lm"], check=True)
    rows = [line.split(",")[:-1] for line in Path(small[3]).read_text().split()]
    said = subprocess.run([tmp_path / "driver"], input="\n".join(" ".join(row) for row in rows), text=True,
                          capture_output=True, check=True).stdout.split()
    predicted = list(csv.reader(io.StringIO(coppice("predict", model, small[3])[0])))[1:]
    assert said == [row[0] for row in predicted]
    for learner in ("tao", "laptao"):
        assert "its splits are polytopes, expected linear ones" in refused(
            "train", "--learner", learner, "--start-model", model, *small)
    for arguments, wanted in ((("--anneal-first", 5, "--anneal-last", 1), "at least --anneal-first"),
                              (("--trees", 2), "--trees is not for polytope"), (("--alpha", 1), "not for polytope")):
        assert wanted in coppice("train", "--learner", "polytope", *small, *arguments, status=None)[1]


def test_polytope_tree_of_values_follows_its_seed_and_is_searched(tmp_path):
    options = ("--learner", "polytope", *ABALONE, "--height", 3, "--epochs", 10)
    first, again, other = (train(*options, "--seed", seed) for seed in (1, 1, 2))
    assert first["test_rmse"] == again["test_rmse"] != other["test_rmse"] and first["test_rmse"] < 2.5
    grown = train(*options, "--refine", 0)
    assert grown["train_rmse"] != first["train_rmse"]
    found = train(*options, "--search", "--trials", 3)
    assert found["trials"] == 3 and "--learner polytope" in found["settings"]


def test_softmax_tree_of_sparse_rows_predicts_beside_the_plain_softmax(tmp_path):
    """40 classes in eight groups: a word of the group, one of the class, one that any may have, and a rare one."""
    rng = random.Random(5)
    for name, rows in (("train", 1200), ("test", 400)):
        with open(tmp_path / f"{name}.libsvm", "w", encoding="ascii") as out:
            for i in range(rows):
                own = {1 + i % 40 // 5, 11 + i % 40, 61 + rng.randrange(10), 101 + rng.randrange(20000)}
                out.write(f"{i % 40} " + " ".join(f"{j}:1" for j in sorted(own)) + "\n")
    files = ("--train", tmp_path / "train.libsvm", "--test", tmp_path / "test.libsvm")
    model = tmp_path / "model"
    plain = train("--learner", "softmax", "--plain", "--leaf-classes", 0, *files, "--model", model)
    judged = json.loads(coppice("evaluate", model, files[3], "--json")[0])
    assert judged["error"] == pytest.approx(plain["test_error"], abs=1e-12)
    assert judged["top5_error"] <= judged["error"] and judged["covered"] == 1
    assert 1 < judged["perplexity"] < 3 and judged["smoothed_perplexity"] == pytest.approx(judged["perplexity"])
    for start in ("classes", "rows"):
        tree = train("--learner", "softmax", "--height", 3, "--leaf-classes", 8, "--start", start, *files)
        assert tree["leaves"] > 2 and tree["flops"] < plain["flops"]
        assert tree["test_error"] < 0.06 + plain["test_error"]
    assert plain["leaves"] == 1 and plain["test_error"] < 0.05
    assert "softmax is for classes" in coppice("train", "--learner", "softmax", "--task", "regression", *files,
                                               status=None)[1]


def test_predict_rows_without_the_target_gives_the_same(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "cart", *small, "--model", model)
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in Path(small[3]).read_text().split()))
    assert coppice("predict", model, bare)[0] == coppice("predict", model, small[3])[0]


@pytest.mark.parametrize("arguments", [
    ("--learner", "tao", "--height", 5, "--iterations", 4),
    ("--learner", "tao", "--height", 3, "--iterations", 3, "--trees", 4, "--leaves", "linear"),
    ("--learner", "cart", "--trees", 5, "--replace", "--features", 6),
    ("--learner", "cart", "--trees", 5, "--height", 3, "--forest", "adaboost"),
])
def test_model_same_seed_is_the_same_whatever_the_threads(arguments, small, tmp_path):
    models = []
    for threads in (1, 2, 3):
        path = tmp_path / f"model{threads}"
        train(*arguments, *small, "--threads", threads, "--model", path)
        models.append(path.read_bytes())
    assert models[0] == models[1] == models[2]


def test_forests_predict_better_than_their_trees(small):
    one = train("--learner", "cart", *small, "--complexity", 0)["test_error"]
    bagged = train("--learner", "cart", *small, "--trees", 40, "--replace", "--share", 1, "--features", 6)
    boosted = train("--learner", "cart", *small, "--trees", 40, "--height", 4, "--forest", "adaboost")
    assert bagged["test_error"] < one and boosted["test_error"] < one
    assert bagged["trees"] == 40
    tree = train("--learner", "cart", *ABALONE, "--complexity", 0)["test_rmse"]
    gradient = train("--learner", "cart", *ABALONE, "--trees", 60, "--height", 3, "--forest", "gradient")
    assert gradient["test_rmse"] < min(tree, 2.35)


def test_alpha_list_is_a_path_chosen_by_validation(small):
    result = train("--learner", "tao", "--height", 4, "--iterations", 4, "--alpha", "0.1,10,1", *small)
    assert result["alpha"] in (0.1, 1, 10) and result["test_error"] < 0.3
    assert f"--alpha {result['alpha']:g}" in result["settings"]


def test_settings_are_told_as_they_were_given(small):
    given = ["--learner", "cart", "--trees", 3, "--share", 0.75, "--replace", "--forest", "bagging", "--height", 2, "--seed", 4]
    settings = train(*given, *small)["settings"]
    assert settings == \
        "--learner cart --seed 4 --scale none --height 2 --trees 3 --forest bagging --share 0.75 --replace"
    assert train(*settings.split(), *small)["settings"] == settings


def test_search_finds_settings_and_says_which(small):
    result = train("--learner", "cart", "--search", "--trials", 8, *small)
    assert 1 <= result["trials"] <= 8 and "--learner cart" in result["settings"]
    again = train(*result["settings"].split(), *small)
    assert again["test_error"] == result["test_error"]


def test_search_by_folds_and_repeats_tells_the_standard_error(small):
    one = train("--learner", "cart", "--search", "--trials", 3, *small)
    folds = train("--learner", "cart", "--search", "--trials", 3, "--cross-validation", 4, *small)
    both = train("--learner", "cart", "--search", "--trials", 3, "--cross-validation", 2, "--repeats", 2, *small)
    assert "search_standard_error" not in one and 0 < one["search_error"] < 0.5
    for result in (folds, both):
        assert 0 < result["search_standard_error"] < result["search_error"] < 0.5
    values = train("--learner", "cart", "--search", "--trials", 2, "--repeats", 3, *ABALONE)
    assert 2 < values["search_rmse"] < 3 and values["search_standard_error"] > 0
    told, _ = coppice("train", "--learner", "cart", "--search", "--trials", 2, "--cross-validation", 3, *small)
    assert "chosen in 2 trials" in told and "%" in told and "+-" in told


def test_starts_keep_the_tree_of_least_objective(small):
    options = ["--learner", "tao", "--height", 4, *small]
    one, many = train(*options), train(*options, "--starts", 6)
    assert many["objective"] < one["objective"]
    assert train("--learner", "dgt", "--height", 3, "--layers", 1, "--epochs", 5, "--starts", 2, *small)["leaves"] > 1


def test_search_among_equal_settings_keeps_the_smaller_tree(tmp_path):
    """One threshold tells the classes apart: every height and every number of folds is as good."""
    file = tmp_path / "rows.csv"
    file.write_text(rows_text(lambda i, j: (i * 7 + j * 3) % 5))
    result = train("--learner", "cart", "--search", "--cross-validation", 5, "--train", file)
    assert result["search_error"] == 0 and result["search_standard_error"] == 0
    assert "--height" not in result["settings"] and "--min-leaf" not in result["settings"]  # the default came first


def test_cross_validation_is_refused_where_it_means_nothing(small, tmp_path):
    for arguments, words in [
            (("--learner", "cart", "--cross-validation", 5), "is for --search"),
            (("--learner", "cart", "--search", "--cross-validation", 1), "--cross-validation"),
            (("--learner", "tao", "--search", "--cross-validation", 5, "--validation", 0.3), "expected one of them"),
            (("--learner", "tao", "--search", "--validation", 0), "--validation above 0"),
    ]:
        assert words in refused("train", *arguments, *small, status=2)
    file = tmp_path / "few.csv"
    file.write_text("1,0\n2,1\n3,0\n")
    assert "3 rows are too few for 4 folds" in refused(
        "train", "--learner", "cart", "--search", "--cross-validation", 4, "--train", file)
    quick = ("--height", 2, "--layers", 1, "--epochs", 2, "--lr", 0.01, "--momentum", 0, "--l1", 0)
    result = train("--learner", "dgt", *quick, "--search", "--trials", 1, "--cross-validation", 2, "--validation", 0.5,
                   *small)  # dgt's own
    assert result["search_error"] > 0


def test_start_model_is_gone_on_with(small, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    begun = train("--learner", "tao", "--height", 4, "--iterations", 1, "--keep-dead", *small, "--model", first)
    result = train("--learner", "tao", "--iterations", 4, "--start-model", first, *small, "--model", second)
    assert result["objective"] <= begun["objective"]
    assert "--start-model" in refused("train", "--learner", "cart", "--start-model", first, *small, status=2)


TABLE = """colour,size,"weight, kg",kind
red,1.5,10,apple
green,1.6,11,apple
green,7.5,90,melon
yellow,7.0,80,melon
red,1.4,,apple
green,8.1,95,melon
red,1.7,12,apple
yellow,0.5,1,plum
yellow,0.4,1.2,plum
yellow,0.6,0.9,plum
"""


def test_text_columns_names_and_missing_fields(tmp_path):
    file = tmp_path / "fruit.csv"
    file.write_text(TABLE)
    assert "line 6" in refused("train", "--learner", "cart", "--train", file).replace(":6:", " line 6") or \
        ":6" in refused("train", "--learner", "cart", "--train", file)
    model = tmp_path / "model"
    train("--learner", "cart", "--complexity", 0, "--missing", "mean", "--train", file, "--model", model)
    out, _ = coppice("predict", model, file)
    assert out.split() == ["kind"] + [line.rsplit(",", 1)[1] for line in TABLE.split("\n")[1:-1]]
    new = tmp_path / "new.csv"
    new.write_text("colour,size,\"weight, kg\"\nblue,7.7,88\n")
    assert coppice("predict", model, new)[0].split() == ["kind", "melon"]
    new.write_text("colour,weight\nblue,7.7\n")
    assert "column" in refused("predict", model, new)
    train("--learner", "cart", "--missing", "median", "--task", "regression", "--target", "size", "--train", file,
          "--model", model)
    assert "RMSE" in coppice("evaluate", model, file)[0]


def test_libsvm_rows_train_and_predict(tmp_path):
    rng = random.Random(3)
    lines = []
    for _ in range(300):
        present = sorted(rng.sample(range(1, 60), 8))
        lines.append(f"{int(5 in present or 7 in present)} " + " ".join(f"{i}:1" for i in present))
    file = tmp_path / "rows.libsvm"
    file.write_text("\n".join(lines) + "\n")
    for learner in ("cart", "tao"):
        result = train("--learner", learner, "--height", 3, "--train", file, "--test", file)
        assert result["test_error"] < 0.05 and result["test_auc"] > 0.95


@pytest.mark.parametrize("value, chosen", [
    (lambda i, j: (i * 7 + j * 3) % 16 if (i + j) % 2 else 0, "maximum"),
    (lambda i, j: (i * 7 + j * 3) % 16 + 1, "standard"),
    (lambda i, j: ((i * 7 + j * 3) % 16 if (i + j) % 2 else 0) * 10 ** (j % 4), "standard"),
])
def test_scale_auto_tells_amounts_of_one_unit(value, chosen, tmp_path):
    file, model = tmp_path / "rows.csv", tmp_path / "model"
    file.write_text(rows_text(value))
    result = train("--learner", "tao", "--height", 2, "--train", file, "--model", model)
    assert result["scale"] == chosen and f"--scale {chosen}" in result["settings"]
    told, _ = coppice("train", "--learner", "tao", "--height", 2, "--scale", chosen, "--train", file, "--model",
                      tmp_path / "again")
    assert f"scale {chosen}" in told and (tmp_path / "again").read_bytes() == model.read_bytes()
    assert train("--learner", "cart", "--train", file)["scale"] == "none"


def test_confusion_counts_every_row(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "cart", *small, "--model", model)
    result = json.loads(coppice("evaluate", model, small[3], "--confusion", "--json")[0])
    total = sum(map(sum, result["confusion"]))
    right = sum(row[i] for i, row in enumerate(result["confusion"]))
    assert total == 200 and 1 - right / total == pytest.approx(result["error"])
    assert "pred." in coppice("evaluate", model, small[3], "--confusion")[0]


def test_wrong_arguments_say_what_was_expected(small, tmp_path):
    for arguments, words in [
            (("--learner", "oak", *small), "expected cart, dgt, tao, softmax, laptao, latent or polytope"),
            (("--learner", "cart"), "expected --train"),
            (("--learner", "cart", "--alpha", 1, *small), "--alpha is not for cart"),
            (("--learner", "tao", "--alpha", "1,,x", *small), "expected a number"),
            (("--learner", "dgt", "--height", 99, *small), "expected"),
            (("--learner", "tao", "--leaves", "bushy", *small), "constant"),
            (("--learner", "cart", *small, "spare"), "expected options only"),
    ]:
        assert words in refused("train", *arguments, status=2)
    for arguments, words in [
            (("--learner", "tao", "--loss", "squared", *small), "--loss"),
            (("--learner", "cart", "--train", tmp_path / "none.csv"), "none.csv"),
            (("--learner", "cart", *small, "--model", tmp_path / "no" / "folder"), "folder"),
            (("--learner", "cart", "--target", "absent", *small), "absent"),
    ]:
        assert words in refused("train", *arguments)
    assert "expected" in refused("evaluate", small[1], status=2)
    assert "model" in refused("evaluate", small[1], small[1])
    broken = tmp_path / "broken"
    train("--learner", "cart", *small, "--model", broken)
    broken.write_bytes(broken.read_bytes()[:-3])
    assert "broken" in refused("predict", broken, small[1])


def test_other_columns_are_refused_by_name(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "cart", *small, "--model", model)
    other = tmp_path / "other.csv"
    other.write_text("1,2,3\n4,5,6\n")
    error = refused("evaluate", model, other)
    assert "other.csv" in error and "expected" in error


@pytest.mark.skipif(not os.environ.get("COPPICE_DATA"), reason="COPPICE_DATA is not set: no large datasets")
def test_two_classes_report_the_area_under_the_curve():
    data = os.environ["COPPICE_DATA"]
    result = train("--learner", "tao", "--height", 3, "--leaves", "linear", "--iterations", 3, "--train",
                   f"{data}/wdbc.train.csv.gz", "--test", f"{data}/wdbc.test.csv.gz")
    assert result["test_error"] < 0.08 and result["test_auc"] > 0.97


def test_inspect_shows_a_trained_model_in_every_view(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "tao", "--height", 3, *small, "--model", model)
    text, _ = coppice("inspect", model)
    assert "learner: tao" in text and "node 0:" in text
    assert json.loads(coppice("inspect", model, "--json")[0])
    for view, words in (("rules", "if "), ("dot", "digraph"), ("html", "<!DOCTYPE html>"), ("c", "predict")):
        out = tmp_path / f"model.{view}"
        coppice("inspect", model, "--view", view, "--out", out)
        assert words.lower() in out.read_text().lower()
    shares = json.loads(coppice("inspect", model, "--importance", "--json")[0])["importance"]
    assert len(shares) == 36 and sum(s["share"] for s in shares) == pytest.approx(1)
    assert shares == sorted(shares, key=lambda s: -s["share"])
    assert "no tree 7" in refused("inspect", model, "--tree", 7)
    assert "expected one of text" in refused("inspect", model, "--view", "painting", status=2)
    assert "no --model" in refused("inspect", model, "--model", "x")


@pytest.mark.parametrize("arguments", [
    ("--learner", "tao", "--height", 3, "--leaves", "linear"),
    ("--learner", "cart", "--trees", 3, "--height", 5),
])
def test_exported_source_predicts_as_the_model(arguments, small, tmp_path):
    model, source, binary = tmp_path / "model", tmp_path / "model.c", tmp_path / "binary"
    train(*arguments, *small, "--model", model)
    coppice("export", "--c", model, "--function", "guess", "--out", source)
    main = tmp_path / "main.c"
    main.write_text("""#include <stdio.h>
double guess(const double *raw, double *outputs);
const char *guess_class(unsigned long number);
int main(void)
{
	double x[36], out[6];
	for (;;) {
		for (int i = 0; i < 36; i++)
			if (scanf("%lf,", &x[i]) != 1)
				return 0;
		puts(guess_class((unsigned long)guess(x, out)));
	}
}
""")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", binary, main, source, "-lm"], check=True)
    rows = [line.rsplit(",", 1)[0] for line in Path(small[3]).read_text().split()]
    done = subprocess.run([binary], input="\n".join(rows), capture_output=True, text=True, check=True)
    ours = coppice("predict", model, small[3], "--no-header")[0].split()
    same = sum(a == b for a, b in zip(done.stdout.split(), ours))
    assert len(ours) == len(rows) == len(done.stdout.split()) and same >= len(rows) - 1  # rounding at a border
    assert "cannot name a function" in refused("export", "--c", model, "--function", "int")


@pytest.mark.parametrize("name, expected", [("abalone", True), ("satimage", False)])
def test_train_hints_at_regression_when_classes_look_like_counts(name, expected):
    path = DATA / f"{name}.train.csv.gz"
    told = coppice("train", "--learner", "cart", "--height", "2", "--train", path, "--json")[1]
    assert ("--task regression" in told) is expected
    assert coppice("train", "--learner", "cart", "--height", "2", "--task", "regression", "--train", path, "--json")[1] == ""


def test_train_hints_at_regression_when_classes_have_fractions(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"{i % 7},{(i % 3) / 2}\n" for i in range(60)))
    assert "--task regression" in coppice("train", "--learner", "cart", "--train", path, "--json")[1]


def test_train_hints_at_columns_that_name_the_rows_and_ignores_them(tmp_path):
    path, other, model = tmp_path / "rows.csv", tmp_path / "other.csv", tmp_path / "model"
    path.write_text("who;x;y\n" + "".join(f"u{i};{i % 7},5;{i % 7 > 3}\n" for i in range(60)))
    other.write_text("x\ty\n6.5\tTrue\n")
    assert "column 0 (who)" in coppice("train", "--learner", "cart", "--train", path)[1]
    assert coppice("train", "--learner", "cart", "--train", path, "--ignore", "who", "--model", model)[1] == ""
    assert coppice("predict", model, other)[0].split() == ["y", "True"]
    assert "to be ignored" in refused("train", "--learner", "cart", "--train", path, "--ignore", "y")


def test_train_hints_at_a_target_of_one_class(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,kind,b\n" + "".join(f"{i},{i % 2},same\n" for i in range(20)))
    assert 'of one class, "same"' in coppice("train", "--learner", "cart", "--train", path)[1]
    assert coppice("train", "--learner", "cart", "--target", "kind", "--train", path)[1] == ""


def test_train_hints_at_text_in_a_column_of_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{i},{i % 7},{i > 20}" for i in range(40)]
    lines[30] = "30,n/a,True"
    path.write_text("x,y,c\n" + "\n".join(lines) + "\n")
    told = coppice("train", "--learner", "cart", "--train", path)[1]
    assert 'column "y"' in told and "7 different numbers" in told and '"n/a"' in told and told.count("\n") == 1
    path.write_text(path.read_text().replace("n/a", ""))
    assert coppice("train", "--learner", "cart", "--missing", "median", "--train", path)[1] == ""
    path.write_text("x,y,c\n" + "".join(f"{i},{'abc'[i % 3] if i % 5 == 0 else i % 5},{i > 20}\n" for i in range(40)))
    assert coppice("train", "--learner", "cart", "--train", path)[1] == ""


@pytest.mark.parametrize("scale", ["none", "standard", "range"])
@pytest.mark.parametrize("first, step, said", [
    (1700000000, 10, '"t" of'), (20240101, 1, '"t" of'), (-1700000000, -10, '"t" of'), (20240101120000, 1000000, '"t" of'),
    (1700000000, 86400, ""), (1000000, 1, ""), (0.1, 1, ""), (-1700000000, 170000000, "")])
def test_train_hints_at_numbers_too_large_to_be_told_apart(tmp_path, scale, first, step, said):
    path = tmp_path / "rows.csv"
    path.write_text("x,t,c\n" + "".join(f"{i % 5},{first + i * step},{int(i > 20)}\n" for i in range(40)))
    told = coppice("train", "--learner", "cart", "--scale", scale, "--train", path)[1]
    assert (said in told and "are lost" in told) if said else told == ""


def test_text_with_doubled_quotes_comes_back_as_it_was(tmp_path):
    path, model = tmp_path / "rows.csv", tmp_path / "model"
    classes = ['no, "way"', "yes"]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["x", 'the "class"']] + [[i, classes[i > 10]] for i in range(20)])
    coppice("train", "--learner", "cart", "--train", path, "--model", model)
    told = list(csv.reader(io.StringIO(coppice("predict", model, path)[0])))
    assert told == [['the "class"']] + [[classes[i > 10]] for i in range(20)]
    quoted = tmp_path / "quoted.csv"
    with open(quoted, "w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(csv.reader(path.open(newline="")))
    assert coppice("predict", model, quoted) == coppice("predict", model, path)


def test_columns_of_one_name_are_chosen_by_number(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y,x\n" + "".join(f"{i},{i % 3},{int(i > 20)}\n" for i in range(40)))
    assert 'columns 0 and 2 are both named "x"' in refused("train", "--learner", "cart", "--train", path, "--target", "x")
    assert train("--learner", "cart", "--train", path, "--target", "2")["train_error"] == 0


def test_predict_json_holds_what_csv_holds(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "cart", "--trees", 3, "--height", 4, *small, "--model", model)
    rows = list(csv.reader(io.StringIO(coppice("predict", model, small[3], "--probabilities", "--leaves")[0])))
    told = json.loads(coppice("predict", model, small[3], "--probabilities", "--leaves", "--json")[0])
    assert told["target"] == rows[0][0]
    assert [f"p({name})" for name in told["classes"]] == rows[0][1:1 + len(told["classes"])]
    assert told["predictions"] == [row[0] for row in rows[1:]]
    assert told["leaves"] == [[int(leaf) for leaf in row[-3:]] for row in rows[1:]]
    for got, row in zip(told["probabilities"], rows[1:], strict=True):
        assert got == pytest.approx([float(p) for p in row[1:-3]], abs=1e-5)
    assert set(json.loads(coppice("predict", model, small[3], "--json")[0])) == {"target", "predictions"}


def test_export_json_holds_the_source(small, tmp_path):
    model = tmp_path / "model"
    train("--learner", "cart", "--height", 2, *small, "--model", model)
    source = coppice("export", "--c", model, "--function", "guess")[0]
    assert json.loads(coppice("export", "--c", model, "--function", "guess", "--json")[0]) == {
        "function": "guess", "source": source}


def test_help_of_a_subcommand_by_help_is_its_help():
    for name in ("train", "journal", "bench"):
        assert coppice("help", name)[0] == coppice(name, "--help")[0]
    assert coppice("help")[0] == coppice("--help")[0]
    assert "no subcommand 'nonsense'" in coppice("help", "nonsense", status=2)[1]
