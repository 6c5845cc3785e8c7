"""Off-policy estimates and intervals against an independent implementation in numpy, on random logs.

numpy sees all events at once and works from the textbook formulas; the program under test sees one after the other.
Quantiles come from numerical integration here, from continued fractions there.
"""

import math
import os
import subprocess

import numpy as np
import pytest

PROGRAM = os.environ.get("OFFPOLICY_PRINT")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def integrate(f, low, high):
    half = 0.5 * (high - low)
    return half * np.sum(WEIGHTS * f(low + half * (NODES + 1.0)))


def bisect(f, low, high):
    """Where the rising function f is 0."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return 0.5 * (low + high)


def student(df, tail):
    """Quantile by integrating the density, substituted t = sqrt(df) tan(u)."""
    norm = math.exp(math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df)) / math.sqrt(math.pi)
    u = bisect(lambda u: norm * integrate(lambda v: np.cos(v) ** (df - 1.0), 0.0, u) - (0.5 - tail), 0.0, 0.5 * math.pi)
    return math.sqrt(df) * math.tan(u)


def normal(level):
    return bisect(lambda z: math.erf(z / math.sqrt(2.0)) - level, 0.0, 10.0)


def beta_cdf(a, b, x):
    """Substituted x = sin(u)^2, and integrated piecewise about the peak."""
    log_b = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    cuts = np.linspace(0.0, math.asin(math.sqrt(x)), 41)
    def density(u):
        return 2.0 * np.exp((2.0 * a - 1.0) * np.log(np.sin(u)) + (2.0 * b - 1.0) * np.log(np.cos(u)) - log_b)
    return sum(integrate(density, low, high) for low, high in zip(cuts[:-1], cuts[1:]))


def clopper_pearson(hits, trials, risk):
    low = bisect(lambda x: beta_cdf(hits, trials - hits + 1.0, x) - 0.5 * risk, 0.0, 1.0) if hits > 0 else 0.0
    high = bisect(lambda x: beta_cdf(hits + 1.0, trials - hits, x) - (1.0 - 0.5 * risk), 0.0, 1.0) if hits < trials else 1.0
    return low, high


class Log:
    """Random events of two policies, as arrays."""

    def __init__(self, seed, n, kind):
        rng = np.random.default_rng(seed)
        self.level = 0.95 if seed % 2 else 0.9
        self.low, self.high, self.tau, self.clip = [(0.0, 1.0, 10.0, 10.0), (-2.0, 0.5, 3.0, 4.0)][seed % 2]
        p = np.where(rng.random(n) < 0.3, 0.05, 0.4 + 0.6 * rng.random(n)) if kind in ("epsilon", "missing") else 0.02 + 0.98 * rng.random(n)
        cost = (rng.random(n) < 0.3).astype(float) if kind != "continuous" else rng.random(n)
        self.p, self.cost = p, self.low + (self.high - self.low) * cost
        self.e = np.ones(n) if seed % 3 else 0.5 + rng.random(n)
        self.model = np.full(n, seed % 4 != 3)
        if seed % 5 == 4:
            self.model = rng.random(n) < 0.5
        self.q = self.low + (self.high - self.low) * rng.random(n)
        self.pi, self.pi_max, self.m = [], [], []
        for policy in range(2):
            stochastic = kind == "softmax"
            pi = rng.random(n) if stochastic else (rng.random(n) < (p if policy else 0.4)).astype(float)
            if kind == "missing": # what the log has little of was never seen: mean(w) is far below 1
                pi = ((p > 0.4) & (rng.random(n) < 0.7)).astype(float)
            self.pi.append(pi)
            self.pi_max.append(np.maximum(pi, rng.random(n)) if stochastic else np.zeros(n))
            self.m.append(self.low + (self.high - self.low) * rng.random(n))
        gap = np.abs(self.pi[0] - self.pi[1])
        self.distance = np.minimum(1.0, gap + 0.3 * rng.random(n) * (rng.random(n) < 0.5))

    def text(self):
        lines = [f"{self.low!r} {self.high!r} {self.level!r} {self.tau!r} {self.clip!r}"]
        columns = (self.p, self.cost, self.e, self.model.astype(int), self.q, self.pi[0], self.pi_max[0], self.m[0],
                   self.pi[1], self.pi_max[1], self.m[1], self.distance)
        lines += [" ".join(repr(v) for v in row) for row in zip(*(c.tolist() for c in columns))]
        return "\n".join(lines) + "\n"


class Terms:
    """What one estimator is made from: weights w, terms y, event weights e."""

    def __init__(self, log, name, policy=0):
        self.e, n = log.e, len(log.p)
        w = log.pi[policy] / log.p
        q, m = np.where(log.model, log.q, 0.0), np.where(log.model, log.m[policy], 0.0)
        pi_max = np.where(log.pi_max[policy] > 0, log.pi_max[policy], 1.0)
        other = np.where(log.pi[policy] < pi_max, pi_max / np.maximum(1.0 - log.p, pi_max / 1e12), 0.0)
        self.possible = np.maximum(pi_max / log.p, other)
        kept, cut = np.where(w <= log.tau, w, 0.0), np.minimum(w, log.clip)
        self.w, self.y = {
            "logged": (np.ones(n), log.cost), "ips": (w, w * log.cost), "snips": (w, w * log.cost), "dm": (w * 0 + 1, m),
            "dr": (w, m + w * (log.cost - q)), "switch": (kept, m + kept * (log.cost - q)), "clipped": (cut, cut * log.cost),
        }[name]
        self.bound = 1.0 if name == "logged" else self.possible.max()
        self.low, self.high, self.base = log.low, log.high, 0.0
        self.r = {-1: log.low, 1: log.high}
        if name in ("dr", "switch"):
            self.base = np.average(m, weights=self.e)
            self.r = {-1: log.low - q.max(), 1: log.high - q.min()}

    def mean(self):
        return np.average(self.y, weights=self.e)


def value_and_error(terms, name):
    e, n = terms.e, len(terms.e)
    if name == "snips":
        value = np.sum(e * terms.y) / np.sum(e * terms.w)
        spread, scale = np.sum((e * (terms.y - value * terms.w)) ** 2), np.sum(e * terms.w)
    else:
        value = terms.mean()
        spread, scale = np.sum((e * (terms.y - value)) ** 2), np.sum(e)
    return value, math.sqrt(spread * n / (n - 1.0)) / scale


def effective(v):
    return np.sum(v) ** 2 / np.sum(v ** 2) if np.any(v > 0) else 0.0


def quantile(v, risk):
    df = effective(v) - 1.0
    return student(df, 0.5 * risk) if df >= 1.0 else math.inf


def with_phantom(e, y, phantom, t, side):
    """Mean and t standard errors of y with one more event of typical event weight."""
    a = np.append(e, np.sum(e ** 2) / np.sum(e))
    z = np.append(y, phantom)
    mean = np.sum(a * z) / np.sum(a)
    return mean + side * t * math.sqrt(np.sum((a * (z - mean)) ** 2)) / np.sum(a)


def unseen_weight(e, w, expected, common, bound, t):
    a, mean = np.sum(e ** 2) / np.sum(e), np.average(w, weights=e)
    error = math.sqrt(np.sum((e * (w - mean)) ** 2)) / np.sum(e)
    apparent = (expected - mean - 1.5 * error) * np.sum(e) / a
    most = expected if math.isinf(t) else min(expected, expected - mean + t * error)
    return min(bound, max(typical(e, w), apparent, min(common, most * np.sum(e) / a)))


def typical(e, w):
    return np.sum((e * w) ** 2) / np.sum(e * w) * np.sum(e) / np.sum(e ** 2) if np.any(w > 0) else 0.0


def robust_side(terms, name, risk, side):
    e, w, y = terms.e, terms.w, terms.y
    a, t, r = np.sum(e ** 2) / np.sum(e), quantile(e * w, risk), terms.r[side]
    first = side * math.inf if math.isinf(t) else with_phantom(e, y - r * w, terms.base, t, side) + r
    if name in ("switch", "clipped"):
        return first
    extreme = terms.low if side < 0 else terms.high
    more = unseen_weight(e, w, 1.0, typical(e, terms.possible), terms.bound, t)
    t = quantile(np.append(e * w, a * more), risk)
    if math.isinf(t):
        return first
    if name == "snips":
        second = fieller(np.append(e * w, a * more), np.append(y / np.where(w > 0, w, 1.0), extreme), t, side)
    else:
        residual = extreme - terms.base
        if name == "dr":
            residual = max(0.0, min(residual, r)) if side > 0 else min(0.0, max(residual, r))
        second = with_phantom(e, y, terms.base + more * residual, t, side)
    return max(first, second) if side < 0 else min(first, second)


def fieller(w, c, t, side):
    """The v furthest out with |sum(w (c - v))| <= t sqrt(sum((w (c - v))^2)), as roots of a quadratic in v."""
    a2 = np.sum(w) ** 2 - t * t * np.sum(w ** 2)
    a1 = -2.0 * (np.sum(w) * np.sum(w * c) - t * t * np.sum(w * w * c))
    a0 = np.sum(w * c) ** 2 - t * t * np.sum((w * c) ** 2)
    return side * math.inf if a2 <= 0 else (-a1 + side * math.sqrt(a1 * a1 - 4.0 * a2 * a0)) / (2.0 * a2)


def likelihood_side(terms, risk, side):
    bounds = []
    e, w, y = terms.e, terms.w, terms.y
    a = np.append(e, np.sum(e ** 2) / np.sum(e))
    t = student(len(e) - 1.0, 0.5 * risk)
    for weight in (0.0, terms.bound):
        extreme = terms.low if side < 0 else terms.high
        v, z = np.append(w, weight), np.append(y, terms.base + weight * (extreme - terms.base))
        gap_v, gap_z = a * (v - np.average(v, weights=a)), a * (z - np.average(z, weights=a))
        slope = np.sum(gap_v * gap_z) / np.sum(gap_v ** 2)
        centre = np.average(z, weights=a) + slope * (1.0 - np.average(v, weights=a))
        bounds.append(centre + side * t * math.sqrt(np.sum((gap_z - slope * gap_v) ** 2)) / np.sum(a))
    return min(bounds) if side < 0 else max(bounds)


def bernstein_side(log, terms, name, risk, side):
    e = terms.e
    n, r = effective(e), terms.r[side]
    width, residuals = log.high - log.low, terms.r[1] - terms.r[-1]
    span = {"logged": width, "clipped": width * min(log.clip, terms.bound), "dr": width + residuals * terms.bound,
            "switch": width + residuals * min(log.tau, terms.bound)}.get(name, width * terms.bound)
    z = terms.y - r * terms.w
    mean = np.average(z, weights=e)
    variance = np.sum((e * (z - mean)) ** 2) / np.sum(e ** 2) * n / (n - 1.0)
    log_term = math.log(4.0 / risk)
    return mean + r + side * (math.sqrt(2.0 * variance * log_term / n) + 7.0 * span * log_term / (3.0 * (n - 1.0)))


def expected_interval(log, terms, name, method, value, error):
    risk = 1.0 - log.level
    if method == "delta" or (method == "robust" and name == "dm"):
        half = normal(log.level) * error
        low, high = value - half, value + half
    elif method == "robust":
        low, high = (robust_side(terms, name, 0.4 * risk, side) for side in (-1, 1))
    elif method == "cressie-read":
        low, high = (likelihood_side(terms, risk, side) for side in (-1, 1))
    elif method == "bernstein":
        low, high = (bernstein_side(log, terms, name, risk, side) for side in (-1, 1))
    else:
        trials = effective(terms.e * terms.w)
        share = min(max((value - log.low) / (log.high - log.low), 0.0), 1.0)
        low, high = (log.low + (log.high - log.low) * v for v in clopper_pearson(share * trials, trials, risk))
    if name in ("switch", "clipped"):
        low, high = min(low, high), max(low, high)
    else:
        low, high = min(low, value), max(high, value)
    return min(max(low, log.low), log.high), min(max(high, log.low), log.high)


def run(log):
    """The program's lines as {(kind, name, method): numbers}."""
    out = subprocess.run([PROGRAM], input=log.text(), capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in out.splitlines()]
    summary = {words[1]: float(words[2]) for words in lines if words[0] == "summary"}
    return summary, {tuple(words[:3]): [float(v) for v in words[3:]] for words in lines if words[0] != "summary"}


