"""Text from elsewhere (ids, labels, words, names of files) made safe for terminals, lines of text, XML and JSON lines."""

import json
import re
from html import escape
from typing import Any

# Control characters, which terminals obey and some programs end lines at; and those that turn the direction of what follows.
_CONTROLS = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_CONTROLS_WITHIN_LINES = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS_OF_UNICODE = re.compile(r"[\x7f-\x9f\u2028\u2029]")
_NOT_XML = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def one_line(text: str) -> str:
    r"""Return a text with its control characters, line ends included, as Python writes them.

    Examples
    --------
    >>> print(one_line("name\x1b[31m\n1\tforged"))
    name\x1b[31m\n1\tforged
    """
    return _CONTROLS.sub(_as_python, text)


def for_terminal(text: str) -> str:
    """Return a text of lines with all control characters as Python writes them, but for line ends and tabs."""
    return _CONTROLS_WITHIN_LINES.sub(_as_python, text)


def _as_python(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def json_line(value: Any) -> str:
    """Return a value as one line of JSON, characters as they are, unless some program takes them for a line end."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isascii():
        return text
    return _LINE_ENDS_OF_UNICODE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def xml_text(text: str) -> str:
    """Return a text as it stands within an element or an attribute of XML; characters that XML lacks become U+FFFD."""
    return escape(_NOT_XML.sub("\ufffd", text))
