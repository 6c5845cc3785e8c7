"""What coppice bench prints, compared with transcripts (test_printed.py)."""

import pytest
from conftest import is_sanitized, program
from test_printed import check_transcript, folder  # noqa: F401


def test_bench_text_is_that_of_the_transcript(folder):  # noqa: F811
    check_transcript("bench", folder)


def test_bench_of_all_shapes_is_that_of_the_transcript(folder):  # noqa: F811
    if is_sanitized(program("COPPICE")):
        pytest.skip("takes minutes")
    check_transcript("bench_all", folder)
