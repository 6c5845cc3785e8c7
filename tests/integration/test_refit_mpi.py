"""Refits by several processes: their challenger is that of one process, and a process that dies fails the refit alone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import is_sanitized, program, wait_for
from test_refit import FEATURES, TRAP, ended, refit_model, refit_of, teach

BESIDE = Path(program("COPPICED")).with_name("coppice-refit-mpi")
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_base_warn_component_unused": "0"}
THREE = "mpirun --oversubscribe -n 3"

if not BESIDE.exists() or shutil.which("mpirun") is None:
    pytest.skip("coppice-refit-mpi was NOT tried: OpenMPI is missing: tools/install-deps mpi", allow_module_level=True)
if is_sanitized(program("COPPICED")):
    pytest.skip("MPI's own memory is not the sanitizers' matter", allow_module_level=True)


def test_help_is_at_most_80_columns_wide():
    text = subprocess.run([BESIDE, "--help"], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, **ROOT_MAY}).stdout
    assert text.startswith("usage: ") and max(map(len, text.splitlines())) <= 80


def launched(text, launcher=THREE):
    return f'refit_launcher = "{launcher}"\n' + text


def challenger(one):
    return (one.state / "refit" / "refit.m.00000000000000000001.checkpoint").read_bytes()


@pytest.mark.parametrize("method", ["tao", "laptao", "forest"])
def test_challenger_is_that_of_one_process(daemon, method):
    text = refit_model(refit={"method": method})
    taught = daemon(text)
    teach(taught.client(), 2000)
    taught.stop()
    made = []
    for config in (text, launched(text)):
        one = daemon(config, start=False, env=ROOT_MAY)
        shutil.copytree(taught.state, one.state, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.ipc", "lock"))
        one.start()
        client = one.client()
        assert client.ok("refit", "m") == {"state": "queued"}
        assert ended(client)["last"] == "made", one.log()
        made.append(challenger(one))
    assert made[0] == made[1] and len(made[0]) > 1000


def test_process_that_dies_fails_the_refit_and_the_daemon_goes_on(daemon):
    one = daemon(launched(refit_model()), env={**ROOT_MAY, TRAP: "CRASH@iteration"})
    client = one.client()
    teach(client, 1500)
    client.ok("refit", "m")
    assert ended(client)["last"] == "crashed", one.log()
    assert client.ok("decide", "m", {"id": "after", "x": [0.5] * FEATURES})["a"] in (0, 1, 2)


def workers(one):
    """Process ids of a daemon's refit, wherever they come from."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"coppice-refit-mpi") and f"--state-dir={one.state}".encode() in words:
            found.append(int(folder.name))
    return sorted(found)


def test_helper_that_is_killed_ends_all(daemon):
    one = daemon(launched(refit_model()), env={**ROOT_MAY, TRAP: "HANG@iteration"})
    client = one.client()
    teach(client, 1500)
    client.ok("refit", "m")
    wait_for(lambda: len(workers(one)) == 3 and refit_of(client).get("text", "").startswith("iteration"), "a fit by three processes")
    os.kill(workers(one)[-1], 9)
    assert ended(client)["last"] == "crashed", one.log()
    wait_for(lambda: workers(one) == [], "the others to end")
    assert refit_of(client)["failed"] == 1


def test_processes_end_with_the_daemon_and_leave_no_challenger(daemon):
    one = daemon(launched(refit_model(refit={"window": 20000})), env=ROOT_MAY)
    client = one.client()
    teach(client, 6000)
    client.ok("refit", "m")
    wait_for(lambda: workers(one) != [], "processes of a refit")
    one.process.kill()
    one.process.wait()
    wait_for(lambda: workers(one) == [], "them to end")
    assert not list((one.state / "refit").glob("refit.m.*.checkpoint"))


@pytest.mark.parametrize("launcher, said", [
    ("no-such-launcher -n 2", "no-such-launcher is no program"), ("/etc/passwd", "/etc/passwd is no program"),
    (" ".join(["mpirun"] * 33), "too many words"),
])  # fmt: skip
def test_launcher_that_is_none_is_refused(daemon, launcher, said):
    one = daemon(launched(refit_model(), launcher), start=False).launch("--check")
    assert one.process.wait(60) != 0 and said in one.log()
