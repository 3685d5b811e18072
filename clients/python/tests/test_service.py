"""Every method of both clients against a live service."""

import asyncio
import os
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import verdigraph
from support import CLIENTS, KEY, URL, ann, car, owned

CARS: list[Any] = [{**car(number), "properties": [{"type": "seats", "value": number}]} for number in range(600)]

#: Ids as an application may have them.
NAMES = ["Zoë", "日本", "🚗", "a'b\"c\\d", "e\u0301", "x" * 256, "{TYPE}", "line\nbreak"]

#: Integers that a binary floating point number cannot represent.
BIG = [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]


PERSON: Any = {**ann, "is_identity": True}


def setUpModule() -> None:
    with verdigraph.Client(f"{URL}/", lambda: KEY) as client:
        written = client.write(nodes=[PERSON, *CARS], relationships=owned(CARS))
        assert len(written["nodes"]) == 601 and len(written["relationships"]) == 600, written


class OfClient:
    """The tests, for the client of the subclass."""

    kind: ClassVar[str]
    client: Any

    def setUp(self: Any) -> None:
        self.client = CLIENTS[self.kind](URL, KEY, timeout=60)
        self.client.__enter__()
        self.addCleanup(self.client.__exit__, None, None, None)

    def test_decides_with_parameters(self: Any) -> None:
        may = self.client.may
        self.assertIs(may({"Person": "ann"}, "drive", {"Car": "c5"}, {"min": 5}), True)
        self.assertIs(may({"Person": "ann"}, "drive", {"Car": "c5"}, {"min": 6}), False)
        self.assertIs(may({"Person": "bob"}, "drive", {"Car": "c5"}, {"min": 5}), False)
        self.assertIs(may({"type": "Person", "id": "ann", "properties": {"a": 1}}, "drive", {"Car": "c5"}, {"min": 5}), True)

    def test_decides_more_questions_than_one_request_may_have_in_their_order(self: Any) -> None:
        checks = [
            {"subject": {"Person": "ann"}, "action": "drive", "resource": {"Car": f"c{at % 600}"}, "params": {"min": 300}}
            for at in range(1201)
        ]
        self.assertEqual(self.client.may_all(checks), [at % 600 >= 300 for at in range(1201)])
        self.assertEqual(self.client.may_all([]), [])

    def test_denies_the_question_of_a_batch_that_has_an_error(self: Any) -> None:
        check = {"subject": {"Person": "ann"}, "action": "drive", "resource": {"Car": "c5"}}
        wrong = {**check, "resource": {"Car": ""}, "params": {"min": 1}}
        self.assertEqual(self.client.may_all([{**check, "params": {"min": 1}}, wrong, check]), [True, False, False])

    def test_iterates_over_pages(self: Any) -> None:
        found = list(self.client.resources({"Person": "ann"}, "drive", "Car", {"min": 100}))
        self.assertEqual(sorted(found), sorted(f"c{number}" for number in range(100, 600)))
        self.assertEqual(list(self.client.subjects("Person", "drive", {"Car": "c9"}, {"min": 9})), ["ann"])
        self.assertEqual(list(self.client.actions({"Person": "ann"}, {"Car": "c9"}, {"min": 9})), ["drive"])
        self.assertEqual(list(self.client.resources({"Person": "bob"}, "drive", "Car", {"min": 0})), [])
        self.assertRegex(next(self.client.resources({"Person": "ann"}, "drive", "Car", {"min": 0})), "^c")

    def test_reads_records_of_a_query(self: Any) -> None:
        for page_size in (7, 50, 600):
            records = [
                one["nodes"]["car.external_id"] for one in self.client.records("cars", {"min": 500, "max": 599}, page_size=page_size)
            ]
            self.assertEqual(sorted(records), [f"c{number}" for number in range(500, 600)])
        answer = self.client.execute({"id": "cars", "input_params": {"min": 599, "max": 599}})
        self.assertEqual(answer["data"], [{"nodes": {"car.external_id": "c599", "car.property.seats": 599}}])
        with self.assertRaisesRegex(ValueError, "page_size: expected an integer from 1, found 0"):
            next(self.client.records("cars", page_size=0))

    def test_passes_a_user_token(self: Any) -> None:
        token = os.environ["USER_TOKEN"]
        mine = list(self.client.records("mine", token=token, page_size=1000))
        self.assertEqual(len(mine), 600)
        with self.assertRaises(verdigraph.NotAuthorizedError) as raised:
            list(self.client.records("mine", token="not a token"))
        self.assertIn("Bearer", raised.exception.challenge)

    def test_explains(self: Any) -> None:
        answer = self.client.why({"Person": "ann"}, "drive", {"Car": "c5"}, {"min": 6})
        self.assertIs(answer["decision"], False)
        self.assertEqual([(one["name"], one["outcome"]) for one in answer["policies"]], [("seats", "denied")])
        self.assertTrue(answer["policies"][0]["nearest_miss"]["stopped"]["step"])

    def test_has_the_requests_of_http(self: Any) -> None:
        entities: Any = {"subject": {"type": "Person", "id": "ann"}, "resource": {"type": "Car", "id": "c5"}}
        asked: Any = {**entities, "action": {"name": "drive"}, "context": {"input_params": {"min": 5}}}
        self.assertIs(self.client.evaluate(asked)["decision"], True)
        self.assertEqual(
            [
                one["decision"]
                for one in self.client.evaluations({**asked, "evaluations": [{}, {"action": {"name": "sell"}}]})["evaluations"]
            ],
            [True, False],
        )
        self.assertIs(self.client.explain(asked)["decision"], True)
        compared = self.client.compare(
            {"removed_policies": ["seats"], "context": asked["context"], "resource": {"type": "Car", "id": "c5"}}
        )
        self.assertEqual((compared["lost"], compared["losses"][0]["sample"][0]["subject"]["id"]), (1, "ann"))
        self.assertEqual(self.client.search_resources({**asked, "resource": {"type": "Car"}, "page": {"limit": 2}})["page"]["count"], 2)
        self.assertEqual(
            self.client.search_subjects({**asked, "subject": {"type": "Person"}})["results"], [{"type": "Person", "id": "ann"}]
        )
        self.assertEqual(self.client.search_actions({**entities, "context": asked["context"]})["results"], [{"name": "drive"}])

    def test_writes_again_and_deletes(self: Any) -> None:
        target: Any = {"type": "Car", "external_id": f"gone-{self.kind}"}
        node = {**target, "properties": [{"type": "seats", "value": 4}]}
        for _ in range(2):
            written = self.client.write(nodes=[node], relationships=owned([target]))
            self.assertEqual([len(ids) for ids in written.values()], [1, 1, 0, 0])
        self.assertIs(self.client.may({"Person": "ann"}, "drive", {"Car": target["external_id"]}, {"min": 4}), True)
        deleted = self.client.write(delete_relationships=owned([target]), delete_nodes=[target])
        self.assertEqual(deleted["delete_nodes"], written["nodes"])
        self.assertIs(self.client.may({"Person": "ann"}, "drive", {"Car": target["external_id"]}, {"min": 4}), False)

    def test_keeps_ids_and_big_integers(self: Any) -> None:
        cars = [{"type": "Car", "external_id": name, "properties": [{"type": "seats", "value": 1000}]} for name in NAMES]
        numbers = [{"type": "Car", "external_id": f"big{value}", "properties": [{"type": "seats", "value": value}]} for value in BIG]
        self.client.write(nodes=[*cars, *numbers], relationships=owned([*cars, *numbers]))
        found = list(self.client.resources({"Person": "ann"}, "drive", "Car", {"min": 1000}))
        self.assertEqual(sorted(set(NAMES) - set(found)), [])
        for value in BIG:
            may = [
                self.client.may({"Person": "ann"}, "drive", {"Car": f"big{value}"}, {"min": value + more})
                for more in (-1, 0, 1)
                if -(2**63) <= value + more < 2**63
            ]
            self.assertEqual(may, [more <= 0 for more in (-1, 0, 1) if -(2**63) <= value + more < 2**63])
            records = list(self.client.records("cars", {"min": value, "max": value}))
            self.assertEqual([one["nodes"]["car.property.seats"] for one in records], [value])
        self.client.write(delete_nodes=[{"type": "Car", "external_id": one["external_id"]} for one in [*cars, *numbers]])

    def test_names_the_fault_the_status_and_the_request(self: Any) -> None:
        with self.assertRaisesRegex(verdigraph.InvalidRequestError, "422 .*min") as raised:
            self.client.may({"Person": "ann"}, "drive", {"Car": "c1"})
        error = raised.exception
        self.assertEqual(error.status, 422)
        self.assertIn("min", "".join(error.errors))
        self.assertTrue(error.request_id)
        with self.assertRaisesRegex(verdigraph.InvalidRequestError, "external_id"):
            self.client.write(nodes=[{"type": "Car"}])

    def test_separates_credentials_from_requests(self: Any) -> None:
        with CLIENTS[self.kind](URL, "wrong") as wrong, self.assertRaises(verdigraph.NotAuthorizedError) as raised:
            wrong.may({"Person": "ann"}, "drive", {"Car": "c1"})
        self.assertEqual(raised.exception.status, 401)
        self.assertIn("Bearer", raised.exception.challenge)
        with CLIENTS[self.kind](URL, os.environ["CAPTURE_KEY"]) as capturing:
            with self.assertRaisesRegex(verdigraph.NotAuthorizedError, "insufficient API access"):
                capturing.may({"Person": "ann"}, "drive", {"Car": "c1"})

    def test_refuses_invalid_references_and_values(self: Any) -> None:
        for wrong in ({"Person": "a", "Car": "b"}, {}, {"Person": 1}, "ann", None):
            with self.assertRaisesRegex(TypeError, "subject: expected {TYPE: ID}"):
                self.client.may(wrong, "drive", {"Car": "c"})
        with self.assertRaisesRegex(TypeError, "resource: expected {TYPE: ID}"):
            self.client.may({"Person": "ann"}, "drive", {"type": "Car", "id": 1})
        with self.assertRaises(ValueError):
            self.client.may({"Person": "ann"}, "drive", {"Car": "c5"}, {"min": float("nan")})
        with self.assertRaises(TypeError):
            self.client.may({"Person": "ann"}, "drive", {"Car": "c5"}, {"min": {1, 2}})


class TestClient(OfClient, unittest.TestCase):
    kind = "Client"

    def test_serves_many_threads(self) -> None:
        with ThreadPoolExecutor(16) as threads:
            asked = threads.map(lambda at: self.client.may({"Person": "ann"}, "drive", {"Car": f"c{at}"}, {"min": 300}), range(600))
            self.assertEqual(list(asked), [at >= 300 for at in range(600)])


class TestAsyncClient(OfClient, unittest.TestCase):
    kind = "AsyncClient"

    def test_serves_many_tasks(self) -> None:
        async def ask_all() -> list[bool]:
            async def key() -> str:
                return KEY

            async with verdigraph.AsyncClient(URL, key, timeout=60) as client:
                return await asyncio.gather(*(client.may({"Person": "ann"}, "drive", {"Car": f"c{at}"}, {"min": 300}) for at in range(600)))

        self.assertEqual(asyncio.run(ask_all()), [at >= 300 for at in range(600)])


if __name__ == "__main__":
    unittest.main()
