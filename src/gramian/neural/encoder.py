"""A pre-trained encoder of the user's own, in Hugging Face's format: vectors of words that know their sentence.

A model that has one refers to its folder, by path and by a hash of what lies there, and holds those weights alone that learning changed.
So such a model needs the folder, torch and transformers, to learn and to run; nothing is ever fetched.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import InputError, MissingExtraError, ModelFileError

if TYPE_CHECKING:
    from gramian.neural.word_encoder import WordEncoder

POOLINGS = ("first", "mean")
"""A word's vector is that of its first piece, or the mean of all its pieces'."""
ELSEWHERE = "GRAMIAN_ENCODER"
"""The variable that says where the folder lies now, if it was moved."""
_SUFFIXES = (".json", ".txt", ".model", ".safetensors", ".bin")


@dataclass(frozen=True, eq=False)
class Encoder:
    """What a model says about the encoder that it was learnt with.

    Attributes
    ----------
    path : str
        The folder.
    digest : str
        Hash of its files; see :func:`folder_digest`.
    size : int
        Numbers in a vector.
    pooling : {"first", "mean"}
    weights : mapping of str to ndarray of float16
        Those that learning changed; none if it left the encoder as it was.
    """

    path: str
    digest: str
    size: int
    pooling: str = "first"
    weights: Mapping[str, npt.NDArray[np.float16]] = field(default_factory=dict)

    @cached_property
    def opened(self) -> WordEncoder:
        """The encoder itself.

        Raises
        ------
        gramian.errors.MissingExtraError
            If torch or transformers is not there.
        gramian.errors.ModelFileError
            If the folder is not, or other files lie in it.
        """
        folder = os.environ.get(ELSEWHERE, self.path)
        try:
            digest = folder_digest(folder)
        except InputError:
            raise ModelFileError(
                f"{folder}: the model needs the encoder it was learnt with, which lay there;"
                f" try: putting it back, or setting {ELSEWHERE} to its folder"
            ) from None
        if digest != self.digest:
            raise ModelFileError(
                f"{folder}: not the encoder that the model was learnt with, its files differ; try: setting {ELSEWHERE} to the right folder"
            )
        return open_encoder(folder, self.pooling, self.weights)

    def vectors(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of the words of a sentence between its boundaries, shape (n_words + 2, size)."""
        return self.opened.one(tuple(words))

    def about(self) -> dict[str, Any]:
        """Return what is no array."""
        return {"path": self.path, "digest": self.digest, "size": self.size, "pooling": self.pooling}


def open_encoder(
    folder: str | Path,
    pooling: str = "first",
    weights: Mapping[str, npt.NDArray[Any]] | None = None,
    is_tuned: bool = False,
) -> WordEncoder:
    """Return the encoder in a folder, with some of its weights replaced.

    Raises
    ------
    gramian.errors.MissingExtraError
        If torch or transformers is not there.
    gramian.errors.InputError
        If the folder holds no encoder.
    """
    try:
        from gramian.neural.word_encoder import WordEncoder
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers"):
            raise
        raise MissingExtraError(str(error.name), "encoder", "a model with a pre-trained encoder") from None
    return WordEncoder(folder, pooling, weights or {}, is_tuned)


def folder_digest(folder: str | Path) -> str:
    """Return a hash of an encoder's configuration, tokenizer and weights.

    Raises
    ------
    gramian.errors.InputError
        If there is no encoder in the folder.
    """
    if not (Path(folder) / "config.json").is_file():
        raise InputError(
            "holds no encoder, which would have a config.json, a tokenizer and weights",
            str(folder),
            hint="a folder that save_pretrained of Hugging Face's transformers wrote",
        )
    whole = hashlib.sha256()
    for path in _files(Path(folder)):
        with path.open("rb") as file:
            whole.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES and path.is_file())
