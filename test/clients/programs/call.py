"""A client of openapi-python-client: checked by mypy, then run against a live server."""

import json
import os

from request_client import AuthenticatedClient
from request_client.api.decisions import evaluate, search_resources
from request_client.models.action import Action
from request_client.models.decision import Decision
from request_client.models.evaluation_context import EvaluationContext
from request_client.models.evaluation_request import EvaluationRequest
from request_client.models.json_object import JsonObject
from request_client.models.resource import Resource
from request_client.models.resource_search_request import ResourceSearchRequest
from request_client.models.resource_type import ResourceType
from request_client.models.search_answer import SearchAnswer
from request_client.models.subject import Subject

agent = AuthenticatedClient(
    base_url=os.environ["VERDIGRAPH_URL"],
    token=os.environ["AGENT_KEY"],
    prefix="",
    auth_header_name="X-SVC-ClientKey",
)
subject = Subject(type_="Person", id="ann")
drive = Action(name="drive")


def parameters(load_kg: int) -> EvaluationContext:
    return EvaluationContext(input_params=JsonObject.from_dict({"load_kg": load_kg}))


def may_drive(load_kg: int) -> bool:
    body = EvaluationRequest(
        subject=subject, action=drive, resource=Resource(type_="Truck", id="t1"), context=parameters(load_kg)
    )
    answer = evaluate.sync(client=agent, body=body)
    assert isinstance(answer, Decision)
    return answer.decision


search = ResourceSearchRequest(
    subject=subject, action=drive, resource=ResourceType(type_="Truck"), context=parameters(1800)
)
found = search_resources.sync(client=agent, body=search)
assert isinstance(found, SearchAnswer)

print(json.dumps({"light": may_drive(1800), "heavy": may_drive(9000), "found": [one.id for one in found.results]}))
