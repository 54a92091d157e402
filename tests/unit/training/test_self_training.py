"""Learning from text without trees: what is read, who parses it, what is kept, and what the student knows afterwards."""

import gzip

import numpy as np
import pytest

import gramian
from gramian.errors import InputError, OptionError
from gramian.parsing.model_store import load_model
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import ParseRequest
from gramian.tasks import task_runner
from gramian.training import TrainingData, TrainingRun, TrainingSettings, members
from gramian.training.members import TaskRunner
from gramian.training.selftraining import teacher
from gramian.training.selftraining.raw_text import RawText, kind_of
from gramian.training.selftraining.silver_trees import SilverTrees
from gramian.training.selftraining.teacher import confidence
from gramian.training.setting_groups import SilverSettings, check_settings
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = [
    Tree.parse(text)
    for text in (
        "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))",
        "(S (NP (PRP it)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .))",
        "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (PRP it))) (. .))",
    )
] * 15
TEXT = "The gnu sleeps. It sees the gnu.\nThe dog sees a zebra.\n"
CONLLU = """\
# text = the gnu sleeps
1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tgnu\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsleeps\t_\tVERB\tVBZ\t_\t0\troot\t_\t_

"""
FILES = {
    "some.txt": ("text", TEXT),
    "some.tok": ("tokens", "the gnu sleeps\n"),
    "lines": ("tokens", "The gnu sleeps .\nIt sees the gnu .\n"),
    "pairs": ("tagged", "the/DT gnu/NN sleeps/VBZ\n"),
    "some.conllu": ("conllu", CONLLU),
    "columns": ("conllu", CONLLU),
}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(TEXT * 20)
    return str(path)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "teacher.grammar"
    gramian.train(TREES, method="pcfg").save(path)
    return str(path)


@pytest.mark.parametrize("name", FILES)
def test_kinds_are_told_apart(tmp_path, name):
    kind, content = FILES[name]
    (tmp_path / name).write_text(content)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert kind_of(str(tmp_path / name)) == kind_of(str(packed)) == kind


def test_sentences_of_all_kinds(tmp_path):
    paths = []
    for name in ("some.txt", "some.tok", "pairs", "some.conllu"):
        (tmp_path / name).write_text(FILES[name][1])
        paths.append(str(tmp_path / name))
    found = list(RawText(tuple(paths)).sentences())
    assert found[0] == ["The", "gnu", "sleeps", "."]
    assert [len(one) for one in found[1:3]] == [5, 6]
    assert found[3] == ["the", "gnu", "sleeps"]
    assert found[4] == [("the", "DT"), ("gnu", "NN"), ("sleeps", "VBZ")]
    assert isinstance(found[5], ParseRequest)
    assert found[5].constraints.uncrossed or found[5].constraints.required
    assert RawText(tuple(paths)).count() == 2 + 1 + 1 + 1  # lines, since sentences are not looked for


def test_what_is_known_and_what_is_too_long(tmp_path):
    path = tmp_path / "some.conllu"
    path.write_text(CONLLU)
    assert list(RawText((str(path),), SilverSettings(constraints="words")).sentences()) == [
        ["the", "gnu", "sleeps"]
    ]
    assert list(RawText((str(path),), SilverSettings(constraints="tags")).sentences()) == [
        [("the", "DT"), ("gnu", "NN"), ("sleeps", "VBZ")]
    ]
    assert list(RawText((str(path),), SilverSettings(max_length=2)).sentences()) == []
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(InputError, match="no sentence"):
        RawText((str(tmp_path / "empty"),)).count()


def test_silver_trees_are_kept_as_they_are():
    trees = [(0.5, "(X (A ä) (B b))"), (0.125, "(X (A a))")]
    silver = SilverTrees.joined([SilverTrees.of(trees[:1]), SilverTrees.of([]), SilverTrees.of(trees[1:])])
    assert list(silver.trees()) == trees
    assert len(silver) == 2
    assert silver.key != SilverTrees.of(trees[:1]).key
    assert silver.key != silver.scaled(0.5).key
    assert sum(weight for weight, _ in silver.scaled(0.5).trees()) == pytest.approx(0.5)
    assert max(weight for weight, _ in silver.scaled(100).trees()) == pytest.approx(1)


