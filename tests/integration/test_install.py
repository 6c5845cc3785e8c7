"""Installing, and a program of somebody else's built against what was installed."""

import os
import pathlib
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


@pytest.fixture
def installed(tmp_path):
    build = pathlib.Path(os.environ["COPPICED"]).resolve().parent.parent
    subprocess.run(
        ["cmake", "--install", build, "--prefix", tmp_path / "usr"], check=True, stdout=subprocess.DEVNULL, timeout=120
    )
    return tmp_path / "usr"


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
