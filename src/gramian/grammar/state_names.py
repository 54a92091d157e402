"""A state in one line, such as "subject personal pronouns: he, it, she", made from its rules, words and places.

It is read off a :class:`gramian.grammar.describe.StateDescription`, and no surer than the shares that stand there.
"""

import re

from gramian.grammar.describe import StateDescription
from gramian.trees.glossary import meaning

_ENOUGH = 0.3  # of all places, for one to be named
_TYPICAL = 0.4  # of all rules
_WORDS, _LEAST = 3, 0.01
_CLAUSE = re.compile(r"(S|SINV|SQ|IP|CP|fcl|icl|SENT|Srel|Ssub|Sint)\b")
_NOUN_PHRASE = re.compile(r"(NP|np|sn)\b")
_VERBAL = re.compile(r"(VP|VN|vp|grup\.verb)\b")
_PREPOSITIONAL = re.compile(r"(PP|pp|sp)\b")


def state_name(state: StateDescription, label: str, kind: str, scheme: str = "penn") -> str:
    """Say in one line what a state of a label is."""
    frequent = [part.name for part in state.words if part.share >= _LEAST]
    words = ", ".join(([word for word in frequent if any(map(str.isalnum, word))] or frequent)[:_WORDS])
    position = _typical_position(state, label, scheme)
    if kind == "tag":
        return ": ".join(part for part in (words, position) if part) or label
    typical = state.rules[0] if state.rules else None
    noun = _plural(_short(label, scheme, "phrase"))
    if typical is not None and typical.share >= _TYPICAL:
        below = typical.name.split(" ")
        if len(below) == 1:
            noun = _plural(_short(below[0], scheme, "tag"))
        else:
            noun = f"{noun} ({typical.name})"
    name = f"{position} {noun}" if position in ("subject", "object") else f"{noun} {position}".strip()
    return f"{name}: {words}" if words else name


def _typical_position(state: StateDescription, label: str, scheme: str) -> str:
    """Return what the most frequent place makes of a state, in words; nothing if no place is frequent."""
    if not state.contexts or state.contexts[0].share < _ENOUGH:
        return ""
    name = state.contexts[0].name
    if name == "root":
        return "as a whole"
    parent, _, sisters = name.partition(" → ")
    parts = sisters.split(" ")
    if "·" not in parts:
        return ""
    index = parts.index("·")
    before, after = parts[:index], parts[index + 1 :]
    if _NOUN_PHRASE.match(label):
        if _CLAUSE.match(parent) and any(_VERBAL.match(sibling) for sibling in after):
            return "subject"
        if _VERBAL.match(parent) and before:
            return "object"
        if _PREPOSITIONAL.match(parent) and before:
            return "after a preposition"
    above = _short(parent, scheme, "phrase")
    if after and after[0] != "…":
        return f"before {after[0]} in a {above}"
    if before and before[-1] != "…":
        return f"after {before[-1]} in a {above}"
    return f"in a {above}"


def _short(label: str, scheme: str, kind: str) -> str:
    """Return what a label means, without examples; of a chain, what its top means."""
    words = meaning(label.partition("|")[0], scheme, kind) or label
    return re.split(r"[:;(]|, (?:with|such|or|and)\b", words)[0].strip()


def _plural(noun: str) -> str:
    """Make the first noun of a short meaning plural: ``verb, past tense`` becomes ``verbs, past tense``."""
    first, comma, rest = noun.partition(",")
    if first.isupper() or first.endswith("s"):
        return noun
    first, preposition, further = first.partition(" of ")
    first = f"{first[:-1]}ies" if re.search("[^aeiou]y$", first) else f"{first}s"
    return first.replace(" or clauses", "s or clauses") + preposition + further + comma + rest
