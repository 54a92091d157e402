"""The steps from treebanks and text to the English model, each from files to files.

Learning is imported where it is done: the nets are learnt on machines that have torch and little else.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gramian.io.output import write_bytes, writing
from gramian.neural.span_inventory import folded
from gramian.trees import Sentence, Tree, read_conllu, read_trees, write_conllu
from tools.english.kinds import hand_made, rewritten
from tools.english.scheme import gold_trees, penn_labels, variants

if TYPE_CHECKING:
    from gramian.neural import NeuralModel
    from gramian.parsing.model import Model

EVERY = 25
"""One tree of so many is held out of all that the model learns from; they stop its net and calibrate it."""
SHORTEST, LONGEST = 3, 40  # words of a sentence of AMALGUM that is learnt from
LEAST_CONFIDENCE = 0.75
SILVER_WEIGHT = 0.1  # of a silver tree in the grammar
GUM_COPIES = 2
LEAST_SEEN = 8  # times a word must stand in trees, gold or silver, for the net to keep its vector
ATTRIBUTION = (
    "Trees: CRAFT (University of Colorado, CC BY 3.0) and GUM (Georgetown University, annotation CC BY 4.0, texts of its nine genres here "
    "CC BY, CC BY-SA or public). Text: UD English EWT (CC BY-SA 4.0), AMALGUM (Georgetown University, texts CC BY, CC BY-SA or public "
    "domain)."
)

_FILES = {
    "trees": "gold.mrg",
    "vectors": "vectors.npz",
    "teacher-grammars": "teacher.grammar",
    "teacher-net": "teacher.net",
    "text": "text.conllu",
    "silver": "silver.mrg.gz",
    "grammar": "student.grammar",
    "net": "student.net",
}


@dataclass(frozen=True)
class Build:
    """Where the data lie, where steps leave what they make, and how they work."""

    data: Path
    work: Path
    output: Path
    device: str = "auto"
    n_jobs: int = 2

    def file(self, step: str) -> Path:
        """Return what a step makes."""
        return self.work / _FILES[step] if step in _FILES else self.output

    def is_done(self, step: str) -> bool:
        """Whether that is there; the model itself is always made."""
        return step in _FILES and self.file(step).exists()

    @property
    def ewt(self) -> Path:
        """The web texts with tags and dependencies."""
        return self.data / "ud-en-ewt" / "train.conllu.gz"

    @property
    def amalgum(self) -> list[Path]:
        """The same of six more genres, tagged and parsed by machines."""
        return sorted((self.data / "amalgum").glob("*.conllu.gz"))

    @property
    def n_gum(self) -> int:
        """How many of the trees, the first ones, are GUM's."""
        return len(gold_trees(self.data / "gum" / "train.mrg"))

    def gold(self, *, renamed: bool) -> tuple[list[Tree], list[Tree], list[Tree]]:
        """Return the trees of GUM and of CRAFT that are learnt from, and those held out; with Penn's labels, or their own."""
        trees = [penn_labels(tree) if renamed else tree for tree in read_trees(self.file("trees"))]
        n_gum = self.n_gum
        held = {place for place in range(len(trees)) if place % EVERY == EVERY - 1}
        kept = [place for place in range(len(trees)) if place not in held]
        gum, craft = (
            [trees[place] for place in kept if (place < n_gum) == is_gum] for is_gum in (True, False)
        )
        return gum, craft, [trees[place] for place in sorted(held)]


def write_trees(build: Build) -> None:
    """GUM and CRAFT in one scheme."""
    trees = [tree for name in ("gum", "craft") for tree in gold_trees(build.data / name / "train.mrg")]
    _write(trees, build.file("trees"))


