"""The parser of patterns in the notation of Tregex and tgrep2."""

import re
from dataclasses import replace

from gramian.errors import InputError
from gramian.search.linear_regex import compile_regex
from gramian.search.pattern import (
    AllOf,
    AnyOf,
    Formula,
    LabelRegex,
    NodePattern,
    NodeTest,
    Relation,
)
from gramian.trees.tree import escape_word

_SYNONYMS = {
    "$+": "$.", "$-": "$,", "$++": "$..", "$--": "$,,",
    "<`": "<-", ">`": ">-", "<<`": "<<-", ">>`": ">>-", "<'": "<-", ">'": ">-", "<<'": "<<-", ">>'": ">>-",
}  # fmt: skip
_NUMBERED = re.compile(r"([<>])(-?[1-9][0-9]*)\Z")
_MAX_DEPTH = 50
_MOST_DIGITS = 6
_HINT = "write for example NP < (PP < of), VP << /^VB/=verb, or S !< VP"

_NAME = (
    r"""(?:[^\s()\[\]{}<>!&|=/".,$@?:~\#;%](?:[^\s()\[\]{}<>!&|=/"$\#;]|\$(?=[\s()\]|=};]|\Z)|\#(?=\w))*)"""
)
_TOKEN = re.compile(
    rf"""\s*(?:
    (?P<exactly><\.\.\.)
  | (?P<path>[<>.,]\+(?=\())
  | (?P<relation>[<>]-?[1-9][0-9]*|<<[,\-`':\#]|>>[,\-`':\#]|<<|>>|<=|[<>][:,\-\#]|[<>]`(?!`)|[<>]'(?!')|[<>]
      |\$(?:\.\.|,,|\+\+|--|[.,+-])?|==|\.\.|,,|\.|,|:(?=\s))
  | (?P<mark>[()\[\]{{}}!&?;])
  | /(?P<regex>(?:[^/\\]|\\.)*)/(?P<ignore_case>i(?![\w-]))?
  | "(?P<quoted>(?:[^"\\]|\\.)*)"
  | (?P<basic>@)
  | \#(?P<variable>[0-9]+%\w+)
  | (?P<name>{_NAME})
  | =(?P<capture>\w+)
  | ~(?P<same_label>\w+)
  | (?P<bar>\|)
    )""",
    re.VERBOSE,
)


def parse_pattern(text: str) -> NodePattern:
    """Parse a pattern; an InputError points to the position of a mistake.

    Examples
    --------
    >>> pattern = parse_pattern("NP < (PP < of)")
    >>> sorted(pattern.test.names), pattern.formula.parts[0].kind
    (['NP'], '<')
    """
    return _PatternParser(text).parse()


