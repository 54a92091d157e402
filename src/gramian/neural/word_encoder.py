"""An encoder at work: sentences cut into pieces by its tokenizer, and the vectors of pieces put together to those of words."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import transformers

from gramian.errors import InputError
from gramian.io.bounded_cache import BoundedCache

Words = tuple[str, ...]


class _Stretch(NamedTuple):
    """Words that an encoder reads at once, in subword tokens."""

    ids: npt.NDArray[np.int64]  #: of the subword tokens, special ones included
    pieces: npt.NDArray[np.int64]  #: which tokens count for words
    words: npt.NDArray[np.int64]  #: for which
    shares: npt.NDArray[np.float32]  #: and how much
    n_words: int


_LONGEST = 512  # pieces, where the encoder says nothing
_MOST_BYTES = 1 << 30  # of sentences that are remembered while learning
_MOST_SENTENCES = 1 << 20  # whose subword tokens are remembered


class WordEncoder:
    """Vectors of the words of sentences.

    `weights` take the place of the folder's. What an encoder that is not tuned says about a sentence is remembered.
    """

    def __init__(
        self,
        folder: str | Path,
        pooling: str,
        weights: Mapping[str, npt.NDArray[Any]],
        is_tuned: bool = False,
        *,
        name: str = "",
    ) -> None:
        try:
            options = {"local_files_only": True, "trust_remote_code": False}
            with _no_bars():
                self._pieces = transformers.AutoTokenizer.from_pretrained(
                    folder, add_prefix_space=True, **options
                )
                self.model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32, **options)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"contains no encoder that transformers can read ({str(error).splitlines()[0][:200]})",
                name or str(folder),
                hint="a folder that save_pretrained of Hugging Face's transformers wrote",
            ) from None
        if not self._pieces.is_fast:
            raise InputError(
                "has a tokenizer that does not align subword tokens with words",
                name or str(folder),
                hint="save it as a fast one (tokenizer.json)",
            )
        self.pooling, self.is_tuned = pooling, is_tuned
        self.size = int(self.model.config.hidden_size)
        max_positions = getattr(self.model.config, "max_position_embeddings", None) or _LONGEST
        # RoBERTa counts places from behind it
        first_position = getattr(self.model.config, "pad_token_id", None) or 0
        self._longest = int(min(self._pieces.model_max_length, max_positions - first_position))
        if weights:
            state = {name: torch.from_numpy(np.asarray(value, np.float32)) for name, value in weights.items()}
            self.model.load_state_dict(state)
        self.model.eval().requires_grad_(is_tuned)
        self._cache: BoundedCache[Words, torch.Tensor] = BoundedCache(
            lambda words: self._encoded([words])[0].half().cpu(), most_bytes=_MOST_BYTES
        )
        self._stretches: BoundedCache[Words, tuple[_Stretch, ...]] = BoundedCache(
            self._cut, most=_MOST_SENTENCES, most_bytes=_MOST_BYTES
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> WordEncoder:
        """Return itself if it does not learn, so that copies of a net share it."""
        if not self.is_tuned:
            return self
        other = object.__new__(WordEncoder)
        memo[id(self)] = other
        vars(other).update(vars(self) | {"model": copy.deepcopy(self.model, memo)})
        return other

    def one(self, words: Words) -> npt.NDArray[np.float32]:
        """Return the vectors of the words of a sentence between its boundaries, shape (n_words + 2, size)."""
        with torch.inference_mode():
            vectors = self._encoded([words])[0]
        table = np.zeros((len(words) + 2, self.size), np.float32)
        table[1:-1] = vectors.numpy()
        return table

    def __call__(self, sentences: Sequence[Words], longest: int) -> torch.Tensor:
        """Return the vectors of sentences side by side, shape (n_sentences, longest + 2, size), with zeros at boundaries and behind."""
        device = self.model.device
        if self.is_tuned:
            vectors = self._encoded(sentences)
        else:
            with torch.no_grad():
                new = [words for words in dict.fromkeys(sentences) if words not in self._cache]
                for words, vector in zip(new, self._encoded(new) if new else (), strict=True):
                    self._cache.keep(words, vector.half().cpu())
                vectors = [self._cache[words].to(device).float() for words in sentences]
        table = torch.zeros(len(sentences), longest + 2, self.size, device=device)
        for row, sentence_vectors in enumerate(vectors):
            table[row, 1 : len(sentence_vectors) + 1] = sentence_vectors
        return table

    def _encoded(self, sentences: Sequence[Words]) -> list[torch.Tensor]:
        """Return the vectors of the words of each sentence, shape (n_words, size); a word without pieces has zeros."""
        sizes = [len(words) for words in sentences]
        stretches = [stretch for words in sentences for stretch in self._stretches[words]]
        longest = max(len(stretch.ids) for stretch in stretches)
        ids = np.zeros((len(stretches), longest), np.int64)
        mask = np.zeros((len(stretches), longest), np.float32)
        n_words = 0
        sources, targets, shares = [], [], []
        for row, stretch in enumerate(stretches):
            ids[row, : len(stretch.ids)] = stretch.ids
            mask[row, : len(stretch.ids)] = 1
            sources.append(row * longest + stretch.pieces)
            targets.append(n_words + stretch.words)
            shares.append(stretch.shares)
            n_words += stretch.n_words
        device = self.model.device
        source, target, share = (
            torch.from_numpy(np.concatenate(parts)).to(device) for parts in (sources, targets, shares)
        )
        states = self.model(
            input_ids=torch.from_numpy(ids).to(device), attention_mask=torch.from_numpy(mask).to(device)
        ).last_hidden_state
        pieces = states.flatten(0, 1)[source] * share[:, None]
        vectors = pieces.new_zeros(n_words, pieces.shape[1]).index_add_(0, target, pieces)
        return list(vectors.split(sizes))

    def _cut(self, words: Words) -> tuple[_Stretch, ...]:
        """Return a sentence in stretches that the encoder can read at once: one, unless it is very long."""
        pieces = self._pieces(list(words), is_split_into_words=True, add_special_tokens=False).word_ids()
        capacity = self._longest - self._pieces.num_special_tokens_to_add()
        starts = [0]
        if len(pieces) > capacity:
            pieces_per_word = np.bincount(
                np.array([word for word in pieces if word is not None]), minlength=len(words)
            )
            filled = 0
            for index, n_pieces in enumerate(pieces_per_word.tolist()):
                if filled + n_pieces > capacity and index > starts[-1]:
                    starts.append(index)
                    filled = 0
                filled += n_pieces
        return tuple(self._stretch(words[start:end]) for start, end in pairwise([*starts, len(words)]))

    def _stretch(self, words: Words) -> _Stretch:
        encoding = self._pieces(
            list(words), is_split_into_words=True, truncation=True, max_length=self._longest
        )
        pairs = [(index, word) for index, word in enumerate(encoding.word_ids()) if word is not None]
        if self.pooling == "first":
            first = {word: index for index, word in reversed(pairs)}
            pairs = sorted((index, word) for word, index in first.items())
        table = np.array(pairs, np.int64).reshape(-1, 2)
        count = np.bincount(table[:, 1], minlength=len(words))
        return _Stretch(
            ids=np.array(encoding["input_ids"], np.int64),
            pieces=table[:, 0],
            words=table[:, 1],
            shares=(1 / count[table[:, 1]]).astype(np.float32),
            n_words=len(words),
        )


@contextmanager
def _no_bars() -> Iterator[None]:
    """Leave the bars of transformers away for a while."""
    log = transformers.utils.logging
    shown = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            log.enable_progress_bar()
