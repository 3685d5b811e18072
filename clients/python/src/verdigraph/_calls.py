"""Requests and answers, without input and output: the same for `Client` and `AsyncClient`."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast
from urllib.parse import urlsplit

from ._version import __version__
from .errors import ClientError, TooManyRequestsError, UnavailableError, error_of, unexpected_answer
from .models import CapturedElement, Decision, EvaluationRequest, Node, NodeKey, Relationship, RelationshipKey, Subject

RETRIES = 2
TIMEOUT_SECONDS = 10.0
#: The first pause before a repetition without `Retry-After`. Each further one is twice as long, at random up to that.
_PAUSE_SECONDS = 0.1
_PAUSE_SECONDS_MAX = 5.0
#: A longer `Retry-After` is not waited for: the caller gets the error.
_RETRY_AFTER_SECONDS_MAX = 30.0
#: Default of the setting `evaluations_max`, at most so many in one request of `may_all`.
_EVALUATIONS_MAX = 1000
#: Default of the setting `capture_items_max`.
_ITEMS_MAX = 250
RECORDS_PER_PAGE = 100

#: An entity as in a request, or `{TYPE: ID}`, such as `{"Person": "ann"}`.
EntityReference = Mapping[str, object]

#: Input parameters of the policies or of a query, by name without `$`.
InputParameters = Mapping[str, Any]


class _Question(TypedDict):
    subject: EntityReference
    action: str
    resource: EntityReference


class Check(_Question, total=False):
    """One question of `may_all`."""

    params: InputParameters | None


class CallOptions(TypedDict, total=False):
    """What a single call may have in addition."""

    #: A user token: the call is made on behalf of its user.
    token: str | None
    #: A delegation token of the same user (`X-SVC-Token`).
    delegation_token: str | None
    #: Seconds for the whole call with its repetitions and pauses. Of an iterator: for each page.
    time_limit: float | None


class WriteResult(TypedDict):
    """The ids of the written elements, in the order of the items; empty for a deleted element that did not exist."""

    nodes: list[CapturedElement]
    relationships: list[CapturedElement]
    delete_relationships: list[CapturedElement]
    delete_nodes: list[CapturedElement]


WriteList = Literal["nodes", "relationships", "delete_relationships", "delete_nodes"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the service."""

    path: str
    body: Mapping[str, Any]
    #: Whether it is repeated if it is unknown whether it was executed.
    is_repeatable: bool = True


def parse_url(url: str) -> str:
    """The base address without a slash at its end. Raises ValueError if it is not an address of http or https. The error does not show
    the address, which may contain a credential."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or any(c <= " " for c in url):
        raise ValueError("url: expected an address with http or https")
    if parts.username is not None or parts.password is not None:
        raise ValueError("url: expected no user name or password")
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        raise ValueError("url: expected no query")
    return url.rstrip("/")


def check_options(retries: int, timeout: float) -> None:
    """Raises ValueError for values that would never send a request, or never end one."""
    if retries < 0:
        raise ValueError(f"retries: expected a number from 0, found {retries}")
    if not 0 < timeout < float("inf"):
        raise ValueError(f"timeout: expected seconds above 0, found {timeout}")


def credential(value: str, place: str) -> str:
    """A credential as in a header. The error does not show it."""
    text = value.strip()
    if text == "" or not text.isascii() or not text.isprintable():
        raise ValueError(f"{place}: expected printable ASCII characters")
    return text


def headers_of(key: str, options: CallOptions) -> dict[str, str]:
    """The headers of a request."""
    headers = {
        "accept": "application/json",
        "content-type": "application/json",
        "user-agent": f"verdigraph-python/{__version__}",
        "x-svc-clientkey": credential(key, "key"),
    }
    token, delegation_token = options.get("token"), options.get("delegation_token")
    if token is not None:
        headers["authorization"] = f"Bearer {credential(token, 'token')}"
    if delegation_token is not None:
        headers["x-svc-token"] = credential(delegation_token, "delegation_token")
    return headers


class Deadline:
    """The end of a call with its repetitions."""

    def __init__(self, options: CallOptions) -> None:
        limit = options.get("time_limit")
        self._end = float("inf") if limit is None else time.monotonic() + limit

    def remaining(self, path: str) -> float:
        """Seconds. Raises UnavailableError if none is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise no_answer_in_time(path)
        return left