class _PatternParser:
    """A recursive-descent parser of patterns."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._position = text, _tokens(text), 0
        self._captured: set[str] = set()
        self._depth = 0

    def parse(self) -> NodePattern:
        pattern = self._node(relations=True)
        if self._ahead()[0]:
            raise self._fault("unexpected text after the pattern")
        return pattern

    def _ahead(self) -> tuple[str, str]:
        """Return kind and text of the next token; empty at the end."""
        return self._tokens[self._position][:2] if self._position < len(self._tokens) else ("", "")

    def _take(self, kind: str, text: str | None = None) -> str | None:
        """Consume the next token and return its text if it has this kind (and text)."""
        next_kind, next_text = self._ahead()
        if next_kind != kind or (text is not None and next_text != text):
            return None
        self._position += 1
        return next_text

    def _require(self, mark: str) -> None:
        if self._take("mark", mark) is None:
            raise self._fault(f"'{mark}' is missing")

    def _fault(self, problem: str) -> InputError:
        column = self._tokens[self._position][2] if self._position < len(self._tokens) else len(self._text)
        return InputError(problem, "pattern", 1, column + 1, excerpt=self._text, hint=_HINT)

    def _node(self, relations: bool) -> NodePattern:
        if self._take("mark", "("):
            self._enter()
            node = self._node(relations=True)
            self._require(")")
            self._depth -= 1
            more = self._any_of() if relations else AllOf(())  # (NP < NN) < DT
            return replace(node, formula=AllOf((node.formula, more))) if more != AllOf(()) else node
        test, formula = self._test()
        capture = "" if test.same_node else self._take("capture") or ""
        if capture:
            self._captured.add(capture)
        if relations:
            more = self._any_of()
            formula = AllOf((formula, more)) if formula != AllOf(()) else more
        return NodePattern(test, formula, capture)

    def _test(self) -> tuple[NodeTest, Formula]:
        """Read the description of a node; ``_ROOT_`` has a formula of its own."""
        negated = self._take("mark", "!") is not None
        basic = self._take("basic") is not None
        if not (negated or basic):
            if (name := self._take("capture")) is not None:
                return NodeTest(same_node=self._known_name(name)), AllOf(())
            if (name := self._take("same_label")) is not None:
                return NodeTest(same_label=self._known_name(name)), AllOf(())
        names: set[str] = set()
        regexes: list[LabelRegex] = []
        while True:
            if (regex := self._take("regex")) is not None:
                regexes.append(self._regex(regex))
            elif (quoted := self._take("quoted")) is not None:
                names.add(re.sub(r"\\(.)", r"\1", quoted))
            elif (name := self._take("name")) is not None:
                names.add(name)
            else:
                raise self._fault("a node is missing: a label, a word, /an expression/ or *")
            if self._ahead()[0] != "bar" or not self._description_follows():
                break
            self._position += 1
        formula: Formula = AllOf(())
        if "_ROOT_" in names:
            formula = Relation(">", NodePattern(NodeTest()), negated=True)
        if names & {"*", "__", "_ROOT_"}:
            names, regexes = set(), []
        escaped = frozenset(map(escape_word, names))
        return NodeTest(escaped, tuple(regexes), basic, negated), formula

    def _known_name(self, name: str) -> str:
        if name not in self._captured:
            self._position -= 1
            raise self._fault(f"no node is named {name!r} before this point")
        return name

    def _description_follows(self) -> bool:
        """Return whether a label comes after the bar, as in ``NP|PP``: a relation would begin with an operator."""
        following = self._tokens[self._position + 1 : self._position + 2]
        return bool(following) and following[0][0] in ("name", "regex", "quoted")

    def _regex(self, text: str) -> LabelRegex:
        text = text.replace("\\/", "/")
        ignore_case = self._take("ignore_case") is not None
        variables = []
        try:
            regex = compile_regex(text, ignore_case)
        except ValueError as error:
            self._position -= 1 + ignore_case
            raise self._fault(f"invalid regular expression ({error})") from None
        while (variable := self._take("variable")) is not None:
            number, _, name = variable.partition("%")
            if len(number) > _MOST_DIGITS or int(number) >= regex.n_groups:
                self._position -= 1
                raise self._fault(f"the regular expression has no group {number[:9]}")
            variables.append((int(number), name))
        return LabelRegex(text, ignore_case, tuple(variables))

    def _any_of(self) -> Formula:
        parts = [self._all_of()]
        while self._take("bar") is not None:
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all_of(self) -> Formula:
        parts: list[Formula] = []
        while True:
            joined = bool(parts) and self._take("mark", "&") is not None
            negated = self._take("mark", "!") is not None
            optional = not negated and self._take("mark", "?") is not None
            if self._take("mark", "["):
                self._enter()
                inside = self._any_of()
                self._require("]")
                self._depth -= 1
                if optional:
                    inside = AllOf((inside,), optional=True)
                parts.append(AnyOf((inside,), negated=True) if negated else inside)
            elif self._take("exactly") is not None:
                children = self._exact_children()
                parts.append(AnyOf((children,), negated=True) if negated else children)
            elif (relation := self._relation()) is not None:
                parts.append(replace(relation, negated=negated, optional=optional))
            elif joined or negated or optional:
                raise self._fault("a relation is missing, such as < or $.")
            else:
                return AllOf(tuple(parts))

    def _relation(self) -> Relation | None:
        if (kind := self._take("path")) is not None:
            self._require("(")
            path, _ = self._test()
            self._require(")")
            if path.needs_captures:
                raise self._fault("nodes of a path cannot refer to others")
            return Relation(kind, self._node(relations=False), path=path)
        if (kind := self._take("relation")) is None:
            return None
        kind = _SYNONYMS.get(kind, kind)
        numbered = _NUMBERED.match(kind)
        if numbered and len(numbered[2]) > _MOST_DIGITS:
            self._position -= 1
            raise self._fault("no node has so many children")
        child = int(numbered[2]) if numbered else 0
        return Relation(numbered[1] if numbered else kind, self._node(relations=False), child)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._fault(f"more than {_MAX_DEPTH} brackets in brackets")

    def _exact_children(self) -> AllOf:
        """Read ``{ B ; C }``: these are the children, in this order, and no others."""
        self._require("{")
        self._enter()
        children = [self._node(relations=True)]
        while self._take("mark", ";"):
            children.append(self._node(relations=True))
        self._require("}")
        self._depth -= 1
        has_more = Relation("<", NodePattern(NodeTest()), len(children) + 1, negated=True)
        return AllOf((*(Relation("<", child, number) for number, child in enumerate(children, 1)), has_more))


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Return kind, text and position of each token."""
    tokens, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            column = len(text) - len(text[position:].lstrip()) + 1
            hint = 'put words with punctuation in quotes: "."'
            raise InputError("unexpected character", "pattern", 1, column, excerpt=text, hint=hint)
        if match["ignore_case"]:
            tokens.append(("regex", match["regex"], match.start("regex")))
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind], match.start(kind)))
        position = match.end()
    return tokens
