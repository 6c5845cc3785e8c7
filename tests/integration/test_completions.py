"""Completions of bash and zsh: every option of the programs' tables is in them, and the shells complete by them."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import DEADLINE, program, watched

ROOT = Path(__file__).resolve().parents[2]


def variable(name):
    return name.upper().replace("-", "_")


# coppice-mpi has those of coppice train, and --options would need MPI.
NAMES = ["coppice", "coppiced", *(name for name in ("coppiced-streams", "coppice-lease") if variable(name) in os.environ)]
BASH, ZSH = shutil.which("bash"), shutil.which("zsh")
no_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")
no_zsh = pytest.mark.skipif(ZSH is None, reason="there is no zsh")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with bash/ and zsh/."""
    folder = tmp_path_factory.mktemp("completions")
    programs = [*(program(variable(name)) for name in NAMES), "coppice-mpi"]
    subprocess.run([sys.executable, ROOT / "docs/manual/make_completions.py", *programs, folder], check=True, timeout=10 * DEADLINE)
    return folder


@pytest.fixture(scope="module")
def tables():
    """(program, command, its options) as `--options` prints them, without the reader that the completions are made by."""
    found = []
    for name in NAMES:
        done = subprocess.run([program(variable(name)), "--options"], check=True, capture_output=True, text=True, timeout=DEADLINE,
                              env=watched() if name == "coppice" else None)
        assert done.stderr == ""
        command = name
        for line in done.stdout.splitlines():
            what, one, *_ = line.split(" ")
            command = one if what == "command" else command
            if what == "option" and one not in ("--help", "--options"):
                found.append((name, command, one))
    assert len(found) > 300
    return found


def test_list_for_programs_has_every_subcommand(tables):
    done = subprocess.run([program("COPPICE"), "--help"], check=True, capture_output=True, text=True, timeout=DEADLINE)
    assert {command for name, command, _ in tables if name == "coppice"} == set(re.findall(r"^  (\w+) {2,}", done.stdout, re.M))


