"""The package of clients/python, for tests; it is not installed."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "python"
sys.path.insert(0, str(FOLDER))

import coppice  # noqa: E402

__all__ = ["FOLDER", "coppice"]
