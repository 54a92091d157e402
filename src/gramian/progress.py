"""How far long work is: told as log records that a command shows as bars on a terminal, and others may leave alone."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


def tell_progress(log: logging.Logger, what: str, done: float, total: float) -> None:
    """Log, as a detail, how much of some work is done; the first time with 0, so that the rest can be estimated."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("%s: %d of %d", what, done, total, extra={"progress": (what, done, total)})


@contextmanager
def handled(handler: logging.Handler, level: int) -> Iterator[None]:
    """Let `handler` have what is logged under ``"gramian"`` meanwhile, from `level` on."""
    logger = logging.getLogger("gramian")
    usual = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(usual)
        logger.removeHandler(handler)
