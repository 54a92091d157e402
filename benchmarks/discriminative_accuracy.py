"""How well the span CRF parses alone and as a factor beside grammars with states: EVALB with COLLINS.prm, predicted tags.

python -m benchmarks.discriminative_accuracy TRAIN DEV [--grammars 1] [--states 32] [--iterations 4] [--weights 0.5 1 2]

The product is a mean of the log-odds of labels; ``--weights`` is how much the span CRF counts beside one grammar. Times are CPU
seconds of this process, reading apart.
"""

import argparse
import json
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import machine

ARGUMENTS = ("train.mrg", "dev.mrg")


def odds(forest: Any) -> Any:
    sure = np.clip(forest.label_posterior, 1e-6, 1 - 1e-6)
    return np.log(sure / (1 - sure))


def judged_by(expert: Any, sentences: list[Any], forests: list[Any]) -> list[Any]:
    """Return forests with the posteriors of an expert; None where there is no tree."""
    pairs = zip(sentences, forests, strict=True)
    found = [forest and expert.posterior(words, forest) for words, forest in pairs]
    return [posterior and posterior.forest for posterior in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--grammars", type=int, default=1, help="grammars with states, one a seed")
    parser.add_argument("--states", type=int, default=32)
    parser.add_argument("--iterations", type=int, help="instead of the default")
    parser.add_argument("--weights", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--preset", default="penn")
    parser.add_argument("--most", type=int, help="score on so many sentences of DEV only")
    parser.add_argument("--save", help="write the span CRF to this file")
    options = parser.parse_args()

    from gramian.chart.chart_parser import ChartParser
    from gramian.chart.decode import decode
    from gramian.chart.tree_arrays import to_tree
    from gramian.evaluate import GoldBrackets
    from gramian.experts import CRFExpert, SpanCRF
    from gramian.learn import SpectralEM
    from gramian.parsing.words import WordTable
    from gramian.treebank import Treebank
    from gramian.trees import annotation_scheme, normalise, read_trees

    bank = Treebank.read(options.train, options=annotation_scheme(options.preset).options)
    gold = [
        (tree, normalise(tree, annotation_scheme(options.preset).options).tree)
        for tree in read_trees(options.dev)
    ]
    gold = [pair for pair in gold if not pair[1].is_empty][: options.most]
    brackets = GoldBrackets([pair[options.preset != "penn"] for pair in gold])
    sentences = [list(tree.words) for _, tree in gold]

    began = time.process_time()
    crf = SpanCRF(**({} if options.iterations is None else {"max_iter": options.iterations})).fit(bank)
    learning = time.process_time() - began
    if options.save:
        crf.model_.save(options.save)
    expert = CRFExpert(crf.model_, crf.grammar_)

    def forests(chart: ChartParser) -> list[Any]:
        table = WordTable(chart.grammar.lexicon)
        return [chart.forest([word.scores for word in table.read(words)]) for words in sentences]

    def figures(found: list[Any]) -> dict[str, float]:
        trees = []
        for words, forest in zip(sentences, found, strict=True):
            decoded = None if forest is None else decode(forest)
            trees.append(None if decoded is None else to_tree(forest, decoded, words))
        scores = brackets.score(trees)
        short = scores.up_to(40)
        return {
            "f1": round(scores.f1, 2), "f1 to 40 words": round(short.f1, 2), "f1 gold tags": round(scores.f1_gold_tags, 2),
            "f1 gold tags to 40 words": round(short.f1_gold_tags, 2), "tagging": round(scores.tagging, 2),
            "not parsed": sum(tree is None for tree in trees),
        }  # fmt: skip

    chart = ChartParser(crf.grammar_)
    coarse = forests(chart)
    began = time.process_time()
    judged = judged_by(expert, sentences, coarse)
    rows: dict[str, Any] = {"span CRF": figures(judged)}
    rows["span CRF"]["milliseconds a sentence"] = round(1e3 * (time.process_time() - began) / len(gold), 2)

    grammars = [
        SpectralEM(n_states=options.states, random_state=seed).fit(bank).model_
        for seed in range(options.grammars)
    ]
    if grammars:
        found = [forests(ChartParser(grammar)) for grammar in grammars]
        base = found[0]
        expert = CRFExpert(crf.model_, grammars[0])
        judged = judged_by(expert, sentences, base)

        def product(weight: float) -> list[Any]:
            combined = []
            for place, forest in enumerate(base):
                if forest is None:
                    combined.append(None)
                    continue
                total = sum(odds(its[place]) for its in found)
                share = weight * len(grammars)
                if judged[place] is not None:
                    total = total + share * odds(judged[place])
                table = 1 / (1 + np.exp(-total / (len(grammars) + share)))
                combined.append(replace(forest, labels_over_spans=table.astype(np.float32)))
            return combined

        rows["grammars"] = figures(product(0.0))
        for weight in options.weights:
            rows[f"grammars and span CRF of weight {weight}"] = figures(product(weight))
    print(json.dumps({
        "benchmark": "discriminative accuracy", "train": options.train, "dev": options.dev, "sentences": len(gold),
        "trees": bank.n_trees, "grammars": options.grammars, "learning cpu seconds": round(learning, 1),
        "features": int((crf.model_.weights != 0).sum()), "report": crf.report_["seconds"], "rows": rows,
        "signature": brackets.score([None] * len(gold)).signature("f1_gold_tags"), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
