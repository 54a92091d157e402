"""What the page asks and what it gets: each method takes the fields of a request and returns what becomes JSON.

Trees, confidences and scores are those of :meth:`gramian.Parser.parse`; nothing is computed for the page alone but its
pictures.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log
from typing import Any

from gramian import __version__
from gramian.chart.decode import DECODERS
from gramian.errors import InputError, OptionError
from gramian.parsing.result import LOW_CONFIDENCE, ParseResult
from gramian.parsing.sentences import ParseRequest
from gramian.trees import Tree
from gramian.web.annotation_view import AnnotationView
from gramian.web.explore import Explorer, Look
from gramian.web.fields import Fields
from gramian.web.latex import to_document, to_forest
from gramian.web.many_trees import judged_bank, parsed_text, read_bank
from gramian.web.sequence_views import AutomatonView, DependencyView
from gramian.web.tree_json import compare, finite, mark_first, nodes
from gramian.web.typed_sentences import INPUTS, MOST_WORDS, Typed, read_tree, read_typed

_MOST_CLUSTERS = 20
CANDIDATES = 4
"""Best trees among which a second reading is looked for."""
MOST_TREES = 20
"""Of the best ones of a sentence."""
_LEAST_READING = 1 / 3  # probability of a second reading, relative to that of the first
_SHORT = 0.25  # seconds; requests that take longer leave some threads to others
_MOST_CHARACTERS = 6000  # of a request that is tokenized or read in this time
_WORD = 2  # characters, so that estimates are rather too high


class Service:
    """The models of a page (of trees, of dependencies, and an automaton), and the questions it answers, each at its name."""

    def __init__(
        self,
        explorers: Sequence[Explorer],
        dependency: DependencyView | None = None,
        automaton: AutomatonView | None = None,
        annotation: AnnotationView | None = None,
    ) -> None:
        self._explorers = list(explorers)
        self._dependency = dependency
        self._automaton = automaton
        self.annotation = annotation

    @property
    def first_explorer(self) -> Explorer | None:
        """The first model of trees, if there is one."""
        return self._explorers[0] if self._explorers else None

    def warm_up(self) -> None:
        """Parse something with everything, so that the first answer does not wait for the compiler, and begin to read states."""
        for explorer in self._explorers:
            result = explorer.parser.parse("This is a test .", k=2)
            look = explorer.look(result.words)
            if look is not None and result.words:
                explorer.node(look, result.tree.label, 0, len(result.words))
            explorer.views.read_ahead()
        if self._dependency is not None:
            self._dependency.parse(["A", "test"], ["DT", "NN"])
        if self._automaton is not None:
            self._automaton.steps([], 2)

    def is_long(self, question: str, fields: Fields) -> bool:
        """Return whether a question may take longer than a moment, judged by its characters: to count words takes time itself."""
        n_characters = fields.n_characters()
        if n_characters > _MOST_CHARACTERS or question in ("head", "automaton"):
            return True
        if question in ("about", "export", "rule", "compare"):
            return False
        if question.startswith("annotat"):
            return question in ("annotate_next", "annotate_add")
        if not self._explorers:
            return True
        model = fields.whole("model", 0, len(self._explorers) - 1, 0)
        if question == "states":
            return not self._explorers[model].views.is_read(fields.text("symbol"))
        if question == "bank" and not fields.flag("judge"):
            return False
        models, factor = [model], 1.0
        if question == "parse":
            models = fields.wholes("models", len(self._explorers), [0])
            k = CANDIDATES if fields.flag("readings") else fields.whole("k", 1, MOST_TREES, 1)
            factor = len(fields.texts("decoders", ["max-recall"], len(DECODERS))) * (1 + k / 10)
        n_words = n_characters // _WORD
        return factor * sum(self._explorers[number].expected_seconds(n_words) for number in models) > _SHORT

    def about(self, fields: Fields) -> dict[str, Any]:
        """Return the models and options there are."""
        return {
            "version": __version__,
            "models": [explorer.about() for explorer in self._explorers],
            "decoders": list(DECODERS),
            "inputs": list(INPUTS),
            "most_words": MOST_WORDS,
            "most_trees": MOST_TREES,
            "low_confidence": LOW_CONFIDENCE,
            "dependency": self._dependency and self._dependency.about(),
            "automaton": self._automaton and self._automaton.about(),
            "annotation": self.annotation is not None,
        }

    # -- trees -------------------------------------------------------------------------------------------------------

    def parse(self, fields: Fields) -> dict[str, Any]:
        """Parse a sentence with every model and decoder asked for; the first answer, or gold, is what the others are
        compared with.
        """
        models = fields.wholes("models", len(self._explorers), [0])
        decoders = fields.texts("decoders", ["max-recall"], len(DECODERS))
        k = fields.whole("k", 1, MOST_TREES, 1)
        readings = fields.flag("readings") and k == len(models) == len(decoders) == 1
        if not models or not decoders:
            raise OptionError("at least one model and one decoder are needed")
        typed = self._typed(fields, models[0])
        readings = readings and typed.gold is None
        k = CANDIDATES if readings else k
        parsed: list[tuple[int, str, ParseResult]] = []
        # Viterbi orders derivations, not trees, and has one tree to show.
        ways = {
            item: ParseRequest(typed.sentence, k=1 if item == "viterbi" else k, decoder=item)
            for item in decoders
        }
        for model in models:
            results = self._explorer(model).parser.parse_batch(ways.values())
            parsed += [(model, decoder, result) for decoder, result in zip(ways, results, strict=True)]
        if readings:
            parsed = [(model, decoder, with_second_reading(result)) for model, decoder, result in parsed]
        first = parsed[0][2]
        reference = typed.gold or (first.tree if first.words else None)
        parses = [record for item in parsed for record in self._records(*item, typed, reference)]
        gold = None
        if typed.gold is not None:
            look = self._explorer(models[0]).look(typed.gold.words)
            sure = None if look is None else self._explorer(models[0]).confidences(look, typed.gold)
            gold = {
                "tree": str(typed.gold),
                "nodes": nodes(typed.gold, sure),
                "dependencies": self._explorer(models[0]).dependencies(typed.gold),
            }
        mark_first([gold, *parses] if gold else parses)
        return {
            "words": list(first.words),
            "offsets": first.offsets,
            "gold": gold,
            "parses": parses,
            "readings": readings and len(parses) == 2,
        }

    def _records(
        self, model: int, decoder: str, result: ParseResult, typed: Typed, reference: Tree | None
    ) -> list[dict[str, Any]]:
        """Return one record a tree."""
        trees = [
            (alternative.tree, finite(alternative.log_prob_tree)) for alternative in result.alternatives
        ] or [(result.tree, None)]
        look: Look | None = None
        if len(trees) > 1 and result.status == "parsed":
            words = result.restored or result.words
            look = self._explorer(model).look(words, None if typed.gold else typed.tags)
        records = []
        for rank, (tree, log_prob_tree) in enumerate(trees):
            sure: Sequence[float] | None = result.confidences if rank == 0 else None
            if sure is None and look is not None:
                sure = self._explorer(model).confidences(look, tree)
            against = {} if reference is None else compare(tree, reference, scored=typed.gold is not None)
            records.append(
                {
                    "model": model,
                    "decoder": decoder,
                    "rank": rank,
                    "status": result.status,
                    "tree": str(tree) if result.words else "",
                    "log_prob_words": finite(result.log_prob_words),
                    "log_prob_tree": log_prob_tree,
                    "seconds": result.seconds,
                    "nodes": nodes(tree, sure, against.get("differs"), against.get("moved"))
                    if result.words
                    else [],
                    "dependencies": self._explorer(model).dependencies(tree) if result.words else None,
                    "missing": against.get("missing", []),
                    "scores": against.get("scores"),
                    "restored": result.restored,
                    "language": result.language,
                }
            )
        return records

    def node(self, fields: Fields) -> dict[str, Any]:
        """Return the states of a node of a parse, what else its words could be, and the rules below it."""
        model = self._asked(fields)
        explorer = self._explorer(model)
        typed = self._typed(fields, model)
        words = typed.words if typed.text is None else explorer.words(typed.text)
        look = explorer.look(words, None if typed.gold else typed.tags)
        if look is None:
            problem = "the grammar has no tree for this sentence within the limits"
            raise OptionError(f"{problem}, so there are no states to show")
        start, end = (fields.whole(name, 0, len(words)) for name in ("start", "end"))
        symbol = fields.optional_text("symbol")
        return explorer.node(look, fields.text("label"), start, end, is_tag=fields.flag("tag"), symbol=symbol)

    def text(self, fields: Fields) -> dict[str, Any]:
        """Parse the first sentences of a text."""
        return parsed_text(self._explorer(self._asked(fields)), fields.text("text"))

    def bank(self, fields: Fields) -> dict[str, Any]:
        """Read a treebank; or, where it is to be judged, parse its words and say how much each parse disagrees."""
        view = judged_bank if fields.flag("judge") else read_bank
        return view(self._explorer(self._asked(fields)), fields.text("trees"))

    def compare(self, fields: Fields) -> dict[str, Any]:
        """Compare two trees over the same words, as a parse is compared with gold."""
        model = self._asked(fields)
        explorer = self._explorer(model)
        first_tree, second_tree = (
            read_typed(fields.text(name), "brackets", explorer.scheme).gold for name in ("one", "two")
        )
        assert first_tree is not None
        assert second_tree is not None
        if first_tree.words != second_tree.words:
            raise InputError(
                "the trees have different words", "trees", hint="type two trees over the same words"
            )
        against = compare(second_tree, first_tree, scored=True)
        record = {
            "model": model,
            "tree": str(second_tree),
            "nodes": nodes(second_tree, None, against["differs"], against["moved"]),
        }
        record |= {
            "dependencies": explorer.dependencies(second_tree),
            "missing": against["missing"],
            "scores": against["scores"],
        }
        first = {
            "tree": str(first_tree),
            "nodes": nodes(first_tree),
            "dependencies": explorer.dependencies(first_tree),
        }
        mark_first([first, record])
        return {"words": list(first_tree.words), "offsets": None, "gold": first, "parses": [record]}

    def best_states(self, fields: Fields) -> dict[str, Any]:
        """Return the most probable state of every node of a tree."""
        explorer = self._explorer(self._asked(fields))
        tree = read_tree(fields.text("tree"))
        look = explorer.look(tree.words)
        if look is None:
            raise OptionError("the grammar has no tree for this sentence, so there are no states to show")
        return {"states": explorer.best_states(look, tree)}

    def states(self, fields: Fields) -> dict[str, Any]:
        """Return the states of a symbol, and their map."""
        return self._explorer(self._asked(fields)).views.states(fields.text("symbol"))

    def rule(self, fields: Fields) -> dict[str, Any]:
        """Return the tensor of a rule."""
        explorer = self._explorer(self._asked(fields))
        right = fields.optional_text("right")
        children = [fields.text("left"), *([] if right is None else [right])]
        state = None if fields.optional_text("state") is None else fields.whole("state", 0, 1 << 20)
        return explorer.views.rule(fields.text("parent"), children, state)

    def export(self, fields: Fields) -> dict[str, Any]:
        """Return a tree as indented brackets, SVG or LaTeX, alone or as a whole document."""
        tree = read_tree(fields.text("tree"))
        form = fields.text("format")
        texts: dict[str, Callable[[Tree], str]] = {
            "brackets": Tree.pretty,
            "latex": to_forest,
            "latex-document": to_document,
        }
        if form in texts:
            return {"text": texts[form](tree)}
        if form != "svg":
            raise OptionError(f"format is one of {', '.join(texts)}, svg, not {form!r}")
        sure = fields.numbers("confidences")
        spans = list(tree.spans())
        if sure is not None and len(sure) != len(spans):
            raise OptionError(f"confidences are {len(spans)}, one a node, not {len(sure)}")
        return {"text": tree.svg(values=dict(zip(spans, sure, strict=True)) if sure else None)}

    # -- sequences ---------------------------------------------------------------------------------------------------

    def dependency(self, fields: Fields) -> dict[str, Any]:
        """Parse a sentence into a dependency tree; its tags come with it, or from the first model of trees."""
        view = self._dependency_view()
        model = self._asked(fields)
        typed = self._typed(fields, model)
        if typed.tags is not None:
            return view.parse(typed.words, typed.tags)
        tree = self._explorer(model).parser.parse_batch([typed.sentence])[0].tree
        if not tree.words:
            raise InputError("there are no words", "sentence", hint="type a sentence")
        return view.parse(tree.words, tree.tags)

    def head(self, fields: Fields) -> dict[str, Any]:
        """Return the automaton of a head, and its states along modifiers."""
        view = self._dependency_view().automaton(fields.optional_text("head"), fields.text("direction"))
        return self._automaton_answer(view, fields)

    def automaton(self, fields: Fields) -> dict[str, Any]:
        """Return the picture of the automaton, and its states along symbols."""
        if self._automaton is None:
            raise OptionError("no automaton was given; try: gramian serve --automaton MODEL")
        return self._automaton_answer(self._automaton, fields)

    def _automaton_answer(self, view: AutomatonView, fields: Fields) -> dict[str, Any]:
        clusters, symbols = fields.whole("clusters", 1, _MOST_CLUSTERS, 10), fields.texts("symbols")
        return {**view.about(), "picture": view.picture(clusters), **view.steps(symbols, clusters)}

    # -- what is asked about -----------------------------------------------------------------------------------------

    def _asked(self, fields: Fields) -> int:
        return fields.whole("model", 0, max(0, len(self._explorers) - 1), 0)

    def _explorer(self, model: int) -> Explorer:
        if not self._explorers:
            raise OptionError("no constituency model was given; try: gramian serve -m MODEL")
        return self._explorers[model]

    def _typed(self, fields: Fields, model: int) -> Typed:
        given = fields.text("sentence"), fields.text("input", "auto")
        if not self._explorers:
            return read_typed(*given)
        explorer = self._explorers[model]
        return read_typed(*given, explorer.scheme, explorer.parser.model.tokenize)

    def _dependency_view(self) -> DependencyView:
        if self._dependency is None:
            raise OptionError("no dependency parser was given; try: gramian serve --dependency MODEL")
        return self._dependency


def with_second_reading(result: ParseResult) -> ParseResult:
    """Keep of the best trees the first and a second reading; neither where there is no second reading.

    A second reading has other phrases of several words, whatever their labels, and at least a third of the first tree's probability.
    """
    kept = [
        other
        for other in result.alternatives[1:]
        if other.log_prob_tree - result.alternatives[0].log_prob_tree >= log(_LEAST_READING)
        and _spans(other.tree) != _spans(result.tree)
    ]
    if not kept:
        return replace(result, alternatives=())
    second = max(kept, key=lambda other: other.log_prob_tree)
    return replace(result, alternatives=(result.alternatives[0], second))


def _spans(tree: Tree) -> set[tuple[int, int]]:
    return {(start, end) for _, start, end in tree.spans(preterminals=False) if end - start > 1}
