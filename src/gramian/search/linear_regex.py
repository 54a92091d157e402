r"""Regular expressions in linear time: no expression can make a search hang, as a backtracking engine can with ``^(a+)+$``.

The engine is RE2. What needs backtracking (backreferences, lookahead, lookbehind) is refused. ``\d``, ``\w`` and ``\s`` are classes of
ASCII, as in Tregex; ``\pL`` and the like are classes of Unicode.
"""

import re
from functools import cache

_GROUP = re.compile(r"\$([0-9]{1,3})")
_MAX_MEMORY = 8 << 20  # bytes of a compiled expression
_LONGEST_REASON = 100  # characters: it repeats the expression
_BACKTRACKING = re.compile(r"\(\?<?[=!]")


class LinearRegex:
    """A compiled regular expression; a ValueError says what is wrong with it.

    Examples
    --------
    >>> LinearRegex("^(a+)+$").matches("a" * 1000 + "b")
    False
    >>> LinearRegex("^VB([DZ])").groups("VBZ")
    ('VBZ', 'Z')
    """

    def __init__(self, text: str, ignore_case: bool = False) -> None:
        import re2

        options = re2.Options()
        options.case_sensitive, options.log_errors, options.max_mem = not ignore_case, False, _MAX_MEMORY
        try:
            self._regex = re2.compile(text, options)
        except (re2.error, UnicodeError) as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            if _BACKTRACKING.search(text):
                reason = "lookahead and lookbehind are not supported; negate a test instead: !/^NP/"
            raise ValueError(reason[:_LONGEST_REASON]) from None
        self.n_groups = self._regex.groups + 1  # with the whole match, which is group 0

    def matches(self, text: str) -> bool:
        """Return whether the expression matches some part of `text`."""
        return self._regex.search(text) is not None

    def groups(self, text: str) -> tuple[str | None, ...] | None:
        """Return the text of the first match and of its groups, or None if there is no match."""
        match = self._regex.search(text)
        return None if match is None else (match[0], *match.groups())

    def replaced(self, text: str, template: str) -> str:
        """Return `text` with every match replaced; ``$1`` in the template is the text of a group.

        Examples
        --------
        >>> LinearRegex("^VB(.*)$").replaced("VBZ", "V-$1")
        'V-Z'
        """

        def value(match: re.Match[str]) -> str:
            return _GROUP.sub(
                lambda group: match[int(group[1])] or "" if int(group[1]) < self.n_groups else group[0],
                template,
            )

        return str(self._regex.sub(value, text))


@cache
def compile_regex(text: str, ignore_case: bool) -> LinearRegex:
    """Return the compiled expression; each is compiled once."""
    return LinearRegex(text, ignore_case)
