"""Simple policies in numpy, each with one fixed setting for all scenes, and bounds.

Rewards are 1 - loss. Contexts have a constant 1 put before them, and nothing else is done to them. Linear policies have
a ridge regression of the reward for every arm, ridge 1 (so a prior N(0, I) where a prior is meant, in units of the
noise's variance); where arms are items with features of their own, one regression for all of them over the products of
(1, user) and (1, item).

    linucb-0.3, linucb-1   the arm of highest prediction + alpha sqrt(x' A^-1 x), alpha .3 and 1
    egreedy                epsilon .05, else the arm of highest prediction
    ts-linear              a draw from N(prediction, x' A^-1 x / 4): prior N(0, I / 4), noise of variance 1/4
    ts-beta                without context: a draw from each arm's (item's) Beta, prior Beta(1, 1); a reward r in [0, 1]
                           adds r and 1 - r

All seeds of a scene are played side by side; what is expected of a policy is under its probabilities where it has them
(egreedy), else that of the arm it played.
"""
import numpy as np

NAMES = ["linucb-0.3", "linucb-1", "egreedy", "ts-linear", "ts-beta"]


class Batch:
    """Seeds first to last of a scene, event by event: x n x S x d, mean and loss n x S x K."""

    def __init__(self, scene, seeds, events=None):
        n = events or scene.events
        parts = [scene.seed(seed, n) for seed in seeds]
        self.n, self.seeds, self.k = n, len(parts), parts[0].mean.shape[1]
        self.mask = None if scene.eligible is None else scene.mask(n).astype(bool)
        self.mean = stack([p.mean for p in parts])
        self.loss = stack([p.loss for p in parts])
        self.x = stack([with_one(p) for p in parts])
        self.items = None
        if parts[0].item is not None:
            self.items = np.stack([np.insert(p.item, 0, 1, axis=1) for p in parts]).astype(np.float64)
            self.candidate = stack([p.candidate for p in parts])
        self.schedule(scene)

    def schedule(self, scene):
        """What is learned when: (time, event, kind) in order of time; kind 0: whatever it is, 1: a reward that was not
        too late, 2: the rest, at the window's end."""
        due = scene.due(self.n).astype(np.int64)
        event = np.arange(self.n)
        if scene.window == 0:
            time, kind = due, np.zeros(self.n, np.int64)
        else:
            intime = due < event + scene.window
            self.intime = intime
            time = np.concatenate([np.where(intime, due, self.n), event + scene.window])
            event, kind = np.tile(event, 2), np.repeat([1, 2], self.n)
        kept = np.flatnonzero(time < self.n)
        order = kept[np.lexsort((event[kept], time[kept]))]
        self.when, self.what, self.kind = time[order].tolist(), event[order].tolist(), kind[order].tolist()
        self.when.append(self.n + 1)


def stack(parts):
    out = np.empty((parts[0].shape[0], len(parts), *parts[0].shape[1:]), parts[0].dtype)
    for s, part in enumerate(parts):
        out[:, s] = part
    return out


def with_one(events):
    if events.name is None:
        return np.insert(events.x, 0, 1, axis=1)
    x = np.zeros((len(events.name), 1 + len(events.names)), np.float32)
    x[:, 0] = 1
    np.put_along_axis(x, events.name.astype(np.int64) + 1, 1, axis=1)
    return x


class Ridge:
    """A regression for every seed and arm: inverse S x K x d x d, theta S x K x d."""

    def __init__(self, batch, rng, rule):
        d = batch.x.shape[2]
        self.rows = np.arange(batch.seeds)
        self.inverse = np.tile(np.eye(d), (batch.seeds, batch.k, 1, 1))
        self.theta = np.zeros((batch.seeds, batch.k, d))
        self.batch, self.rng, self.rule = batch, rng, rule

    def scores(self, t, x):
        mean = np.matmul(self.theta, x[:, :, None])[:, :, 0]
        if self.rule == "greedy":
            return mean
        spread = np.matmul(self.inverse, x[:, None, :, None])[..., 0]
        return self.explore(mean, np.sqrt(np.maximum(np.matmul(spread, x[:, :, None])[:, :, 0], 0)))

    def explore(self, mean, width):
        if self.rule == "sample":
            return mean + 0.5 * width * self.rng.standard_normal(mean.shape)
        return mean + self.rule * width

    def learn(self, t, x, arm, reward, weight):
        inverse, theta = self.inverse[self.rows, arm], self.theta[self.rows, arm]
        step = np.matmul(inverse, x[:, :, None])[:, :, 0]
        gain = step / (1 + (step * x).sum(axis=1))[:, None]
        if weight is not None:
            gain = gain * weight[:, None]
        self.inverse[self.rows, arm] = inverse - gain[:, :, None] * step[:, None, :]
        self.theta[self.rows, arm] = theta + gain * (reward - (theta * x).sum(axis=1))[:, None]


