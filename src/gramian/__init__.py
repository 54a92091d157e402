"""gramian: learn grammars and automata by spectral methods, and parse with them.

Names are imported when first used, so that ``import gramian`` stays cheap; ``__init__.pyi`` lists them.
"""

from __future__ import annotations

import os

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _find_room_for_compiled_code() -> None:
    """Let numba keep compiled code in a temporary folder of this process if it can neither beside the package nor at home.

    Where numba finds no room at all it refuses to work. The folder is new and ours alone: others could put code in one that they know.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    while not os.path.exists(home):
        home = os.path.dirname(home) or "."
    if "NUMBA_CACHE_DIR" in os.environ or any(
        os.access(place, os.W_OK) for place in (os.path.dirname(__file__), home)
    ):
        return
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="gramian-")
    os.environ["NUMBA_CACHE_DIR"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


_find_room_for_compiled_code()
