"""Running text as CoNLL-U sentences: words, multiword tokens and spacing, without annotation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from gramian.dependency.word_classifier import CONTEXT, WordClassifier, fit_word_classifier
from gramian.text.text_processor import TextProcessor, sentences_in
from gramian.text.tokenizer import Tokenizer, like_case
from gramian.trees import Sentence, Token

_MIN_COUNT = 2  # of either reading of an ambiguous form
_EPOCHS = 5


@dataclass(frozen=True, eq=False, repr=False)
class WordSplitter:
    """Decides by context whether a form is a word or a multiword token, such as French *des*: *des* or *de les*."""

    forms: tuple[str, ...]  #: ambiguous forms in lower case
    expansions: tuple[str, ...]  #: the words that each may stand for, separated by spaces
    classifier: WordClassifier  #: its class 1 is a multiword token

    def __post_init__(self) -> None:
        if len(self.forms) != len(self.expansions) or not all(map(str.split, self.expansions)):
            raise ValueError("invalid model file: multiword tokens without words")

    def split(self, forms: Sequence[str]) -> dict[int, list[str]]:
        """Return the words of each ambiguous form of a sentence, by its index."""
        words_of = dict(zip(self.forms, self.expansions, strict=True))
        ambiguous = [index for index, form in enumerate(forms) if form.lower() in words_of]
        if not ambiguous:
            return {}
        classes = self.classifier.classify([(form, "") for form in forms], CONTEXT)
        return {
            index: like_case(words_of[forms[index].lower()].split(), forms[index])
            if classes[index]
            else [forms[index]]
            for index in ambiguous
        }


def fit_word_splitter(sentences: Sequence[Sentence], *, random_state: int = 0) -> WordSplitter | None:
    """Train a splitter; None if no form is ambiguous."""
    surfaces = [list(_surface(sentence)) for sentence in sentences]
    whole = Counter(form.lower() for surface in surfaces for form, words in surface if not words)
    split: dict[str, Counter[str]] = {}
    for form, words in (pair for surface in surfaces for pair in surface if pair[1]):
        split.setdefault(form.lower(), Counter())[words] += 1
    ambiguous = sorted(form for form, words in split.items() if min(words.total(), whole[form]) >= _MIN_COUNT)
    if not ambiguous:
        return None
    classifier = fit_word_classifier(
        [[(form, "") for form, _ in surface] for surface in surfaces],
        [[int(bool(words) and form.lower() in ambiguous) for form, words in surface] for surface in surfaces],
        [("word",), ("multiword",)],
        CONTEXT,
        max_iter=_EPOCHS,
        random_state=random_state,
    )
    expansions = tuple(split[form].most_common(1)[0][0] for form in ambiguous)
    return WordSplitter(tuple(ambiguous), expansions, classifier)


def _surface(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a sentence, each with the lower-case words that it stands for, or an empty text."""
    ranges = sentence.multiword_ranges()
    index = 0
    while index < len(sentence):
        end, form, _ = ranges.get(index + 1, (index + 1, sentence.tokens[index].form, ""))
        yield form, " ".join(sentence.words[index:end]).lower() if end > index + 1 else ""
        index = end


def conllu_sentences(
    lines: Iterable[str], processor: TextProcessor, splitter: WordSplitter | None = None
) -> Iterator[Sentence]:
    """Yield the sentences of a text with ``sent_id`` and ``text`` comments; `lines` have their line ends."""
    tokenizer = processor.tokenizer
    assert tokenizer is not None  # learnt from CoNLL-U
    for number, sentence in enumerate(sentences_in(lines, processor.segmenter), 1):
        yield _sentence(sentence.text, tokenizer, splitter, number)


def _sentence(text: str, tokenizer: Tokenizer, splitter: WordSplitter | None, number: int) -> Sentence:
    groups = groupby(tokenizer.tokenize(text), lambda token: (token.start, token.end))
    spans = [(start, end, [token.word for token in group]) for (start, end), group in groups]
    decided = splitter.split([text[start:end] for start, end, _ in spans]) if splitter is not None else {}
    tokens: list[Token] = []
    extras: list[tuple[int, str]] = []
    for index, (start, end, words) in enumerate(spans):
        words = decided.get(index, words)
        misc = "SpaceAfter=No" if end < len(text) and not text[end].isspace() else "_"
        if len(words) > 1:
            first, last = len(tokens) + 1, len(tokens) + len(words)
            extras.append((len(tokens), f"{first}-{last}\t{text[start:end]}" + "\t_" * 7 + f"\t{misc}"))
            misc = "_"
        for word in words:
            tokens.append(Token(len(tokens) + 1, word, misc=misc))
    comments = f"# sent_id = {number}", f"# text = {' '.join(text.split())}"
    return Sentence(tuple(tokens), comments, tuple(extras))
