"""The package of clients/python by itself: its types, its wheel, its version, README's program."""

import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import DEADLINE, free_port, model, program, section
from python_client import FOLDER, coppice


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("version", ["3.9", "3.11", "3.13"])
def test_mypy_strict(tmp_path, version):
    """The oldest Python, and those of Debian 12 and 13."""
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", "--strict", "--python-version", version, "--cache-dir", tmp_path, "coppice",
        cwd=FOLDER)


def test_mypy_refuses_what_the_types_forbid(tmp_path):
    """So the types reach those who use the package."""
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import coppice\nclient = coppice.Client(5590)\nclient.decide('m', [1]).propensity\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", wrong], cwd=tmp_path,
                          env={"MYPYPATH": str(FOLDER), "PATH": "/usr/bin"}, capture_output=True, text=True, timeout=DEADLINE)
    assert re.findall(r"wrong.py:(\d): error", done.stdout) == ["2", "3"], done.stdout


def test_wheel_is_built_without_a_network_and_works_alone(daemon, tmp_path):
    pytest.importorskip("build")
    source = tmp_path / "source"  # the build leaves files beside it
    shutil.copytree(FOLDER, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")
    version = run(program("COPPICE"), "--version").split()[1]
    assert wheel.name == f"coppice-{version}-py3-none-any.whl" and coppice.__version__ == version
    names = zipfile.ZipFile(wheel).namelist()
    sources = {f"coppice/{path.name}" for path in (FOLDER / "coppice").iterdir() if path.suffix in (".py", ".typed")}
    assert {name for name in names if not name.startswith("coppice-")} == sources
    one = daemon()
    text = f"import coppice; print(coppice.__file__, coppice.Client({one.ipc('requests')!r}).decide('m', [1, 2, 3]).a)"
    assert re.match(rf"{re.escape(str(wheel))}\S* [012]\n", run(sys.executable, "-c", text, env={"PYTHONPATH": str(wheel)}))


def test_program_of_the_readme(daemon):
    (text,) = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.S)
    assert len(text.splitlines()) <= 10
    one = daemon(start=False)
    address = f"tcp://127.0.0.1:{free_port()}"
    one.write_config(model("front-page") + section("sockets", {"requests": [address, one.ipc("requests")]}))
    one.start()
    out = run(sys.executable, "-c", text.replace("tcp://127.0.0.1:5590", address), env={"PYTHONPATH": str(FOLDER)})
    assert re.fullmatch(r"show arm \d chosen with probability [\d.]+\nreward applied\n", out)
    assert one.client().model("front-page")["learned"] == 1
