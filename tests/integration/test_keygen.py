"""Key pairs that `coppice keygen` makes: files, modes, and that a pair is one."""

import json
import stat
import subprocess

import zmq

from conftest import DEADLINE, program, watched


def keygen(*args):
    return subprocess.run([program("COPPICE"), "keygen", *map(str, args)], capture_output=True, text=True,
                          timeout=DEADLINE, env=watched())


def test_keygen_writes_a_pair_and_prints_the_public_key(tmp_path):
    done = keygen(tmp_path / "a.key")
    assert (done.returncode, done.stderr) == (0, "")
    secret, public = (tmp_path / "a.key").read_bytes(), (tmp_path / "a.key.pub").read_bytes()
    assert public == done.stdout.encode() and len(public.strip()) == len(secret.strip()) == 40
    assert zmq.curve_public(secret.strip()) == public.strip()
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600


def test_keygen_prints_json(tmp_path):
    done = keygen("--json", tmp_path / "b.key")
    answer = json.loads(done.stdout)
    assert answer == {"secret_file": str(tmp_path / "b.key"), "public_file": str(tmp_path / "b.key.pub"),
                      "public_key": (tmp_path / "b.key.pub").read_text().strip()}


def test_keygen_does_not_overwrite(tmp_path):
    (tmp_path / "a.key").write_text("mine")
    done = keygen(tmp_path / "a.key")
    assert done.returncode == 1 and "already" in done.stderr and done.stdout == ""
    assert (tmp_path / "a.key").read_text() == "mine" and not (tmp_path / "a.key.pub").exists()
    (tmp_path / "b.key.pub").write_text("mine")
    done = keygen(tmp_path / "b.key")
    assert done.returncode == 1 and "b.key.pub" in done.stderr
    assert (tmp_path / "b.key.pub").read_text() == "mine" and not (tmp_path / "b.key").exists()


def test_keygen_reports_a_folder_that_is_missing_and_wrong_usage(tmp_path):
    assert keygen(tmp_path / "no" / "a.key").returncode == 1
    assert keygen().returncode == 2 and keygen("a", "b").returncode == 2
    assert list(tmp_path.iterdir()) == []