def test_silver_trees_count_by_their_weight():
    data = TrainingData.read(TREES, TrainingSettings())
    silver = SilverTrees.of([(0.5, str(TREES[0])), (0.25, str(TREES[1]))])
    taught = TrainingData(data.bank, silver=silver)
    assert taught.key != data.key
    for direction in ("right", "left"):
        bank = taught.observations(direction).bank
        assert bank.shape.direction == direction
        assert bank.weight.tolist() == [1.0] * len(TREES) + [0.5, 0.25]
        assert [str(bank.tree(place)) for place in (-2 % bank.n_trees, -1 % bank.n_trees)] == [
            str(TREES[0]),
            str(TREES[1]),
        ]
    assert taught.treebank("right").weight is None  # experts learn from the treebank


def test_a_student_knows_words_of_the_text(text):
    plain, taught = (
        gramian.train(TREES, ensemble_size=1, n_states=2, **more).model.grammar.lexicon
        for more in ({}, {"text": text, "settings": {"silver.weight": 0.5}})
    )
    assert {"gnu", "zebra"} <= set(taught.words) - set(plain.words)
    place = taught.words.index("gnu")
    entries = slice(*taught.entry_start[place : place + 2])
    best = taught.entry_tag[entries][np.argmax(taught.entry_probability[entries])]
    assert taught.tags[best] == "NN"


def test_same_seed_same_bytes_wherever_text_is_parsed(text, tmp_path, model):
    files = []
    for n_jobs in (1, 2):
        file = tmp_path / f"{n_jobs}.grammar"
        gramian.train(
            TREES, settings={"silver.teacher": model}, ensemble_size=1, n_states=2, text=[text], n_jobs=n_jobs
        ).save(file)
        files.append(file.read_bytes())
    assert files[0] == files[1]


def test_finished_shards_are_kept(tmp_path, model, monkeypatch):
    monkeypatch.setattr(teacher, "_SHARD", 7)
    text = tmp_path / "some.tok"
    text.write_text("".join(f"the animal{number} sleeps .\n" for number in range(60)))
    data = TrainingData.read(TREES, TrainingSettings())
    settings = TrainingSettings.of({"silver.teacher": model}, ensemble_size=1, n_states=2, text=text)
    parsed = []
    usual = teacher.ShardTask.run

    def run(self, who):
        if len(parsed) == 4:
            raise KeyboardInterrupt
        parsed.append(self.digest)
        return usual(self, who)

    monkeypatch.setattr(teacher.ShardTask, "run", run)
    checkpoint = tmp_path / "my.grammar"
    with pytest.raises(KeyboardInterrupt):
        TrainingRun(data, settings, checkpoint=checkpoint).run()
    stopped = list(parsed)
    parsed.clear()
    monkeypatch.setattr(
        teacher.ShardTask, "run", lambda self, who: parsed.append(self.digest) or usual(self, who)
    )
    again = TrainingRun(data, settings, checkpoint=checkpoint).run()
    assert len(stopped) == 4
    assert not set(stopped) & set(parsed)
    assert len(parsed) == 5  # sixty sentences in all
    whole = TrainingRun(data, settings).run()
    assert (again.grammar.binary == whole.grammar.binary).all()


def test_what_is_left_out_is_told(tmp_path, model, caplog):
    path = tmp_path / "some.tok"
    path.write_text("the cat sleeps .\n. . sleeps the the\nit sees a dog .\n")
    with caplog.at_level("INFO", "gramian"):
        gramian.train(TREES, settings={"silver.teacher": model}, ensemble_size=1, n_states=1, text=path)
    assert "2 trees of 3 sentences of text; 1 no tree of the grammar (glued)" in caplog.text


def test_trees_with_other_labels_are_left_out(text, tmp_path, caplog):
    other = tmp_path / "other.grammar"
    gramian.train([Tree.parse(str(tree).replace("NP", "NX")) for tree in TREES], method="pcfg").save(other)
    with pytest.raises(InputError, match="labels that the treebank lacks"):
        gramian.train(TREES, settings={"silver.teacher": str(other)}, ensemble_size=1, text=text)


