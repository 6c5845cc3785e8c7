"""Fixtures of tests/integration, and faults."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "integration")]

from faults import Fault, service  # noqa: E402

daemon, pytest_configure = service.daemon, service.pytest_configure


@pytest.fixture
def fault(tmp_path):
    made = Fault(tmp_path)
    yield made
    made.end()  # what hangs goes on