TORTURE = bool(os.environ.get("COPPICE_TORTURE"))  # all of the logs
LONG = ("epsilon", "softmax", "continuous", "missing") if TORTURE else ("continuous",)
LOGS = [(seed, n, kind) for kind in ("epsilon", "softmax", "continuous", "missing")
        for seed, n in ((1, 50), (2, 400), (3, 3000), (4, 1000), (5, 200), (6, 5), (8, 20000)) if n < 20000 or kind in LONG]
CLOSE = 1e-9


def assert_close(got, want, what, tolerance=CLOSE):
    assert abs(got - want) <= tolerance * max(1.0, abs(want)), f"{what}: got {got!r}, numpy has {want!r}"


def assert_relative(got, want, what):
    assert abs(got - want) <= CLOSE * abs(want) + 1e-15, f"{what}: got {got!r}, numpy has {want!r}"


@pytest.fixture(autouse=True)
def program():
    if not PROGRAM:
        pytest.skip("OFFPOLICY_PRINT names no program")


@pytest.mark.parametrize("seed,n,kind", LOGS)
def test_summary_of_random_log_agrees_with_numpy(seed, n, kind):
    log = Log(seed, n, kind)
    summary, _ = run(log)
    w, e = log.pi[0] / log.p, log.e
    mean = np.average(w, weights=e)
    assert summary["n"] == n
    assert_relative(summary["ess"], effective(e * w), "effective sample size")
    assert_relative(summary["matched"], np.mean(log.pi[0] > 0), "matched")
    assert_relative(summary["target"], np.average(log.pi[0], weights=e), "mean target")
    assert_relative(summary["largest"], w.max(), "largest weight")
    assert_relative(summary["weight"], mean, "mean weight")
    assert_close(summary["z"], (mean - 1.0) / (math.sqrt(np.sum((e * (w - mean)) ** 2)) / np.sum(e)), "z")


