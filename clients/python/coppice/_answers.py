"""What calls return: the replies' bodies with their keys as attributes."""

from __future__ import annotations

from typing import List, Optional, cast

from ._messages import Body, Id


class Action:
    """What was decided (docs/reference/protocol.md, Action). `body` has all keys of the reply as they came."""

    __slots__ = ("body",)

    def __init__(self, body: Body) -> None:
        self.body = body

    @property
    def id(self) -> Id:
        return cast(Id, self.body["id"])

    @property
    def a(self) -> Optional[int]:
        """The chosen arm, or the chosen candidate's place, from 0. None of models with values."""
        return self.body.get("a")

    @property
    def arm(self) -> Optional[str]:
        """The chosen arm's name, where the model has arm_names, or the candidate's, where names were given."""
        return self.body.get("arm")

    @property
    def p(self) -> Optional[float]:
        """The propensity; of models with values the density, where there is one."""
        return self.body.get("p")

    @property
    def rev(self) -> int:
        """Updates that the model had made."""
        return cast(int, self.body["rev"])

    @property
    def greedy(self) -> Optional[bool]:
        """Whether the model predicts this action to be the best."""
        return self.body.get("greedy")

    @property
    def y(self) -> Optional[float]:
        """The value of a model with values."""
        return self.body.get("y")

    @property
    def probe(self) -> Optional[List[float]]:
        """The values to try, one or two: a model with values is rewarded for these, not for y."""
        return self.body.get("probe")

    @property
    def by(self) -> Optional[str]:
        """`holdout`: the baseline decided, for the control group; `conservative`: it decided, since the policy's
        allowance is used up. None: the policy did."""
        return self.body.get("by")

    @property
    def limit(self) -> Optional[str]:
        """The option that raised `p` or lowered it to the arm's largest share: `share_min`, `share_max` or
        `least_propensity`. None: the policy decided, or the baseline."""
        return self.body.get("limit")

    @property
    def order(self) -> Optional[List[int]]:
        """All eligible candidates, best first, where they were asked for."""
        return self.body.get("order")

    @property
    def probabilities(self) -> Optional[List[float]]:
        """Of all arms or candidates, where they were asked for."""
        return self.body.get("probabilities")

    @property
    def repeated(self) -> bool:
        """The id was pending: this is its first decision again."""
        return bool(self.body.get("repeated", False))

    @property
    def durable(self) -> bool:
        """Whether the decision was written to disk."""
        return bool(self.body.get("durable", True))

    def __repr__(self) -> str:
        return f"Action({self.body})"


class Result:
    """What became of a feedback or an activation (docs/reference/protocol.md, Result)."""

    __slots__ = ("body",)

    def __init__(self, body: Body) -> None:
        self.body = body

    @property
    def id(self) -> Id:
        return cast(Id, self.body["id"])

    @property
    def result(self) -> str:
        """`applied`, `recorded`, `duplicate`, `late` or `unknown`."""
        return cast(str, self.body["result"])

    @property
    def taken(self) -> bool:
        """Whether the model has it, from this call or from an earlier one."""
        return self.result in ("applied", "recorded", "duplicate")

    def __repr__(self) -> str:
        return f"Result({self.body})"
