r"""Regular expressions in linear time: no expression can make a search hang, as a backtracking engine can with ``^(a+)+$``.

An expression becomes a nondeterministic automaton (Thompson 1968); its sets of states are cached as states of a deterministic one. The
syntax is the part of Python's that both Tregex and tgrep2 share: literals, ``.``, classes, ``\d \w \s``, anchors, ``\b``, groups,
alternatives, repetition and lookahead. Lookahead makes the time quadratic. Backreferences and lookbehind are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

CharTest: TypeAlias = Callable[[str], bool]
States: TypeAlias = frozenset[int]
Parsed: TypeAlias = tuple[Any, ...]

_GROUP = re.compile(r"\$([0-9]+)")
_MAX_STATES = 4000
_MAX_CACHED = 1 << 16
_MAX_DEPTH = 50  # groups in groups
_CLASSES: dict[str, CharTest] = {
    "d": str.isdecimal,
    "w": lambda char: char.isalnum() or char == "_",
    "s": str.isspace,
}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_MATCH, _CHAR, _SPLIT, _ASSERT, _SAVE = range(5)


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
        parser = _RegexParser(text, ignore_case)
        self._states: list[tuple[int, Any, Any]] = [(_MATCH, None, None)]
        self._assertions: list[Callable[[str, int], bool]] = []
        self._start = self._compile(("group", parser.parse(), 0), 0)
        self.n_groups = parser.n_groups  # with the whole match, which is group 0
        self._steps: dict[tuple[States, tuple[bool, ...], str], States | None] = {}

    def matches(self, text: str) -> bool:
        """Return whether the expression matches some part of `text`."""
        return self._runs(text, 0, anchored=False)

    def _runs(self, text: str, position: int, anchored: bool) -> bool:
        """Return whether the expression matches from `position` on, or if not `anchored` from any later position."""
        states: States = frozenset([self._start])
        restart = frozenset() if anchored else states
        while True:
            truths = tuple([holds(text, position) for holds in self._assertions])
            key = states, truths, text[position : position + 1]
            if key not in self._steps:
                if len(self._steps) > _MAX_CACHED:
                    self._steps.clear()
                self._steps[key] = self._step(*key)
            following = self._steps[key]
            if following is None:
                return True
            if position == len(text):
                return False
            states = following | restart
            position += 1

    def _step(self, states: States, truths: tuple[bool, ...], char: str) -> States | None:
        """Return the states after a character; None if the expression matches before it."""
        following = set()
        for number, _ in self._reached([(state, ()) for state in sorted(states)], truths, 0):
            kind, test, target = self._states[number]
            if kind == _MATCH:
                return None
            if char and test(char):
                following.add(target)
        return frozenset(following)

    def groups(self, text: str) -> tuple[str | None, ...] | None:
        """Return the text of the first match and of its groups, or None if there is no match."""
        ends = self._first(text, 0)
        return None if ends is None else self._texts(text, ends)

    def replaced(self, text: str, template: str) -> str:
        """Return `text` with every match replaced; ``$1`` in the template is the text of a group.

        Examples
        --------
        >>> LinearRegex("^VB(.*)$").replaced("VBZ", "V-$1")
        'V-Z'
        """
        parts: list[str] = []
        position = 0
        while position <= len(text) and (ends := self._first(text, position)) is not None:
            groups = self._texts(text, ends)
            value = _GROUP.sub(
                lambda found: groups[int(found[1])] or "" if int(found[1]) < len(groups) else found[0],  # noqa: B023
                template,
            )
            parts += [text[position : ends[0]], value]
            position = ends[1]
            if ends[0] == ends[1]:  # an empty match: the next one begins after a character
                parts.append(text[position : position + 1])
                position += 1
        return "".join(parts) + text[position:]

    def _texts(self, text: str, ends: dict[int, int]) -> tuple[str | None, ...]:
        return tuple(
            text[ends[2 * group] : ends[2 * group + 1]] if 2 * group + 1 in ends else None
            for group in range(self.n_groups)
        )

    def _first(self, text: str, start: int) -> dict[int, int] | None:
        """Return where the first match from `start` on and its groups begin and end; group `i` at 2i and 2i + 1."""
        best: tuple[tuple[int, int], ...] | None = None
        threads: list[tuple[int, tuple[tuple[int, int], ...]]] = []
        for position in range(start, len(text) + 1):
            if best is None:
                threads.append((self._start, ()))
            truths = tuple([holds(text, position) for holds in self._assertions])
            reached, threads = self._reached(threads, truths, position), []
            for number, saved in reached:
                kind, test, target = self._states[number]
                if kind == _MATCH:
                    best = saved  # threads of lower priority end
                    break
                if position < len(text) and test(text[position]):
                    threads.append((target, saved))
            if not threads and best is not None:
                break
        return None if best is None else dict(best)

    def _reached(
        self,
        threads: list[tuple[int, tuple[tuple[int, int], ...]]],
        truths: tuple[bool, ...],
        position: int,
    ) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
        """Yield the states that wait for a character, reached from `threads` without one, with the ends of groups; by priority."""
        visited = set()
        stack = threads[::-1]
        while stack:
            number, saved = stack.pop()
            if number in visited:
                continue
            visited.add(number)
            kind, argument, target = self._states[number]
            if kind == _SPLIT:
                stack += [(other, saved) for other in reversed(argument)]
            elif kind == _SAVE:
                stack.append((target, (*saved, (argument, position))))
            elif kind == _ASSERT:
                if truths[argument]:
                    stack.append((target, saved))
            else:
                yield number, saved

    def _add(self, kind: int, argument: Any, target: Any = None) -> int:
        if len(self._states) >= _MAX_STATES:
            raise ValueError("it is too large: too many or too long repetitions")
        self._states.append((kind, argument, target))
        return len(self._states) - 1

    def _compile(self, parsed: Parsed, target: int) -> int:
        """Add the states of a part of the expression that continues in `target`; return the first of them."""
        kind, *rest = parsed
        if kind == "char":
            return self._add(_CHAR, rest[0], target)
        if kind == "sequence":
            for part in reversed(rest[0]):
                target = self._compile(part, target)
            return target
        if kind == "either":
            return self._add(_SPLIT, [self._compile(part, target) for part in rest[0]])
        if kind == "group":
            part, number = rest
            return self._add(_SAVE, 2 * number, self._compile(part, self._add(_SAVE, 2 * number + 1, target)))
        if kind == "assert":
            self._assertions.append(rest[0])
            return self._add(_ASSERT, len(self._assertions) - 1, target)
        part, least, most, greedy = rest
        if most is None:
            loop = self._add(_SPLIT, [])
            body = self._compile(part, loop)
            self._states[loop][1].extend([body, target] if greedy else [target, body])
            target = loop
        else:
            after = target
            for _ in range(most - least):
                body = self._compile(part, target)
                target = self._add(_SPLIT, [body, after] if greedy else [after, body])
        for _ in range(least):
            target = self._compile(part, target)
        return target


class _RegexParser:
    """A recursive-descent parser of regular expressions."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        self._text, self._position, self._depth = text, 0, 0
        self._ignore_case = ignore_case
        self._in_lookahead = False
        self.n_groups = 1

    def parse(self) -> Parsed:
        if self._take("(?i)"):
            self._ignore_case = True
        parsed = self._either()
        if self._position < len(self._text):
            raise ValueError("unbalanced parenthesis")
        return parsed

    def _take(self, text: str) -> bool:
        if not self._text.startswith(text, self._position):
            return False
        self._position += len(text)
        return True

    def _next(self) -> str:
        if self._position >= len(self._text):
            raise ValueError("it ends too early")
        self._position += 1
        return self._text[self._position - 1]

    def _either(self) -> Parsed:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return ("either", parts) if len(parts) > 1 else parts[0]

    def _sequence(self) -> Parsed:
        parts = []
        while self._position < len(self._text) and self._text[self._position] not in "|)":
            parts.append(self._repeated(self._atom()))
        return "sequence", parts

    def _repeated(self, part: Parsed) -> Parsed:
        while True:
            if self._take("*"):
                least, most = 0, None
            elif self._take("+"):
                least, most = 1, None
            elif self._take("?"):
                least, most = 0, 1
            elif (bounds := self._bounds()) is not None:
                least, most = bounds
            else:
                return part
            part = "repeat", part, least, most, not self._take("?")

    def _bounds(self) -> tuple[int, int | None] | None:
        """Read ``{2}``, ``{2,}`` or ``{2,3}``; any other brace is a character."""
        close = self._text.find("}", self._position)
        if not self._text.startswith("{", self._position) or close < 0:
            return None
        low, comma, high = self._text[self._position + 1 : close].partition(",")
        if not low.isdecimal() or not (high.isdecimal() or not high):
            return None
        self._position = close + 1
        least = int(low[:9])
        most = int(high[:9]) if high else None if comma else least
        if most is not None and most < least:
            raise ValueError("a repetition has its bounds in the wrong order")
        if max(least, most or 0) > _MAX_STATES:
            raise ValueError("a repetition is too long")
        return least, most

    def _atom(self) -> Parsed:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return "char", self._class()
        if char == ".":
            return "char", lambda char: char != "\n"
        if char == "^":
            return "assert", lambda text, position: position == 0
        if char == "$":
            return "assert", lambda text, position: position == len(text)
        if char in "*+?":
            raise ValueError(f"nothing to repeat before {char!r}")
        if char != "\\":
            return "char", self._equals(char)
        escaped = self._next()
        if escaped in "bB":
            wanted = escaped == "b"
            return "assert", lambda text, position: _at_word_boundary(text, position) == wanted
        return "char", self._escaped(escaped)

    def _group(self) -> Parsed:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("it has too many groups in groups")
        number, sign = 0, ""
        if self._take("?="):
            sign = "="
        elif self._take("?!"):
            sign = "!"
        elif self._take("?"):
            if not self._take(":"):
                raise ValueError("only the groups (...), (?:...), (?=...) and (?!...) are supported")
        else:
            number = self.n_groups
            self.n_groups += 1
        outer, self._in_lookahead = self._in_lookahead, self._in_lookahead or bool(sign)
        if outer and sign:
            raise ValueError("lookahead within lookahead is not supported")
        start = self._position
        parsed = self._either()
        if not self._take(")"):
            raise ValueError("missing )")
        self._depth -= 1
        self._in_lookahead = outer
        if sign:
            ahead = LinearRegex(self._text[start : self._position - 1], self._ignore_case)
            return (
                "assert",
                lambda text, position: ahead._runs(text, position, anchored=True) == (sign == "="),
            )
        return ("group", parsed, number) if number else parsed

    def _equals(self, expected: str) -> CharTest:
        if self._ignore_case:
            return lambda char: char.lower() == expected.lower()
        return lambda char: char == expected

    def _escaped(self, escaped: str) -> CharTest:
        if escaped.lower() in _CLASSES:
            test = _CLASSES[escaped.lower()]
            return test if escaped.islower() else lambda char: not test(char)
        if escaped in _ESCAPES:
            return self._equals(_ESCAPES[escaped])
        if escaped.isalnum():
            raise ValueError(f"\\{escaped} is not supported")
        return self._equals(escaped)

    def _class(self) -> CharTest:
        negated = self._take("^")
        tests: list[CharTest] = []
        is_first = True
        while is_first or not self._take("]"):
            is_first = False
            char = self._next()
            escaped = char == "\\"
            low = self._next() if escaped else char
            if escaped and low.lower() in _CLASSES:
                tests.append(self._escaped(low))
                continue
            low = _ESCAPES.get(low, low) if escaped else low
            if self._text[self._position : self._position + 1] == "-" and self._text[
                self._position + 1 : self._position + 2
            ] not in ("]", ""):
                self._position += 1
                high = self._next()
                high = self._next() if high == "\\" else high
                if high < low:
                    raise ValueError(f"bad range {low}-{high}")
                tests.append(self._between(low, high))
            else:
                tests.append(self._equals(low))
        return lambda char: any(test(char) for test in tests) != negated

    def _between(self, low: str, high: str) -> CharTest:
        if self._ignore_case:
            return lambda char: low <= char.lower() <= high or low <= char.upper() <= high
        return lambda char: low <= char <= high


def _at_word_boundary(text: str, position: int) -> bool:
    is_word = _CLASSES["w"]
    before = position > 0 and is_word(text[position - 1])
    return before != (position < len(text) and is_word(text[position]))


@cache
def compile_regex(text: str, ignore_case: bool) -> LinearRegex:
    """Return the compiled expression; each is compiled once."""
    return LinearRegex(text, ignore_case)
