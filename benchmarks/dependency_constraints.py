"""What dependencies say of trees: how often a table's demands hold, and how much better a parser is that knows them.

    python -m benchmarks.dependency_constraints MODEL --trees TREES                      dependencies made by head rules
    python -m benchmarks.dependency_constraints MODEL --trees TREES --dependencies FILE  the same sentences twice
    python -m benchmarks.dependency_constraints MODEL --dependencies FILE                without trees: is there a parse at all?

Words of CoNLL-U that are one word in the trees (compounds, contractions) are put together; sentences that do not match are left out.
Prints one JSON object. Of each line of the table: how often its words are crossed by a phrase of the tree, how often they are one, and
which; without trees, the parser's own are asked, which knows the tags alone. Of each way to parse (words; tags given; no phrase crosses
what the table names; the table; the table, loosened where no tree meets it): F1 by EVALB, exact trees, the share of the tagged parser's
errors that is gone, and the statuses.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks import machine

DERIVED = ("parsed", "wide")  # statuses of trees that the grammar derives


def letters(words: Any) -> str:
    return "".join(words).replace("_", "").replace(" ", "")


def aligned(words: list[str], sentence: Any) -> Any:
    """Return a dependency tree over `words`, of which each is one word of the sentence or several, or None."""
    sizes, place = [], 0
    for word in words:
        start, found = place, ""
        while place < len(sentence) and len(found) < len(letters(word)):
            found += letters(sentence.words[place])
            place += 1
        if found != letters(word) or place == start:
            return None
        sizes.append(place - start)
    return sentence.joined(words, sizes) if place == len(sentence) else None


def pairs(trees: list[Any], path: str | None, table: Any) -> Iterator[tuple[Any, Any]]:
    """Go through trees and their dependencies: of a file, or else by head rules."""
    from gramian.trees import HeadRules, read_conllu, to_dependencies, unescape_word

    if path is None:
        rules = HeadRules.collins()
        yield from ((tree, to_dependencies(tree, rules)) for tree in trees)
        return
    found: dict[str, list[Any]] = {}
    for sentence in read_conllu(path):
        sentence = sentence.surface() if table.joined else sentence
        found.setdefault(letters(sentence.words), []).append(sentence)
    for tree in trees:
        words = [unescape_word(word) for word in tree.words]
        same = found.get(letters(words), [])
        sentence = aligned(words, same.pop(0)) if same else None
        if sentence is not None:
            yield tree, sentence


def survey(known: list[tuple[Any, Any]], table: Any) -> list[dict[str, Any]]:
    """Count, for each relation of the table, how its words lie to the phrases of the trees."""
    from gramian.chart.constraints import Span
    from gramian.parsing.dependency_constraints import demanded

    rows: dict[tuple[str, str], Counter[str]] = {}
    for tree, sentence in known:
        phrases: dict[tuple[int, int], str] = {}
        for label, start, end in tree.spans(preterminals=False):
            phrases.setdefault((start, end), label)  # the topmost
        spans = [Span(*span) for span in phrases]
        for one in demanded(sentence, table):
            row = rows.setdefault((one.relation, one.words), Counter())
            label = phrases.get((one.start, one.end))
            row["all"] += 1
            row["crossed"] += any(span.crosses(Span(one.start, one.end)) for span in spans)
            row["phrase"] += label is not None
            if label:
                row[f"={label}"] += 1
    return [
        {
            "relation": relation,
            "words": words,
            "demand": table.find(relation, words).kind,
            "number": row["all"],
            "crossed": round(100 * row["crossed"] / row["all"], 1),
            "phrase": round(100 * row["phrase"] / row["all"], 1),
            "labels": {
                name[1:]: round(100 * count / row["all"], 1)
                for name, count in row.most_common(8)
                if name.startswith("=")
            },
        }
        for (relation, words), row in sorted(rows.items(), key=lambda item: (item[0][1], -item[1]["all"]))
    ]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("model")
    options.add_argument("--trees")
    options.add_argument("--dependencies")
    options.add_argument("--table", help="universal, french, phrases or a file")
    options.add_argument("--every", type=int, default=1, help="take one sentence of so many")
    options.add_argument("--max-length", type=int, default=60)
    options.add_argument("--survey-only", action="store_true", help="count, but do not parse")
    chosen = options.parse_args()
    if not (chosen.trees or chosen.dependencies):
        options.error("give --trees, --dependencies or both")

    import gramian
    from gramian.evaluate import GoldBrackets
    from gramian.parsing.dependency_constraints import RelationTable, dependency_constraints
    from gramian.parsing.sentences import ParseRequest
    from gramian.trees import annotation_scheme, normalise, read_conllu

    parser = gramian.load(chosen.model)
    name = chosen.table or ("universal" if chosen.dependencies else "phrases")
    table = RelationTable.named(name)
    report: dict[str, Any] = {"benchmark": "dependencies as constraints", "table": name}
    gold = []
    if chosen.trees:
        scheme = annotation_scheme(parser.model.preset).options
        trees = [normalise(tree, scheme).tree for tree in gramian.read_trees(chosen.trees)]
        both = list(pairs([tree for tree in trees if not tree.is_empty], chosen.dependencies, table))
        both = [one for one in both if len(one[1]) <= chosen.max_length][:: chosen.every]
        report |= {"trees": len(trees), "lines": survey(both, table)}
        gold, sentences = [tree for tree, _ in both], [sentence for _, sentence in both]
    else:
        read = read_conllu(chosen.dependencies)
        sentences = [one for one in read if len(one) <= chosen.max_length][:: chosen.every]
    report["sentences"] = len(sentences)

    known = [dependency_constraints(sentence, table) for sentence in sentences]
    loose = [ParseRequest(one.sentence, one.constraints.loosened()) for one in known]
    words = [[item if isinstance(item, str) else item[0] for item in one.sentence] for one in known]
    ways: dict[str, Any] = {
        "words": words,
        "tags": [one.sentence for one in known],
        "uncrossed": loose,
        "table": known,
    }
    rows: dict[str, Any] = {}
    results: list[Any] = []

    def enter(way: str, seconds: float) -> None:
        statuses = Counter(result.status for result in results)
        rows[way] = {
            "derived": round(100 * sum(statuses[status] for status in DERIVED) / len(results), 2),
            "statuses": dict(statuses.most_common()),
            "cpu seconds": round(seconds, 1),
        }
        if gold:
            scores = GoldBrackets(gold).score([result.tree for result in results])
            rows[way] |= {"f1": round(scores.f1, 2), "exact": round(scores.exact, 1)}
            if "tags" in rows:
                errors = 100 - rows["tags"]["f1"]
                rows[way]["errors gone"] = round((rows[way]["f1"] - rows["tags"]["f1"]) / errors, 3)

    for way, given in {} if chosen.survey_only else ways.items():
        if way == "words" and not gold:
            continue
        began = time.process_time()
        results = list(parser.parse_many(given))
        enter(way, time.process_time() - began)
        if way == "tags" and not gold:
            own = [(result.tree, one) for result, one in zip(results, sentences, strict=True)]
            report["lines"] = survey(
                [one for one, result in zip(own, results, strict=True) if result.status == "parsed"], table
            )
    if rows:
        began = time.process_time()
        for place, result in enumerate(results):
            if result.status not in DERIVED:
                results[place] = parser.parse(loose[place])
        enter("table, then uncrossed", rows["table"]["cpu seconds"] + time.process_time() - began)
    print(json.dumps({**report, "ways": rows, **machine.about()}, indent=1))


if __name__ == "__main__":
    main()
