"""The application on a socket: uvicorn, with a limit on how long a request line and its headers may take."""

import asyncio
import socket
import sys

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from gramian.errors import OptionError

_HEADER_SECONDS = 10.0
_TURN = 1e-3  # seconds after which a thread that computes lets others run, so that short questions do not wait for long ones


class _ImpatientProtocol(H11Protocol):
    """Closes a connection on which a request began and its headers do not end."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_watching()
        elif self._patience is None:
            self._patience = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def listen(host: str, port: int) -> socket.socket:
    """Open a socket; port 0 takes any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(256)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = f"cannot listen on {host}, port {port} ({reason})"
        raise OptionError(f"{problem}; try: --port 0, for one that is free") from None
    return opened


def run(app: Starlette, opened: socket.socket) -> None:
    """Serve until interrupted."""
    sys.setswitchinterval(_TURN)
    config = uvicorn.Config(
        app,
        http=_ImpatientProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=1000,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=1 << 16,
    )
    uvicorn.Server(config).run(sockets=[opened])
