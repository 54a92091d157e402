"""Sentences of kinds that treebanks have few of, made from statements: requests, numbered steps, quotations, headlines, chat.

Every rewriting takes a tree in the scheme of the English model and returns another one in Penn style, or None where it does not apply. The
words come from the treebanks and from the closed lists below. ``kinds.mrg`` has more trees of such kinds, written for the model; none of
their sentences, and hardly any of their content words, are those of the bank of everyday sentences, which measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from gramian.trees import Tree, read_trees
from gramian.trees.tree import phrase, preterminal

HAND_MADE = Path(__file__).with_name("kinds.mrg")
COPIES = 10
"""How often a tree of that file counts."""
Rewriting = Callable[[Tree, np.random.Generator], Tree | None]

_LONGEST = 16  # words of a tree that is rewritten
_REPORTING = ("said", "said", "asked", "cried", "whispered", "muttered", "explained", "added", "announced", "murmured", "insisted", "wrote",
              "admitted", "suggested", "remarked", "joked", "says", "warns", "continued", "yelled", "agreed", "thought")  # fmt: skip
_ASKING = ("asked", "asked", "wondered", "cried", "inquired", "wanted", "said", "whispered", "yelled")
_SPEAKERS = (
    "(NP (DT the) (NN teacher))", "(NP (DT the) (NN woman))", "(NP (DT the) (NN driver))", "(NP (DT a) (NN soldier))", "(NP (NNP Anna))",
    "(NP (NNP Mr.) (NNP Brown))", "(NP (PRP$ my) (NN sister))", "(NP (PRP$ his) (NN father))", "(NP (DT the) (NN captain))",
    "(NP (DT the) (JJ young) (NN nurse))", "(NP (NP (DT a) (NN man)) (PP (IN in) (NP (NN uniform))))", "(NP (DT the) (NNS children))",
    "(NP (NP (DT the) (NN owner)) (PP (IN of) (NP (DT the) (NN shop))))", "(NP (NNP Peter))", "(NP (NP (NNP Maria) (POS 's)) (NN cousin))",
    "(NP (DT the) (NN queen))", "(NP (DT one) (NN visitor))", "(NP (DT the) (JJ tall) (NN stranger))", "(NP (PRP$ her) (NN uncle))",
    "(NP (DT the) (NN professor))", "(NP (NNP Dr.) (NNP Evans))", "(NP (DT the) (NN waiter))", "(NP (DT another) (NN neighbor))",
)  # fmt: skip
_PRONOUNS = ("(NP (PRP she))", "(NP (PRP he))", "(NP (PRP they))", "(NP (PRP I))")
_MANNERS = ("(ADVP (RB quietly))", "(ADVP (RB angrily))", "(PP (IN with) (NP (DT a) (NN laugh)))",
            "(PP (IN from) (NP (DT the) (NN kitchen)))", "(NP (DT this) (NN morning))", "(ADVP (RB suddenly))")  # fmt: skip
_ADDRESSED = ("(NP (NNP Anna))", "(NP (NN sir))", "(NP (NN dad))", "(NP (NNP Mr.) (NNP Brown))", "(NP (NNS friends))",
              "(NP (NNS guys))", "(NP (NN mum))", "(NP (NNP Peter))", "(NP (NN professor))", "(NP (NN buddy))")  # fmt: skip
_CALLS = ("(S (VP (VB Listen)))", "(S (VP (VB Wait)))", "(S (VP (VB Hurry) (PRT (RP up))))", "(S (VP (VB Trust) (NP (PRP me))))",
          "(S (VP (VB Calm) (PRT (RP down))))", "(S (VP (VB Believe) (NP (PRP me))))", "(S (VP (VB Hold) (PRT (RP on))))",
          "(S (VP (VB Sit) (PRT (RP down))))", "(S (VP (VB Stop) (NP (PRP it))))", "(S (VP (VB Do) (RB n't) (VP (VB cry))))",
          "(S (VP (VB Forget) (NP (PRP it))))", "(S (VP (VB Do) (RB n't) (VP (VB panic))))")  # fmt: skip
_ASIDES = (
    "(PRN (S (NP (PRP I)) (VP (VBP mean))))",
    "(PRN (S (NP (PRP You)) (VP (VBP know))))",
    "(PRN (S (NP (PRP You)) (VP (VBP see))))",
)
_EXCLAMATIONS = (
    "oh", "hi", "hello", "well", "yes", "yeah", "wow", "ah", "yep", "nope", "lol", "ugh", "ok", "okay", "hmm", "sorry", "thanks",
)  # fmt: skip
_TAGS_IN_QUESTIONS = {"are": "are", "is": "is", "was": "was", "were": "were", "can": "ca", "could": "could", "will": "wo", "would": "would",
                      "should": "should", "'re": "are", "'s": "is", "'ll": "wo", "’re": "are", "’s": "is", "’ll": "wo"}  # fmt: skip
_BE = frozenset(("is", "are", "was", "were"))
_ENDS = (".", ":")


def _capitalised(tree: Tree) -> Tree:
    """Return a tree whose first word begins with a capital letter."""
    if tree.is_preterminal:
        word = tree.word or ""
        return preterminal(tree.label, word[:1].upper() + word[1:])
    return phrase(tree.label, (_capitalised(tree[0]), *tuple(tree)[1:]))


def _continued(tree: Tree) -> Tree:
    """Return a tree whose first word is written as inside a sentence."""
    if tree.is_preterminal:
        word = tree.word or ""
        is_name = tree.label.startswith("NNP") or word == "I" or word[1:] != word[1:].lower()
        return tree if is_name else preterminal(tree.label, word.lower())
    return phrase(tree.label, (_continued(tree[0]), *tuple(tree)[1:]))


def _of(notation: str) -> Tree:
    return Tree.parse(notation)


def _chosen(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[int(rng.integers(len(options)))]


def _split(tree: Tree) -> tuple[tuple[Tree, ...], Tree | None]:
    """Return the children of a sentence without the mark at its end, and that mark."""
    children = tuple(tree)
    has_mark = len(children) > 1 and children[-1].is_preterminal and children[-1].label == "."
    return (children[:-1], children[-1]) if has_mark else (children, None)


def _without_articles(tree: Tree) -> Tree | None:
    """Return a tree without articles, None if nothing is left."""
    if tree.is_preterminal:
        return None if (tree.word or "").lower() in ("the", "a", "an") else tree
    children = tuple(child for child in map(_without_articles, tree) if child is not None)
    return phrase(tree.label, children) if children else None


def _labels(tree: Tree) -> list[str]:
    return [child.label for child in tree if child.label not in _ENDS]


def _is_statement(tree: Tree) -> bool:
    """Whether a tree is a sentence with a subject and a predicate, and no quotation mark."""
    labels = _labels(tree)
    return tree.label == "S" and labels[-2:] == ["NP", "VP"] and not {"``", "''"} & set(tree.tags)


def request(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn what somebody will, should or wants to do into a request.

    Examples
    --------
    >>> str(request(Tree.parse("(S (NP (PRP we)) (VP (MD will) (VP (VB paint) (NP (DT the) (NN fence)))) (. .))"), None))
    '(S (VP (VB Paint) (NP (DT the) (NN fence))) (. .))'
    """
    for node in tree.subtrees():
        if node.label != "VP" or len(node) < 2 or node[0].label not in ("MD", "TO"):
            continue
        verb = node[-1]
        if verb.label != "VP" or not verb[0].is_preterminal or verb[0].label != "VB" or len(verb) < 2:
            continue
        if len(verb.words) <= _LONGEST and verb[0].word not in ("be", "have", "get"):
            return phrase("S", (_capitalised(verb), preterminal(".", ".")))
    return None


