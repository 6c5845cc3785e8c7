"""What coppice bench prints, compared with a transcript (test_printed.py)."""

from test_printed import check_transcript, folder  # noqa: F401


def test_bench_text_is_that_of_the_transcript(folder):  # noqa: F811
    check_transcript("bench", folder)
