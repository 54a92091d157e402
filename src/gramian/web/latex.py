"""Trees as LaTeX, for the ``forest`` package."""

import re

from gramian.trees import Tree

_SPECIAL = {mark: f"\\{mark}" for mark in "&%$#_{}"}
_SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_ESCAPED = re.compile("|".join(map(re.escape, _SPECIAL)))
_GROUPED = re.compile(r"[\[\],=!+'\"()*@]|^$")  # what forest would read as its own
_PREAMBLE = (
    r"\documentclass[border=4pt]{standalone}",
    r"\usepackage{iftex}",
    r"\iftutex\usepackage{fontspec}\else\usepackage[T1]{fontenc}\fi",
    r"\usepackage{forest}",
)


def to_forest(tree: Tree) -> str:
    r"""Return a ``forest`` environment that draws a tree.

    Examples
    --------
    >>> print(to_forest(Tree.parse("(S (NP (NN profits)) (VP (VBD rose) (NP (CD 5) (NN %))) (. .))")))
    \begin{forest}
      [S
        [NP [NN [profits]]]
        [VP
          [VBD [rose]]
          [NP
            [CD [5]]
            [NN [\%]]]]
        [. [.]]]
    \end{forest}
    """
    lines: list[str] = []
    # Items are (node, depth, closing brackets that follow it).
    stack = [(tree, 1, 0)]
    while stack:
        node, depth, closing = stack.pop()
        line = f"{'  ' * min(depth, 40)}[{_text(node.label)}"
        while len(node.children) == 1:
            node = node.children[0]
            line += f" [{_text(node.label)}"
            closing += 1
        if not node.children:
            line += f" [{_text(node.word or '')}]" + "]" * (closing + 1)
        lines.append(line)
        last = len(node.children) - 1
        stack.extend(
            (child, depth + 1, closing + 1 if index == last else 0)
            for index, child in reversed(list(enumerate(node.children)))
        )
    return "\n".join(["\\begin{forest}", *lines, "\\end{forest}"])


def to_document(tree: Tree) -> str:
    """Return a whole document that draws a tree, for pdflatex, lualatex or tectonic."""
    return "\n".join([*_PREAMBLE, r"\begin{document}", to_forest(tree), r"\end{document}", ""])


def _text(text: str) -> str:
    escaped = _ESCAPED.sub(lambda match: _SPECIAL[match[0]], text)
    return f"{{{escaped}}}" if _GROUPED.search(text) else escaped
