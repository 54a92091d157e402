"""``gramian serve``: the page that shows trees, confidences and states, on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import say
from gramian.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from gramian.web.service import Service

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    model: list[str] = typer.Option(
        [],
        "--model",
        "-m",
        help="Model file; repeat to compare models. By default the bundled English model.",
    ),
    dependency: str | None = typer.Option(None, help="Dependency parser written by 'gramian dep train'."),
    automaton: str | None = typer.Option(None, help="Automaton written by 'gramian wfa train'."),
    annotate: str | None = typer.Option(
        None, help="Folder of sentences to annotate in a tab of the page; created if it does not exist."
    ),
    from_scratch: bool = typer.Option(
        False, help="Annotate without a model until there are enough trees for training."
    ),
    labels: str = typer.Option(
        "", help="Phrase labels of a new bank, separated by commas, the label of sentences first."
    ),
    tags: str = typer.Option("", help="Tags of a new bank, separated by commas."),
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; by default only this machine has access."
    ),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on; 0 selects a free one."),
    jobs: int = typer.Option(
        0,
        "--jobs",
        "-j",
        min=0,
        max=1024,
        help="Number of requests processed in parallel; 0 for one per core.",
    ),
    max_kilobytes: int = typer.Option(256, min=1, help="Refuse larger requests."),
    max_seconds: float = typer.Option(30.0, min=0.1, help="Time limit of a request in seconds."),
    open_page: bool = typer.Option(False, "--open", help="Open the page in a browser."),
) -> None:
    """Serve a web page for parsing and exploring trees.

    The page shows trees, confidences and latent states. The server prints its address once it is ready; Ctrl-C stops it.
    Nothing is loaded from other hosts.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("starlette and uvicorn", "web", "the page") from None
    from gramian.threads import one_blas_thread
    from gramian.web.app import create_app
    from gramian.web.server import listen, run

    say("loading ...")
    # One question may ask for several trees, and others wait.
    service = _service(model, dependency, automaton, max_seconds / 6)
    if annotate is not None:
        _annotate(service, annotate, from_scratch, labels, tags)
    opened = listen(host, port)
    is_local = host in _LOOPBACK
    if not is_local:
        say(f"anyone who reaches {host} can use this page; --host 127.0.0.1 keeps it to this machine")
    hosts = (*_LOOPBACK, "[::1]") if is_local else ("*",)
    limits: dict[str, Any] = {"max_bytes": max_kilobytes << 10, "max_seconds": max_seconds}
    app = create_app(service, n_jobs=jobs or None, hosts=hosts, **limits)
    shown, number = opened.getsockname()[:2]
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{number}/"
    # There is a thread a processor already; and only the first thread that asks for this gets it.
    with one_blas_thread():
        service.warm_up()
        print(address, flush=True)
        if open_page:
            import webbrowser

            webbrowser.open(address)
        run(app, opened)


def _annotate(service: Service, folder: str, from_scratch: bool, labels: str, tags: str) -> None:
    """Open a bank, which the server holds until it ends."""
    from gramian.annotate.bank import AnnotationBank
    from gramian.annotate.proposals import LabelSet
    from gramian.annotate.session import AnnotationSession
    from gramian.web.annotation_view import AnnotationView

    explorer = None if from_scratch else service.first_explorer
    parser = None if explorer is None else explorer.parser
    chosen = [
        tuple(label.strip() for label in given.split(",") if label.strip()) or default
        for given, default in zip((labels, tags), LabelSet.default(parser), strict=True)
    ]
    bank = AnnotationBank(folder, LabelSet(*chosen))
    session = AnnotationSession(bank, parser)
    service.annotation = AnnotationView(session, explorer)


def _service(models: list[str], dependency: str | None, automaton: str | None, seconds: float) -> Service:
    """Read all models; the bundled one may be missing where something else is there to see."""
    from gramian.web.explore import Explorer
    from gramian.web.sequence_views import AutomatonView, DependencyView
    from gramian.web.service import Service

    explorers = [Explorer(path, seconds) for path in models]
    if not explorers:
        try:
            explorers = [Explorer(None, seconds)]
        except OptionError:
            if dependency is None and automaton is None:
                raise
    return Service(
        explorers,
        None if dependency is None else DependencyView(dependency),
        None if automaton is None else AutomatonView.load(automaton),
    )
