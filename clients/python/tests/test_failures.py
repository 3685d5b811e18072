"""Repetitions, time limits and answers that are not those of the service, of both clients."""

import asyncio
import inspect
import json
import time
import unittest
from email.utils import formatdate
from typing import Any, ClassVar

import verdigraph
from support import CLIENTS, Answer, FailingServer, ann
from verdigraph.errors import retry_after_seconds

PERMIT: Answer = (200, {}, '{"decision":true}')
BUSY: Answer = (503, {"retry-after": "1"}, "<html>")
LIMITED: Answer = (429, {"retry-after": "0"}, '{"message":"Too Many Requests"}')
DOWN: Answer = (502, {}, "")


class OfClient:
    """The tests, for the client of the subclass."""

    kind: ClassVar[str]

    def may(self, url: str, **options: Any) -> Any:
        with CLIENTS[self.kind](url, "k", **options) as client:
            return client.may({"Person": "a"}, "b", {"Car": "c"})

    def test_waits_as_long_as_the_service_demands(self: Any) -> None:
        with FailingServer(BUSY, PERMIT) as server:
            self.assertIs(self.may(server.url), True)
            self.assertGreater(server.times[1] - server.times[0], 0.99)
        with FailingServer((503, {"retry-after": formatdate(time.time() + 2, usegmt=True)}, ""), PERMIT) as server:
            self.assertIs(self.may(server.url), True)
            self.assertGreater(server.times[1] - server.times[0], 0.5)

    def test_ends_after_the_given_number(self: Any) -> None:
        with FailingServer(DOWN) as server:
            for retries, requests in ((2, 3), (0, 1)):
                server.times.clear()
                with self.assertRaises(verdigraph.UnavailableError) as raised:
                    self.may(server.url, retries=retries)
                self.assertEqual((raised.exception.status, len(server.times)), (502, requests))

    def test_repeats_writes_of_the_graph_but_no_query_that_may_have_been_executed(self: Any) -> None:
        with FailingServer(DOWN, (200, {}, '{"results":[{"id":"i"}]}')) as server, CLIENTS[self.kind](server.url, "k") as client:
            self.assertEqual(client.write(nodes=[ann])["nodes"], [{"id": "i"}])
        with FailingServer(DOWN, (200, {}, '{"data":[]}')) as server, CLIENTS[self.kind](server.url, "k") as client:
            with self.assertRaises(verdigraph.UnavailableError):
                client.execute({"id": "q"})
            self.assertEqual(len(server.times), 1)
        with FailingServer(None) as server, CLIENTS[self.kind](server.url, "k", timeout=0.1) as client:
            with self.assertRaisesRegex(verdigraph.UnavailableError, "no answer in time"):
                list(client.records("q"))
            self.assertEqual(len(server.times), 1)
        with FailingServer(LIMITED, (200, {}, '{"data":[]}')) as server, CLIENTS[self.kind](server.url, "k") as client:
            self.assertEqual(client.execute({"id": "q"}), {"data": []})

    def test_does_not_wait_for_a_time_that_is_too_long(self: Any) -> None:
        with FailingServer((429, {"retry-after": "3600"}, "")) as server:
            with self.assertRaises(verdigraph.TooManyRequestsError) as raised:
                self.may(server.url)
            self.assertEqual((raised.exception.retry_after, len(server.times)), (3600, 1))

    def test_does_not_repeat_what_would_fail_again(self: Any) -> None:
        for status in (400, 401, 403, 404, 408, 409, 413, 422, 501, 507):
            with FailingServer((status, {"retry-after": "0"}, "")) as server:
                with self.assertRaises(verdigraph.ClientError) as raised:
                    self.may(server.url)
                self.assertEqual((raised.exception.status, len(server.times)), (status, 1))

    def test_follows_the_time_limit_of_an_attempt(self: Any) -> None:
        with FailingServer(None, PERMIT) as server:
            self.assertIs(self.may(server.url, timeout=0.2), True)
        with FailingServer(None) as server:
            with self.assertRaisesRegex(verdigraph.UnavailableError, "no answer in time") as raised:
                self.may(server.url, timeout=0.05, retries=0)
            self.assertIsNone(raised.exception.status)

    def test_follows_the_time_limit_of_a_call(self: Any) -> None:
        with FailingServer(BUSY) as server, CLIENTS[self.kind](server.url, "k") as client:
            # The pause would be longer than the limit.
            with self.assertRaises(verdigraph.UnavailableError) as raised:
                client.may({"Person": "a"}, "b", {"Car": "c"}, time_limit=0.5)
            self.assertEqual((raised.exception.status, len(server.times)), (503, 1))
        with FailingServer(None) as server, CLIENTS[self.kind](server.url, "k") as client:
            with self.assertRaisesRegex(verdigraph.UnavailableError, "no answer in time"):
                client.may({"Person": "a"}, "b", {"Car": "c"}, time_limit=0.1)

    def test_reports_a_service_that_cannot_be_reached(self: Any) -> None:
        with FailingServer(PERMIT) as server:
            url = server.url
        with self.assertRaisesRegex(verdigraph.UnavailableError, "cannot be reached") as raised:
            self.may(url)
        self.assertIsNotNone(raised.exception.__cause__)

    def test_does_not_follow_redirects_which_could_lead_the_key_to_another_host(self: Any) -> None:
        with FailingServer(PERMIT) as thief, FailingServer((307, {"location": f"{thief.url}/access/v1/evaluation"}, "")) as server:
            with self.assertRaisesRegex(verdigraph.ClientError, "status 307"):
                self.may(server.url)
            self.assertEqual(thief.times, [])

    def test_does_not_take_another_answer_for_a_permit(self: Any) -> None:
        for text in ('{"decision":"true"}', '{"decision":1}', "{}"):
            with FailingServer((200, {}, text)) as server:
                self.assertIs(self.may(server.url), False)
        for text in ("<html>", "[]", "true", "", "[" * 100_000):
            with FailingServer((200, {"x-request-id": "r1"}, text)) as server:
                with self.assertRaisesRegex(verdigraph.ClientError, "the answer is not a JSON object") as raised:
                    self.may(server.url)
                self.assertEqual(raised.exception.request_id, "r1")
        check: Any = {"subject": {"Person": "a"}, "action": "b", "resource": {"Car": "c"}}
        with FailingServer((200, {}, '{"evaluations":[{"decision":true}]}')) as server, CLIENTS[self.kind](server.url, "k") as client:
            with self.assertRaisesRegex(verdigraph.ClientError, "expected 2 decisions, found 1"):
                client.may_all([check, check])
        with FailingServer((200, {}, '{"results":[{}]}')) as server, CLIENTS[self.kind](server.url, "k") as client:
            with self.assertRaisesRegex(verdigraph.ClientError, "expected id"):
                list(client.resources({"Person": "a"}, "b", "Car"))
            with self.assertRaisesRegex(verdigraph.ClientError, "no list `data`"):
                list(client.records("q"))

    def test_asks_page_by_page(self: Any) -> None:
        first = '{"page":{"next_token":"t","count":1},"results":[{"type":"Car","id":"a"}]}'
        last = '{"page":{"next_token":"","count":1},"results":[{"type":"Car","id":"b"}]}'
        with FailingServer((200, {}, first), (200, {}, last)) as server, CLIENTS[self.kind](server.url, "k") as client:
            found = client.resources({"Person": "a"}, "b", "Car")
            self.assertEqual(len(server.times), 0)
            self.assertEqual((next(found), len(server.times)), ("a", 1))
            self.assertEqual((list(found), len(server.times)), (["b"], 2))

    def test_sends_the_credentials_of_the_call(self: Any) -> None:
        with FailingServer(PERMIT) as server, CLIENTS[self.kind](f"{server.url}/base/", " k\n") as client:
            client.may({"Person": "a"}, "b", {"Car": "c"}, token="t", delegation_token="d")
            sent = server.headers[0]
            self.assertEqual(
                [sent[name] for name in ("x-svc-clientkey", "authorization", "x-svc-token", "content-type")],
                ["k", "Bearer t", "d", "application/json"],
            )
            with self.assertRaisesRegex(ValueError, "^token: expected printable ASCII characters$"):
                client.may({"Person": "a"}, "b", {"Car": "c"}, token="secret\r\nx: y")

    def test_refuses_invalid_addresses_keys_and_limits(self: Any) -> None:
        kind = CLIENTS[self.kind]
        for url in ("localhost:8080", "ftp://a", "http://", "", "http://a b", "http://a:99999", "http://[::1"):
            with self.assertRaisesRegex(ValueError, "^url: expected an address with http or https"):
                kind(url, "k")
        for url in ("http://a/?x=secret", "http://a#x", "http://a?"):
            with self.assertRaisesRegex(ValueError, "^url: expected no query$"):
                kind(url, "k")
        with self.assertRaisesRegex(ValueError, "^url: expected no user name or password$"):
            kind("http://ann:secret@a", "k")
        for key in ("", " ", "a\nb", "ä"):
            with self.assertRaisesRegex(ValueError, "^key: expected printable ASCII characters$"):
                kind("http://a", key)
        for options in ({"retries": -1}, {"timeout": 0}, {"timeout": float("nan")}, {"timeout": float("inf")}):
            with self.assertRaisesRegex(ValueError, f"^{next(iter(options))}: expected"):
                kind("http://a", "k", **options)