def test_constraints_that_no_tree_meets_are_loosened(tmp_path, model):
    """The sentence has an NP where the dependencies want one, but no phrase over "sees the"."""
    from gramian.chart.constraints import Constraints, Span
    from gramian.training.selftraining.teacher import ShardTask, Teacher

    parser = Teacher(load_model(model), frozenset(("S", "NP", "VP", "DT", "NN", "PRP", "VBZ", ".")))
    words = ["it", "sees", "the", "dog", "."]
    for required, trees in ((Span(2, 4), 1), (Span(1, 4), 1), (Span(0, 4), 1), (Span(1, 3), 0)):
        sentence = ParseRequest(words, Constraints(required=(required,)))
        found = ShardTask("key", "digest", 1, (sentence,)).run(parser)
        assert len(found["trees"]) == trees, required
    broken = ["it", "sees\u0000", "the", "dog", "."]
    found = ShardTask("key", "digest", 1, (broken, words)).run(parser)
    assert (len(found["trees"]), found["left out"]) == (1, {"not to be parsed": 1})


def test_the_best_trees_share_the_weight(tmp_path):
    """Where the teacher has two trees for a sentence, both are learnt from, by their probability."""
    high, low = (
        "(S (NP (PRP it)) (VP (VBZ sees) (NP (NN time)) (PP (IN in) (NP (NN town)))))",
        "(S (NP (PRP it)) (VP (VBZ sees) (NP (NP (NN time)) (PP (IN in) (NP (NN town))))))",
    )
    trees = [Tree.parse(high)] * 10 + [Tree.parse(low)] * 60
    model = tmp_path / "teacher.grammar"
    gramian.train(trees, method="pcfg").save(model)
    path = tmp_path / "some.tok"
    path.write_text("it sees town in time\n")
    data = TrainingData.read(trees, TrainingSettings())
    from gramian.training.selftraining.teacher import with_silver

    for number, sizes in ((1, 1), (5, 2)):
        settings = TrainingSettings.of(
            {"silver.teacher": str(model), "silver.best_trees": number, "silver.weight": 1.0},
            ensemble_size=1,
            text=path,
        )
        silver = with_silver(data, settings, TaskRunner(data)).silver
        weights = [weight for weight, _ in silver.trees()]
        assert len(weights) == sizes
        assert max(weights) == pytest.approx(1)  # there is so little text that all of it counts fully
    assert min(weights) > 0.05 * max(weights)
    with pytest.raises(InputError, match="1 not sure enough"):
        gramian.train(
            trees,
            settings={"silver.teacher": str(model), "silver.min_confidence": 0.9999},
            ensemble_size=1,
            text=path,
        )


def test_rounds_teach_again(text, monkeypatch):
    taught = []
    usual = task_runner.run_tasks

    def run_tasks(function, tasks, **others):
        taught.extend(task for task in tasks if isinstance(task, teacher.ShardTask))
        return usual(function, tasks, **others)

    monkeypatch.setattr(members, "run_tasks", run_tasks)
    gramian.train(TREES, settings={"silver.rounds": 2}, ensemble_size=1, n_states=1, text=text, max_iter=1)
    keys = {task.teacher for task in taught}
    assert len(keys) == 2  # the second teacher is another one


def test_confidence_is_that_of_phrases():
    tree = TREES[0]
    sure = tuple(0.5 if node.word is None else 1.0 for node in tree.subtrees())
    assert confidence(ParseResult(tree, "parsed", -1.0, sure, tree.words)) == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"silver.teacher": "some.grammar"}, "settings of silver trees require text"),
        ({"text": "a.txt", "method": "spectral-moments"}, "text requires another method"),
        ({"text": "a.txt", "silver.rounds": 0}, r"silver\.rounds must be at least 1"),
        (
            {"text": "a.txt", "silver.constraints": "heads"},
            r"silver\.constraints must be one of all, tags, words",
        ),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(OptionError, match=message):
        check_settings(TrainingSettings.of(**options))


def test_a_treebank_of_silver_and_gold_has_the_same_symbols():
    bank = Treebank.from_trees(TREES)
    taught = (
        TrainingData(bank, silver=SilverTrees.of([(1.0, str(tree)) for tree in TREES])).observations().bank
    )
    assert taught.symbols == bank.symbols
