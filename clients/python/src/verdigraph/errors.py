"""Errors of the client: one class for each thing that a caller can do about an error."""

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


class ClientError(Exception):
    """A request that was not answered with a result. A decision is then unknown: treat it as a denial."""

    #: HTTP status; None: there was no answer.
    status: int | None
    #: One sentence for each fault that the service found; empty: the message is all.
    errors: tuple[str, ...]
    #: The header `X-Request-ID`, by which the operator finds the request in the log; None: there was no answer.
    request_id: str | None
    #: Of the header `Retry-After`, in seconds; None: not given.
    retry_after: float | None

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        errors: tuple[str, ...] = (),
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.errors = errors
        self.request_id = request_id
        self.retry_after = retry_after


class InvalidRequestError(ClientError):
    """Statuses 400, 404, 409, 413, 415 and 422: the request is wrong. The same request fails again."""


class NotAuthorizedError(ClientError):
    """Statuses 401 and 403: the key or the token is missing, wrong, or lacks a permission."""

    #: The header `WWW-Authenticate`: what a user token lacks (RFC 6750, RFC 9470); None: not given.
    challenge: str | None = None


class TooManyRequestsError(ClientError):
    """Status 429: more requests than the limit of the agent."""


class UnavailableError(ClientError):
    """No answer, or a status from 500: a later request may succeed. Of a write, it is unknown whether it was stored."""


def unexpected_answer(message: str, request_id: str | None = None) -> ClientError:
    """The error of an answer with status 200 that is not one of the service."""
    return ClientError(message, status=200, request_id=request_id)


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> ClientError:
    """The error of an answer. Names of headers are looked up in lower case."""
    summary, errors = _problem_of(content)
    message = ": ".join(part for part in (f"{status} {summary or ''}".rstrip(), "; ".join(errors)) if part)
    kind = _class_of(status)
    if kind is ClientError:
        message = f"expected a result, found status {status}"
    error = kind(
        message,
        status=status,
        errors=errors,
        request_id=headers.get("x-request-id"),
        retry_after=retry_after_seconds(headers.get("retry-after"), time.time()),
    )
    if isinstance(error, NotAuthorizedError):
        error.challenge = headers.get("www-authenticate")
    return error


def _class_of(status: int) -> type[ClientError]:
    if status in (401, 403):
        return NotAuthorizedError
    if status == 429:
        return TooManyRequestsError
    if status >= 500 or status == 408:
        return UnavailableError
    return InvalidRequestError if status >= 400 else ClientError


def _problem_of(content: bytes) -> tuple[str | None, tuple[str, ...]]:
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        # Not from the service: for example of a proxy.
        return None, ()
    if not isinstance(problem, dict):
        return None, ()
    message, errors = problem.get("message"), problem.get("errors")
    return (
        message if isinstance(message, str) else None,
        tuple(each for each in errors if isinstance(each, str)) if isinstance(errors, list) else (),
    )


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """The value of `Retry-After` in seconds from `now`: seconds or a date (RFC 9110, section 10.2.3)."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,15}", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None
