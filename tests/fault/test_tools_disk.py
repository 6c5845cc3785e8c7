"""Every call on files that a tool makes fails once: it ends with status 1 and the reason, or does its work nevertheless,
and then what it wrote is what it writes without the failure."""

import errno
import os
import subprocess

import pytest
from faults import CUT, FOLDER, OPEN, READ, RENAME, SYNC, WRITE, Fault, service
from test_tools_memory import COMMANDS, OUTPUTS, clean, folder, run  # noqa: F401

KINDS = {"open": OPEN, "read": READ, "write": WRITE, "sync": SYNC, "rename": RENAME, "cut": CUT, "folder": FOLDER}
NAMES = [name for name in COMMANDS if not name.startswith(("simulate_", "train_", "inspect_t", "costs_events"))]
EVERY = 12  # of the first calls each, then further and further apart
STEP = 1.5
STRICT = ("read", "write", "sync")  # of the files that the command names: none of these is passed over
# whatif: a header whose models cannot be told; they are looked for in the records, and what it says is the same.
PASSES_OVER = ("journal_salvage", "whatif")
REASON = os.strerror(errno.EDQUOT)


def nths(total):
    n = 1
    while n <= total:
        yield n
        n = n + 1 if n < EVERY else int(n * STEP)


def content(path):
    """Without what is measured; a segment without the mark at its end, which need not get there."""
    data = path.read_bytes()
    if path.suffix == ".journal":
        return data.rstrip(b"\0").removesuffix(b"ri\x9a\x15\x7f").rstrip(b"\0")
    if path.name in ("report.txt", "report.html"):
        return len(data.splitlines())
    return [line.rpartition(b",")[0] for line in data.splitlines()] if path.name == "out.csv" else data


def contents(folder):  # noqa: F811
    """Of all that is written."""
    made = [folder / name for name in OUTPUTS]
    made += [part for path in made if path.is_dir() for part in path.iterdir()]
    return {str(path.relative_to(folder)): content(path) for path in made if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_tool_whose_files_fail_gives_the_reason(name, kind, folder, tmp_path):  # noqa: F811
    fault = Fault(tmp_path)
    path = str(folder) if kind in STRICT else ""
    clean(folder)
    fault.count(KINDS[kind], path=path)
    whole = run(COMMANDS[name], folder, fault.env)
    assert whole.returncode == 0, whole.stderr
    total, files = fault.get("count"), contents(folder)
    if total == 0:
        pytest.skip("it makes no such call")
    for n in nths(total):
        clean(folder)
        fault.begin(KINDS[kind], errno.EDQUOT, nth=n, times=1, path=path)
        done = run(COMMANDS[name], folder, fault.env)
        assert done.returncode in (0, 1), (n, total, done)
        assert fault.get("failed") == 1, (n, total)
        if done.returncode == 1:
            assert REASON in done.stderr, (n, total, done.stderr)
        elif name == "journal_salvage" and REASON in done.stdout:
            continue  # what cannot be read is passed over, which its report names
        else:
            assert kind not in STRICT or name in PASSES_OVER, (n, total)
            assert contents(folder) == files, (n, total)
            assert done.stdout.count("\n") == whole.stdout.count("\n"), (n, total)


# ---- the copy of a daemon's state


@pytest.mark.parametrize("kind", KINDS)
def test_backup_whose_files_fail_names_the_reason_and_leaves_no_half_a_copy(daemon, tmp_path, kind):
    fault = Fault(tmp_path)
    kinds = KINDS[kind]
    d = daemon(service.model() + service.section("checkpoint", {"every": "7d"}))
    client = d.client()
    service.grow(client, events=50)
    copy = tmp_path / "kopie"

    def backup():
        command = [service.program("COPPICE"), "ctl", "--endpoint", d.ipc("admin"), "backup", str(copy)]
        return subprocess.run(command, env={**os.environ, **fault.env}, capture_output=True, text=True,
                              timeout=service.DEADLINE)

    def remove():
        for path in sorted(copy.rglob("*"), reverse=True) if copy.exists() else []:
            path.rmdir() if path.is_dir() else path.unlink()
        if copy.exists():
            copy.rmdir()

    path = "/state" if kind == "read" else "kopie"
    fault.count(kinds, path=path)
    assert backup().returncode == 0
    total = fault.get("count")
    if total == 0:
        pytest.skip("it makes no such call")
    failures = 0
    for n in nths(total):
        remove()
        fault.begin(kinds, errno.EDQUOT, nth=n, times=1, path=path)
        done = backup()
        assert fault.get("failed") == 1
        assert done.returncode in (0, 1), (n, total, done)
        if done.returncode == 1:
            assert REASON in done.stderr, (n, total, done.stderr)
        failures += done.returncode
    assert failures == len(list(nths(total)))
    fault.end()
    remove()
    assert backup().returncode == 0
