"""The service's unit and sysusers files, judged by systemd's own tools; no service manager has to run."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import free_port, is_sanitized, program, section, wait_for
from test_refit import TRAP, ended, refit_model, refit_of, teach

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "systemd" / "coppiced.service"
INSTANCE = "coppiced@.service"  # made by the build

needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def settings(unit=UNIT):
    """Every assignment of a unit, in order."""
    lines = unit.read_text().splitlines()
    return [tuple(line.split("=", 1)) for line in lines if re.match(r"[A-Za-z]+=", line)]


def built(name):
    return Path(program("COPPICED")).resolve().parent / name


def value(key):
    values = [v for k, v in settings() if k == key]
    assert len(values) == 1, (key, values)
    return values[0]


@needs_analyze
@pytest.mark.parametrize("name", ["coppiced.service", "coppiced@shop.service", "coppice-lease.service", "coppiced-streams.service"])
def test_unit_verified_prints_nothing(name, tmp_path):
    # Unknown keys do not change the exit status, so the output must be empty. The programs need not be installed here.
    unit = tmp_path / name
    unit.write_text(re.sub(r"(/\w+)+/(bin|libexec/coppice)/copp[\w-]+", "/bin/true", built(name.replace("shop", "")).read_text()))
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_instance_is_the_unit_with_folders_of_its_own():
    unit, instance = settings(built(UNIT.name)), settings(built(INSTANCE))
    assert [key for key, _ in unit] == [key for key, _ in instance]
    other = {key: text for (key, text), before in zip(instance, unit) if (key, text) != before}
    folders = {"StateDirectory": "coppice@%i", "RuntimeDirectory": "coppice@%i", "WorkingDirectory": "/var/lib/coppice@%i"}
    assert folders.items() <= other.items()
    assert other.keys() - folders.keys() == {"Description", "ExecStart", "ExecReload"}
    assert other["ExecStart"].endswith("/etc/coppice/%i.conf")
    assert " ipc:///run/coppice@%i/admin.ipc " in other["ExecReload"]


@needs_analyze
def test_unit_with_unknown_key_is_noticed(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"/usr/bin/copp\w+", "/bin/true", UNIT.read_text()) + "\n[Service]\nProtectEverything=yes\n")
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert "ProtectEverything" in run.stdout + run.stderr


@needs_analyze
@pytest.mark.parametrize("name", [UNIT.name, INSTANCE, "coppice-lease.service", "coppiced-streams.service"])
def test_unit_exposure_is_at_most_1_5(name):
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", built(name)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout.splitlines()[-1:]


def test_unit_notifies_and_is_watched():
    assert value("Type") == "notify"
    assert value("NotifyAccess") == "main"
    assert value("WatchdogSec")
    assert value("Restart") == "on-failure"


def test_unit_allows_netlink_which_zeromq_needs():
    assert "AF_NETLINK" in value("RestrictAddressFamilies").split()


def test_unit_lets_the_program_of_refits_be_started():
    keys = {key for key, _ in settings()}
    assert keys.isdisjoint({"NoExecPaths", "InaccessiblePaths", "TemporaryFileSystem", "RootDirectory", "RootImage"})
    assert value("ProtectSystem") == "strict"  # /usr is there, and read-only


def sandbox():
    """The command that starts a program under the unit's filter of system calls."""
    if is_sanitized(program("COPPICED")):
        pytest.skip("sanitizers make calls of their own")
    return [sys.executable, Path(__file__).with_name("unit_sandbox.py"), UNIT]


@needs_analyze
def test_unit_kills_what_calls_beyond_its_filter():
    command = [*sandbox(), sys.executable, "-c", "import os; print('here', flush=True); os.setuid(os.getuid()); print('there')"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (run.stdout, run.returncode) == ("here\n", -signal.SIGSYS)


@needs_analyze
def test_unit_lets_a_refit_worker_stand_back(daemon):
    one = daemon(refit_model(refit={"memory": "300MiB", "idle": True}), env={TRAP: "HANG@loading"}, command=sandbox())
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    worker = wait_for(lambda: refit_of(client).get("text") == "loading" and refit_of(client)["pid"], "a worker")
    proc = Path(f"/proc/{worker}")
    assert os.sched_getscheduler(worker) == os.SCHED_IDLE
    assert os.getpriority(os.PRIO_PROCESS, worker) == 19
    assert (proc / "oom_score_adj").read_text() == "1000\n"
    limits = dict(re.findall(r"^(Max [a-z ]+?)  +(\S+)", (proc / "limits").read_text(), re.M))
    assert 300 << 20 < int(limits["Max address space"]) and limits["Max core file size"] == "0"
    os.kill(worker, signal.SIGKILL)
    assert ended(client)["last"] == "crashed"


@needs_analyze
def test_unit_lets_a_daemon_serve_refit_and_promote(daemon):
    text = refit_model() + section("journal", {"segment": "64KiB", "compress": True}) + section(
        "http", {"listen": f"127.0.0.1:{free_port()}"})
    one = daemon(text, command=sandbox())
    client = one.client()
    teach(client, 3000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made"
    client.ok("promote", "m")
    client.ok("checkpoint")
    one.restart()
    teach(one.client(), 200, "after")


def test_unit_keeps_the_daemon_when_a_worker_is_ended():
    assert value("OOMPolicy") == "continue"


def test_unit_keeps_linear_algebra_to_one_thread():
    assert value("Environment") == "OPENBLAS_NUM_THREADS=1"


def test_unit_folders_are_the_ones_of_the_example_configuration():
    for key in ("StateDirectory", "RuntimeDirectory", "ConfigurationDirectory"):
        assert value(key) == "coppice"
    example = (ROOT / "conf" / "coppice.conf").read_text()
    assert 'state_dir = "/var/lib/coppice"' in example
    assert "/etc/coppice/coppice.conf" in value("ExecStart")


def test_unit_reloads_over_an_endpoint_of_the_example_configuration():
    endpoint = re.search(r"--endpoint (\S+)", value("ExecReload")).group(1)
    admin = re.search(r"^\s*admin = \{(.*)\}", (ROOT / "conf" / "coppice.conf").read_text(), re.M).group(1)
    assert f'"{endpoint}"' in admin


def test_sysusers_makes_the_user_of_the_unit():
    lines = (ROOT / "systemd" / "coppice.sysusers").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("u ")]
    assert users == [value("User")] == [value("Group")]


@pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="systemd-sysusers is not installed")
def test_sysusers_file_is_accepted(tmp_path):
    (tmp_path / "etc").mkdir()
    for name in ("passwd", "group", "shadow", "gshadow"):
        (tmp_path / "etc" / name).touch()
    command = ["systemd-sysusers", f"--root={tmp_path}", "--dry-run", ROOT / "systemd" / "coppice.sysusers"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr
    assert "coppice" in run.stdout + run.stderr or run.stderr == ""
