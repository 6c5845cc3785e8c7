"""What every version since 0.1.0 left behind opens: state folders, models of logs, trained models (release_state.py)."""

import json
import math
import re
import shutil
import tarfile
from pathlib import Path

import pytest
import release_state as left
from test_install import ROOT

RELEASES = sorted((ROOT / "tests" / "data" / "releases").glob("*.tar.xz"))
CURRENT = re.search(r'COPPICE_VERSION +"(.*)"', (ROOT / "include" / "coppice.h").read_text()).group(1)
NEAR = 0.02  # learners get better, and processors round differently


@pytest.fixture(params=RELEASES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def release(request, tmp_path):
    folder = tmp_path / "release"
    with tarfile.open(request.param) as archive:
        archive.extractall(folder)
    return folder, json.loads((folder / "expected.json").read_text())


def same(is_now, was, where):
    """Texts and whole numbers alike, others near."""
    if isinstance(was, dict):
        assert is_now.keys() >= was.keys(), where
        for key in was:
            same(is_now[key], was[key], (*where, key))
    elif isinstance(was, list):
        assert len(is_now) == len(was), where
        for i, pair in enumerate(zip(is_now, was)):
            same(*pair, (*where, i))
    elif isinstance(was, float):
        assert math.isclose(is_now, was, rel_tol=NEAR, abs_tol=NEAR), (where, is_now, was)
    else:
        assert is_now == was, (where, is_now, was)


def test_every_release_left_something():
    assert RELEASES and RELEASES[0].name == "0.1.0.tar.xz"
    assert CURRENT in [path.name.removesuffix(".tar.xz") for path in RELEASES], f"{CURRENT}: docs/contributing/releasing.md"


def words(path, name):
    """Of a list of words in the source."""
    found = re.search(name + r"\[\] = \{(.*?)NULL", (ROOT / path).read_text(), re.S)
    return set(re.findall(r'"(.+?)"', found.group(1)))


def test_release_has_every_learner(release):
    folder, expected = release
    served = {was["learner"] for was in expected["models"].values()}
    trained = set(re.search(r"--learner (\S+)\]", left.coppice("train", "--help")).group(1).split("|"))
    if expected["version"] == CURRENT:
        assert served == words("lib/online/model_options.c", "cop_model_options_learners")
        assert trained == set(left.LEARNERS) and trained <= expected["trained"].keys()
    assert {path.name for path in (folder / "state").iterdir()} >= {"journal", "refit", "live.json"}
    assert any((folder / "state" / "refit").iterdir()) and expected["models"]["arms"]["positions"]
    assert all(left.FORGOTTEN.encode() not in path.read_bytes() for path in (folder / "state").rglob("*.checkpoint"))


def close(is_now, was):
    """Rows of a table: numbers that are not whole differ between processors."""
    return all(a == b or math.isclose(float(a), float(b), rel_tol=1e-4, abs_tol=1e-6) for a, b in zip(is_now, was))


@pytest.mark.parametrize("without", ["nothing", "checkpoint", "journal"])
def test_state_opens_and_goes_on(daemon, release, without):
    folder, expected = release
    text = left.configuration_of(folder)
    one = daemon(text, start=False)
    shutil.copytree(folder / "state", one.state)
    if without == "checkpoint":
        for path in one.state.glob("*.checkpoint"):
            path.unlink()
    elif without == "journal":
        shutil.rmtree(one.state / "journal")
    client = one.start().client()
    if without == "journal":
        assert [client.model(name)["decisions"] for name in left.MODELS] == left.decided(60)
        return
    now = left.looked_at(client)
    for name, was in expected["models"].items():
        same(now[name], was, (name,))
    for name in left.MODELS:  # number 100 waits, 101 was learned
        said = [client.ok("feedback", name, {"id": f"{name}-{i}", **left.told(name, 0.5)})["result"] for i in (100, 101)]
        assert said == ["applied", "duplicate"], name
    one.restart()
    assert [client.model(name)["decisions"] for name in left.MODELS] == left.decided(115)


def test_models_of_logs_and_of_rows_open(daemon, release, tmp_path):
    folder, expected = release
    same(left.replayed(folder), expected["replayed"], ("replayed",))
    for name, was in expected["trained"].items():
        now = left.predictions(folder, name, tmp_path / "out")
        assert now[0] == was[0] and len(now) == len(was)
        assert sum(not close(a, b) for a, b in zip(now, was)) <= NEAR * len(was), name
    one = daemon(f'model "shop" {{ start_from = "{folder / "log.model"}" }}\n')
    answer = one.client().ok("decide", "shop", {"id": 1, "x": {"a=1": 1, "b": 0.5}})
    assert answer["a"] in range(2) and 0 < answer["p"] <= 1
