"""Files that commands write: links are written through, what is no regular file is refused or written in place."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, coppice, program

DATA = Path(__file__).parent.parent / "data"
LOG = "1:0.5:0.25 | a:1 b:2\n2:0:0.5 | a:2 b:1\n" * 40
TRAIN = ("train", "--learner", "cart", "--height", "2", "--train", DATA / "satimage.train.csv.gz", "--test",
         DATA / "satimage.test.csv.gz", "--json", "--model")


def replay(folder):
    log = folder / "log.vw"
    log.write_text(LOG)
    return "replay", "--format", "vw", log, "--arms", "2", "--json", "--save"


@pytest.fixture(params=["train", "replay"])
def saving(request, tmp_path):
    """A command that saves a model to the name that is appended."""
    return TRAIN if request.param == "train" else replay(tmp_path)


def test_model_saved_to_fifo_is_refused_and_fifo_stays(saving, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert f"{fifo}: is no regular file; expected a regular file" in coppice(*saving, fifo, status=1)[1]
    assert stat.S_ISFIFO(fifo.lstat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes can be made by root only")
def test_model_saved_to_device_is_refused_and_device_stays(saving, tmp_path):
    device = tmp_path / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    assert "expected a regular file" in coppice(*saving, device, status=1)[1]
    assert stat.S_ISCHR(device.lstat().st_mode)


def test_model_saved_through_link_keeps_link(saving, tmp_path):
    target = tmp_path / "versions" / "1.model"
    target.parent.mkdir()
    link = tmp_path / "current.model"
    link.symlink_to("versions/1.model")
    for _ in range(2):  # the target is not there yet, then it is replaced
        coppice(*saving, link)
        assert link.is_symlink()
        assert target.read_bytes()[:4] == b"COPF"
    assert sorted(path.name for path in target.parent.iterdir()) == ["1.model"]


def test_replay_that_fails_leaves_saved_model_as_it_was(tmp_path):
    saving = replay(tmp_path)
    model = tmp_path / "m.model"
    coppice(*saving, model)
    before = model.read_bytes()
    (tmp_path / "log.vw").write_text(LOG + "not a row\n")
    coppice(*saving, model, status=1)
    assert model.read_bytes() == before


def test_predictions_replace_a_file_as_a_whole_and_go_into_a_pipe(tmp_path):
    model = tmp_path / "m.model"
    coppice(*TRAIN, model)
    out = tmp_path / "out.csv"
    link = tmp_path / "link.csv"
    link.symlink_to(out.name)
    coppice("predict", model, DATA / "satimage.test.csv.gz", "--out", link)
    assert link.is_symlink()
    rows = out.read_text()
    assert rows.count("\n") > 1000
    piped = subprocess.run(["sh", "-c", f'"{program("COPPICE")}" predict "{model}" "{DATA}/satimage.test.csv.gz" '
                            '--out /dev/stdout | cat'], capture_output=True, text=True, timeout=5 * DEADLINE)
    assert (piped.returncode, piped.stdout) == (0, rows)


def test_inspect_writes_through_link(tmp_path):
    model = tmp_path / "m.model"
    coppice(*TRAIN, model)
    link = tmp_path / "page.html"
    link.symlink_to("target.html")
    coppice("inspect", model, "--view", "html", "--out", link)
    assert link.is_symlink()
    assert "<html" in (tmp_path / "target.html").read_text()
