"""Manual pages as they are made: one for each subcommand with all of its options, one of the protocol, without warnings."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DEADLINE, program

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "manual"))
import markdown_scdoc  # noqa: E402

pytestmark = pytest.mark.skipif(shutil.which("scdoc") is None, reason="there is no scdoc")


@pytest.fixture(scope="module")
def man(tmp_path_factory):
    """{name of the page: its file}"""
    folder = tmp_path_factory.mktemp("man") / "man"
    subprocess.run([sys.executable, ROOT / "docs/manual/make_pages.py", program("COPPICE"), shutil.which("scdoc"), folder],
                   check=True, timeout=10 * DEADLINE)
    return {file.name: file for file in sorted(folder.glob("man*/*"))}


@pytest.fixture(scope="module")
def tables():
    """{subcommand: its options} as `--options` prints them."""
    listed = subprocess.run([program("COPPICE"), "--options"], check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
    return {text.split(" ")[0]: set(re.findall(r"^option (\S+)", text, re.M)) - {"--help"} for text in listed.split("command ")[1:]}


def read(file):
    """The page as a reader sees it, on lines as long as its text needs."""
    done = subprocess.run(["groff", "-K", "utf8", "-t", "-man", "-ww", "-Tutf8", "-P-c", "-P-b", "-P-u", "-rLL=2000n", file], check=True,
                          capture_output=True, text=True, timeout=DEADLINE)
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).replace("‐", "-").replace("−", "-")


def test_every_subcommand_has_a_page(man, tables):
    expected = {"coppice.1", "coppice.conf.5", "coppice-protocol.7", "coppiced.8", "coppice-lease.8", "coppiced-streams.8", "coppice-mpi.1", *(f"coppice-{name}.1" for name in tables)}
    assert set(man) == expected and all(file.parent.name == f"man{name[-1]}" for name, file in man.items())


needs_groff = pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")


@needs_groff
def test_pages_have_every_option_of_the_table(man, tables):
    for name, options in tables.items():
        text = read(man[f"coppice-{name}.1"])
        for option in options:
            assert re.search(rf"^ +(?:-.*, )?{option}(?![\w-])", text, re.M), (name, option)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
            assert re.search(rf"^{section}$", text, re.M), (name, section)
        assert f"coppice {name}" in text.split("SYNOPSIS")[1].split("DESCRIPTION")[0]


@needs_groff
def test_page_of_the_program_lists_the_others(man):
    text = read(man["coppice.1"])
    also = set(re.findall(r"[\w.-]+\(\d\)", text.split("SEE ALSO")[1]))
    assert also >= {re.sub(r"\.(\d)$", r"(\1)", name) for name in man} - {"coppice(1)"}
    assert not re.search(r"^ +--data-dir", text, re.M)  # options are in the pages of subcommands


@needs_groff
def test_pages_are_set_without_warnings(man):
    for name, file in man.items():
        for width in ("80n", "40n"):
            done = subprocess.run(["groff", "-K", "utf8", "-t", "-man", "-ww", "-Tutf8", "-z", f"-rLL={width}", file], check=True,
                                  capture_output=True, text=True, timeout=DEADLINE)
            assert done.stderr == "" or width == "40n", f"{name}: {done.stderr}"
    if shutil.which("man"):
        for name, file in man.items():
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file], check=True, capture_output=True,
                                  text=True, timeout=DEADLINE, env={**os.environ, "MANWIDTH": "80", "MANROFFSEQ": ""})
            assert done.stderr == "", f"{name}: {done.stderr}"


def test_names_of_pages_are_known_to_whatis(man):
    for name, file in man.items():
        stem = re.sub(r"\.\d$", "", name)
        line = re.search(r"^\.SH NAME\n(?:\.P?P\n)*(.*)", file.read_text(), re.M)[1].replace("\\&", "").replace("\\", "")
        assert re.match(rf"{re.escape(stem)} - \w", line), line


@needs_groff
def test_page_of_the_protocol_has_all_of_the_document(man):
    text, source = read(man["coppice-protocol.7"]), (ROOT / "docs/reference/protocol.md").read_text()
    for title in re.findall(r"^##+ (.*)", source, re.M):
        assert re.search(rf"^ *{re.escape(title)}$", text, re.M | re.I), title
    code = re.findall(r"^```[^\n]*\n(.*?)^```$", source, re.M | re.S)
    assert len(code) > 20
    for line in (line for block in code for line in block.splitlines() if line.strip()):
        assert line.rstrip() in text, line
    plain = re.sub(r"^```[^\n]*\n.*?^```$", "", source, flags=re.M | re.S)
    words = set(re.findall(r"`(\w+)`", plain))
    assert [word for word in words if word not in text] == []
    assert not re.search(r"\]\(|`|\*\*|\.md#", re.sub(r"^ .*\"", "", text, flags=re.M))


@pytest.mark.parametrize("markdown,scdoc", [
    ("A *b* `c_d` **e** [f](g.md#h) [i](https://j.k).", "A _b_ *c\\_d* *e* f i (https://j.k).\n"),
    ("## One *two*\n\n### Three", "# ONE TWO\n\n## Three\n"),
    ("2 * 3 and snake_case and a \\ b", "2 \\* 3 and snake\\_case and a \\\\ b\n"),
    ("- a\n  b\n- c\n  - d\n\nE", "- a b\n- c\n\t- d\n\nE\n"),
    ("1. a\n2. b", ". a\n. b\n"),
    ("    x\ty \\n\n\nz", "```\nx    y \\\\n\n```\n\nz\n"),
    ("```sh\na `b`\n```", "```\na `b`\n```\n"),
    ("| a | b |\n|---|---|\n| `c` | d \\| e |", "[[ *a*\n:[ *b*\n|[ *c*\n:[ d | e\n"),
    ("| a | b | c |\n|---|---|---|\n| `d` | " + 80 * "e" + " | f |", "*d*\n\tb: " + 80 * "e" + "; c: f\n"),
    ("- is no list\n\n[is](no.md) table", "- is no list\n\nis table\n"),
    (".is no number", "\\.is no number\n"),
])
def test_markdown_becomes_scdoc(markdown, scdoc):
    assert markdown_scdoc.convert(markdown) == scdoc
