"""What a call may end with instead of an answer. Every code of the protocol (docs/reference/protocol.md, Error) has an
exception of its own; a code that this version does not know becomes Internal."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Type


class CoppiceError(Exception):
    """All errors of this package."""


class Timeout(CoppiceError, TimeoutError):
    """No answer came in time. The daemon may have taken the request all the same: sent again under its id, it is
    answered with what was decided or learned then."""


class Closed(CoppiceError):
    """The client was closed while the call waited, or before it began."""


class RequestError(CoppiceError):
    """The daemon refused the request, which changed nothing. `code` is for programs, `message` for people; `id` is the
    id of what was refused, where the daemon could read it."""

    code = "internal"

    def __init__(self, code: str, message: str, id: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.id = code, message, id

    def __reduce__(self) -> Any:
        return type(self), (self.code, self.message, self.id)


class BadRequest(RequestError):
    """A key is missing, of a wrong type or does not fit the model."""


class BadFeatures(RequestError):
    """`x` or a candidate is of a wrong type or length, or holds no finite numbers."""


class BadLoss(RequestError):
    """The loss is no finite number, outside the model's range, or one number where two are expected."""


class UnknownModel(RequestError):
    """No model of this name is configured."""


class UnknownVerb(RequestError):
    """The daemon's version has no such verb."""


class UnknownDecision(RequestError):
    """No such decision is there (code `unknown_decision`)."""


class Behind(RequestError):
    """A batch goes on from a position that the model does not know (code `behind`)."""


class TooLarge(RequestError):
    """The message is longer than the daemon's `message_limit`."""


class Busy(RequestError):
    """Too much waits in the daemon; it stayed so until the call's time was over."""


class NotDurable(RequestError):
    """The daemon's disk takes nothing; it stayed so until the call's time was over."""


class Forbidden(RequestError):
    """The sender may not do this."""


class NotDecided(RequestError):
    """The model is an apprentice, and the context does not hold what was decided (code `apprentice`)."""


class NotLeader(RequestError):
    """Of a group of replicas another instance takes it (code `not_leader`), and none of the endpoints did in time."""


class OtherPart(RequestError):
    """The key belongs to another instance of a partition (code `other_part`); see part_of."""


class Internal(RequestError):
    """A fault of the daemon's own, or a code that this version does not know."""


KINDS: Dict[str, Type[RequestError]] = {
    "bad_request": BadRequest,
    "bad_features": BadFeatures,
    "bad_loss": BadLoss,
    "unknown_model": UnknownModel,
    "unknown_verb": UnknownVerb,
    "too_large": TooLarge,
    "busy": Busy,
    "not_durable": NotDurable,
    "forbidden": Forbidden,
    "apprentice": NotDecided,
    "unknown_decision": UnknownDecision,
    "behind": Behind,
    "not_leader": NotLeader,
    "other_part": OtherPart,
}


def error_of(body: Mapping[str, Any]) -> RequestError:
    """The exception of an error's body."""
    code = str(body.get("code", "internal"))
    return KINDS.get(code, Internal)(code, str(body.get("message", "")), body.get("id"))
