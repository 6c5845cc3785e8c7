"""State that an older version left: what is read, what is refused, and how its events are learned anew."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, model, program

OLDER = Path(__file__).parents[1] / "data" / "older"
DGT = model("d", learner="dgt", features=2, height=1)
VALUE = model("v", learner="value", features=2, height=1, trees=1)


def ensemble(**options):
    return model("e", features=2, height=1, trees=1, policy="epsilon", **options)


def left(daemon, text, folder=OLDER):
    """A daemon that is to start where the older one stopped."""
    one = daemon(text, start=False)
    shutil.copytree(folder, one.state)
    return one


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_older_state_of_other_learners_is_gone_on_from(daemon):
    client = left(daemon, DGT + VALUE).start().client()
    for name in "dv":  # what waited has expired since
        assert [client.model(name)[key] for key in ("rev", "decisions")] == [18, 24]
        client.decide(name, "new", [1, 0.5])
        assert client.feedback(name, "new", [0.1, 0.2] if name == "v" else 0.5) == "applied"


@pytest.mark.parametrize("options", [{}, {"experts": ["linear", "trees"]}])
def test_older_state_of_an_ensemble_is_refused_and_kept(daemon, options):
    one = left(daemon, ensemble(**options) + DGT + VALUE)
    before = content(one.state)
    one.launch()
    one.wait(1)
    assert "saved by an earlier version of coppice (learner ensemble, arms 3, features 2" in one.log()
    assert "--reset-model e" in one.log()
    after = content(one.state)
    after.pop(Path("lock"), None)
    assert after == before


def test_older_state_one_model_is_begun_anew(daemon):
    client = left(daemon, ensemble() + DGT + VALUE).start("--reset-model", "e").client()
    assert [client.model(name)["rev"] for name in "edv"] == [0, 18, 18]


def test_older_journal_is_replayed_into_the_new_learner(daemon):
    one = left(daemon, ensemble() + DGT + VALUE)
    for path in one.state.glob("*.checkpoint"):
        path.unlink()
    client = one.start().client()
    for name in "edv":
        assert [client.model(name)[key] for key in ("rev", "decisions")] == [18, 24]
    # The losses teach the experts that there are now how much each counts, whatever older ones had predicted.
    weights = [e["weight"] for e in client.ok("explain", "e", {"x": [1, 0.5]})["experts"]]
    assert sum(weights) == pytest.approx(1) and len(set(weights)) == len(weights) == 5
    client.decide("e", "new", [1, 0.5])
    assert client.feedback("e", "new", 0.5) == "applied"
    one.restart()
    assert one.client().model("e")["rev"] == 19


def test_older_events_are_learned_anew_by_replay(daemon, tmp_path):
    saved = tmp_path / "e.model"
    command = [program("COPPICE"), "replay", "--format", "journal", OLDER / "journal", "--model", "e"]
    options = ["--policy", "epsilon", "--height", "1", "--trees", "1", "--save", saved]
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=DEADLINE)
    one = left(daemon, ensemble(start_from=str(saved)) + DGT + VALUE).start("--reset-model", "e")
    assert [one.client().model(name)["rev"] for name in "edv"] == [18, 18, 18]


def test_older_state_is_inspected_as_far_as_it_goes():
    path = next(OLDER.glob("*.checkpoint"))
    told = subprocess.run([program("COPPICE"), "inspect", path, "--model", "d"], capture_output=True, text=True)
    assert told.returncode == 0 and "model d\n" in told.stdout
    told = subprocess.run([program("COPPICE"), "inspect", path, "--model", "e"], capture_output=True, text=True)
    assert told.returncode == 1 and "saved by an earlier version of coppice" in told.stderr
