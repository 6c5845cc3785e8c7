"""What coppice bench and costs print, compared with transcripts (test_printed.py)."""

from test_printed import check_transcript, folder  # noqa: F401


def test_bench_text_is_that_of_the_transcript(folder):  # noqa: F811
    check_transcript("bench", folder)


def test_costs_text_is_that_of_the_transcript(folder):  # noqa: F811
    check_transcript("bench_costs", folder, "COSTS")
