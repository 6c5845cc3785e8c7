"""Installing, and a program of somebody else's built against what was installed."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from test_refit import ended, refit_model, teach

PROGRAM = """
#include <stdio.h>
#include <string.h>

#include "online/model.h"

int main(void)
{
	cop_model_settings settings;
	cop_model *model;
	cop_diag diag;
	cop_model_settings_init(&settings);
	settings.learner.features = 2;
	settings.learner.arms = 2;
	if (cop_model_new(&settings, &model, &diag) != COP_OK)
		return 1;
	cop_event_id id;
	cop_event_id_from_unsigned(&id, 17);
	const float x[2] = { 0.5f, 1.0f };
	cop_row row = { .d = 2, .dense = x };
	cop_model_context context = { .id = &id, .x = &row };
	cop_decision decision;
	bool repeated;
	if (cop_model_decide(model, &context, 0.0, &decision, &repeated) != COP_OK)
		return 1;
	printf("%u %g\\n", decision.arm, decision.p);
	cop_model_free(model);
	return 0;
}
"""


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


def test_installed_daemon_refits(installed, daemon):
    one = daemon(refit_model(), start=False)
    one.program = str(installed / "bin" / "coppiced")
    one.start()
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made"


def test_program_builds_with_pkg_config_and_decides(installed, tmp_path):
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config")
    (pc,) = installed.rglob("coppice.pc")
    env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    flags = subprocess.run(
        ["pkg-config", "--define-prefix", "--static", "--cflags", "--libs", "coppice"],
        env=env, capture_output=True, text=True, check=True, timeout=30,
    ).stdout.split()  # fmt: skip
    (tmp_path / "program.c").write_text(PROGRAM)
    made = subprocess.run(
        ["cc", "-o", tmp_path / "program", tmp_path / "program.c", *flags],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if made.returncode != 0 and ("asan" in made.stderr or "tsan" in made.stderr or "ubsan" in made.stderr):
        pytest.skip("the libraries are built with sanitizers")
    assert made.returncode == 0, made.stderr
    out = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=30)
    arm, p = out.stdout.split()
    assert out.returncode == 0 and arm in "01" and float(p) == 0.5


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
    """Manual pages that were not built hinder no install, and `make demo` builds all that an install takes."""
    build = tmp_path / "b"
    quiet = {"check": True, "capture_output": True, "text": True, "timeout": 600}
    (build / ".cmake/api/v1/query").mkdir(parents=True)
    (build / ".cmake/api/v1/query/codemodel-v2").touch()
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-DBUILD_TESTING=OFF"], **quiet)
    pages = ["cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'usr'}", "-P", build / "docs/cmake_install.cmake"]
    subprocess.run(pages, **quiet)
    assert not list(tmp_path.glob("usr/**/*.8"))
    if shutil.which("scdoc"):
        subprocess.run(["cmake", "--build", build, "--target", "man"], **quiet)
        subprocess.run(pages, **quiet)
        assert len(list(tmp_path.glob("usr/**/man[158]/*"))) == 3

    demo = subprocess.run(["make", "-n", "demo", "BUILD=b"], cwd=ROOT, **quiet).stdout
    (target,) = re.findall(r"^cmake --build b .*--target (.*)$", demo, re.MULTILINE)
    targets = [json.loads(file.read_text()) for file in (build / ".cmake/api/v1/reply").glob("target-*.json")]
    (shipped,) = [one for one in targets if one["name"] == target]
    built = {one["id"] for one in shipped["dependencies"]}
    installed = {one["name"]: one["id"] for one in targets if "install" in one}
    assert {"coppiced", "coppice", "cop_base", "cop_online"} <= installed.keys()
    assert [name for name, id in installed.items() if id not in built] == []
