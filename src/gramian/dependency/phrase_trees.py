"""Dependency trees as phrase-structure trees, so that learners of L-PCFGs give them hidden states that pass from heads to modifiers.

The states of a head automaton are horizontal: they link the modifiers of one head (Balle, Carreras, Luque & Quattoni 2014, section 6.4).
A projective dependency tree is a binary tree of phrases, each of which joins a head with its next modifier: first those to the right,
from the head outwards, then those to the left. Its label is the symbol of the head and the side of the modifier. Latent states of these
phrases are horizontal along the phrases of one head, and vertical from a phrase to its modifier.
"""

from collections.abc import Sequence

from gramian.trees import Tree
from gramian.trees.tree import bottom_up, escape_word

ROOT, LEFT, RIGHT = "ROOT", "<", ">"


def phrase_tree(symbols: Sequence[str], heads: Sequence[int]) -> Tree:
    """Return the phrases of a projective dependency tree, whose words are its symbols; heads are counted from 1, and 0 is the root.

    Examples
    --------
    >>> print(phrase_tree(["D", "N", "V", "A"], [2, 3, 0, 3]))
    (ROOT (V< (N< (D D) (N N)) (V> (V V) (A A))))
    """
    modifiers: list[list[int]] = [[] for _ in range(len(symbols) + 1)]
    for word, head in enumerate(heads, start=1):
        modifiers[head].append(word)
    downwards = [0]  # heads before their modifiers
    for head in downwards:
        downwards += modifiers[head]
    phrases: dict[int, Tree] = {}
    for head in reversed(downwards[1:]):
        symbol = symbols[head - 1]
        label, phrase = escape_word(symbol), Tree(escape_word(symbol), word=symbol)
        for word in modifiers[head]:
            if word > head:
                phrase = Tree(label + RIGHT, [phrase, phrases[word]])
        for word in reversed(modifiers[head]):
            if word < head:
                phrase = Tree(label + LEFT, [phrases[word], phrase])
        phrases[head] = phrase
    return Tree(ROOT, [phrases[word] for word in modifiers[0]])


def phrase_heads(tree: Tree) -> list[int]:
    """Return the head of each word, counted from 1; the inverse of :func:`phrase_tree`.

    A phrase whose label names no side, as in trees of sentences without a derivation, is headed by its first child.

    Examples
    --------
    >>> phrase_heads(phrase_tree(["D", "N", "V", "A"], [2, 3, 0, 3]))
    [2, 3, 0, 3]
    """
    heads = [0] * len(tree.words)
    words = iter(range(len(heads), 0, -1))  # nodes are visited from the right

    def joined(node: Tree, parts: Sequence[int]) -> int:
        """Attach the heads of a node's children, and return the head of the node."""
        if node.word is not None:
            return next(words)
        if node is tree and node.label == ROOT:
            return 0
        head = parts[-1] if node.label.endswith(LEFT) else parts[0]
        for part in parts:
            if part != head:
                heads[part - 1] = head
        return head

    bottom_up(list(tree.subtrees()), joined)
    return heads
