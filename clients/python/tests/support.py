"""The tests run with both clients, against a live service and against a server that fails as proxies and busy services do."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import verdigraph


class BlockingAsyncClient:
    """Calls an `AsyncClient` as if it were a `Client`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._client = verdigraph.AsyncClient(*args, **options)
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> "BlockingAsyncClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            called = getattr(self._client, name)(*args, **options)
            return self._iterate(called) if hasattr(called, "__aiter__") else self._loop.run_until_complete(called)

        return call

    def _iterate(self, iterator: Any) -> Iterator[Any]:
        while True:
            try:
                yield self._loop.run_until_complete(anext(iterator))
            except StopAsyncIteration:
                return


#: Tests are classes with the two subclasses that name the client.
CLIENTS: dict[str, Callable[..., Any]] = {"Client": verdigraph.Client, "AsyncClient": BlockingAsyncClient}

URL = os.environ["VERDIGRAPH_URL"]
KEY = os.environ["AGENT_KEY"]

Answer = tuple[int, dict[str, str], str]


class FailingServer:
    """Answers in turn; the last answer is repeated. `None` instead of an answer: the connection stays open without one."""

    def __init__(self, *answers: Answer | None) -> None:
        self.times: list[float] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server.times.append(time.monotonic())
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.rfile.read(int(self.headers["content-length"]))
                answer = answers[min(len(server.times), len(answers)) - 1]
                if answer is None:
                    time.sleep(1)
                    self.close_connection = True
                    return
                status, headers, text = answer
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(text.encode()))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FailingServer":
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def car(number: int) -> Any:
    return {"type": "Car", "external_id": f"c{number}"}


ann: Any = {"type": "Person", "external_id": "ann"}


def owned(cars: Sequence[Any]) -> list[Any]:
    return [{"source": ann, "type": "OWNS", "target": {"type": "Car", "external_id": one["external_id"]}} for one in cars]
