"""tests/bench/next_words: its table, from a small part of the text; and text_rows: what a row holds."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import program

if shutil.which("bible") is None:
    pytest.skip("there is no bible-kjv (tools/install-deps)", allow_module_level=True)
FOLDER = Path(__file__).resolve().parents[1] / "bench/next_words"


def test_softmax_trees_are_judged_and_timed_beside_the_plain_softmax():
    build = Path(program("COPPICED")).resolve().parents[1]
    if not (build / "tests/softmax_speed").exists():
        pytest.skip("the build has no softmax_speed")
    out = subprocess.run([FOLDER / "next_words", "--build", build, "--rows", "2000", "--seeds", "1-2", "--only",
                          "classes,rows,beta100,zero-one", "--few", "1", "--repeats", "1"], capture_output=True, text=True, check=True)
    rows = {cells[1]: cells[2:] for line in out.stdout.splitlines()
            if (cells := [cell.strip() for cell in line.split("|")])[0] == "" and len(cells) > 3}
    assert list(rows)[2:] == ["plain", "classes", "beta100", "zero-one", "rows"]
    errors = {name: float(rows[name][0].split()[0]) for name in list(rows)[2:]}
    assert errors["plain"] < 92 and errors["classes"] < errors["plain"] + 2
    for name in ("plain", "classes", "rows"):
        assert float(rows[name][1].split()[0]) < errors[name]  # top five
    assert "(100.0 ± 0.0 %)" in rows["plain"][2]
    covered = float(re.search(r"\((\d+\.\d)", rows["classes"][2])[1])
    assert 30 < covered < 100
    assert float(rows["classes"][2].split()[0]) < float(rows["classes"][3].split()[0])  # smoothed is higher


def test_text_rows_are_words_with_those_before_them(tmp_path):
    command = [FOLDER / "text_rows", "words", tmp_path / "w", "--rows", "3000", "--classes", "500", "--seed", "3"]
    subprocess.run(command, check=True)
    rows = [line.split() for line in (tmp_path / "w.train.libsvm").read_text().splitlines()]
    assert len(rows) == 3000 and len((tmp_path / "w.test.libsvm").read_text().splitlines()) == 750
    labels = [int(row[0]) for row in rows]
    assert set(labels) == set(range(500))
    counts = [labels.count(k) for k in range(499)]
    assert counts == sorted(counts, reverse=True)  # by frequency; the last is all other words
    for row in rows:
        places = [int(entry.split(":")[0]) for entry in row[1:]]
        assert places == sorted(set(places)) and 1 <= places[0] and places[-1] <= 1 << 16
        assert sum(int(entry.split(":")[1]) for entry in row[1:]) == 5
