"""The tab in which people annotate: fields of a request to a session of annotation, and its views to JSON."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from gramian.annotate.bank import check_annotator
from gramian.annotate.edits import Edit
from gramian.annotate.session import AnnotationSession, View
from gramian.chart.constraints import Span
from gramian.errors import InputError, OptionError
from gramian.text.rule_tokenizer import tokenize
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.web.explore import Explorer
from gramian.web.fields import Fields
from gramian.web.tree_json import finite, nodes
from gramian.web.typed_sentences import check_length

_MOST_SENTENCES = 100_000
_LARGEST = 1 << 30  # revision


class AnnotationView:
    """Answers the requests of the tab; changes are saved before they are answered.

    Parameters
    ----------
    session : AnnotationSession
    explorer : Explorer, optional
        Its parser finds sentences and words in text that is added; rules do so without it.
    """

    def __init__(self, session: AnnotationSession, explorer: Explorer | None = None) -> None:
        self._session, self._explorer = session, explorer

    @property
    def reads(self) -> list[Callable[[Fields], Mapping[str, Any]]]:
        """Requests that change nothing."""
        return [self.annotations, self.annotated, self.annotate_next, self.agreement, self.annotated_trees]

    @property
    def writes(self) -> list[Callable[[Fields], Mapping[str, Any]]]:
        """Requests that change the bank."""
        return [
            self.annotate, self.annotate_finish, self.annotate_comment, self.annotate_undo, self.annotate_add,
            self.annotate_train,
        ]  # fmt: skip

    # -- reading -----------------------------------------------------------------------------------------------------

    def annotations(self, fields: Fields) -> dict[str, Any]:
        """Return the sentences of the bank with their state, its labels, and how far training is."""
        annotator, session = self._annotator(fields), self._session
        listed = []
        for name, words in session.bank.sentences.items():
            stored = session.bank.find(annotator, name)
            state = "new" if stored is None else "done" if stored.annotation.done else "begun"
            commented = bool(stored and stored.annotation.comment)
            listed.append({"name": name, "text": " ".join(words), "state": state, "commented": commented})
        return {
            "bank": session.bank.folder.name,
            "sentences": listed,
            "annotators": session.bank.annotators,
            "labels": asdict(session.labels),
            "training": session.is_training,
            "message": session.message,
            "generation": session.generation,
        }

    def annotated(self, fields: Fields) -> dict[str, Any]:
        """Return a sentence as its annotator left it, or with a proposal."""
        return self._answer(self._session.view(self._annotator(fields), fields.text("name")))

    def annotate_next(self, fields: Fields) -> dict[str, Any]:
        """Return the name of the sentence that is worth most to annotate next."""
        return {"name": self._session.next(self._annotator(fields))}

    def agreement(self, fields: Fields) -> dict[str, Any]:
        """Return how far two annotators agree."""
        figures = asdict(self._session.agreement(fields.text("annotator"), fields.text("other")))
        return {name: finite(value) for name, value in figures.items()}

    def annotated_trees(self, fields: Fields) -> dict[str, Any]:
        """Return the finished trees of an annotator, in brackets."""
        trees = self._session.bank.trees(self._annotator(fields))
        return {"text": "".join(f"{tree}\n" for tree in trees.values())}

    # -- changing ----------------------------------------------------------------------------------------------------

    def annotate(self, fields: Fields) -> dict[str, Any]:
        """Apply one edit."""
        target = None
        if fields.optional_text("target_label") is not None:
            target = self._span(fields, "target_")
        edit = Edit(
            fields.text("action"), self._span(fields), fields.text("new_label", ""), target, fields.whole("at", 0, _LARGEST, 0)
        )  # fmt: skip
        annotator, name = self._annotator(fields), fields.text("name")
        return self._answer(self._session.edit(annotator, name, edit, **self._made_from(fields)))

    def annotate_finish(self, fields: Fields) -> dict[str, Any]:
        """Accept a tree, or take that back."""
        annotator, name, done = self._annotator(fields), fields.text("name"), fields.flag("done")
        return self._answer(self._session.finish(annotator, name, done=done, **self._made_from(fields)))

    def annotate_comment(self, fields: Fields) -> dict[str, Any]:
        """Save a comment."""
        annotator, name, text = self._annotator(fields), fields.text("name"), fields.text("comment")
        return self._answer(self._session.comment(annotator, name, text, **self._made_from(fields)))

    def annotate_undo(self, fields: Fields) -> dict[str, Any]:
        """Take back the last step."""
        revision = fields.whole("revision", 0, _LARGEST)
        return self._answer(
            self._session.undo(self._annotator(fields), fields.text("name"), revision=revision)
        )

    def annotate_add(self, fields: Fields) -> dict[str, Any]:
        """Add the sentences of a text."""
        text = fields.text("text")
        parser = self._explorer.parser if self._explorer else None
        segmenter = parser.segmenter if parser else SentenceSegmenter()
        cut = parser.model.tokenize if parser else tokenize
        sentences = [[token.word for token in cut(text[start:end])] for start, end in segmenter.segment(text)]
        for words in sentences:
            check_length(len(words))
        if not any(sentences):
            raise InputError("there are no words", "text", hint="type a text")
        if len(self._session.bank.sentences) + len(sentences) > _MOST_SENTENCES:
            raise OptionError(f"a bank has at most {_MOST_SENTENCES:,} sentences; try: a second bank")
        return {"names": self._session.bank.add(sentences)}

    def annotate_train(self, fields: Fields) -> dict[str, Any]:
        """Start to train on everything annotated so far."""
        self._session.start_training()
        return {"training": True}

    # ----------------------------------------------------------------------------------------------------------------

    def _annotator(self, fields: Fields) -> str:
        annotator = fields.text("annotator")
        check_annotator(annotator)
        return annotator

    def _made_from(self, fields: Fields) -> dict[str, int]:
        """Return the revision that a change was made from, and the parser whose proposal was seen."""
        return {key: fields.whole(key, 0, _LARGEST) for key in ("revision", "generation")}

    def _span(self, fields: Fields, prefix: str = "") -> Span:
        start, end = (fields.whole(f"{prefix}{key}", 0, _LARGEST) for key in ("start", "end"))
        return Span(start, end, fields.text(f"{prefix}label"))

    def _answer(self, view: View) -> dict[str, Any]:
        annotation = view.stored.annotation
        required, fixed = set(annotation.required), dict(annotation.tags)
        listed = nodes(annotation.tree, view.confidences)
        for node in listed:
            span = Span(node["start"], node["end"], node["label"])
            node["held"] = node["start"] in fixed if node["word"] is not None else span in required
        return {
            "name": view.name,
            "words": list(annotation.tree.words),
            "tree": str(annotation.tree),
            "nodes": listed,
            "forbidden": [asdict(span) for span in annotation.forbidden],
            "suggestions": [asdict(edit) for edit in view.suggestions],
            "done": annotation.done,
            "comment": annotation.comment,
            "revision": view.stored.revision,
            "generation": view.generation,
            "undoable": len(view.stored.history),
        }