def polite(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn a statement into a request with ``please`` or the name of the person addressed."""
    made = request(tree, rng)
    if made is None:
        return None
    verb, mark = made[0], made[1]
    kind = int(rng.integers(3))
    if kind == 0:
        return phrase("S", (_of("(INTJ (UH Please))"), _continued(verb), mark))
    addressed = _of("(INTJ (UH please))") if kind == 1 else _of(_chosen(rng, _ADDRESSED))
    return phrase("S", (verb, preterminal(",", ","), addressed, mark))


def step(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn a statement into a numbered step of an instruction."""
    made = request(tree, rng)
    if made is None:
        return None
    number = str(int(rng.integers(1, 13)))
    kind = int(rng.integers(6))
    if kind == 0:
        label = _of(f"(NP (NN {_chosen(rng, ('Step', 'Part', 'Exercise', 'Task'))}) (CD {number}))")
        return phrase("FRAG", (label, preterminal(":", ":"), phrase("S", (made[0],)), made[1]))
    if kind == 1:
        order = _chosen(rng, ("First", "Then", "Next", "Finally", "Now", "Second"))
        first = (_of(f"(ADVP (RB {order}))"), *((preterminal(",", ","),) if rng.random() < 0.6 else ()))
        return phrase("S", (*first, _continued(made[0]), made[1]))
    marks = {
        2: f"(LST (LS {number}) (-RRB- -RRB-))",
        3: f"(LST (LS {_chosen(rng, tuple('abcde'))}) (-RRB- -RRB-))",
    }
    mark = marks.get(kind, f"(LST (LS {number}.))" if kind == 4 else f"(LST (LS {number}) (. .))")
    return phrase("S", (_of(mark), *made))


def _quoted(tree: Tree) -> list[Tree] | None:
    """Return a sentence between quotation marks, with the mark at its end, which is a comma after a statement."""
    if len(tree.words) > _LONGEST or {"``", "''", '"'} & set(tree.tags):
        return None
    children, mark = _split(tree)
    if not (_is_statement(tree) or tree.label in ("SQ", "SBARQ")):
        return None
    opening, closing = preterminal("``", "``"), preterminal("''", "''")
    if mark is not None and mark.word in ("?", "!"):
        return [opening, phrase(tree.label, (*children, mark)), closing]
    if tree.label != "S":
        return None
    return [opening, phrase("S", children), preterminal(",", ","), closing]


def quotation(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn a sentence into a quotation before its speaker, with the verb first or last.

    Examples
    --------
    >>> quotation(Tree.parse("(S (NP (PRP It)) (VP (VBZ rains)) (. .))"), np.random.default_rng(4)).label
    'SINV'
    """
    if rng.random() < 0.3 and (made := request(tree, rng)) is not None and len(made.words) <= _LONGEST:
        mark = preterminal(".", "!") if rng.random() < 0.5 else None
        quoted = [preterminal("``", "``"), phrase("S", (made[0], *([mark] if mark else ())))]
        quoted += [preterminal("''", "''")] if mark else [preterminal(",", ","), preterminal("''", "''")]
    else:
        found = _quoted(tree)
        if found is None:
            return None
        quoted = found
    is_question = quoted[1].label in ("SQ", "SBARQ")
    verb = phrase("VP", (preterminal("VBD", _chosen(rng, _ASKING if is_question else _REPORTING)),))
    if verb[0].word in ("says", "warns"):
        verb = phrase("VP", (preterminal("VBZ", verb[0].word or ""),))
    stop = preterminal(".", ".")
    if rng.random() < 0.25:
        subject = _of(_chosen(rng, (*_PRONOUNS, *_SPEAKERS)))
        return phrase("S", (*quoted, subject, verb, stop))
    manner = (_of(_chosen(rng, _MANNERS)),) if rng.random() < 0.25 else ()
    return phrase("SINV", (*quoted, verb, _of(_chosen(rng, _SPEAKERS)), *manner, stop))


def interrupted(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn a sentence with a comma after its first phrase into a quotation that the speaker interrupts there."""
    if not _is_statement(tree) or len(tree.words) > _LONGEST + 6:
        return None
    children, mark = _split(tree)
    if len(children) < 4 or children[0].is_preterminal or children[1].label != ",":
        return None
    verb = f"(VP (VBD {_chosen(rng, _REPORTING[:14])}))"
    if rng.random() < 0.5:
        speaker = f"(SINV {verb} {_chosen(rng, _SPEAKERS)})"
    else:
        speaker = f"(S {_chosen(rng, _PRONOUNS)} {verb})"
    aside = _of(f"(PRN (, ,) ('' '') {speaker} (, ,) (`` ``))")
    end = (mark or preterminal(".", "."), preterminal("''", "''"))
    return phrase("S", (preterminal("``", "``"), children[0], aside, *children[2:], *end))


def reported(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn a sentence into a quotation after its speaker."""
    quoted = _quoted(tree)
    if quoted is None:
        return None
    inner = [part for part in quoted if part.label != ","]
    comma = (preterminal(",", ","),) if rng.random() < 0.7 else ()
    verb = preterminal("VBD", _chosen(rng, _REPORTING[:14]))
    predicate = phrase("VP", (verb, *comma, *inner))
    return phrase(
        "S",
        (_capitalised(_of(_chosen(rng, (*_PRONOUNS, *_SPEAKERS)))), predicate, preterminal(".", ".")),
    )


def tag_question(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Turn a statement about a pronoun into a question with ``isn't it``.

    Examples
    --------
    >>> str(tag_question(Tree.parse("(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ late))) (. .))"), None))
    "(SQ (S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ late)))) (, ,) (SQ (VBZ is) (RB n't) (NP (PRP it))) (. ?))"
    """
    children, _ = _split(tree)
    if (
        not _is_statement(tree)
        or len(children) != 2
        or tuple(children[0].tags) != ("PRP",)
        or len(tree.words) > _LONGEST
    ):
        return None
    verb = children[1][0]
    auxiliary = _TAGS_IN_QUESTIONS.get(verb.word or "")
    if "VBN" in children[1].tags and verb.word in ("'s", "’s"):
        return None  # has, or is: nothing tells
    subject = (children[0].words[0]).lower()
    if auxiliary is None or verb.label not in ("VBZ", "VBP", "VBD", "MD") or subject == "i":
        return None
    if "RB" in [child.label for child in children[1]] or "n't" in tree.words or "not" in tree.words:
        return None
    tag = _of(f"(SQ ({verb.label} {auxiliary}) (RB n't) (NP (PRP {subject})))")
    return phrase("SQ", (phrase("S", children), preterminal(",", ","), tag, preterminal(".", "?")))


def addressed(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Add an exclamation or the name of the person addressed to a sentence."""
    if tree.label not in ("S", "SQ", "SBARQ") or len(tree.words) > _LONGEST or len(tree) < 2:
        return None
    children, mark = _split(tree)
    if tree.label == "S" and not _is_statement(tree):
        return None
    end = (mark,) if mark is not None else ()
    if rng.random() < 0.4:
        name = _of(_chosen(rng, _ADDRESSED))
        return phrase(tree.label, (*children, preterminal(",", ","), name, *end))
    word = _chosen(rng, _EXCLAMATIONS)
    comma = (preterminal(",", ","),) if rng.random() < 0.6 else ()
    first = _capitalised(_of(f"(INTJ (UH {word}))")) if rng.random() < 0.5 else _of(f"(INTJ (UH {word}))")
    return phrase(
        tree.label, (first, *comma, _continued(phrase(tree.label, children))[0], *children[1:], *end)
    )


def spliced(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Put a short request, or ``I mean``, and a comma before a statement."""
    if (
        not _is_statement(tree)
        or len(tree.words) > _LONGEST
        or tuple(tree[0].tags) not in (("PRP",), ("EX",), ("DT",))
    ):
        return None
    children, mark = _split(tree)
    statement = _continued(phrase("S", children))
    end = (mark or preterminal(".", "."),)
    if rng.random() < 0.25:
        return phrase("S", (_of(_chosen(rng, _ASIDES)), preterminal(",", ","), *statement, *end))
    return phrase("S", (_of(_chosen(rng, _CALLS)), preterminal(",", ","), statement, *end))


def message(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Write a sentence as in a chat: no capital letter, no mark at the end, no ``are`` before ``you``, no ``I`` before its verb."""
    if len(tree.words) > _LONGEST or tree.label not in ("S", "SQ"):
        return None
    children, mark = _split(tree)
    labels = [child.label for child in children]
    if (
        tree.label == "SQ"
        and labels[:1] == ["VBP"]
        and labels[1:] == ["NP", "VP"]
        and children[2][0].label == "VBG"
    ):
        who = (
            _of("(NP (PRP u))")
            if rng.random() < 0.5 and tuple(children[1].words) == ("you",)
            else children[1]
        )
        return phrase("SQ", (who, children[2], preterminal(".", "?")))
    if tree.label == "S" and labels == ["NP", "VP"] and tuple(children[0].words) == ("I",):
        keeps = (mark,) if mark is not None and rng.random() < 0.5 else ()
        predicate = children[1]
        if not predicate[0].is_preterminal or (predicate[0].word or "")[:1] in "'’":
            return None
        return phrase("S", (_capitalised(predicate) if rng.random() < 0.6 else predicate, *keeps))
    return None


def shortened(tree: Tree, rng: np.random.Generator) -> Tree | None:
    """Shorten a statement as a headline does: ``to`` instead of ``will``, a participle instead of a passive.

    Examples
    --------
    >>> passive = "(S (NP (CD Six)) (VP (VBD were) (VP (VBN hurt) (PP (IN in) (NP (DT a) (NN fire))))) (. .))"
    >>> str(shortened(Tree.parse(passive), None))
    '(S (NP (CD Six)) (VP (VBN hurt) (PP (IN in) (NP (DT a) (NN fire)))))'
    """
    if not _is_statement(tree) or len(tree.words) > _LONGEST + 4:
        return None
    children, _ = _split(tree)
    if len(children) != 2 or set(children[0].tags) == {"PRP"} or len(children[1]) != 2:
        return None
    auxiliary, rest = children[1][0], children[1][1]
    if rest.label != "VP":
        return None
    subject = _capitalised(_without_articles(children[0]) or children[0])
    if auxiliary.label == "MD" and auxiliary.word in ("will", "would") and rest[0].label == "VB":
        return phrase("S", (subject, phrase("VP", (preterminal("TO", "to"), rest))))
    if auxiliary.word in _BE and rest[0].label in ("VBN", "VBG"):
        return phrase("S", (subject, rest))
    return None


REWRITINGS: dict[Rewriting, float] = {
    request: 0.10, polite: 0.02, step: 0.04, quotation: 0.06, interrupted: 0.10, reported: 0.02, tag_question: 0.10, addressed: 0.03,
    spliced: 0.05, message: 0.10, shortened: 0.15,
}  # fmt: skip
"""The rewritings, and for which share of the trees to which they apply a copy is made."""


def hand_made() -> list[Tree]:
    """Return the trees that were written for the model, as often as they count."""
    return list(read_trees(HAND_MADE)) * COPIES


def rewritten(trees: Iterable[Tree], random_state: int = 0) -> Iterator[Tree]:
    """Yield copies of some trees as sentences of other kinds."""
    rng = np.random.default_rng(random_state)
    for tree in trees:
        for change, share in REWRITINGS.items():
            if rng.random() < share and (copy := change(tree, rng)) is not None:
                yield copy
