"""HTTP client of Verdigraph, a graph-based authorization service."""

from ._calls import CallOptions, Check, EntityReference, InputParameters, WriteResult
from ._version import __version__
from .async_client import AsyncClient
from .client import Client
from .errors import (
    ClientError,
    InvalidRequestError,
    NotAuthorizedError,
    TooManyRequestsError,
    UnavailableError,
)

__all__ = [
    "AsyncClient",
    "CallOptions",
    "Check",
    "Client",
    "ClientError",
    "EntityReference",
    "InputParameters",
    "InvalidRequestError",
    "NotAuthorizedError",
    "TooManyRequestsError",
    "UnavailableError",
    "WriteResult",
    "__version__",
]
