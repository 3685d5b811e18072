"""The client for synchronous programs."""

import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack, cast

import httpx

from . import _calls
from ._calls import CallOptions, Check, Deadline, EntityReference, InputParameters, Request, WriteResult
from .errors import ClientError
from .models import (
    ActionSearchAnswer,
    ActionSearchRequest,
    Comparison,
    ComparisonRequest,
    Decision,
    DecisionList,
    EvaluationRequest,
    EvaluationsRequest,
    Explanation,
    KnowledgeQueryAnswer,
    KnowledgeQueryCall,
    KnowledgeQueryRecord,
    Node,
    NodeKey,
    Relationship,
    RelationshipKey,
    ResourceSearchRequest,
    SearchAnswer,
    SubjectSearchRequest,
)


class Client:
    """A client of one service with the key of one agent, for any number of threads.

    Every method raises a `ClientError` if the service does not answer with a result. Treat that as a denial. Each takes the options
    `token`, `delegation_token` and `time_limit` too.

    >>> client = Client("http://127.0.0.1:8080", os.environ["AGENT_KEY"])
    >>> client.may({"Person": "ann"}, "drive", {"Car": "c1"}, {"min": 4})
    True
    """

    def __init__(
        self,
        url: str,
        key: str | Callable[[], str],
        *,
        retries: int = _calls.RETRIES,
        timeout: float = _calls.TIMEOUT_SECONDS,
        http_client: httpx.Client | None = None,
    ) -> None:
        """Raises ValueError if the address, the key or a limit is not one.

        url: the address of the service, such as `http://127.0.0.1:8080`. A path is kept.
        key: the key of an application agent, or a function that is called for each request.
        retries: repetitions of a request that failed and may be repeated.
        timeout: time limit of one attempt, in seconds.
        http_client: for another configuration of TLS, proxies or connections. It is not closed by `close`.
        """
        _calls.check_options(retries, timeout)
        self._base = _calls.parse_url(url)
        self._key = _calls.credential(key, "key") if isinstance(key, str) else key
        self._retries = retries
        self._timeout = timeout
        self._owned = httpx.Client() if http_client is None else None
        self._http = http_client or cast(httpx.Client, self._owned)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._owned is not None:
            self._owned.close()

    def may(
        self,
        subject: EntityReference,
        action: str,
        resource: EntityReference,
        params: InputParameters | None = None,
        **options: Unpack[CallOptions],
    ) -> bool:
        """Whether the subject may perform the action."""
        return _calls.is_permit(self._send(_calls.evaluation(subject, action, resource, params), options))

    def may_all(self, checks: Sequence[Check], **options: Unpack[CallOptions]) -> list[bool]:
        """As `may`, for any number of questions, in the order of the questions. An error in one of them is a denial."""
        deadline = Deadline(options)
        decisions: list[bool] = []
        for count, request in _calls.batches(checks):
            decisions += _calls.decisions_of(self._send(request, options, deadline), count)
        return decisions

    def why(
        self,
        subject: EntityReference,
        action: str,
        resource: EntityReference,
        params: InputParameters | None = None,
        **options: Unpack[CallOptions],
    ) -> Explanation:
        """Why the subject may perform the action or not: the outcome of each policy. The agent needs `ReadAuthZConfigs` too."""
        return cast(Explanation, self._send(_calls.explanation(subject, action, resource, params), options))

    def resources(
        self,
        subject: EntityReference,
        action: str,
        type: str,
        params: InputParameters | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[str]:
        """The ids of all resources of the type on which the subject may perform the action. One request for each page."""
        yield from self._pages(_calls.resource_search(subject, action, type, params), "id", options)

    def subjects(
        self,
        type: str,
        action: str,
        resource: EntityReference,
        params: InputParameters | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[str]:
        """The ids of all subjects of the type that may perform the action on the resource. One request for each page."""
        yield from self._pages(_calls.subject_search(type, action, resource, params), "id", options)

    def actions(
        self,
        subject: EntityReference,
        resource: EntityReference,
        params: InputParameters | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[str]:
        """The names of all actions that the subject may perform on the resource."""
        yield from self._pages(_calls.action_search(subject, resource, params), "name", options)

    def records(
        self,
        id: str,
        params: InputParameters | None = None,
        *,
        page_size: int = _calls.RECORDS_PER_PAGE,
        **options: Unpack[CallOptions],
    ) -> Iterator[KnowledgeQueryRecord]:
        """All records of a knowledge query, by its id or name. One request for each page. Use `execute` for a query that writes."""
        page = 1
        while True:
            records = _calls.list_of(self._send(_calls.query(id, params, page, page_size), options), "data")
            yield from records
            if len(records) < page_size:
                return
            page += 1

    def write(
        self,
        *,
        nodes: Sequence[Node] = (),
        relationships: Sequence[Relationship] = (),
        delete_relationships: Sequence[RelationshipKey] = (),
        delete_nodes: Sequence[NodeKey] = (),
        use_global_db: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> WriteResult:
        """Writes nodes, relationships, deletions of relationships and deletions of nodes, in this order and in requests of at most 250
        items, each of which is one transaction. A request that fails ends the call; those before it are stored, and the call can be
        repeated.
        """
        deadline = Deadline(options)
        result = _calls.no_results()
        for name, request in _calls.writes(nodes, relationships, delete_relationships, delete_nodes, use_global_db):
            result[name] += _calls.list_of(self._send(request, options, deadline), "results")
        return result

    def evaluate(self, request: EvaluationRequest, **options: Unpack[CallOptions]) -> Decision:
        """`POST /access/v1/evaluation`"""
        return cast(Decision, self._send(Request("/access/v1/evaluation", request), options))

    def evaluations(self, request: EvaluationsRequest, **options: Unpack[CallOptions]) -> DecisionList:
        """`POST /access/v1/evaluations`"""
        return cast(DecisionList, self._send(Request("/access/v1/evaluations", request), options))

    def compare(self, request: ComparisonRequest, **options: Unpack[CallOptions]) -> Comparison:
        """`POST /access/v1/compare`: which decisions a change of the policies would change. The agent needs `ReadAuthZConfigs` too;
        the service refuses `policies` from an agent."""
        return cast(Comparison, self._send(Request("/access/v1/compare", request), options))

    def explain(self, request: EvaluationRequest, **options: Unpack[CallOptions]) -> Explanation:
        """`POST /access/v1/explain`"""
        return cast(Explanation, self._send(Request("/access/v1/explain", request), options))

    def search_resources(self, request: ResourceSearchRequest, **options: Unpack[CallOptions]) -> SearchAnswer:
        """`POST /access/v1/search/resource`"""
        return cast(SearchAnswer, self._send(Request("/access/v1/search/resource", request), options))

    def search_subjects(self, request: SubjectSearchRequest, **options: Unpack[CallOptions]) -> SearchAnswer:
        """`POST /access/v1/search/subject`"""
        return cast(SearchAnswer, self._send(Request("/access/v1/search/subject", request), options))

    def search_actions(self, request: ActionSearchRequest, **options: Unpack[CallOptions]) -> ActionSearchAnswer:
        """`POST /access/v1/search/action`"""
        return cast(ActionSearchAnswer, self._send(Request("/access/v1/search/action", request), options))

    def execute(self, request: KnowledgeQueryCall, **options: Unpack[CallOptions]) -> KnowledgeQueryAnswer:
        """`POST /contx-iq/v1/execute`. Not repeated if it is unknown whether it was executed, because a query may write."""
        return cast(KnowledgeQueryAnswer, self._send(_calls.execution(request), options))

    def _pages(self, search: Request, member: str, options: CallOptions) -> Iterator[str]:
        token: str | None = None
        while True:
            names, token = _calls.results_of(self._send(_calls.page_of(search, token), options), member)
            yield from names
            if token is None:
                return

    def _send(self, request: Request, options: CallOptions, deadline: Deadline | None = None) -> dict[str, Any]:
        until = deadline or Deadline(options)
        content = _calls.content_of(request.body)
        attempt = 0
        while True:
            result = self._attempt(request.path, content, options, until)
            if not isinstance(result, ClientError):
                return result
            pause = _calls.pause_before(result, request, attempt)
            if attempt >= self._retries or pause is None or pause >= until.remaining(request.path):
                raise result
            time.sleep(pause)
            attempt += 1

    def _attempt(self, path: str, content: bytes, options: CallOptions, deadline: Deadline) -> dict[str, Any] | ClientError:
        key = self._key if isinstance(self._key, str) else self._key()
        headers = _calls.headers_of(key, options)
        limit = min(self._timeout, deadline.remaining(path))
        end = time.monotonic() + limit
        error: ClientError
        try:
            with self._http.stream(
                "POST",
                self._base + path,
                content=content,
                headers=headers,
                timeout=limit,
                # A redirect could send the credentials to another service.
                follow_redirects=False,
            ) as response:
                parts: list[bytes] = []
                for part in response.iter_bytes():
                    parts.append(part)
                    # The limit of httpx is for each wait.
                    if time.monotonic() > end:
                        raise httpx.ReadTimeout("the answer is too slow")
            return _calls.result_of(path, response.status_code, response.headers, b"".join(parts))
        except httpx.TimeoutException as cause:
            error = _calls.no_answer_in_time(path)
            error.__cause__ = cause
        except httpx.RequestError as cause:
            error = _calls.unreachable(path)
            error.__cause__ = cause
        return error
