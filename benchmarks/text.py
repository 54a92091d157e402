"""Ends of sentences and cuts between words, learnt, by rules, and by pysbd, syntok and spaCy's sentencizer, on the same text.

python -m benchmarks.text TRAIN DEV [--language en] [--trees TRAIN.mrg DEV.mrg]

TRAIN and DEV are CoNLL-U, whose text is put together again (SpaceAfter=No, contractions), document by document, in texts of up to
twenty sentences; or trees, written as text. F1 of ends counts those inside texts; F1 of words counts words that are right, each in its
place. With --trees, words are also cut as those trees cut them: learnt from the first file, and scored on the texts of DEV whose
sentences stand in the second.

Peers that are not installed are left out, and said: pip install pysbd syntok spacy.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ARGUMENTS = ("train.conllu", "dev.conllu")

LONGEST = (
    20  # sentences of a text: one quotation mark too many makes pysbd take all that follows for one sentence
)
Document = list[Any]  # of TokenizedText


def documents(path: str, language: str) -> list[Document]:
    """Return the texts of a file."""
    from gramian.text.detokenizer import ORTHOGRAPHIES, Orthography, detokenize, detokenize_conllu
    from gramian.trees import normalise, read_conllu, read_trees
    from gramian.trees.scheme import detect_scheme

    if ".mrg" in path:
        scheme = detect_scheme(read_trees(path))
        if len(scheme.languages) == 1:
            language = scheme.languages[0].code
        orthography = ORTHOGRAPHIES.get(language, Orthography())
        normal = (normalise(tree, scheme.options).tree for tree in read_trees(path))
        return [[detokenize(tree.words, tree.tags, orthography) for tree in normal if not tree.is_empty]]
    found: list[Document] = []
    sentences = list(read_conllu(path))
    for sentence, written in zip(sentences, detokenize_conllu(sentences), strict=True):
        if not found or any(line.startswith("# newdoc") for line in sentence.comments):
            found.append([])
        found[-1].append(written)
    return found


def running(document: Document) -> tuple[str, set[int]]:
    """Return the text of a document, and where sentences end in it, the last excepted."""
    text, ends = "", set()
    for sentence in document:
        text += (" " if text else "") + sentence.text
        ends.add(len(text))
    return text, ends - {len(text)}


def f1(same: int, found: int, wanted: int) -> dict[str, float]:
    return {
        "precision": round(100 * same / max(1, found), 2),
        "recall": round(100 * same / max(1, wanted), 2),
        "f1": round(200 * same / max(1, found + wanted), 2),
    }


def ends_score(find: Callable[[str], Iterable[int]], texts: list[tuple[str, set[int]]]) -> dict[str, float]:
    same = found = wanted = 0
    for text, ends in texts:
        got = {end for end in find(text) if end < len(text)}
        same, found, wanted = same + len(got & ends), found + len(got), wanted + len(ends)
    return f1(same, found, wanted)


def peers(language: str) -> Iterator[tuple[str, Callable[[str], Iterable[int]]]]:
    """Yield the peers that are installed; of those that lack a language, what they do without one, or with English."""
    for name, make in (("pysbd", _pysbd), ("syntok", _syntok), ("spacy", _spacy)):
        try:
            yield name, make(language)
        except ImportError:
            print(f"{name} is left out; try: pip install {name}", file=sys.stderr)


def _pysbd(language: str) -> Callable[[str], Iterable[int]]:
    pysbd = importlib.import_module("pysbd")
    try:
        segmenter = pysbd.Segmenter(language=language, clean=False)
    except ValueError:
        segmenter = pysbd.Segmenter(language="en", clean=False)

    def find(text: str) -> Iterator[int]:
        place = 0
        for part in map(str.strip, segmenter.segment(text)):
            if part and (start := text.find(part, place)) >= 0:
                place = start + len(part)
                yield place

    return find


def _syntok(_: str) -> Callable[[str], Iterable[int]]:
    segmenter = importlib.import_module("syntok.segmenter")
    return lambda text: (
        sentence[-1].offset + len(sentence[-1].value)
        for paragraph in segmenter.analyze(text)
        for sentence in paragraph
    )


def _spacy(language: str) -> Callable[[str], Iterable[int]]:
    spacy = importlib.import_module("spacy")
    try:
        pipeline = spacy.blank(language)
    except ImportError:
        pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**8
    return lambda text: (sentence.end_char for sentence in pipeline(text).sents)


def as_trees_cut(train: str, dev: str, language: str, written: Document) -> dict[str, Any]:
    """Return how well words are cut as in trees, on the real text of the same sentences."""
    from gramian.text.detokenizer import ORTHOGRAPHIES, Orthography
    from gramian.text.rule_tokenizer import TokenizedText
    from gramian.text.text_training import learn_tokenizer, tokenization_f1
    from gramian.trees import read_trees
    from gramian.trees.scheme import detect_scheme

    def key(text: str) -> str:
        return text.replace(" ", "").replace("_", "")

    scheme = detect_scheme(read_trees(train))
    if len(scheme.languages) == 1:
        language = scheme.languages[0].code
    (learn_from,) = documents(train, language)
    (held_out,) = documents(dev, language)
    tokenizer = learn_tokenizer(learn_from, ORTHOGRAPHIES.get(language, Orthography()).boundary_mark)
    words = {key(one.text): [token.word for token in one.tokens] for one in held_out}
    pairs = [(one.text, words[key(one.text)]) for one in written if key(one.text) in words]
    same = found = wanted = 0
    for text, gold in pairs:
        got = [token.word for token in tokenizer.tokenize(text)]
        places = [set(_places(one)) for one in (got, gold)]
        same, found, wanted = same + len(places[0] & places[1]), found + len(got), wanted + len(gold)
    held = [TokenizedText(one.text, one.tokens) for one in held_out]
    return {
        "sentences": len(pairs),
        "real text": f1(same, found, wanted),
        "text written from the trees": round(100 * tokenization_f1(tokenizer, held), 2),
    }


def _places(words: list[str]) -> Iterator[tuple[str, int]]:
    """Yield words with their places, counted in letters."""
    place = 0
    for word in words:
        yield word, place
        place += len(word.replace("_", ""))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--language", default="en")
    parser.add_argument("--trees", nargs=2, metavar=("TRAIN.mrg", "DEV.mrg"))
    options = parser.parse_args()

    from gramian.text.rule_tokenizer import tokenize
    from gramian.text.sentence_segmenter import SentenceSegmenter
    from gramian.text.text_training import learn_segmenter, learn_tokenizer, tokenization_f1

    train, dev = (documents(path, options.language) for path in (options.train, options.dev))
    texts = [
        running(document[start : start + LONGEST])
        for document in dev
        for start in range(0, len(document), LONGEST)
    ]
    learnt = learn_segmenter([[one.text for one in document] for document in train])
    own = {"learnt": learnt, "rules": SentenceSegmenter()}
    ends = {
        name: ends_score(
            lambda text, segmenter=segmenter: (span.end for span in segmenter.segment(text)), texts
        )
        for name, segmenter in own.items()
    }
    ends |= {name: ends_score(find, texts) for name, find in peers(options.language)}
    others = [scores["f1"] for name, scores in ends.items() if name not in own]
    written = [one for document in dev for one in document]
    tokenizer = learn_tokenizer([one for document in train for one in document])
    rules = argparse.Namespace(tokenize=tokenize)
    words = {
        "learnt": tokenization_f1(tokenizer, written),
        "rules of English": tokenization_f1(rules, written),
    }
    result = {
        "set": Path(options.dev).absolute().parent.name,
        "sentences": len(written),
        "ends": ends,
        "learnt / best peer": round(ends["learnt"]["f1"] / max(others), 4) if others else None,
        "words": {name: round(100 * value, 2) for name, value in words.items()},
    }
    if options.trees:
        result["words as in trees"] = as_trees_cut(*options.trees, options.language, written)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
