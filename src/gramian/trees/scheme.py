"""Annotation schemes: one record for everything that gramian knows about a kind of treebank, and their detection.

To add a scheme, add a record to :data:`SCHEMES`. Data that belong to it are files beside this one: a table of head rules
(``NAME.heads``) and sections of ``labels.glossary`` named after the scheme.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from types import MappingProxyType
from typing import Literal

from gramian.errors import InputError, OptionError
from gramian.io.reading import Source
from gramian.trees.brackets import read_trees
from gramian.trees.normalise import PENN_PUNCTUATION, NormaliseOptions
from gramian.trees.tree import Tree

SCHEME_SAMPLE_SIZE = 300
"""Number of trees from which scheme and head rules are detected."""

_MIN_SHARE = 0.3  # of them have labels of the scheme
_LANGUAGE_SAMPLE_SIZE = 2000  # sentences that a language is detected from
_MIN_FREQUENT_SHARE = 0.08  # of their words are frequent words of the language


@dataclass(frozen=True, slots=True)
class SchemeLanguage:
    """A language whose treebanks follow an annotation scheme."""

    code: str  # ISO 639
    head_rules: str  # table of head rules (gramian.trees.HeadRules.named)
    treebank: str = ""  # title of a glossary section; needed with `glossary`
    glossary: str = ""  # section of labels.glossary for labels that the scheme has in this language only
    frequent_words: frozenset[str] = frozenset()  # to detect the language where a scheme has several
    # Labels that every grammar of this language and scheme has. Learners, which see labels only, use head rules and suffixes of rare words
    # where they find all of these labels; no labels if neither helps.
    labels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AnnotationScheme:
    """How a family of treebanks is annotated; ``--preset`` on the command line.

    Examples
    --------
    >>> from gramian.trees.scheme import SCHEMES
    >>> SCHEMES["penn"].options.phrase_cut
    '-='
    """

    name: str  #: the preset; also the section of its labels in ``labels.glossary``
    treebanks: str  #: treebanks that follow it
    #: conventions of its labels: separators of functions, indices and features, empty elements, punctuation
    options: NormaliseOptions
    languages: tuple[SchemeLanguage, ...] = ()  #: the first is assumed where nothing says which it is
    #: regular expression that matches the start of phrase labels that only this scheme has
    phrase_pattern: str = ""
    #: tags that only this scheme has, if another scheme shares its `phrase_pattern`
    tags: frozenset[str] = frozenset()
    #: how published scores are computed (:mod:`gramian.evaluate`); with ``"collins"``, from trees as in the file
    scoring: Literal["spmrl", "collins"] = "spmrl"

    def language(self, code: str | None = None) -> SchemeLanguage | None:
        """Return the language with this ISO 639 code, else the first one; None if the scheme has no language."""
        return next((language for language in self.languages if language.code == code), None) or next(
            iter(self.languages), None
        )


_PENN_HELSINKI = r"IP-(MAT|SUB|INF|IMP|REL|ADV|EMB)\b"

SCHEMES: Mapping[str, AnnotationScheme] = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            AnnotationScheme(
                name="penn",
                treebanks="Penn Treebank",
                options=NormaliseOptions(punctuation_tags=PENN_PUNCTUATION),
                languages=(
                    SchemeLanguage(
                        "en",
                        "collins",
                        frequent_words=frozenset({"the", "of", "and", "to", "in"}),
                        labels=frozenset({"NP", "VP", "PP", "NN", "IN", "DT", "VBZ"}),
                    ),
                    SchemeLanguage(
                        "id",
                        "indonesian",
                        treebank="ICON (Indonesian)",
                        glossary="icon",
                        frequent_words=frozenset({"yang", "dan", "di", "dengan", "untuk"}),
                    ),
                ),
                scoring="collins",
            ),
            # Case stands in the tag (N-A, PRO-D) and is kept.
            AnnotationScheme(
                name="icepahc",
                treebanks="IcePaHC (Icelandic)",
                options=NormaliseOptions(),
                languages=(SchemeLanguage("is", "icelandic"),),
                phrase_pattern=_PENN_HELSINKI,
            ),
            # What a phrase does for its verb may follow a ';' (PP;*SBJ*).
            AnnotationScheme(
                name="keyaki",
                treebanks="Keyaki (Japanese)",
                options=NormaliseOptions(phrase_cut="-=;{", tag_cut="-;"),
                languages=(SchemeLanguage("ja", "japanese"),),
                phrase_pattern=_PENN_HELSINKI,
                tags=frozenset({"AX", "AXD", "VB2", "ADJI", "PU"}),
            ),
            # Clitics carry functions in their tags (CLO-A_OBJ).
            AnnotationScheme(
                name="ftb",
                treebanks="French Treebank, Sequoia",
                options=NormaliseOptions(tag_cut="-", punctuation_tags=frozenset({"PONCT"})),
                languages=(SchemeLanguage("fr", "french"),),
                phrase_pattern=r"(VN|VPinf|VPpart|Ssub|Srel)\b",
            ),
            # Number, gender, coordination and the like follow a '.' (grup.nom.ms -> grup.nom).
            AnnotationScheme(
                name="cess",
                treebanks="CESS, AnCora (Spanish, Catalan)",
                options=NormaliseOptions(
                    phrase_strip=r"\*|\.(?:[mfc]?[spn]|[mf]|co|e|j|x|\d[cn])(?=[-.*]|$)"
                ),
                languages=(SchemeLanguage("es", "spanish"),),
                phrase_pattern=r"grup\.|espec\b|s[np]\b",
            ),
            # Functions on phrases and tags (n-H); np_ and np- are parts of a broken np.
            AnnotationScheme(
                name="floresta",
                treebanks="Floresta (Portuguese)",
                options=NormaliseOptions(
                    phrase_cut="-_=",
                    phrase_strip=r"^\d\]\+",
                    tag_cut="-",
                    punctuation_tags=frozenset({"PU", "-LRB-", "-RRB-"}),
                ),
                languages=(SchemeLanguage("pt", "portuguese"),),
                phrase_pattern=r"(fcl|icl|np|pp|cu)-",
            ),
            AnnotationScheme(
                name="whole",
                treebanks="any; labels are taken as they stand",
                options=NormaliseOptions(phrase_cut="", indices=False),
            ),
        )
    }
)
"""All annotation schemes, by name."""

DEFAULT_SCHEME = SCHEMES["penn"]
"""The scheme of trees that look like those of no other."""


def annotation_scheme(name: str | None) -> AnnotationScheme:
    """Return a scheme by name; the default one for None.

    Examples
    --------
    >>> annotation_scheme("ftb").options.tag_cut
    '-'
    """
    if name is None:
        return DEFAULT_SCHEME
    if name not in SCHEMES:
        raise OptionError(f"unknown preset {name!r}; try one of: {', '.join(SCHEMES)}")
    return SCHEMES[name]


def detect_scheme(trees: Iterable[Tree]) -> AnnotationScheme:
    """Return the scheme that the labels of trees, as read, belong to; else the default one.

    Of schemes that share phrase labels, the one that also recognises tags goes first.
    """
    counts: Counter[str] = Counter()
    sample = list(islice(trees, SCHEME_SAMPLE_SIZE))
    for tree in sample:
        phrases = {node.label for node in tree.subtrees() if node.word is None}
        tags = {node.label for node in tree.subtrees() if node.word is not None}
        counts.update(
            scheme.name
            for scheme in SCHEMES.values()
            if scheme.phrase_pattern
            and any(re.match(scheme.phrase_pattern, label) for label in phrases)
            and (not scheme.tags or not scheme.tags.isdisjoint(tags))
        )
    likely = [name for name, count in counts.items() if count >= max(1, _MIN_SHARE * len(sample))]
    if not likely:
        return DEFAULT_SCHEME
    return SCHEMES[max(likely, key=lambda name: (bool(SCHEMES[name].tags), counts[name]))]


def find_scheme(trees: Iterable[Tree], name: str = "auto") -> tuple[AnnotationScheme, Iterator[Tree]]:
    """Return the scheme called `name`, with ``"auto"`` the one that the labels of the trees belong to, and all of the trees."""
    trees = iter(trees)
    if name != "auto":
        return annotation_scheme(name), trees
    sample = list(islice(trees, SCHEME_SAMPLE_SIZE))
    return detect_scheme(sample), chain(sample, trees)


def scheme_of(source: Source) -> AnnotationScheme:
    """Return the scheme of the trees in a file, a folder or a seekable text; broken trees are left to whoever reads all of them."""
    try:
        return detect_scheme(
            read_trees(source, broken="skip", on_skip=lambda _: None, on_join=lambda _: None)
        )
    except InputError:
        return DEFAULT_SCHEME
    finally:
        if isinstance(source, io.StringIO):
            source.seek(0)


def detect_language(sentences: Iterable[Iterable[str]], scheme: AnnotationScheme) -> str | None:
    """Return the language of sentences, given as words: that of the scheme, or the one whose frequent words they have, or None."""
    if len(scheme.languages) == 1:
        return scheme.languages[0].code
    words = [word.lower() for sentence in islice(sentences, _LANGUAGE_SAMPLE_SIZE) for word in sentence]
    shares = {
        language.code: sum(word in language.frequent_words for word in words) / max(1, len(words))
        for other in SCHEMES.values()
        for language in other.languages
        if language.frequent_words
    }
    best = max(shares, key=lambda code: shares[code])
    return best if shares[best] >= _MIN_FREQUENT_SHARE else None


def language_of_labels(labels: Iterable[str]) -> SchemeLanguage | None:
    """Return the language, of all schemes, whose characteristic labels all occur; None if there is none."""
    known = set(labels)
    return next(
        (
            language
            for scheme in SCHEMES.values()
            for language in scheme.languages
            if language.labels and language.labels <= known
        ),
        None,
    )