@pytest.mark.parametrize("seed,n,kind", LOGS)
def test_estimates_and_intervals_of_random_log_agree_with_numpy(seed, n, kind):
    log = Log(seed, n, kind)
    _, got = run(log)
    seen = set()
    for (which, name, method), (value, error, low, high) in got.items():
        if which != "single":
            continue
        terms = Terms(log, name)
        want_value, want_error = value_and_error(terms, name)
        assert_relative(value, want_value, name)
        assert_relative(error, want_error, f"{name} error")
        seen.add((name, method))
        if method != "sequence":
            want_low, want_high = expected_interval(log, terms, name, method, want_value, want_error)
            assert_close(low, want_low, f"{name} {method} low")
            assert_close(high, want_high, f"{name} {method} high")
    names = {"logged", "ips", "snips", "dr", "clipped"} | ({"dm", "switch"} if log.model.all() else set())
    assert {name for name, _ in seen} == names
    assert {("snips", "robust"), ("snips", "delta"), ("ips", "cressie-read"), ("ips", "bernstein"),
            ("snips", "sequence")} <= seen
    assert (("snips", "clopper-pearson") in seen) == (kind != "continuous")


def pair_terms(log, name):
    """Difference and the terms whose mean's error it has."""
    one, two = Terms(log, name, 0), Terms(log, name, 1)
    if name != "snips":
        return one.mean() - two.mean(), one.y - two.y, one.mean() - two.mean()
    terms, values = [], []
    for t in (one, two):
        value = np.sum(t.e * t.y) / np.sum(t.e * t.w)
        terms.append((t.y - value * t.w) / np.average(t.w, weights=t.e))
        values.append(value)
    return values[0] - values[1], terms[0] - terms[1], 0.0


