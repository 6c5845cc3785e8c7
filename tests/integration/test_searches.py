"""Settings of the papers' table that a search chose are the best trial of its log (tests/bench/paper_tables)."""

import csv
import re
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1] / "bench"


def trials(log):
    found = [re.fullmatch(r"trial (\d+): (\S+)(?: \+- \S+)?  (.*)", line).groups() for line in log.read_text().splitlines()]
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
    return [(float(loss), options.split()) for _, loss, options in found]


def test_settings_are_the_best_trial_of_their_log():
    with open(BENCH / "paper_tables.csv") as table:
        lines = [line for line in csv.DictReader(table) if line["search"]]
    logs = {BENCH / "searches" / f"{line['dataset']}-{line['table'].split()[0].lower()}.log": line for line in lines}
    assert logs and set(logs) == set((BENCH / "searches").glob("*.log"))
    for log, line in logs.items():
        tried = trials(log)
        wanted = int(re.search(r"--trials (\d+)", line["search"])[1])
        assert len(tried) == wanted, log
        _, options = min(tried, key=lambda trial: trial[0])
        assert options == line["options"].split(), f"{log}: expected the settings {' '.join(options)}"
