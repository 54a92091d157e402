"""Universal Dependencies from Penn-style phrases of English.

Heads come from ``english.heads``, relations from ``english.relations``; both are tables that people can read and change. Some
configurations need more than a table: coordination, forms of "be" with a predicate, "there is", free relatives, names, and marks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile

from gramian.trees.conllu import Sentence, Token
from gramian.trees.heads import universal_heads
from gramian.trees.labels import category
from gramian.trees.tree import Tree, bottom_up
from gramian.trees.universal_relations import (
    CLAUSES,
    VERBS,
    ChildInPhrase,
    HeadedPhrase,
    fits,
    fixed_expressions,
    relation_of,
    word_list,
)

_UPOS = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "PRP": "PRON", "PRP$": "PRON", "WP": "PRON", "WP$": "PRON",
    "EX": "PRON", "JJ": "ADJ", "JJR": "ADJ", "JJS": "ADJ", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "WRB": "ADV", "MD": "AUX",
    "CC": "CCONJ", "CD": "NUM", "UH": "INTJ", "POS": "PART", "RP": "ADP", "IN": "ADP", "TO": "ADP", "PDT": "DET", "DT": "DET",
    "WDT": "DET", "$": "SYM", "SYM": "SYM", "FW": "X", "LS": "X", "GW": "X", "ADD": "X", "AFX": "X", "NFP": "PUNCT", "HYPH": "PUNCT",
}  # fmt: skip
_PREDICATES = ("NP", "ADJP", "PP", "ADVP", "QP", "UCP", "WHNP", "JJ*", "NN*", "CD", "SBAR", "S")
_SEPARATORS = ("CC", "CONJP", ",", ":", ".", "''")
_MARKS = (",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP")
_NOUNS = ("NP", "NN*", "NML", "PRP", "CD", "QP", "$", "WHNP", "DT", "EX", "FW", "ADD")


def to_universal(tree: Tree) -> Sentence:
    """Return the Universal Dependencies of a Penn-style tree of English without empty elements: heads, relations and UPOS."""
    return _Conversion(tree).sentence(tree.line)


class _Conversion:
    """The arcs of one tree, added phrase by phrase from below."""

    def __init__(self, tree: Tree) -> None:
        leaves = list(tree.leaves())
        self.words = [leaf.word or "_" for leaf in leaves]
        self.tags = [_bare(leaf.label) for leaf in leaves]
        self.arcs: dict[int, tuple[int, str]] = {}  # of each word its head and relation
        numbers = iter(range(len(leaves))[::-1])  # nodes come from the right

        def phrase(node: Tree, below: list[HeadedPhrase]) -> HeadedPhrase:
            if node.word is None:
                return self._phrase(_bare(node.label), tuple(below))
            number = next(numbers)
            return HeadedPhrase(self.tags[number], number, number + 1, number)

        bottom_up(list(tree.subtrees()), phrase)

    def sentence(self, line: int | None) -> Sentence:
        self._join_fixed()
        self._attach_marks()
        tokens = []
        for number, (word, tag) in enumerate(zip(self.words, self.tags, strict=True)):
            head, relation = self.arcs.get(number, (-1, "root"))
            upos = _upos(word, tag, relation)
            tokens.append(Token(number + 1, word, upos=upos, xpos=tag, head=head + 1, deprel=relation))
        return Sentence(tuple(tokens), line=line)

    def _phrase(self, label: str, children: tuple[HeadedPhrase, ...]) -> HeadedPhrase:
        """Return a phrase, and add the arcs between its children."""
        if label == "PP" or (label in ("VP", "SQ") and any(map(self._is_be, children))):
            children = tuple([self._free_relative(child) for child in children])
        groups = self._conjuncts(label, children)
        first = groups[0]
        head_child = first[self._head(label, [children[index] for index in first])]
        head = children[head_child]
        parent = HeadedPhrase(
            label, children[0].start, children[-1].end, head.head, children, head_child,
            copula=head.copula, passive=self._is_passive(head, children[:head_child]),
        )  # fmt: skip
        if label in ("VP", "SQ", "FRAG", "S", "SINV") and fits(head.label, _PREDICATES):
            forms = [child for child in children if child.end - child.start == 1 and self._is_be(child)]
            parent = replace(parent, copula=forms[0].head if forms else parent.copula)
        heads = [head_child]
        for group in groups[1:]:
            index = group[self._head(label, [children[index] for index in group])]
            heads.append(index)
            self.arcs[children[index].head] = head.head, "conj"
            for member in group:
                if member != index:
                    self._attach(replace(parent, head_child=index, head=children[index].head), member)
        inside = {member for group in groups[1:] for member in group}
        for index in range(len(children)):
            if index not in inside and index != head_child:
                following = next((later for later in heads[1:] if later > index), None)
                is_separator = fits(children[index].label, _SEPARATORS) and index > head_child
                if following is not None and is_separator:
                    relation = "punct" if fits(children[index].label, _MARKS) else "cc"
                    self.arcs[children[index].head] = children[following].head, relation
                else:
                    self._attach(parent, index)
        return self._repaired(parent)

    def _attach(self, parent: HeadedPhrase, index: int) -> None:
        pair = ChildInPhrase(parent, index, self.words, self.tags)
        relation = relation_of(pair)
        self.arcs[pair.child.head] = parent.head, relation
        if relation == "xcomp" and pair.child.label == "S":  # its subject is the object of the verb above
            for word in range(pair.child.start, pair.child.head):
                if self.arcs.get(word) in ((pair.child.head, "nsubj"), (pair.child.head, "nsubj:pass")):
                    self.arcs[word] = parent.head, "obj"

    def _free_relative(self, clause: HeadedPhrase) -> HeadedPhrase:
        """Make the question word the head of a clause that stands for a noun phrase, as in "this is what I saw"."""
        question = clause.children[0] if clause.label == "SBAR" and clause.children else clause
        if question.label != "WHNP" or self.words[question.head].lower() not in word_list("relative"):
            return clause
        if clause.head == question.head:
            return clause
        self.arcs[clause.head] = question.head, "acl:relcl"
        self.arcs.pop(question.head, None)
        return replace(clause, head=question.head, copula=None, passive=False)

    def _join_fixed(self) -> None:
        """Make the first word of an expression such as "as well as" its head."""
        lower = [word.lower() for word in self.words]
        for first, word in enumerate(lower):
            for relation, expression in fixed_expressions().get(word, ()):
                members = range(first, first + len(expression))
                if tuple(lower[first : members.stop]) != expression:
                    continue
                outside = [member for member in members if self._governor(member) not in members]
                if not outside or any(member not in self.arcs for member in members):
                    continue
                above, (governor, kept) = self._governor(outside[0]), self.arcs[outside[-1]]
                if self._governor(governor) in members and above == governor:
                    continue
                for dependent, (head, name) in list(self.arcs.items()):
                    if head in members and dependent not in members:
                        self.arcs[dependent] = above if dependent == governor else governor, name
                for member in members:
                    self.arcs[member] = (
                        (first, "fixed")
                        if member > first
                        else (governor, kept if relation == "*" else relation)
                    )
                break

    def _attach_marks(self) -> None:
        """Attach each mark to the highest word beside it whose phrase does not reach over the mark, marks in pairs to what they enclose."""
        marks = {word for word, (_, relation) in self.arcs.items() if relation == "punct"}
        words = [word for word in range(len(self.words)) if word not in marks]
        pairs = self._paired(marks)
        for mark in marks if words else ():
            left = next((word for word in reversed(words) if word < mark), None)
            right = next((word for word in words if word > mark), None)
            first, last = sorted((mark, pairs.get(mark, mark)))
            inside = [word for word in words if first < word < last]
            if inside:
                governor = self._highest(inside[0], first, last)
            elif left is None or right is None:
                governor = next(word for word in words if word not in self.arcs)
            elif self.tags[mark] == "HYPH" or self.words[mark] == "/":
                governor = left
            else:
                before, after = self._highest(left, -1, mark), self._highest(right, mark, len(self.words))
                governor = after if 0 <= self._governor(after) < mark else before
            self.arcs[mark] = governor, "punct"

    def _paired(self, marks: Collection[int]) -> dict[int, int]:
        """Return the partner of each bracket and quotation mark."""
        pairs, opened = {}, dict[str, list[int]]()
        for mark in sorted(marks):
            tag = self.tags[mark]
            if tag in ("``", "-LRB-"):
                opened.setdefault(tag, []).append(mark)
            elif before := opened.get({"''": "``", "-RRB-": "-LRB-"}.get(tag, "")):
                pairs[mark] = before.pop()
                pairs[pairs[mark]] = mark
        return pairs

    def _governor(self, word: int) -> int:
        return self.arcs.get(word, (-1, ""))[0]

    def _highest(self, word: int, first: int, last: int) -> int:
        """Return the highest word above a word between two places."""
        while first < self._governor(word) < last:
            word = self._governor(word)
        return word

    def _conjuncts(self, label: str, children: tuple[HeadedPhrase, ...]) -> list[list[int]]:
        """Return the children that each conjunct of a phrase consists of, separators left out; one group without coordination."""
        everything = list(range(len(children)))
        marks = [index for index in everything[1:-1] if fits(children[index].label, ("CC", "CONJP"))]
        if not marks:
            return [everything]
        groups: list[list[int]] = [[]]
        for index in everything:
            if index and fits(children[index].label, _SEPARATORS):
                groups.append([])
            else:
                groups[-1].append(index)
        kind = self._kind(label, children[marks[-1] + 1 :])
        conjuncts = [group for group in groups if self._kind(label, [children[i] for i in group]) == kind]
        return conjuncts if kind is not None and len(conjuncts) > 1 else [everything]

    def _kind(self, label: str, children: Sequence[HeadedPhrase]) -> str | None:
        """Return whether children make up a noun phrase, a verb phrase or clause, or another phrase."""
        spelt = [child for child in children if not fits(child.label, (*_SEPARATORS, "``"))]
        if not spelt:
            return None
        head = spelt[self._head(label, spelt)].label
        if fits(head, _NOUNS):
            return "noun"
        return "verb" if fits(head, (*VERBS, *CLAUSES)) else category(head)[:2]

    def _head(self, label: str, children: Sequence[HeadedPhrase]) -> int:
        """Return the index of the head among children."""
        labels = [child.label for child in children]
        if label in ("NP", "NML"):
            titles = self._titles(children)
            if self._is_name(children[titles:]):
                return titles
        if labels[-2:] in (["CD", "NN"], ["CD", "NNP"], ["CD", "RB"]) and self.words[
            children[-1].head
        ].lower() in word_list("hours"):
            return len(labels) - 2
        if label in ("VP", "SQ", "SINV"):
            first = next((index for index, child in enumerate(children) if self._is_be(child)), None)
            verbs = [index for index, name in enumerate(labels) if fits(name, VERBS)]
            if first is not None and verbs == [first]:
                rest = [
                    index
                    for index in range(first + 1, len(labels))
                    if fits(labels[index], _PREDICATES)
                    and (
                        labels[index] != "ADVP"
                        or self.words[children[index].head].lower() in word_list("predicates")
                    )
                ]
                rest = rest[1:] if label == "SQ" else rest
                if rest:
                    return rest[0]
            auxiliary = (
                self.words[children[verbs[0]].head].lower() in word_list("auxiliaries") if verbs else False
            )
            if len(verbs) > 1 and not auxiliary and fits(labels[verbs[0]], ("VB*",)):
                return verbs[0]
        return universal_heads().find(label, labels)

    def _titles(self, children: Sequence[HeadedPhrase]) -> int:
        """Return how many words before a name are titles."""
        names = list(takewhile(lambda child: self.words[child.head].lower() in word_list("titles"), children))
        following = children[len(names) :]
        return len(names) if following and following[0].label == "NNP" else 0

    def _is_name(self, children: Sequence[HeadedPhrase]) -> bool:
        """Whether children are a person's name: two or three proper nouns, not in capitals."""
        names = [self.words[child.head] for child in children if child.label == "NNP"]
        is_short = len(names) == sum(child.label != "POS" for child in children) and len(names) in (2, 3)
        return (
            is_short
            and all(name.istitle() for name in names)
            and names[-1].lower() not in word_list("places")
        )

    def _is_be(self, child: HeadedPhrase) -> bool:
        return fits(child.label, ("VB*",)) and self.words[child.head].lower() in word_list("be")

    def _is_passive(self, head: HeadedPhrase, before: Sequence[HeadedPhrase]) -> bool:
        if head.passive and not fits(head.label, ("NP", "PP")):
            return True
        participle = self.tags[head.head] == "VBN" and head.label == "VP"
        return participle and any(self.words[child.head].lower() in word_list("passive") for child in before)

    def _repaired(self, parent: HeadedPhrase) -> HeadedPhrase:
        """Handle "there is", questions about a predicate, and the subject of an infinitive."""
        subject = next((child for child in parent.children if child.label == "NP"), None)
        exists = subject is not None and self.tags[subject.head] == "EX"
        if exists and parent.label in ("S", "SQ", "SINV") and parent.copula is not None:
            return self._swapped(parent, parent.copula, "nsubj")
        if parent.label in ("SBAR", "SBARQ") and self._asks_predicate(parent):
            question = next(child for child in parent.children if child.label in ("WHNP", "WHADJP"))
            if parent.copula is not None:
                self.arcs[parent.copula] = question.head, "cop"
                return self._swapped(parent, question.head, "nsubj")
            return self._swapped(parent, question.head, "cop")
        return parent

    def _asks_predicate(self, parent: HeadedPhrase) -> bool:
        has_question = parent.has("WHNP", "WHADJP")
        is_be = self.words[parent.head].lower() in word_list("be") and fits(self.tags[parent.head], ("VB*",))
        clause = parent.children[parent.head_child]
        if parent.label == "SBARQ" and clause.label == "SQ" and clause.copula is not None:
            return (
                has_question and fits(self.tags[parent.head], ("NN*", "PRP", "DT")) and not clause.has("NP")
            )
        return has_question and is_be and clause.label in ("S", "SQ") and clause.has("NP")

    def _swapped(self, parent: HeadedPhrase, head: int, relation: str) -> HeadedPhrase:
        """Make another word the head of a phrase, and the head so far its dependent; clause-level dependents move."""
        old = parent.head
        for word, (governor, name) in list(self.arcs.items()):
            moves = name.startswith(("nsubj", "aux", "expl", "mark", "punct", "advmod", "cc", "advcl", "obl"))
            if governor == old and word != head and (relation == "cop" or moves):
                self.arcs[word] = head, name
        self.arcs[old] = head, relation
        self.arcs.pop(head, None)
        return replace(parent, head=head, copula=None)


def _bare(label: str) -> str:
    return label if label.startswith("-") else category(label)


def _upos(word: str, tag: str, relation: str) -> str:
    """Return the universal tag of a word."""
    if tag.startswith("VB"):
        return "AUX" if relation.startswith(("aux", "cop")) else "VERB"
    if tag in ("DT", "WDT"):
        return "DET" if relation.startswith("det") else "PRON"
    if tag in ("IN", "TO"):
        return ("PART" if tag == "TO" else "SCONJ") if relation == "mark" else _UPOS[tag]
    if tag.startswith("RB") and word.lower() in ("not", "n't", "n’t"):
        return "PART"
    return _UPOS.get(tag, "X" if tag[:1].isalpha() and not tag.startswith("-") else "PUNCT")