def write_vectors(build: Build) -> None:
    """Vectors of words from all text, of trees and without."""
    from gramian.neural.word_vectors import word_vectors

    text: list[tuple[str, ...]] = [tree.words for tree in read_trees(build.file("trees"))]
    for path in (*build.amalgum, build.ewt):
        text += [sentence.words for sentence in read_conllu(path)]
    vectors = word_vectors(text)
    file = io.BytesIO()
    table = np.stack(list(vectors.values())).astype(np.float16)
    np.savez(file, words=np.array(list(vectors)), vectors=table)
    write_bytes(build.file("vectors"), file.getvalue())


def learn_teacher(build: Build) -> None:
    """Two grammars of the trees that are not held out; words and tags that these lack come from EWT."""
    from gramian.parsing.model_store import save_model
    from gramian.training import TrainingSettings
    from gramian.training.training_run import train

    settings = TrainingSettings.of(tagged_corpus=str(build.ewt), language="none")
    target = build.file("teacher-grammars")
    gum, craft, _ = build.gold(renamed=False)
    save_model(train([*gum, *craft], settings, n_jobs=build.n_jobs, checkpoint=target), target)


def learn_teacher_net(build: Build) -> None:
    """A net of the same trees, and of copies as people also write them."""
    from gramian.experts import NeuralExpert
    from gramian.neural import Learning

    gum, craft, held = build.gold(renamed=False)
    net = NeuralExpert(
        learning=Learning(batch_words=1000), max_iter=20, vectors=_vectors(build), device=build.device,
        checkpoint=str(build.work / "teacher.net.partial"), n_jobs=build.n_jobs, verbose=True,
    )  # fmt: skip
    net.fit([*gum, *craft, *variants(gum)], judges=held).model_.save(build.file("teacher-net"))


def choose_text(build: Build) -> None:
    """The sentences of EWT and of AMALGUM but for the longest."""

    def chosen() -> Iterator[Sentence]:
        yield from (one for one in read_conllu(build.ewt) if len(one) <= 60)
        for path in build.amalgum:
            yield from (one for one in read_conllu(path) if SHORTEST <= len(one) <= LONGEST)

    write_conllu(chosen(), build.file("text"))


def parse_text(build: Build) -> None:
    """The teacher's trees of the text, as its tags and dependencies allow, with Penn's labels."""
    from gramian.experts import ExpertPart
    from gramian.parsing.model_store import load_model
    from gramian.training import TrainingSettings
    from gramian.training.members import TaskRunner
    from gramian.training.selftraining import teacher as teachers
    from gramian.training.selftraining.raw_text import RawText
    from gramian.training.setting_groups import SilverSettings
    from gramian.training.training_data import TrainingData
    from gramian.trees.labels import treebank_labels

    net = ExpertPart("neural", _net(build, "teacher-net"))
    model = replace(load_model(build.file("teacher-grammars")), experts=(net,))
    data = TrainingData.read(list(read_trees(build.file("trees"))), TrainingSettings.of(language="none"))
    labels = frozenset().union(*treebank_labels(data.bank.symbols, data.bank.n_phrases))
    teacher = teachers.Teacher(model, labels)
    text = RawText((str(build.file("text")),), SilverSettings(min_confidence=LEAST_CONFIDENCE))
    runner = TaskRunner(data, build.n_jobs, folder=build.work / "shards")
    silver = teachers.parse_text(text, teacher, runner, text.count())
    _write((penn_labels(Tree.parse(tree)) for _, tree in silver.trees()), build.file("silver"))


def learn_grammar(build: Build) -> None:
    """One grammar of the trees that are not held out, those of GUM twice, and of silver trees that count less."""
    from gramian.parsing.model_store import save_model
    from gramian.training import TrainingSettings
    from gramian.training.selftraining.silver_trees import SilverTrees
    from gramian.training.training_data import TrainingData
    from gramian.training.training_run import train

    gum, craft, _ = build.gold(renamed=True)
    settings = TrainingSettings.of(ensemble_size=1, language="none")
    data = TrainingData.read([*gum * GUM_COPIES, *craft], settings)
    silver = [str(tree) for tree in read_trees(build.file("silver"))]
    shards = [
        SilverTrees.of((SILVER_WEIGHT, tree) for tree in silver[first : first + 500])
        for first in range(0, len(silver), 500)
    ]
    data = replace(data, silver=SilverTrees.joined(shards))
    target = build.file("grammar")
    save_model(train(data, settings, n_jobs=build.n_jobs, checkpoint=target), target)


