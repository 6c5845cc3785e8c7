"""Configuring, building and testing on machines that lack something: a copy of pkg-config's folder without one file."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE

ROOT = Path(__file__).resolve().parents[2]


def run(*command, status=0, **env):
    """(standard output, standard error), for a command that must end with this status."""
    # What a make around this test left would go to the one that is started here.
    outer = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", "CMAKE_FLAGS")}
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=10 * DEADLINE, env={**outer, **env}
    )
    assert (done.returncode == 0) == (status == 0), (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout, done.stderr


def cache(build, name):
    """The value of a variable of a build's configuration; None without one."""
    match = re.search(rf"^{name}:[^=]*=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return match and match.group(1)


def count_tests(build):
    return int(re.search(r"Total Tests: (\d+)", run("ctest", "--test-dir", build, "-N")[0]).group(1))


@pytest.fixture
def pkg_config_without(tmp_path):
    """The environment in which pkg-config knows what it knows here, except these modules."""

    def make(*hidden):
        folder = tmp_path / "pkgconfig"
        folder.mkdir(exist_ok=True)
        path = run("pkg-config", "--variable", "pc_path", "pkg-config")[0].strip()
        for place in path.split(":"):
            for file in Path(place).glob("*.pc"):
                if file.stem not in hidden and not (folder / file.name).exists():
                    (folder / file.name).symlink_to(file)
        return {"PKG_CONFIG_LIBDIR": str(folder), "PKG_CONFIG_PATH": ""}

    return make


def test_without_what_tests_link_it_configures_and_asked_for_tests_it_names_the_packages(tmp_path, pkg_config_without):
    env = pkg_config_without("cmocka", "msgpack", "msgpack-c")
    run("cmake", "-S", ROOT, "-B", tmp_path / "off", "-DBUILD_TESTING=OFF", **env)
    out, _ = run("cmake", "-S", ROOT, "-B", tmp_path / "unsaid", **env)
    assert "libcmocka-dev" in out and "No tests" in out
    _, err = run("cmake", "-S", ROOT, "-B", tmp_path / "on", "-DBUILD_TESTING=ON", status=1, **env)
    assert "cmocka (Debian package libcmocka-dev)" in err and "tools/install-deps unit" in err and "libmsgpack-dev" in err
    # Where they are found later, the folder that said nothing of tests has them.
    assert count_tests(tmp_path / "unsaid") == 0
    run("cmake", tmp_path / "unsaid")
    assert count_tests(tmp_path / "unsaid") > 100


def test_all_missing_libraries_are_named_at_once(tmp_path, pkg_config_without):
    env = pkg_config_without("jansson", "libzmq", "cmocka")
    _, err = run("cmake", "-S", ROOT, "-B", tmp_path / "b", "-DBUILD_TESTING=OFF", status=1, **env)
    assert re.findall(r"^ *(\S+) \(Debian package (\S+)\)$", err, re.MULTILINE) == [
        ("libzmq>=4.3", "libzmq3-dev"), ("jansson>=2.13", "libjansson-dev")
    ]  # fmt: skip


def test_msgpack_may_be_called_msgpack_c_with_a_relative_folder(tmp_path, pkg_config_without):
    env = pkg_config_without("msgpack", "msgpack-c")
    _, err = run("cmake", "-S", ROOT, "-B", tmp_path / "b", "-DBUILD_TESTING=ON", status=1, **env)
    assert "libmsgpack-dev" in err and "libmsgpack-c-dev" in err and "tools/install-deps unit" in err
    prefix = run("pkg-config", "--variable", "prefix", "libzmq")[0].strip()
    (Path(env["PKG_CONFIG_LIBDIR"]) / "msgpack-c.pc").write_text(
        f"prefix={prefix}\nincludedir=include\nName: MessagePack\nDescription: as Debian 13 has it\nVersion: 6.0.1\n"
        "Libs: -lzmq\nCflags: -I${includedir}\n"
    )
    run("cmake", "-S", ROOT, "-B", tmp_path / "b", "-DBUILD_TESTING=ON", **env)
    commands = (tmp_path / "b/compile_commands.json").read_text()
    assert " -Iinclude" not in commands and "/-Iinclude" not in commands


def recipe(target, *more):
    """The commands of a make target, one a line."""
    return run("make", "-n", target, "BUILD=b", *more)[0].splitlines()


def test_make_demo_asks_for_no_tests_and_hides_no_error():
    commands = recipe("demo")
    (configure,) = [c for c in commands if "cmake -S" in c]
    assert "-DBUILD_TESTING=OFF" in configure
    assert not any("/dev/null" in c for c in commands)
    assert "tools/install-deps build" in commands


@pytest.mark.parametrize("selection", ["all", "unit"])
def test_make_test_asks_for_tests_builds_them_and_none_is_a_failure(selection):
    commands = recipe("test", f"TESTS={selection}")
    order = [next(i for i, c in enumerate(commands) if c.startswith(start)) for start in ("cmake -S", "cmake --build", "ctest")]
    assert order == sorted(order)
    assert "-DBUILD_TESTING=ON" in commands[order[0]]
    tests = [c for c in commands if c.startswith("ctest")]
    assert len(tests) == {"all": 2, "unit": 1}[selection]
    assert all("--no-tests=error" in c for c in tests)
    assert "-L unit" in tests[0]
    _, err = run("make", "test", "TESTS=some", status=1)
    assert "expected all or unit" in err


def test_tests_are_built_and_run_in_a_folder_that_had_them_off(tmp_path):
    """`make test` in the small: its configuration, one program, its ctest."""
    build = tmp_path / "b"
    demo = next(c for c in recipe("demo", f"BUILD={build}") if "cmake -S" in c)
    run("sh", "-c", demo)
    assert cache(build, "BUILD_TESTING") == "OFF" and count_tests(build) == 0
    run("ctest", "--test-dir", build, "--no-tests=error", "-L", "unit", status=1)
    commands = recipe("test", f"BUILD={build}")
    configure = next(c for c in commands if c.startswith("cmake -S"))
    run("sh", "-c", configure)
    run("cmake", "--build", build, "--target", "test_err")
    check = next(c for c in commands if c.startswith("ctest"))
    out, _ = run("sh", "-c", check.replace("-L unit", "-R '^test_err$'"))
    assert "100% tests passed, 0 tests failed out of 1" in out


def test_configured_again_nothing_is_compiled_in_another_way(tmp_path):
    """What `make demo` builds, `make test` goes on with."""
    build = tmp_path / "b"

    def flags():
        files = build.rglob("flags.make")
        return {str(f.relative_to(build)): f.read_text() for f in files if "/tests/" not in str(f)}

    run("cmake", "-S", ROOT, "-B", build, "-G", "Unix Makefiles", "-DBUILD_TESTING=OFF")
    first = flags()
    assert len(first) > 20 and any("isystem" in text for text in first.values())
    run("cmake", "-S", ROOT, "-B", build, "-DBUILD_TESTING=OFF")
    assert flags() == first
    run("cmake", "-S", ROOT, "-B", build, "-DBUILD_TESTING=ON")
    assert {name: text for name, text in flags().items() if name in first} == first


def test_install_deps_names_every_package_of_a_group_once():
    groups = ("build", "lease", "mpi", "streams", "unit", "test", "bench", "packages", "ports", "machine", "site", "all")
    of = {g: run("tools/install-deps", "--list", g)[0].split() for g in groups}
    for names in of.values():
        assert len(names) == len(set(names)) and not any("|" in name for name in names)
    assert set(of["build"]) < set(of["unit"]) < set(of["test"]) < set(of["bench"]) < set(of["all"]) and set(of["ports"]) < set(of["all"])
    assert set(of["site"]) < set(of["test"]) and set(of["build"]) < set(of["packages"])
    assert set(of["ports"]) < set(of["machine"])
    assert set(of["build"]) < set(of["lease"]) < set(of["test"]) and set(of["lease"]) < set(of["packages"])
    assert set(of["build"]) < set(of["mpi"]) < set(of["test"]) and set(of["mpi"]) - set(of["packages"]) == {"openmpi-bin"}
    assert set(of["build"]) < set(of["streams"]) < set(of["test"]) and set(of["streams"]) < set(of["packages"])
    for library in ("cmocka", "msgpack"):
        assert [any(library in name for name in of[group]) for group in ("build", "packages", "unit")] == [False, False, True]
    _, err = run("tools/install-deps", "some", status=1)
    assert err.startswith("usage:")


def test_readme_names_what_a_minimal_system_needs_first():
    text = (ROOT / "README.md").read_text()
    assert text.index("apt update") < text.index("apt install make git") < text.index("make demo") < text.index("make test")


def test_sources_for_x86_are_compiled_there_alone(tmp_path):
    run("cmake", "-S", ROOT, "-B", tmp_path / "b", "-DBUILD_TESTING=ON", "-DCOP_X86_64=OFF")
    commands = (tmp_path / "b/compile_commands.json").read_text()
    assert "kernel_plain.c" in commands and "bench_peak_plain.c" in commands
    assert "_avx" not in commands and "-mavx" not in commands


def ci(folder, make, *steps):
    """The lines that a copy of .ci/run ends with, where these are the words of `make` and bare roots cannot be made."""
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name, text in {"bin/make": make, "tests/ports/fresh": "echo not root; exit 77"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    done = subprocess.run(
        [folder / ".ci/run", *steps], capture_output=True, text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
    )  # fmt: skip
    return done.returncode, [re.sub(r" +\d+ s$", "", line) for line in done.stdout.splitlines()]


def test_ci_ends_with_what_each_ctest_ended_with(tmp_path):
    passed, failed = "100% tests passed, 0 tests failed out of 169", "98% tests passed, 1 tests failed out of 42"
    status, lines = ci(tmp_path / "good", f"echo noise; echo '{passed}'", "fresh", "release")
    assert status == 0
    assert [line.split() for line in lines[-3:]] == [["fresh", "SKIPPED"], ["release", "ok"], passed.split()]
    status, lines = ci(tmp_path / "bad", f"echo '{passed}'; echo '{failed}'; exit 1", "release")
    assert status == 1
    assert lines[-4:] == ["release      FAILED", passed, failed, "failed: release"]


@pytest.mark.parametrize("script", ["fresh", "other_systems"])
def test_bare_roots_are_skipped_loudly_without_root(script, tmp_path):
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")  # to be somebody else, who can read this folder
    (tmp_path / "id").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([ROOT / "tests/ports" / script], capture_output=True, text=True, timeout=DEADLINE, env=env)
    assert done.returncode == 77, (done.stdout, done.stderr)
    assert done.stderr.startswith("!!!") and "not root" in done.stderr
