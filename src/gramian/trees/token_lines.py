"""Lines of tokens with spaces between, and of token/TAG pairs."""

from gramian.errors import InputError
from gramian.trees.tree import SPACE

_SPACES = str.maketrans(SPACE, " " * len(SPACE))


def split_tokens(line: str) -> list[str]:
    """Return the tokens of a line; white space beyond ASCII may be part of one."""
    return [token for token in line.translate(_SPACES).split(" ") if token]


def split_pairs(
    line: str, source: str, number: int | None = None, hint: str = "write token/TAG"
) -> list[tuple[str, str]]:
    """Return the tokens of a line with their tags, ``1/2/CD`` as 1/2 and CD; `source` and `number` say where it stands."""
    pairs = []
    for token in split_tokens(line):
        word, _, tag = token.rpartition("/")
        if not (word and tag):
            raise InputError(f"{token!r} is not a token with its tag", source, number, hint=hint)
        pairs.append((word, tag))
    return pairs
