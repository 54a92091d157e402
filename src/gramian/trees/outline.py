"""Trees drawn with line characters, for terminals: one word a line, read from left to right."""

from gramian.trees.tree import Tree

_DEEPEST = 40  # levels of lines drawn; below them, lines start further right than a terminal is wide


def draw_outline(tree: Tree) -> str:
    """Draw a tree with line characters; an only child stands beside its parent."""
    lines: list[str] = []
    # Items are (node, lines left of it, branch that leads to it).
    stack = [(tree, "", "")]
    while stack:
        node, indent, branch = stack.pop()
        line = indent[-4 * _DEEPEST :] + branch + (node.label or "·")
        while len(node.children) == 1:
            node = node.children[0]
            line += f" ── {node.label or '·'}"
        lines.append(line if node.word is None else f"{line}  {node.word}")
        child_indent = indent + {"": "", "├── ": "│   ", "└── ": "    "}[branch]
        last = len(node.children) - 1
        stack.extend(
            (child, child_indent, "└── " if index == last else "├── ")
            for index, child in reversed(list(enumerate(node.children)))
        )
    return "\n".join(lines)
