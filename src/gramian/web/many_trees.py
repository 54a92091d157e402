"""Many trees at once: the sentences of a text, and a treebank that was pasted; each answer has a few, and says where to go on."""

from typing import Any

from gramian.errors import InputError
from gramian.trees import Tree, normalise, parse_bracketed
from gramian.web.explore import Explorer
from gramian.web.tree_json import compare, nodes
from gramian.web.typed_sentences import DEEPEST, check_length

MOST_SENTENCES = 20
"""Of an answer."""


def parsed_text(explorer: Explorer, text: str) -> dict[str, Any]:
    """Parse the first sentences of a text; ``end`` is where the next begin, or None at the end."""
    spans = explorer.parser.segmenter.segment(text)
    asked = [text[start:end] for start, end in spans[:MOST_SENTENCES]]
    for sentence in asked:
        check_length(len(explorer.words(sentence)))
    sentences = []
    for sentence, result in zip(asked, explorer.parser.parse_batch(asked), strict=True):
        if not result.words:
            continue
        sentences.append(
            {
                "text": sentence,
                "words": list(result.words),
                "status": result.status,
                "tree": str(result.tree),
                "nodes": nodes(result.tree, result.confidences),
            }
        )
    return {
        "sentences": sentences,
        "end": spans[MOST_SENTENCES].start if len(spans) > MOST_SENTENCES else None,
    }


def read_bank(explorer: Explorer, text: str) -> dict[str, Any]:
    """Return the trees of a treebank, in the form of the model's trees, with what the page searches by."""
    listed = []
    for tree in _trees(explorer, text):
        labels = sorted({node.label for node in tree.subtrees()})
        listed.append(
            {"tree": str(tree), "text": " ".join(tree.words), "words": len(tree.words), "labels": labels}
        )
    return {"trees": listed}


def judged_bank(explorer: Explorer, text: str) -> dict[str, Any]:
    """Parse the words of gold trees, and return how much each parse disagrees with its tree."""
    trees = _trees(explorer, text)
    if len(trees) > MOST_SENTENCES:
        raise InputError(
            f"{len(trees)} trees are too many to compare at once", "trees", hint=f"send {MOST_SENTENCES}"
        )
    judged = []
    results = explorer.parser.parse_batch([list(gold.words) for gold in trees])
    for gold, result in zip(trees, results, strict=True):
        comparison = compare(result.tree, gold, scored=True)
        wrong = sum(comparison["differs"]) + len(comparison["missing"])
        judged.append({"f1": comparison["scores"]["f1"], "differences": wrong})
    return {"trees": judged}


def _trees(explorer: Explorer, text: str) -> list[Tree]:
    options = explorer.scheme.options
    trees = [normalise(tree, options).tree for tree in parse_bracketed(text) if tree.height <= DEEPEST]
    for tree in trees:
        check_length(len(tree.words))
    return [tree for tree in trees if not tree.is_empty]
