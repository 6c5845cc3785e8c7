"""The L1 solvers reach the objectives that scikit-learn reaches on the same weighted problems.

L1_PRINT names the program that fits what it reads from standard input (unit/optim/l1_print.c).
"""

import os
import subprocess
import warnings

import pytest

np = pytest.importorskip("numpy")
linear_model = pytest.importorskip("sklearn.linear_model", reason="python3-sklearn is not installed")

PROGRAM = os.environ.get("L1_PRINT")


@pytest.fixture(autouse=True)
def program():
    if not PROGRAM:
        pytest.skip("L1_PRINT names no program")


class Problem:
    """n standardised rows of d features, `share` of them present, and weights of at most 1 over two orders: with larger
    ones saga takes steps that are too long."""

    def __init__(self, seed, n, d, share, classes=1):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
        self.x = ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32).astype(float)
        self.weight = (10.0 ** rng.uniform(-2, 0, size=n)).astype(np.float32).astype(float)
        truth = rng.normal(size=(d, classes)) * (rng.random((d, classes)) < 0.5)
        self.score = self.x @ truth + rng.normal(size=(n, classes)) * 1.5 + 0.3
        self.classes = classes

    def fit(self, kind, target, penalty, tolerance=1e-4, steps=1000):
        n, d = self.x.shape
        head = f"{kind} {n} {d} {self.classes} {penalty!r} {tolerance!r} {steps}\n"
        rows = np.column_stack([self.weight, target, self.x])
        text = head + "\n".join(" ".join(map(repr, map(float, row))) for row in rows) + "\n"
        out = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
        numbers = np.array([[float(v) for v in line.split()] for line in out[1:]])
        return float(out[0].split()[0]), numbers[:, :-1], numbers[:, -1]


def saga(problem, target, penalty, **more):
    model = linear_model.LogisticRegression(
        penalty="l1", solver="saga", C=1.0 / penalty, tol=1e-5, max_iter=5000, random_state=1, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it wants more iterations
        return model.fit(problem.x, target, sample_weight=problem.weight)


def logistic_objective(problem, sign, penalty, w, b):
    loss = np.logaddexp(0.0, -sign * (problem.x @ w + b))
    return np.sum(problem.weight * loss) + penalty * np.abs(w).sum()


def softmax_objective(problem, label, penalty, w, b):
    a = problem.x @ w.T + b
    most = a.max(axis=1)
    loss = np.log(np.exp(a - most[:, None]).sum(axis=1)) + most - a[np.arange(len(label)), label]
    return np.sum(problem.weight * loss) + penalty * np.abs(w).sum()


def assert_as_good(told, ours, theirs):
    assert abs(told - ours) <= 1e-5 * ours, f"told {told!r}, is {ours!r}"
    assert abs(ours - theirs) <= 1e-3 * theirs, f"ours {ours!r}, scikit-learn's {theirs!r}"


# The penalty is so small a share of the rows that a weight is left: saga stops where all are 0, whatever the bias.
SHAPES = [(1, 40, 5, 1.0), (2, 400, 20, 1.0), (3, 300, 60, 0.2), (4, 2000, 16, 1.0)]


@pytest.mark.parametrize("seed,n,d,share", SHAPES)
@pytest.mark.parametrize("share_of_rows", [0.001, 0.01])
def test_logistic_objective_is_that_of_saga(seed, n, d, share, share_of_rows):
    problem, penalty = Problem(seed, n, d, share), share_of_rows * n
    sign = np.where(problem.score[:, 0] > 0, 1, -1)
    told, w, b = problem.fit("logistic", sign, penalty)
    model = saga(problem, sign, penalty)
    assert_as_good(told, logistic_objective(problem, sign, penalty, w[0], b[0]),
                   logistic_objective(problem, sign, penalty, model.coef_[0], model.intercept_[0]))


@pytest.mark.parametrize("seed,n,d,share", SHAPES)
@pytest.mark.parametrize("share_of_rows", [0.001, 0.01])
def test_linear_objective_is_that_of_lasso(seed, n, d, share, share_of_rows):
    problem, penalty = Problem(seed, n, d, share), share_of_rows * n
    y = problem.score[:, 0].astype(np.float32).astype(float) + 5.0
    told, w, b = problem.fit("linear", y, penalty, tolerance=1e-6, steps=5000)
    model = linear_model.Lasso(alpha=penalty / problem.weight.sum(), tol=1e-8, max_iter=100000)
    model.fit(problem.x, y, sample_weight=problem.weight)

    def objective(w, b):
        return 0.5 * np.sum(problem.weight * (y - problem.x @ w - b) ** 2) + penalty * np.abs(w).sum()
    assert_as_good(told, objective(w[0], b[0]), objective(model.coef_, model.intercept_))


@pytest.mark.parametrize("seed,n,d,share,classes", [(1, 60, 5, 1.0, 3), (2, 400, 16, 1.0, 10), (3, 300, 30, 0.2, 5)])
@pytest.mark.parametrize("share_of_rows", [0.001, 0.01])
def test_softmax_objective_is_that_of_multinomial_saga(seed, n, d, share, classes, share_of_rows):
    problem, penalty = Problem(seed, n, d, share, classes), share_of_rows * n
    label = problem.score.argmax(axis=1)
    label[:classes] = np.arange(classes)
    told, w, b = problem.fit("softmax", label, penalty)
    model = saga(problem, label, penalty, multi_class="multinomial")
    assert_as_good(told, softmax_objective(problem, label, penalty, w, b),
                   softmax_objective(problem, label, penalty, model.coef_, model.intercept_))