def pair_robust(log, name, value, spread, risk):
    e, gap = log.e, np.abs(log.pi[0] - log.pi[1]) / log.p
    a, width = np.sum(e ** 2) / np.sum(e), log.high - log.low
    possible = np.where(log.distance > 0, np.maximum(gap, log.distance / np.minimum(log.p, 1.0 - log.p)), 0.0)
    middle = 0.5 * sum(np.sum(e * t.y) / np.sum(e * t.w) for t in (Terms(log, "snips", 0), Terms(log, "snips", 1)))
    q = np.where(log.model, log.q, 0.0)
    size = max(log.high - q.min(), q.max() - log.low)
    residual = {"ips": max(abs(log.low), abs(log.high)), "snips": max(log.high - middle, middle - log.low),
                "dr": min(size, width)}[name]
    least = min(effective(e * log.pi[k] / log.p) for k in range(2))
    def t_of(v):
        df = min(effective(v), least) - 1.0
        return student(df, 0.5 * risk) if df >= 1.0 else math.inf
    expected = 2.0 * np.average(log.distance, weights=e)
    more = a * unseen_weight(e, gap, expected, 2.0 * typical(e, possible), possible.max(), t_of(e * gap))
    t = t_of(np.append(e * gap, more))
    half = (more * residual + t * math.sqrt(spread + (more * residual) ** 2)) / (np.sum(e) + a)
    trials = effective(e)
    most = width * clopper_pearson(np.average(log.distance, weights=e) * trials, trials, risk)[1]
    return min(max(value - half, -most), value), max(min(value + half, most), value)


