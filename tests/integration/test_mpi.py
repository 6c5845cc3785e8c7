"""coppice-mpi: several processes make what one makes, one of them speaks, and none is left waiting when another fails."""

import gzip
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, program

PROGRAM = Path(program("COPPICE")).with_name("coppice-mpi")
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_base_warn_component_unused": "0"}

if not PROGRAM.exists() or shutil.which("mpirun") is None:
    pytest.skip("coppice-mpi was NOT tried: OpenMPI is missing: tools/install-deps mpi", allow_module_level=True)


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=DEADLINE,
                          env=os.environ | ROOT_MAY)


def together(count, *words):
    return run("mpirun", "--oversubscribe", "-n", count, PROGRAM, "train", "--threads", 1, *words)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Three classes, by two of five features."""
    chance = random.Random(5)
    path = tmp_path_factory.mktemp("rows") / "rows.csv.gz"
    with gzip.open(path, "wt") as out:
        for _ in range(600):
            x = [chance.gauss(0, 1) for _ in range(5)]
            label = 0 if x[0] + x[1] > 0.5 else 1 if x[0] - x[1] > 0 else 2
            print(*(f"{v:.4f}" for v in x), label, sep=",", file=out)
    return path


CASES = {"tree": ("--learner", "tao", "--height", 4), "forest": ("--learner", "cart", "--trees", 5),
         "forest of oblique trees": ("--learner", "tao", "--trees", 4, "--height", 3),
         "softmax": ("--learner", "softmax", "--height", 2, "--leaf-classes", 2),
         "values": ("--learner", "tao", "--task", "regression", "--height", 3), "picked": ()}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_model_is_that_of_one_process(rows, tmp_path, options):
    alone = run(program("COPPICE"), "train", "--train", rows, *options, "--threads", 1, "--json", "--model", tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    done = together(3, "--train", rows, *options, "--json", "--model", tmp_path / "many")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "many").read_bytes() == (tmp_path / "alone").read_bytes()
    told, expected = json.loads(done.stdout), json.loads(alone.stdout)  # one line: the first process alone speaks
    for figures in (told, expected):
        for key in [key for key in figures if key.endswith("seconds")]:
            del figures[key]
    assert told == expected


def test_a_process_that_fails_ends_all(rows, tmp_path):
    done = together(3, "--train", tmp_path / "none.csv")
    assert done.returncode != 0 and "none.csv" in done.stderr and done.stdout == ""
    done = together(2, "--train", rows, "--model", tmp_path / "no" / "folder")  # of the first alone
    assert done.returncode != 0 and "folder" in done.stderr


def test_usage_is_that_of_train(rows):
    done = together(2, "--train", rows, "--learner", "oak")
    assert done.returncode == 2 and "oak" in done.stderr
    assert run(PROGRAM, "--version").stdout.startswith("coppice-mpi ")
    assert run(PROGRAM, "predict").returncode == 2
