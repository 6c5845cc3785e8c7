"""coppice embed: figures, the map's file, and that `coppice predict` puts rows where the fit put them."""

import csv
import gzip
import io
import json
import math
import random
import re
from pathlib import Path

import pytest
from conftest import coppice

DATA = Path(__file__).parent.parent / "data"


def embed(*args):
    return json.loads(coppice("embed", *args, "--threads", 1, "--json")[0])


@pytest.fixture
def satimage(tmp_path):
    with gzip.open(DATA / "satimage.train.csv.gz", "rt") as stream:
        (tmp_path / "rows.csv").write_text("".join(next(stream) for _ in range(400)))
    return tmp_path / "rows.csv"


def numbers(text):
    return [[float(field) for field in row] for row in list(csv.reader(io.StringIO(text)))[1:]]


@pytest.mark.parametrize("method", ["tsne", "elastic"])
def test_tree_embedding_is_below_the_direct_fit(satimage, method):
    result = embed("--train", satimage, "--method", method, "--height", 3)
    direct, joint = result["direct"], result["joint"]
    assert result["free"] < joint["embedding"] and joint["objective"] < 0.9 * direct["objective"]
    for part in (direct, joint):
        assert math.isclose(part["objective"], part["embedding"] + 0.01 * part["penalty"], rel_tol=1e-9)
    assert min(result["objectives"]) == joint["objective"] and len(result["gaps"]) == 20


def test_predict_puts_rows_where_the_fit_put_them(satimage, tmp_path):
    fit = embed("--train", satimage, "--height", 2, "--rounds", 2, "--model", tmp_path / "m", "--out", tmp_path / "z.csv")
    again = embed("--train", satimage, *fit["settings"].split())  # all that it hangs on
    assert {**again, "seconds": 0} == {**fit, "seconds": 0} and "--height 2 --rounds 2" in fit["settings"]
    fitted = numbers((tmp_path / "z.csv").read_text())
    out = coppice("predict", tmp_path / "m", satimage)[0]
    assert out.startswith("z0,z1\n")
    projected = numbers(out)
    assert len(projected) == 400
    for a, b in zip(fitted, projected):
        assert all(math.isclose(u, v, rel_tol=1e-6, abs_tol=1e-6) for u, v in zip(a, b))
    as_json = json.loads(coppice("predict", tmp_path / "m", satimage, "--json")[0])["predictions"]
    assert all(math.isclose(u, v, rel_tol=1e-6, abs_tol=1e-6) for a, b in zip(as_json, projected) for u, v in zip(a, b))


def test_rows_with_names_of_classes_and_without_them_are_mapped(tmp_path):
    rng = random.Random(3)
    rows = [([rng.gauss(3 * (k == j), 1) for j in range(3)], "abc"[k]) for k in range(3) for _ in range(30)]
    lines = [",".join(f"{v:.4f}" for v in x) for x, _ in rows]
    (tmp_path / "named.csv").write_text("u,v,w,kind\n" + "".join(f"{x},{k}\n" for x, (_, k) in zip(lines, rows)))
    (tmp_path / "bare.csv").write_text("u,v,w\n" + "".join(f"{x}\n" for x in lines))
    embed("--train", tmp_path / "named.csv", "--height", 2, "--rounds", 1, "--model", tmp_path / "m")
    assert coppice("predict", tmp_path / "m", tmp_path / "named.csv") == coppice(
        "predict", tmp_path / "m", tmp_path / "bare.csv")
    assert "expected a class or one value" in coppice(
        "evaluate", tmp_path / "m", tmp_path / "bare.csv", status=1)[1]
    assert "embed" in coppice("inspect", tmp_path / "m")[0]


def test_page_has_every_row_and_leaf_and_loads_nothing(satimage, tmp_path):
    leaves = embed("--train", satimage, "--height", 2, "--rounds", 1, "--html", tmp_path / "page.html")["leaves"]
    page = (tmp_path / "page.html").read_text()
    assert page.count("<circle") == 2 * 400 and page.count("<polygon") <= leaves
    assert sum(int(n) for n in re.findall(r">leaf \d+: (\d+) rows<", page)) == 400
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert page.rstrip().endswith("</html>")


def test_perplexity_beyond_the_rows_is_told(satimage, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("".join(satimage.read_text().splitlines(keepends=True)[:40]))
    shape = ("embed", "--train", few, "--height", 1, "--rounds", 1, "--sweeps", 1, "--json")
    assert "40 rows have fewer neighbours" in coppice(*shape, "--perplexity", 39)[1]
    assert coppice(*shape, "--perplexity", 38)[1] == ""


def test_wrong_options_and_files_are_refused(tmp_path):
    (tmp_path / "two.csv").write_text("1,2,0\n2,1,1\n")
    assert "2 rows, expected at least 3" in coppice("embed", "--train", tmp_path / "two.csv", status=1)[1]
    assert "expected --train" in coppice("embed", status=2)[1]
    assert "--repulsion is for elastic" in coppice("embed", "--train", "x", "--repulsion", 3, status=2)[1]
    assert "--theta" in coppice("embed", "--train", "x", "--theta", 3, status=2)[1]
    assert "tsne" in coppice("embed", "--train", "x", "--method", "umap", status=2)[1]