def test_table_of_options_is_what_help_has(tables):
    helps = {}
    for name, command, option in tables:
        words = [program(variable(name)), *([command] if command != name else []), "--help"]
        if command not in helps:
            helps[command] = subprocess.run(words, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", helps[command]), (command, option)
    for command, text in helps.items():
        heads = {one for line in re.findall(r"^  (-.*)$", text, re.M) for one in re.findall(r"^--[a-z][\w-]*", line)}
        assert heads - {"--help"} <= {option for _, one, option in tables if one == command}, command


# ---- bash

COMPLETE = """
source "$1"
COMP_LINE=$3 COMP_POINT=${#3}
shift 3
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_"$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(made, *words, cwd=None):
    """What a script gets from the completion of the last word; = divides words there as it does when typing."""
    name = words[0]
    done = subprocess.run([BASH, "-u", "-c", COMPLETE, "bash", made / "bash" / name, name, " ".join(words), *words],
                          capture_output=True, text=True, cwd=cwd, timeout=DEADLINE)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@no_bash
def test_bash_completes_every_option_of_every_command(made, tables):
    for name in NAMES:
        commands = {command for one, command, _ in tables if one == name}
        for command in commands:
            words = [name, *([command] if command != name else []), "-"]
            expected = {option for one, other, option in tables if (one, other) == (name, command)}
            assert set(bash(made, *words)) == expected | {"--help"}, command


@no_bash
def test_bash_completes_subcommands(made, tables):
    assert bash(made, "coppice", "tr") == ["train"]
    every = {command for name, command, _ in tables if name == "coppice"}
    assert set(bash(made, "coppice", "")) == every | {"help", "--help", "--version"}
    assert set(bash(made, "coppice", "help", "")) == every


@no_bash
@pytest.mark.parametrize("words,expected", [
    (("coppice", "train", "--le"), {"--learner", "--leaves", "--leaf-alpha", "--leaf-classes", "--least-gain"}),
    (("coppice", "train", "--learner", "ta"), {"tao"}),
    (("coppice", "train", "--learner", "=", "ta"), {"tao"}),
    (("coppice", "train", "--learner", "=", ""), {"cart", "dgt", "tao", "softmax", "laptao", "latent", "polytope"}),
    (("coppice", "train", "--learner=ta"), {"--learner=tao"}),
    (("coppice", "train", "--seed", ""), set()),
    (("coppice", "simulate", "--policy", "f"), {"fastcb"}),
    (("coppice", "ctl", "st"), {"status"}),
    (("coppice", "ctl", "--timeout", "9", "re"), {"reload", "refit"}),
    (("coppice", "ctl", "--timeout", "=", "9", "re"), {"reload", "refit"}),
    (("coppice", "ctl", "model", ""), {"add", "set", "unset", "reset", "remove"}),
    (("coppice", "ctl", "freeze", ""), {"rows.csv", "two words.csv", "state"}),
    (("coppice", "journal", ""), {"ls", "stat", "verify", "dump", "salvage"}),
    (("coppice", "journal", "dump", "state", "--type", "fe"), {"feedback"}),
    (("coppice", "bench", "p"), {"parse"}),
    (("coppice", "train", "--train", "ro"), {"rows.csv"}),
    (("coppice", "train", "--train", "tw"), {"two words.csv"}),
    (("coppice", "train", "--train=ro"), {"--train=rows.csv"}),
    (("coppice", "bakeoff", "--data-dir", ""), {"state"}),
    (("coppice", "predict", "rows.csv", ""), {"rows.csv", "two words.csv", "state"}),
    (("coppiced", "--config", "r"), {"rows.csv"}),
    (("coppiced", "--print"), {"--print-config"}),
    (("coppice-mpi", ""), {"train", "help", "--help", "--version"}),
    (("coppice-mpi", "train", "--learner", "ta"), {"tao"}),
    (("coppice", "nothing", "-"), {"--help"}),
])
def test_bash_completes_words(made, tmp_path, words, expected):
    (tmp_path / "state").mkdir()
    for name in ("rows.csv", "two words.csv"):
        (tmp_path / name).touch()
    assert set(bash(made, *words, cwd=tmp_path)) == expected


@no_bash
@pytest.mark.parametrize("command", ["ctl", "journal", "bench"])
def test_verbs_are_those_that_the_program_expects(made, command):
    wrong = subprocess.run([program("COPPICE"), command, "nothing", "x"], capture_output=True, text=True, timeout=DEADLINE)
    assert wrong.returncode == 2
    listed = re.search(r"expected (?:a verb: )?([a-z]+(?:, [a-z]+)*,? or [a-z]+)", wrong.stderr)
    assert listed, wrong.stderr
    verbs = set(re.split(r",? or |, ", listed[1]))
    assert set(bash(made, "coppice", command, "")) == verbs
    text = re.search(rf"^\t{command}\)\n(.*?)^\t\t;;$", (made / "zsh/_coppice").read_text(), re.M | re.S)[1]
    assert all(re.search(rf"[( ]{verb}(?:\\:| |\))", text) for verb in verbs)


@no_bash
@pytest.mark.parametrize("words,expected", [
    (("coppiced-streams", "--"), {"--config", "--foreground", "--check", "--version", "--help"}),
    (("coppiced-streams", "--config", "r"), {"rows.csv"}),
    (("coppice-lease", "--etcd-"), {"--etcd-ca", "--etcd-cert", "--etcd-key"}),
    (("coppice-lease", "--server-key", "ro"), {"rows.csv"}),
])
def test_bash_completes_programs_beside_the_daemon(made, tmp_path, words, expected):
    program(variable(words[0]))  # skipped where it was not built
    (tmp_path / "rows.csv").touch()
    assert set(bash(made, *words, cwd=tmp_path)) == expected


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, command, cwd, **env):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(cwd)
            os.environ.update(TERM="dumb", PS1="", HISTFILE="", INPUTRC="/dev/null", COLUMNS="200", **env)
            os.execv(command[0], command)

    def type(self, text, until):
        """Types the text, and waits for a pattern in all that is shown."""
        os.write(self.terminal, text.encode())
        shown, end = "", time.monotonic() + DEADLINE
        while not re.search(until, shown):
            assert select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0], f"{until!r} is not in {shown!r}"
            shown += os.read(self.terminal, 4096).decode(errors="replace")
        return shown

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


@no_bash
def test_bash_completes_what_is_typed(made, tmp_path):
    (tmp_path / "two words.csv").touch()
    shell = Shell([BASH, "--norc", "--noprofile", "-i"], tmp_path)
    try:
        shell.type(f"source {made}/bash/coppice; echo rea''dy\n", "ready")
        shell.type("echo; coppice tr\t", r"coppice train ")
        shell.type("--lear\t", r"ner ")
        shell.type("\x15coppice train --learner=ta\t", r"--learner=tao ")
        shell.type("\x15coppice train --train tw\t", r"two\\ words\.csv")
    finally:
        shell.close()


# ---- zsh


def test_zsh_has_every_option_of_every_command(made, tables):
    for name in NAMES:
        text = (made / "zsh" / f"_{name}").read_text()
        assert text.startswith(f"#compdef {name}\n")
        parts = {name: text} if name != "coppice" else dict(re.findall(r"^\t(\w+)\)\n(.*?)^\t\t;;$", text, re.M | re.S))
        for one, command, option in tables:
            if one == name:
                assert re.search(rf"'\*?{option}[\[=+]", parts[command]), (command, option)


@no_zsh
def test_zsh_completes_what_is_typed(made, tmp_path):
    (tmp_path / "rows.csv").touch()
    for file in (made / "zsh").iterdir():
        subprocess.run([ZSH, "-n", file], check=True, timeout=DEADLINE)
    shell = Shell([ZSH, "-f", "-i"], tmp_path)
    try:
        shell.type(f"fpath=({made}/zsh $fpath); autoload -Uz compinit; compinit -u -D; unsetopt list_beep; echo rea''dy\n", "ready")
        shell.type("coppice tr\t", r"train ")
        shell.type("--lear\t", r"--learner=?")
        shell.type("ta\t", r"tao ")
        shell.type("\x15coppice ctl sta\t", "status ")
        shell.type("\x15coppice ctl model ad\t", "add ")
        shell.type("\x15coppice train --train ro\t", r"rows\.csv")
        shell.type("\x15coppiced --pri\t", "--print-config ")
        shell.type("\x15coppice-mpi tr\t", "train ")
        if "coppiced-streams" in NAMES:
            shell.type("\x15coppiced-streams --fore\t", "--foreground ")
    finally:
        shell.close()
