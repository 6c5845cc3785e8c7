"""Installing; what is installed of the library is test_library.py's."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from test_refit import ended, refit_model, teach

ROOT = pathlib.Path(__file__).resolve().parents[2]


def install(prefix, **env):
    """What `cmake --install` of this build prints."""
    build = pathlib.Path(os.environ["COPPICED"]).resolve().parent.parent
    return subprocess.run(
        ["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True, text=True, timeout=120,
        env={**os.environ, "DESTDIR": "", **env},
    ).stdout  # fmt: skip


@pytest.fixture
def installed(tmp_path):
    install(tmp_path / "usr")
    return tmp_path / "usr"


def configuration(prefix):
    """The folder that coppice.conf was installed into, not that of sysusers.d."""
    (folder,) = {file.parent for file in prefix.rglob("demo.conf")}
    return folder


def test_installed_programs_run(installed):
    for program in ("bin/coppiced", "bin/coppice", "libexec/coppice/coppice-refit"):
        out = subprocess.run([installed / program, "--version"], capture_output=True, text=True, timeout=30)
        assert out.returncode == 0 and out.stdout.startswith(program.split("/")[-1] + " ")
    assert (installed / "lib/systemd/system/coppiced.service").exists()
    assert list(installed.rglob("coppice.conf"))
    completions = {str(file.relative_to(installed / "share")) for file in installed.glob("share/*/*completions/*")}
    programs = ["coppice", "coppiced", "coppice-lease", "coppiced-streams", "coppice-mpi"]
    assert completions == {f"bash-completion/completions/{name}" for name in programs} | {
        f"zsh/vendor-completions/_{name}" for name in programs}
    if shutil.which("scdoc"):
        pages = {file.name for file in installed.glob("share/man/man*/*")}
        assert {"coppice.1", "coppice-train.1", "coppiced.8", "coppice-lease.8", "coppiced-streams.8", "coppice-mpi.1", "coppice.conf.5", "coppice-protocol.7"} <= pages


def test_installed_daemon_refits(installed, daemon):
    one = daemon(refit_model(), start=False)
    one.program = str(installed / "bin" / "coppiced")
    one.start()
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made"


def test_edited_configuration_survives_an_install(installed):
    folder = configuration(installed)
    shipped = (folder / "coppice.conf").read_text()
    assert shipped == (ROOT / "conf/coppice.conf").read_text()
    assert "Kept:" not in install(installed) and not list(folder.glob("*.dist"))

    edited = shipped.replace("arms = 6", "arms = 7")
    (folder / "coppice.conf").write_text(edited)
    for _ in range(2):
        assert f"Kept: {folder}/coppice.conf" in install(installed)
        assert (folder / "coppice.conf").read_text() == edited
        assert (folder / "coppice.conf.dist").read_text() == shipped
        assert {file.name for file in folder.iterdir()} == {"coppice.conf", "coppice.conf.dist", "demo.conf"}

    # A link that leads nowhere is somebody's too.
    (folder / "demo.conf").unlink()
    (folder / "demo.conf").symlink_to("elsewhere.conf")
    install(installed)
    assert (folder / "demo.conf").is_symlink() and (folder / "demo.conf.dist").is_file()


def test_install_for_a_package_puts_the_configuration_itself(tmp_path):
    for _ in range(2):
        install("/usr", DESTDIR=str(tmp_path))
        folder = configuration(tmp_path)
        assert (folder / "coppice.conf").read_text() == (ROOT / "conf/coppice.conf").read_text()
        assert {file.name for file in folder.iterdir()} == {"coppice.conf", "demo.conf"}
        (folder / "coppice.conf").write_text("edited\n")


def test_what_make_demo_builds_can_be_installed(tmp_path):
    """Manual pages and completions that were not built hinder no install, and `make demo` builds all that an install takes."""
    build = tmp_path / "b"
    quiet = {"check": True, "capture_output": True, "text": True, "timeout": 600}
    (build / ".cmake/api/v1/query").mkdir(parents=True)
    (build / ".cmake/api/v1/query/codemodel-v2").touch()
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-DBUILD_TESTING=OFF"], **quiet)
    pages = ["cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'usr'}", "-P", build / "docs/cmake_install.cmake"]
    subprocess.run(pages, **quiet)
    assert not list(tmp_path.glob("usr/**/*.8")) and not list(tmp_path.glob("usr/**/completions/*"))

    demo = subprocess.run(["make", "-n", "demo", "BUILD=b"], cwd=ROOT, **quiet).stdout
    (target,) = re.findall(r"^cmake --build b .*--target (.*)$", demo, re.MULTILINE)
    targets = [json.loads(file.read_text()) for file in (build / ".cmake/api/v1/reply").glob("target-*.json")]
    (shipped,) = [one for one in targets if one["name"] == target]
    built = {one["id"] for one in shipped["dependencies"]}
    installed = {one["name"]: one["id"] for one in targets if "install" in one}
    assert {"coppiced", "coppice", "cop_shared", "cop_static", "cop_client_shared", "cop_client_static"} <= installed.keys()
    assert [name for name, id in installed.items() if id not in built] == []
