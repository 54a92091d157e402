"""The web application: static files and a JSON API, with limits on size, time and waiting.

Questions are answered in a few threads, so that a long sentence holds up nobody who only wants the page. Every answer
of the API is JSON; a wrong question gets ``{"error": ...}`` with what to try.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from gramian.annotate.bank import RevisionConflict
from gramian.errors import GramianError
from gramian.web.fields import Fields
from gramian.web.service import Service

_Result = TypeVar("_Result")
Question = Callable[[Fields], Mapping[str, Any]]

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_log = logging.getLogger("gramian.web")


def create_app(
    service: Service,
    *,
    max_bytes: int = 1 << 18,
    max_seconds: float = 30.0,
    max_waiting: int = 200,
    n_jobs: int | None = None,
    hosts: Sequence[str] = ("localhost", "127.0.0.1", "::1", "[::1]"),
) -> Starlette:
    """Return the web application of a service, answered by `n_jobs` threads, by default one a processor.

    A body of more than `max_bytes` is refused with status 413; a request may take `max_seconds` to arrive (408) and to be
    answered (503), waiting included; beyond `max_waiting` questions that wait for a thread, others are refused (503). The server
    answers to the names in `hosts`, against pages elsewhere that point their own name here; ``"*"`` for any.
    """
    desk = _Desk(service, max_bytes, max_seconds, max_waiting, n_jobs or os.cpu_count() or 1)
    posted = [service.parse, service.text, service.bank, service.compare, service.node, service.best_states]
    posted += [service.export, service.dependency, service.head, service.automaton]
    got = service.about, service.states, service.rule
    routes = [_static(file) for file in (files("gramian.web") / "static").iterdir()]
    routes += [desk.route(question, "POST") for question in posted]
    routes += [desk.route(question, "GET") for question in got]
    if service.annotation is not None:
        routes += [desk.route(question, "POST") for question in service.annotation.reads]
        routes += [desk.route(question, "POST", changes=True) for question in service.annotation.writes]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        desk.pool.shutdown(wait=False, cancel_futures=True)

    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=lifespan,
    )


class _Desk:
    """Takes questions, keeps to the limits, and has them answered by a pool of threads."""

    def __init__(
        self, service: Service, max_bytes: int, max_seconds: float, max_waiting: int, n_jobs: int
    ) -> None:
        self._service, self._max_bytes, self._max_seconds = service, max_bytes, max_seconds
        self._n_waiting, self._max_waiting = {False: 0, True: 0}, max_waiting
        n_threads = max(2, n_jobs)
        self._threads = asyncio.Semaphore(n_threads)
        self._threads_for_long = asyncio.Semaphore(n_threads // 2)  # the others are left to short questions
        self.pool = ThreadPoolExecutor(n_threads, thread_name_prefix="gramian-web")

    def route(self, question: Any, method: str, *, changes: bool = False) -> Route:
        """Answer at the question's name, by the fields of the body or, of a GET, of the address.

        What `changes` files is answered to the server's own page only.
        """

        async def endpoint(request: Request) -> Response:
            if changes:
                _check_origin(request)
            if method == "GET":
                return await self._answer(question, Fields(dict(request.query_params)))
            return await self._answer(question, _fields(await self._body(request)))

        return Route(f"/api/{question.__name__}", endpoint, methods=[method])

    async def _body(self, request: Request) -> bytes:
        """Read the body, as long as it is JSON, small enough and comes fast enough."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            what = "the body of a question is JSON; try: Content-Type: application/json"
            raise HTTPException(415, what)
        too_large = HTTPException(413, f"more than {self._max_bytes:,} bytes; try: a shorter text")
        length = request.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > self._max_bytes:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._max_seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > self._max_bytes:
                        raise too_large
        except TimeoutError:
            what = f"the question took more than {self._max_seconds:g} s to arrive"
            raise HTTPException(408, what) from None
        except ClientDisconnect:
            raise HTTPException(400, "the request is incomplete") from None
        return bytes(body)

    async def _answer(self, question: Question, fields: Fields) -> Response:
        try:
            async with asyncio.timeout(self._max_seconds):
                is_long = self._service.is_long(question.__name__, fields)
                answer = await self._run(partial(question, fields), is_long)
        except TimeoutError:
            what = f"no answer within {self._max_seconds:g} s; try: a shorter sentence"
            raise HTTPException(503, what) from None
        except asyncio.CancelledError:
            raise HTTPException(503, "the server is stopping; try: again later") from None
        except RevisionConflict as error:
            return _json({"error": str(error)}, 409)
        except GramianError as error:
            return _json({"error": str(error)}, 400)
        return _json(answer)

    async def _run(self, work: Callable[[], _Result], is_long: bool) -> _Result:
        """Run work in a thread, which counts as busy until it is done, whether somebody still waits for the result or not."""
        if self._n_waiting[is_long] >= self._max_waiting:
            what = "too many questions at once; try: again in a moment"
            raise HTTPException(503, what, {"Retry-After": "1"})
        with ExitStack() as stack:
            self._n_waiting[is_long] += 1
            try:
                for threads in (self._threads_for_long, self._threads) if is_long else (self._threads,):
                    await threads.acquire()
                    stack.callback(threads.release)
            finally:
                self._n_waiting[is_long] -= 1
            result = asyncio.get_running_loop().run_in_executor(self.pool, work)
            release = stack.pop_all()
        result.add_done_callback(lambda _: release.close())
        return await asyncio.shield(result)


def _check_origin(request: Request) -> None:
    """Refuse a change that another site's page asks for; browsers name the page in ``Origin``."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise HTTPException(403, "only this server's own page may change the bank")


def _fields(body: bytes) -> Fields:
    try:
        values = json.loads(body.decode("utf-8"), parse_constant=_no_number)
        json.dumps(values, ensure_ascii=False).encode("utf-8")  # no half of a surrogate pair
    except UnicodeError:
        raise HTTPException(400, "the request is not UTF-8") from None
    except (ValueError, RecursionError):
        raise HTTPException(400, "the request is not JSON") from None
    if not isinstance(values, dict):
        raise HTTPException(400, "the request must be a JSON object")
    return Fields(values)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _static(file: Traversable) -> Route:
    """Serve one file, read once; no path of a request is ever looked up on the disk."""
    kind = _KINDS[PurePath(file.name).suffix]
    content = file.read_bytes()

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return Route("/" if file.name == "index.html" else f"/{file.name}", endpoint, methods=["GET"])


def _json(answer: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    headers = {**_HEADERS, "Cache-Control": "no-store", **(headers or {})}
    return Response(text.encode("utf-8"), status, headers, "application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"error": error.detail}, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _json({"error": "gramian made a mistake here; please report it with the text that led to it"}, 500)
