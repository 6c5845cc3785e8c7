"""A client of coppiced: decisions and their feedback over ZeroMQ. README.md has a first program."""

from ._answers import Action, Result
from ._asyncio import AsyncClient
from ._asyncio_streams import AsyncActions, AsyncPublisher
from ._blocking import Client
from ._errors import (
    BadFeatures,
    BadLoss,
    BadRequest,
    Behind,
    Busy,
    Closed,
    CoppiceError,
    Forbidden,
    Internal,
    NotDecided,
    NotDurable,
    NotLeader,
    OtherPart,
    RequestError,
    Timeout,
    TooLarge,
    UnknownDecision,
    UnknownModel,
    UnknownVerb,
)
from ._partition import part_of
from ._socket import CurveKeys
from ._streams import Actions, Publisher

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Actions",
    "AsyncActions",
    "AsyncClient",
    "AsyncPublisher",
    "BadFeatures",
    "BadLoss",
    "BadRequest",
    "Behind",
    "Busy",
    "Client",
    "Closed",
    "CoppiceError",
    "CurveKeys",
    "Forbidden",
    "Internal",
    "NotDecided",
    "NotDurable",
    "NotLeader",
    "OtherPart",
    "Publisher",
    "RequestError",
    "Result",
    "Timeout",
    "TooLarge",
    "UnknownDecision",
    "UnknownModel",
    "UnknownVerb",
    "part_of",
]