def content_of(body: Mapping[str, Any]) -> bytes:
    """The body of a request. Raises TypeError or ValueError for a value that JSON does not have, such as NaN."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode("ascii")


def no_answer_in_time(path: str) -> UnavailableError:
    return UnavailableError(f"{path}: no answer in time")


def unreachable(path: str) -> UnavailableError:
    return UnavailableError(f"{path}: the service cannot be reached")


def result_of(path: str, status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any] | ClientError:
    """The answer of a request, or its error."""
    if status != 200:
        return error_of(status, headers, content)
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        return answer
    return unexpected_answer(f"{path}: the answer is not a JSON object", headers.get("x-request-id"))


def pause_before(error: ClientError, request: Request, attempt: int) -> float | None:
    """Seconds before a repetition; None: the request must not be repeated."""
    # A request that was refused for its number was not executed.
    refused = isinstance(error, TooManyRequestsError)
    if not refused and not (isinstance(error, UnavailableError) and request.is_repeatable):
        return None
    # The same request would exceed the same limit, or find the same disk full.
    if error.status in (408, 501, 507):
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= _RETRY_AFTER_SECONDS_MAX else None
    return random.random() * min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS * 2.0**attempt)


def entity_of(reference: EntityReference, place: str) -> Subject:
    """The entity that a reference names. `place`: for the message of the TypeError if it names none."""
    if isinstance(reference, Mapping):
        if len(reference) == 1:
            [(type_, id_)] = reference.items()
            if isinstance(type_, str) and isinstance(id_, str):
                return {"type": type_, "id": id_}
        if isinstance(reference.get("type"), str) and isinstance(reference.get("id"), str):
            return cast(Subject, dict(reference))
    raise TypeError(f"{place}: expected {{TYPE: ID}} or {{'type': TYPE, 'id': ID}}, found {reference!r}")


def evaluation_of(subject: EntityReference, action: str, resource: EntityReference, params: InputParameters | None) -> EvaluationRequest:
    """The body of a decision."""
    request: EvaluationRequest = {
        "subject": entity_of(subject, "subject"),
        "action": {"name": action},
        "resource": entity_of(resource, "resource"),
    }
    if params is not None:
        request["context"] = {"input_params": dict(params)}
    return request


def evaluation(subject: EntityReference, action: str, resource: EntityReference, params: InputParameters | None) -> Request:
    return Request("/access/v1/evaluation", evaluation_of(subject, action, resource, params))


def explanation(subject: EntityReference, action: str, resource: EntityReference, params: InputParameters | None) -> Request:
    return Request("/access/v1/explain", evaluation_of(subject, action, resource, params))


def batches(checks: Sequence[Check]) -> Iterator[tuple[int, Request]]:
    """The requests of `may_all`, each with the number of its decisions."""
    for at in range(0, len(checks), _EVALUATIONS_MAX):
        part = [
            evaluation_of(check["subject"], check["action"], check["resource"], check.get("params"))
            for check in checks[at : at + _EVALUATIONS_MAX]
        ]
        yield len(part), Request("/access/v1/evaluations", {"evaluations": part})


def decisions_of(answer: Mapping[str, Any], expected: int) -> list[bool]:
    """The decisions of one request of `may_all`."""
    evaluations: list[Decision] = list_of(answer, "evaluations")
    if len(evaluations) != expected:
        raise unexpected_answer(f"expected {expected} decisions, found {len(evaluations)}")
    return [is_permit(each) for each in evaluations]


def is_permit(answer: object) -> bool:
    """True only for an answer that contains the decision true."""
    return isinstance(answer, Mapping) and answer.get("decision") is True


def resource_search(subject: EntityReference, action: str, type_: str, params: InputParameters | None) -> Request:
    body = {**evaluation_of(subject, action, {type_: ""}, params), "resource": {"type": type_}}
    return Request("/access/v1/search/resource", body)


def subject_search(type_: str, action: str, resource: EntityReference, params: InputParameters | None) -> Request:
    body = {**evaluation_of({type_: ""}, action, resource, params), "subject": {"type": type_}}
    return Request("/access/v1/search/subject", body)


def action_search(subject: EntityReference, resource: EntityReference, params: InputParameters | None) -> Request:
    body: dict[str, Any] = {**evaluation_of(subject, "", resource, params)}
    del body["action"]
    return Request("/access/v1/search/action", body)


def page_of(search: Request, token: str | None) -> Request:
    """The request of the page that the token names; None: the first."""
    return search if token is None else Request(search.path, {**search.body, "page": {"token": token}})


def results_of(answer: Mapping[str, Any], member: str) -> tuple[list[str], str | None]:
    """The ids or names of a page, and the token of the next one; None: it is the last."""
    names = [each.get(member) if isinstance(each, Mapping) else None for each in list_of(answer, "results")]
    if not all(isinstance(name, str) for name in names):
        raise unexpected_answer(f"results: expected {member} in each of them")
    page = answer.get("page")
    token = page.get("next_token") if isinstance(page, Mapping) else None
    return cast(list[str], names), token if isinstance(token, str) and token != "" else None


def query(id_: str, params: InputParameters | None, page: int, page_size: int) -> Request:
    """The request of one page of records."""
    if isinstance(page_size, bool) or not isinstance(page_size, int) or page_size < 1:
        raise ValueError(f"page_size: expected an integer from 1, found {page_size!r}")
    body: dict[str, Any] = {"id": id_, "page": page, "page_size": page_size}
    if params is not None:
        body["input_params"] = dict(params)
    return execution(body)


def execution(body: Mapping[str, Any]) -> Request:
    """A query may write, so it is not repeated if it is unknown whether it was executed."""
    return Request("/contx-iq/v1/execute", body, is_repeatable=False)


def writes(
    nodes: Sequence[Node],
    relationships: Sequence[Relationship],
    delete_relationships: Sequence[RelationshipKey],
    delete_nodes: Sequence[NodeKey],
    use_global_db: bool | None,
) -> Iterator[tuple[WriteList, Request]]:
    """The requests of a write, each with the list of the result. The same request again leads to the same graph."""
    joins = {} if use_global_db is None else {"use_global_db": use_global_db}
    lists: tuple[tuple[WriteList, str, str, Sequence[Mapping[str, Any]], Mapping[str, bool]], ...] = (
        ("nodes", "/capture/v1/nodes", "nodes", nodes, {}),
        ("relationships", "/capture/v1/relationships", "relationships", relationships, joins),
        (
            "delete_relationships",
            "/capture/v1/relationships/delete",
            "relationships",
            delete_relationships,
            joins,
        ),
        ("delete_nodes", "/capture/v1/nodes/delete", "nodes", delete_nodes, {}),
    )
    for name, path, member, items, more in lists:
        for at in range(0, len(items), _ITEMS_MAX):
            yield name, Request(path, {member: list(items[at : at + _ITEMS_MAX]), **more})


def no_results() -> WriteResult:
    return {"nodes": [], "relationships": [], "delete_relationships": [], "delete_nodes": []}


def list_of(answer: Mapping[str, Any], member: str) -> list[Any]:
    """A list of an answer."""
    value = answer.get(member)
    if not isinstance(value, list):
        raise unexpected_answer(f"the answer has no list `{member}`")
    return value