class TestClient(OfClient, unittest.TestCase):
    kind = "Client"


class TestAsyncClient(OfClient, unittest.TestCase):
    kind = "AsyncClient"

    def test_ends_with_its_task_also_during_a_pause(self) -> None:
        async def cancel(server: FailingServer) -> float:
            async with verdigraph.AsyncClient(server.url, "k") as client:
                task = asyncio.create_task(client.may({"Person": "a"}, "b", {"Car": "c"}))
                while not server.times:
                    await asyncio.sleep(0.01)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
            return len(server.times)

        for answer in (BUSY, None):
            with FailingServer(answer) as server:
                self.assertEqual(asyncio.run(cancel(server)), 1)

    def test_has_the_methods_of_the_synchronous_client(self) -> None:
        def parameters(kind: type) -> dict[str, list[str]]:
            return {
                name: [str(one).split(":")[0] + repr(one.default) for one in inspect.signature(method).parameters.values()]
                for name, method in inspect.getmembers(kind, inspect.isfunction)
                if not name.startswith("_")
            }

        self.assertEqual(parameters(verdigraph.AsyncClient), parameters(verdigraph.Client))
        for name in parameters(verdigraph.Client):
            self.assertEqual(getattr(verdigraph.AsyncClient, name).__doc__, getattr(verdigraph.Client, name).__doc__)


class TestRetryAfter(unittest.TestCase):
    def test_is_seconds_or_a_date(self) -> None:
        now = 1_700_000_000.0
        for value, expected in (
            ("0", 0),
            (" 12 ", 12),
            (formatdate(now + 90, usegmt=True), 90),
            (formatdate(now - 90, usegmt=True), 0),
            ("", None),
            (None, None),
            ("-1", None),
            ("soon", None),
            ("9" * 400, None),
        ):
            self.assertEqual(retry_after_seconds(value, now), expected, value)


class TestErrors(unittest.TestCase):
    def test_of_proxies_have_no_details(self) -> None:
        for text in ("", "<html>", "[]", json.dumps({"message": 1, "errors": "x"}), "\xff"):
            with FailingServer((500, {}, text)) as server, verdigraph.Client(server.url, "k", retries=0) as client:
                with self.assertRaises(verdigraph.UnavailableError) as raised:
                    client.may({"Person": "a"}, "b", {"Car": "c"})
                self.assertEqual((raised.exception.status, raised.exception.errors), (500, ()))


if __name__ == "__main__":
    unittest.main()
