"""coppice-refit, the program of refits: what is in it and not in coppiced, how the daemon finds it, and versions."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import model, program, wait_for
from test_refit import TRAP, ended, refit_model, refit_of, teach

BATCH = [Path(p) for p in os.environ.get("BATCH_LIBRARIES", "").split(":") if p]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def defined(path):
    """The symbols that a program or library defines; those of a program may be local, as the linker likes."""
    out = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True)
    return {line.split()[2] for line in out.stdout.splitlines() if len(line.split()) == 3}


def test_only_the_worker_holds_batch_learners():
    assert {path.name for path in BATCH} == {"libcop_train.a", "libcop_graph.a", "libcop_refit_fit.a"}
    batch = {symbol for path in BATCH for symbol in defined(path) if symbol.startswith("cop_")}
    assert {"cop_tao_fit", "cop_laptao_fit", "cop_graph_new", "cop_neighbours_approximate", "cop_refit_run"} <= batch
    daemon, worker = defined(program("COPPICED")), defined(program("COPPICE_REFIT"))
    assert "cop_model_decide" in daemon and sorted(batch & daemon) == []
    assert "cop_tao_fit" in worker and "cop_server_open" not in worker


def test_link_line_of_the_daemon_names_no_batch_library():
    lines = Path(program("COPPICED")).parent / "CMakeFiles"
    if not (lines / "coppiced.dir" / "link.txt").exists():
        pytest.skip("a generator that writes no link.txt")
    daemon = (lines / "coppiced.dir" / "link.txt").read_text()
    worker = (lines / "coppice-refit.dir" / "link.txt").read_text()
    assert "libcop_online.a" in daemon and "libcop_train.a" in worker
    for name in (path.name for path in BATCH):
        assert name not in daemon and name in worker
    for name in ("zmq", "microhttpd", "confuse", "systemd"):
        assert name in daemon and name not in worker


def test_worker_of_another_version_refuses_before_it_reads_the_rest():
    worker = program("COPPICE_REFIT")
    version = run(worker, "--version").stdout.split()[1]
    refused = run(worker, "--state-dir=/nonexistent", "--version=9.8.7", "--of-a-later-version=1")
    assert refused.returncode == 0 and refused.stdout.startswith("result failed 0 0 0 ")
    assert f"coppice-refit is of version {version}, the daemon of 9.8.7; expected the same" in refused.stdout
    known = run(worker, f"--version={version}", "--state-dir=/nonexistent", "--model=m", "--of-a-later-version=1")
    assert known.returncode == 2 and "--of-a-later-version=1" in known.stderr and known.stdout == ""
    alone = run(worker, "--state-dir=/nonexistent", "--model=m")
    assert alone.returncode == 2 and "--version" in alone.stderr


def test_worker_by_hand_explains_itself():
    worker = program("COPPICE_REFIT")
    assert "coppiced starts it" in run(worker, "--help").stdout
    nothing = run(worker)
    assert nothing.returncode == 2 and "expected what coppiced starts it with" in nothing.stderr


def test_daemon_is_no_worker():
    out = run(program("COPPICED"), "--refit-worker", "--model=m")
    assert out.returncode == 2 and "unrecognized option '--refit-worker'" in out.stderr


@pytest.fixture
def moved(daemon, tmp_path):
    """A daemon whose program is a copy in a bin/ of its own, without coppice-refit; not started."""
    def make(**options):
        one = daemon(refit_model(), start=False, **options)
        (tmp_path / "bin").mkdir()
        one.program = str(shutil.copy(program("COPPICED"), tmp_path / "bin" / "coppiced"))
        if os.path.exists(missing_path(one)):
            pytest.skip("coppice-refit is installed on this machine")
        return one
    return make


def missing_path(one):
    """The path that --check names when there is no program."""
    out = run(one.program, "--config", one.config, "--check")
    named = re.search(r"expected (/\S+/coppice-refit),", out.stderr)
    return named.group(1) if named else "/"


def test_daemon_starts_the_program_of_its_installation(moved, tmp_path):
    one = moved(env={TRAP: "HANG@loading"})
    (tmp_path / "libexec" / "coppice").mkdir(parents=True)
    installed = shutil.copy(program("COPPICE_REFIT"), tmp_path / "libexec" / "coppice" / "coppice-refit")
    one.start()
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    pid = wait_for(lambda: refit_of(client).get("text") == "loading" and refit_of(client)["pid"], "a worker")
    assert os.readlink(f"/proc/{pid}/exe") == str(installed)
    assert Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] == b"coppice-refit"


def test_program_beside_the_daemon_comes_first(moved, tmp_path):
    one = moved(env={TRAP: "HANG@loading"})
    (tmp_path / "libexec" / "coppice").mkdir(parents=True)
    shutil.copy(program("COPPICE_REFIT"), tmp_path / "libexec" / "coppice" / "coppice-refit")
    beside = shutil.copy(program("COPPICE_REFIT"), tmp_path / "bin" / "coppice-refit")
    one.start()
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    pid = wait_for(lambda: refit_of(client).get("text") == "loading" and refit_of(client)["pid"], "a worker")
    assert os.readlink(f"/proc/{pid}/exe") == str(beside)


def test_missing_program_is_told_by_check_start_and_reload(moved, tmp_path):
    one = moved()
    beside = tmp_path / "bin" / "coppice-refit"
    checked = run(one.program, "--config", one.config, "--check")
    assert checked.returncode == 1 and 'model "m": refit: enabled' in checked.stderr
    assert f"expected {missing_path(one)}, or coppice-refit beside coppiced" in checked.stderr
    assert missing_path(one).endswith("libexec/coppice/coppice-refit")
    started = run(one.program, "--config", one.config, "--foreground")
    assert started.returncode == 1 and "the program of refits is missing" in started.stderr
    enabled = one.config.read_text()
    one.config.write_text(enabled.replace("enabled = true", "enabled = false"))
    assert run(one.program, "--config", one.config, "--check").returncode == 0
    one.start()
    client = one.client()
    one.config.write_text(enabled)
    error = client.error("reload")
    assert error["code"] == "bad_request" and "the program of refits is missing" in error["message"]
    assert (refit_of(client)["state"], refit_of(client)["why"]) == ("off", "configuration")
    shutil.copy(program("COPPICE_REFIT"), beside)
    client.ok("reload")
    assert refit_of(client)["state"] == "waiting"


def test_default_without_the_program_is_off_and_told(moved, tmp_path):
    one = moved()
    one.write_config(model(refits=True, features=4, height=3))
    checked = run(one.program, "--config", one.config, "--check")
    assert checked.returncode == 0 and checked.stdout.endswith("refits off: no program\n")
    one.start()
    client = one.client()
    assert (refit_of(client)["state"], refit_of(client)["why"]) == ("off", "no program")
    assert client.error("refit", "m")["code"] == "forbidden"
    one.logged('event=refits_off model=m why="no program"')
    shutil.copy(program("COPPICE_REFIT"), tmp_path / "bin" / "coppice-refit")
    assert client.ok("reload")["applied"] == ["model m: refit.enabled: false -> true"]
    assert (refit_of(client)["state"], refit_of(client)["why"]) == ("waiting", "feedback")
    teach(client, 1000)
    assert ended(client)["last"] == "made", one.log()


def test_program_that_goes_while_the_daemon_runs_fails_the_refit_alone(moved, tmp_path):
    one = moved()
    beside = shutil.copy(program("COPPICE_REFIT"), tmp_path / "bin" / "coppice-refit")
    one.start()
    client = one.client()
    teach(client, 1000)
    os.unlink(beside)
    client.ok("refit", "m")
    failed = ended(client)
    assert failed["last"] == "failed" and "the program of refits is missing" in failed["last_reason"]
    shutil.copy(program("COPPICE_REFIT"), beside)
    client.ok("refit", "m")
    assert ended(client, 2)["last"] == "made"


def test_program_of_another_version_fails_the_refit_and_names_both(moved, tmp_path):
    one = moved()
    beside = tmp_path / "bin" / "coppice-refit"
    beside.write_text(f"""#!/usr/bin/python3
import os, sys
arguments = ["--version=0.0.7" if a.startswith("--version=") else a for a in sys.argv[1:]]
os.execv({program("COPPICE_REFIT")!r}, ["coppice-refit", *arguments])
""")
    beside.chmod(0o755)
    one.start()
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    failed = ended(client)
    assert failed["last"] == "failed" and "the daemon of 0.0.7; expected the same" in failed["last_reason"]
    assert client.model()["decisions"] == 1000
