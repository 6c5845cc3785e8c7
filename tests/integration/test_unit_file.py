"""The service's unit and sysusers files, judged by systemd's own tools; no service manager has to run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "systemd" / "coppiced.service"

needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def settings():
    """Every assignment of the unit, in order."""
    lines = UNIT.read_text().splitlines()
    return [tuple(line.split("=", 1)) for line in lines if re.match(r"[A-Za-z]+=", line)]


def value(key):
    values = [v for k, v in settings() if k == key]
    assert len(values) == 1, (key, values)
    return values[0]


@needs_analyze
def test_unit_verified_prints_nothing(tmp_path):
    # Unknown keys do not change the exit status, so the output must be empty. The programs need not be installed here.
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"/usr/bin/copp\w+", "/bin/true", UNIT.read_text()))
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


@needs_analyze
def test_unit_with_unknown_key_is_noticed(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"/usr/bin/copp\w+", "/bin/true", UNIT.read_text()) + "\n[Service]\nProtectEverything=yes\n")
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert "ProtectEverything" in run.stdout + run.stderr


@needs_analyze
def test_unit_exposure_is_at_most_1_5():
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", UNIT]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout.splitlines()[-1:]


def test_unit_notifies_and_is_watched():
    assert value("Type") == "notify"
    assert value("NotifyAccess") == "main"
    assert value("WatchdogSec")
    assert value("Restart") == "on-failure"


def test_unit_allows_netlink_which_zeromq_needs():
    assert "AF_NETLINK" in value("RestrictAddressFamilies").split()


def test_unit_lets_a_refit_worker_stand_back():
    calls = {call for key, text in settings() if key == "SystemCallFilter" for call in text.split()}
    assert calls >= {"sched_setscheduler", "setpriority", "ioprio_set", "prlimit64", "setrlimit"}
    assert value("OOMPolicy") == "continue"  # a worker that is ended does not end the daemon


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
    requests = re.search(r"^\s*requests = \{(.*)\}", (ROOT / "conf" / "coppice.conf").read_text(), re.M).group(1)
    assert f'"{endpoint}"' in requests


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