class SharedRidge(Ridge):
    """One regression for every seed, over products of (1, user) and (1, item)."""

    def __init__(self, batch, rng, rule):
        super().__init__(batch, rng, rule)
        d = batch.x.shape[2] * batch.items.shape[2]
        self.inverse, self.theta = np.tile(np.eye(d), (batch.seeds, 1, 1)), np.zeros((batch.seeds, d))

    def products(self, x, item):
        """S x C x d."""
        return (x[:, None, :, None] * item[:, :, None, :]).reshape(len(x), item.shape[1], -1)

    def scores(self, t, x):
        z = self.products(x, self.batch.items[self.rows[:, None], self.batch.candidate[t]])
        mean = np.matmul(z, self.theta[:, :, None])[:, :, 0]
        if self.rule == "greedy":
            return mean
        if self.rule == "sample":  # the candidates are not independent
            draw = self.rng.standard_normal(self.theta.shape)
            side = np.matmul(np.linalg.cholesky(self.inverse), draw[:, :, None])
            return mean + 0.5 * np.matmul(z, side)[:, :, 0]
        return self.explore(mean, np.sqrt(np.maximum((np.matmul(z, self.inverse) * z).sum(axis=2), 0)))

    def learn(self, t, x, arm, reward, weight):
        item = self.batch.items[self.rows, self.batch.candidate[t][self.rows, arm]]
        z = self.products(x, item[:, None, :])[:, 0]
        step = np.matmul(self.inverse, z[:, :, None])[:, :, 0]
        gain = step / (1 + (step * z).sum(axis=1))[:, None]
        if weight is not None:
            gain = gain * weight[:, None]
        self.inverse -= gain[:, :, None] * step[:, None, :]
        self.theta += gain * (reward - (self.theta * z).sum(axis=1))[:, None]


class Beta:
    """Counts of rewards and of what is missing to 1, of every seed and arm (or item)."""

    def __init__(self, batch, rng):
        choices = batch.k if batch.items is None else batch.items.shape[1]
        self.won, self.lost = np.ones((batch.seeds, choices)), np.ones((batch.seeds, choices))
        self.rows, self.batch, self.rng = np.arange(batch.seeds), batch, rng
        self.rule = "sample"

    def scores(self, t, x):
        if self.batch.items is None:
            return self.rng.beta(self.won, self.lost)
        pick = (self.rows[:, None], self.batch.candidate[t])
        return self.rng.beta(self.won[pick], self.lost[pick])

    def learn(self, t, x, arm, reward, weight):
        if self.batch.items is not None:
            arm = self.batch.candidate[t][self.rows, arm]
        weight = 1 if weight is None else weight
        self.won[self.rows, arm] += reward * weight
        self.lost[self.rows, arm] += (1 - reward) * weight


def policy(name, batch, rng):
    if name == "ts-beta":
        return Beta(batch, rng)
    rule = {"linucb-0.3": 0.3, "linucb-1": 1.0, "egreedy": "greedy", "ts-linear": "sample"}[name]
    return (Ridge if batch.items is None else SharedRidge)(batch, rng, rule)


def teach(batch, one, e, kind, arm):
    reward = 1.0 - batch.loss[e, one.rows, arm].astype(np.float64)
    weight = None
    if kind == 1:
        weight = (reward > 0).astype(np.float64)
    elif kind == 2:  # what was told before is not told again, and what comes too late is none
        told = (reward > 0) & batch.intime[e]
        reward, weight = np.zeros_like(reward), (~told).astype(np.float64)
    one.learn(e, batch.x[e].astype(np.float64), arm, reward, weight)


def play(name, batch, rng, epsilon=0.05):
    """Mean expected reward of every seed."""
    one = policy(name, batch, rng)
    played = np.empty((batch.n, batch.seeds), np.int32)
    rows, total, next_ = one.rows, np.zeros(batch.seeds), 0
    for t in range(batch.n):
        while batch.when[next_] <= t:
            e = batch.what[next_]
            teach(batch, one, e, batch.kind[next_], played[e])
            next_ += 1
        score = one.scores(t, batch.x[t].astype(np.float64))
        if batch.mask is not None:
            score = np.where(batch.mask[t], score, -np.inf)
        arm = score.argmax(axis=1)
        expected = batch.mean[t, rows, arm]
        if one.rule == "greedy":
            there = np.arange(batch.k) if batch.mask is None else np.flatnonzero(batch.mask[t])
            expected = (1 - epsilon) * expected + epsilon * batch.mean[t][:, there].mean(axis=1)
            other = there[rng.integers(0, len(there), batch.seeds)]
            arm = np.where(rng.random(batch.seeds) < epsilon, other, arm)
        played[t] = arm
        total += expected
    return 1 - total / batch.n


def bounds(batch):
    """Mean reward of even choice and of the best arm of every event, of every seed."""
    if batch.mask is None:
        return 1 - batch.mean.mean(axis=(0, 2), dtype=np.float64), 1 - batch.mean.min(axis=2).mean(axis=0, dtype=np.float64)
    there = batch.mask[:, None, :]
    uniform = np.where(there, batch.mean, 0).sum(axis=2) / there.sum(axis=2)
    best = np.where(there, batch.mean, np.inf).min(axis=2)
    return 1 - uniform.mean(axis=0, dtype=np.float64), 1 - best.mean(axis=0, dtype=np.float64)