@pytest.mark.parametrize("seed,n,kind", LOGS if TORTURE else LOGS[::3])
def test_differences_of_random_log_agree_with_numpy(seed, n, kind):
    log = Log(seed, n, kind)
    _, got = run(log)
    width, risk = log.high - log.low, 1.0 - log.level
    pairs = {key: numbers for key, numbers in got.items() if key[0] == "pair"}
    assert {("pair", "ips", "robust"), ("pair", "snips", "delta"), ("pair", "dr", "sequence")} <= set(pairs)
    for (_, name, method), (value, error, low, high) in pairs.items():
        want, terms, centre = pair_terms(log, name)
        spread = np.sum((log.e * (terms - centre)) ** 2)
        want_error = math.sqrt(spread * n / (n - 1.0)) / np.sum(log.e)
        assert_close(value, want, f"{name} difference")
        assert_relative(error, want_error, f"{name} difference error")
        if method == "robust" and name != "dm":
            want_low, want_high = pair_robust(log, name, want, spread, 0.4 * risk)
        else:
            half = normal(log.level) * want_error
            if method == "sequence":
                rho2 = (-2.0 * math.log(risk) + math.log(1.0 - 2.0 * math.log(risk))) / 1000.0
                half = want_error * math.sqrt(2.0 * (n * rho2 + 1.0) / (n * rho2) * math.log(math.sqrt(n * rho2 + 1.0) / risk))
            want_low, want_high = want - half, want + half
        assert_close(low, min(max(want_low, -width), width), f"{name} {method} low")
        assert_close(high, min(max(want_high, -width), width), f"{name} {method} high")
