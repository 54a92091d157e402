"""Words and sentence lengths of the documentation, measured with gramian's own sentence segmenter.

    python -m tools.readability [FOLDER ...]

Code blocks, tables, links' targets and headings do not count as sentences; words of a page are counted as ``wc -w`` does. Prints one JSON
object: pages with their words, and over all pages the mean sentence length and the share of sentences of more than 30 words.
"""

import argparse
import json
import re
from pathlib import Path

from gramian.text.sentence_segmenter import SentenceSegmenter

GENERATED = ("python", "gallery", "_build")


def prose(text: str) -> str:
    """Return the running text of a Markdown page: one paragraph or list item a line."""
    text = re.sub(r"^```.*?^```\s*$", "\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?: {4}\S.*| *\|.*|#.*|!\[.*)$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^ *(?:[-*]|\d+\.) +", "\n\n", text, flags=re.MULTILINE)
    return re.sub(r"[`*]|(?<!\n)\n(?!\n)", lambda match: " " if match[0] == "\n" else "", text)


def main() -> None:
    """Print the measurements as JSON."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folders", nargs="*", default=["README.md", "docs"])
    given = options.parse_args()
    pages: dict[str, int] = {}
    lengths: list[int] = []
    for name in given.folders:
        root = Path(name)
        for path in [root] if root.is_file() else sorted(root.rglob("*.md")):
            if set(path.parts) & set(GENERATED) or path.name in ("labels.md", "command-line.md"):
                continue
            text = path.read_text("utf-8")
            pages[str(path)] = len(text.split())
            for start, end in SentenceSegmenter().segment(prose(text)):
                words = [word for word in prose(text)[start:end].split() if any(map(str.isalnum, word))]
                if len(words) > 1:
                    lengths.append(len(words))
    print(
        json.dumps(
            {
                "pages": pages,
                "words": sum(pages.values()),
                "sentences": len(lengths),
                "mean sentence length": round(sum(lengths) / len(lengths), 1),
                "sentences over 30 words, %": round(
                    100 * sum(length > 30 for length in lengths) / len(lengths), 1
                ),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
