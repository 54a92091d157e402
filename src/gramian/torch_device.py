"""Which device work goes to."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from gramian.errors import MissingExtraError, OptionError

try:
    import torch
except ImportError:
    raise MissingExtraError("torch", "neural", "a device") from None

_HAS_TRITON = find_spec("triton") is not None


def find_device(name: str) -> torch.device:
    """Return the device of a name, such as ``"cuda"``, ``"cuda:1"`` or ``"cpu"``."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        here = "cuda or cpu" if torch.cuda.is_available() else "cpu where torch finds no GPU"
        raise OptionError(f"device must be {here}, got {name!r}") from None
    return device


def has_kernels(tensor: torch.Tensor) -> bool:
    """Whether Triton compiles kernels for the device of a tensor."""
    return bool(tensor.is_cuda) and _HAS_TRITON


@contextmanager
def rough_products() -> Iterator[None]:
    """Let matrix products be rounded to eleven bits on the way, where they only say what may be left out."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