def learn_net(build: Build) -> None:
    """A net of the same trees, of copies of GUM's and EWT's as people also write them, and of kinds of sentences that these lack."""
    from gramian.experts import NeuralExpert
    from gramian.neural import Learning

    gum, craft, held = build.gold(renamed=True)
    silver = list(read_trees(build.file("silver")))
    web = {sentence.words for sentence in read_conllu(build.ewt)}
    everyday = [*gum, *(tree for tree in silver if tree.words in web)]
    as_written = [*variants(everyday), *rewritten(everyday), *hand_made()]
    net = NeuralExpert(
        learning=Learning(batch_words=4000, rate=0.003, dropout=0.33), max_iter=10, min_count=4, vectors=_vectors(build),
        device=build.device, checkpoint=str(build.work / "student.net.partial"), n_jobs=build.n_jobs, verbose=True,
    )  # fmt: skip
    trees = [*gum * 6, *craft * 2, *as_written, *silver]  # about as many words of either sort
    net.fit(trees, judges=held).model_.save(build.file("net"))


def put_together(build: Build) -> None:
    """The model: grammar and net, weighed and calibrated on the trees held out, and how English text is read."""
    from gramian.parsing.model_store import save_model
    from gramian.parsing.parser import Parser
    from gramian.text.text_training import learn_text_processor
    from gramian.training.calibrate import calibrate_on

    gum, craft, held = build.gold(renamed=True)
    model = calibrate_on(_parts(build), held)
    text = learn_text_processor([*gum, *craft], "en", build.ewt)
    data = {
        "source": "CRAFT, GUM", "trees": len(gum) + len(craft), "language": "en",
        "text": ["UD English EWT", "AMALGUM"], "attribution": ATTRIBUTION,
    }  # fmt: skip
    scores = Parser(model).evaluate(gold_trees(build.data / "gum" / "dev.mrg"))
    metrics = {name: round(value, 3) for name, value in scores.as_dict().items()}
    metrics |= {"dev": "gum/dev.mrg", "signature": scores.signature()}
    model = replace(model, text=text, data=data, metrics=metrics, preset="penn")
    save_model(model, build.output, half=True)


def _parts(build: Build) -> Model:
    """Grammar and net, without the rarest words."""
    from gramian.experts import ExpertPart
    from gramian.parsing.model_store import load_model
    from tools.english.shorter import shorter_lexicon, shorter_net

    model = load_model(build.file("grammar"))
    grammar = replace(model.grammar, lexicon=shorter_lexicon(model.grammar.lexicon))
    seen = Counter(
        folded(word)
        for step in ("trees", "silver")
        for tree in read_trees(build.file(step))
        for word in tree.words
    )
    frequent = {word for word, times in seen.items() if times >= LEAST_SEEN}
    net = ExpertPart("neural", shorter_net(_net(build, "net"), frequent))
    return replace(model, grammars=(grammar,), experts=(net,))


def _net(build: Build, step: str) -> NeuralModel:
    from gramian.neural import NeuralModel

    return NeuralModel.load(build.file(step))


def _vectors(build: Build) -> dict[str, np.ndarray]:
    with np.load(build.file("vectors")) as found:
        return dict(zip(found["words"].tolist(), found["vectors"].astype(np.float32), strict=True))


def _write(trees: Iterable[Tree], path: Path) -> None:
    with writing(path) as file:
        file.writelines(f"{tree}\n" for tree in trees)
