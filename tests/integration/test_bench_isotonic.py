"""tests/bench/isotonic: the program's solution is the one that the generic solver finds, on one problem."""

import importlib.machinery
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from conftest import program

pytest.importorskip("cvxopt", reason="there is no cvxopt (tools/install-deps bench)")
SCRIPT = Path(__file__).resolve().parents[1] / "bench/isotonic/isotonic"
loader = importlib.machinery.SourceFileLoader("isotonic", str(SCRIPT))
isotonic = importlib.util.module_from_spec(importlib.util.spec_from_loader("isotonic", loader))
loader.exec_module(isotonic)


@pytest.mark.parametrize("depth, rows", [(1, 40), (3, 60)])
def test_both_solvers_agree(tmp_path, depth, rows):
    build = Path(program("COPPICED")).resolve().parents[1]
    if not (build / "tests/isotonic_speed").exists():
        pytest.skip("the build has no isotonic_speed")
    q, a, gradient, _ = isotonic.ours(build, depth, rows, tmp_path)
    other, other_gradient, _ = isotonic.generic(q)
    assert 0 < a.min() < a[1:].max() < 1 and np.abs(gradient).max() > 0
    assert np.abs(a - other).max() < 1e-4 and np.abs(gradient - other_gradient).max() < 1e-6
