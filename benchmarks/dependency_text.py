"""Dependency parsing of text: the metrics of CoNLL 2018 from gold tags, from predicted tags, and from raw text.

python -m benchmarks.dependency_text TRAIN DEV [--tags predicted gold mixed] [--neural EPOCHS] [--nets NUMBER]
    [--decoders mbr mst] [--udpipe]

Three inputs are parsed: gold tokens with gold tags and lemmas, gold tokens alone, and text (the sentences of DEV with the spacing of their
tokens, paragraphs apart). ``ece`` is the calibration error of the confidences of arcs. Times are CPU seconds of one thread, without
reading and writing. ``--neural 10`` adds a network, trained in 10 epochs. ``--udpipe`` trains UDPipe 1 with its default options on the
same file (``pip install ufal.udpipe``).
"""

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import machine
from gramian.dependency import DependencyParse, DependencyParser, SHAGParser
from gramian.dependency.shag_parser import ArcNetOptions
from gramian.evaluate import conll_scores, reliability
from gramian.text.detokenizer import detokenize_conllu
from gramian.trees import Sentence, read_conllu

ARGUMENTS = ("train.conllu", "dev.conllu")


def raw_text(sentences: list[Sentence]) -> str:
    """Return the text of sentences; documents and paragraphs are separated by an empty line."""
    text = ""
    for sentence, tokenized in zip(sentences, detokenize_conllu(sentences), strict=True):
        starts = any(line.startswith(("# newdoc", "# newpar")) for line in sentence.comments)
        text += ("\n\n" if starts and text else " " if text else "") + tokenized.text
    return text + "\n"


def figures(gold: list[Sentence], system: list[Sentence]) -> dict[str, float]:
    return {name: round(score.f1, 2) for name, score in conll_scores(gold, system).items()}


def evaluate(parser: DependencyParser, dev: list[Sentence], text: str, decoder: Any) -> dict[str, Any]:
    """Parse the three inputs."""
    result: dict[str, Any] = {}
    words = sum(map(len, dev))

    def record(name: str, sentences: Iterable[Sentence], retag: bool = False) -> list[DependencyParse]:
        began = time.process_time()
        parses = list(parser.parse_many(sentences, retag=retag, decoder=decoder))
        seconds = time.process_time() - began
        scores = figures(dev, [parse.sentence() for parse in parses])
        result[name] = {**scores, "words a cpu second": round(words / seconds)}
        return parses

    list(parser.parse_many(dev[:3], decoder=decoder))  # compiles
    parses = record("gold tags", dev)
    if parser.tagger is not None:
        list(parser.parse_many(parser.sentences(["Compile."]), decoder=decoder))
        parses = record("predicted tags", dev, retag=True)
        record("text", parser.sentences(text.splitlines(True)))
    confidences = [value for parse in parses for value in parse.confidences]
    right = [
        head == token.head
        for parse, sentence in zip(parses, dev, strict=True)
        for head, token in zip(parse.heads, sentence.tokens, strict=True)
    ]
    result["ece"] = round(100 * reliability(confidences, right).ece, 2)
    return result


def udpipe(train: str, dev: list[Sentence], text: str) -> dict[str, Any]:
    """Train and evaluate UDPipe 1."""
    from ufal.udpipe import InputFormat, Model, Pipeline, ProcessingError, Sentences, Trainer
    from ufal.udpipe import Sentence as UDPipeSentence

    began = time.process_time()

    def sentences(content: str) -> Any:
        rows, error = Sentences(), ProcessingError()
        source = InputFormat.newConlluInputFormat()
        source.setText(content)
        while True:
            row = UDPipeSentence()
            if not source.nextSentence(row, error):
                return rows
            rows.append(row)

    error = ProcessingError()
    content = "".join(f"{sentence}\n" for sentence in read_conllu(train))
    data = Trainer.train(
        "morphodita_parsito",
        sentences(content),
        Sentences(),
        Trainer.DEFAULT,
        Trainer.DEFAULT,
        Trainer.DEFAULT,
        error,
    )
    seconds = time.process_time() - began
    file = Path("runs/udpipe.model")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    model = Model.load(str(file))
    gold = "".join(f"{sentence}\n" for sentence in dev)
    result: dict[str, Any] = {"training, cpu seconds": round(seconds, 1)}
    words = sum(map(len, dev))
    runs = (
        ("gold tags", "conllu", Pipeline.NONE, gold),
        ("predicted tags", "conllu", Pipeline.DEFAULT, gold),
        ("text", "tokenize", Pipeline.DEFAULT, text),
    )
    for name, kind, tagger, source in runs:
        began = time.process_time()
        output = Pipeline(model, kind, tagger, Pipeline.DEFAULT, "conllu").process(source, error)
        spent = time.process_time() - began
        file.with_suffix(".conllu").write_text(output, encoding="utf-8")
        system = list(read_conllu(file.with_suffix(".conllu")))
        result[name] = {**figures(dev, system), "words a cpu second": round(words / spent)}
    return result


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("train")
    arguments.add_argument("dev")
    arguments.add_argument("--tags", nargs="*", default=["predicted", "gold"])
    arguments.add_argument("--neural", type=int, default=0, metavar="EPOCHS")
    arguments.add_argument("--nets", type=int, default=ArcNetOptions().count)
    arguments.add_argument("--decoders", nargs="+", default=["mbr"])
    arguments.add_argument("--udpipe", action="store_true")
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    train, dev = list(read_conllu(options.train)), list(read_conllu(options.dev))
    text = raw_text(dev)
    about = {"benchmark": "dependency_text", "train": options.train, "dev": options.dev}
    for tags in options.tags:
        began = time.process_time()
        learner = SHAGParser(
            tags=tags,
            neural=options.neural > 0,
            net=ArcNetOptions(epochs=options.neural or 1, count=options.nets),
            n_jobs=1,
            random_state=options.seed,
        )
        parser = learner.fit(train).model_
        seconds = round(time.process_time() - began, 1)
        for decoder in options.decoders:
            result = evaluate(parser, dev, text, decoder)
            row = {
                **about,
                "tags": tags,
                "neural": options.neural,
                "decoder": decoder,
                "training, cpu seconds": seconds,
                **result,
            }
            print(json.dumps(row), flush=True)
    if options.udpipe:
        print(json.dumps({**about, "udpipe": udpipe(options.train, dev, text)}), flush=True)
    print(json.dumps({"machine": machine.about()}))


if __name__ == "__main__":
    main()
