"""State from before the first release: every reader refuses it by name, shows the way out, and leaves it as it was."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, model, program

OLDER = Path(__file__).parents[1] / "data" / "older"
MODELS = model("d", learner="dgt", features=2, height=1) + model("v", learner="value", features=2, height=1, trees=1)
REFUSED = "was written by a coppice from before 0.1.0"
WAY_OUT = "`coppice convert --from journal` writes the events"


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("without", ["nothing", "checkpoint", "journal"])
def test_daemon_does_not_start_on_older_state_and_keeps_it(daemon, without):
    one = daemon(MODELS, start=False)
    shutil.copytree(OLDER, one.state)
    if without == "checkpoint":
        next(one.state.glob("*.checkpoint")).unlink()
    elif without == "journal":
        shutil.rmtree(one.state / "journal")
    before = content(one.state)
    one.launch()
    one.wait(1)
    assert REFUSED in one.log() and WAY_OUT in one.log()
    after = content(one.state)
    after.pop(Path("lock"), None)
    assert after == before


@pytest.mark.parametrize("command", [
    ["inspect", "CHECKPOINT"], ["journal", "dump", "JOURNAL"], ["journal", "verify", "JOURNAL"],
    ["journal", "stat", "JOURNAL"], ["convert", "--from", "journal", "--to", "csv", "JOURNAL", "-", "--model", "d"],
    ["replay", "--format", "journal", "JOURNAL", "--model", "d"]])
def test_tools_refuse_older_files_by_name(command):
    places = {"CHECKPOINT": next(OLDER.glob("*.checkpoint")), "JOURNAL": OLDER / "journal"}
    done = subprocess.run([program("COPPICE"), *[places.get(word, word) for word in command]], capture_output=True,
                          text=True, timeout=DEADLINE)
    assert done.returncode == 1
    assert REFUSED in done.stdout + done.stderr


def test_model_file_from_before_is_refused_as_a_start(daemon, tmp_path):
    """A body of the older checkpoint is such a model file."""
    body = next(OLDER.glob("*.checkpoint")).read_bytes()[28:]
    assert body[:4] == b"COPM"
    (tmp_path / "older.model").write_bytes(body)
    one = daemon(model("d", learner="dgt", features=2, height=1, start_from=str(tmp_path / "older.model")), start=False)
    one.launch()
    one.wait(1)
    assert REFUSED in one.log()
