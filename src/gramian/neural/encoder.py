"""A pre-trained encoder of the user's own, in Hugging Face's format: vectors of words that know their sentence.

A model that has one refers to its folder, by path and by a hash of its files, and holds those weights alone that learning changed.
So such a model needs the folder, torch and transformers, to learn and to run; nothing is ever fetched.

A model file may come from anybody and name any folder. So only files with the names that transformers uses are hashed, nothing else in the
folder is opened, and transformers sees none of them before the hash fits: it gets a folder that holds links to exactly the files that
were hashed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from gramian.errors import InputError, MissingExtraError, ModelFileError
from gramian.io.schema import Sha256, read_document

if TYPE_CHECKING:
    from gramian.neural.word_encoder import WordEncoder

POOLINGS = ("first", "mean")
"""A word's vector is that of its first piece, or the mean of all its pieces'."""
ELSEWHERE = "GRAMIAN_ENCODER"
"""The variable that says where the folder lies now, if it was moved."""
_FILES = re.compile(
    r"(config|generation_config|preprocessor_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab)\.json"
    r"|(vocab|merges|dict)\.txt|[\w-]+(\.[\w-]+)*\.model"
    r"|(pytorch_)?model(-\d{5}-of-\d{5})?\.(safetensors|bin)|(pytorch_)?model\.(safetensors|bin)\.index\.json|training_args\.bin"
)
_CONFIG = "config.json"
_INDEX = ".index.json"  # how the names of files end that say which weights lie in which file


@dataclass(frozen=True)
class EncoderRecord:
    """What a model file says of an encoder."""

    path: Annotated[str, Meta(pattern=r"^[^\0]+\Z")]
    digest: Sha256
    size: Annotated[int, Meta(ge=1, le=2**20)]
    pooling: Literal["first", "mean"]


class _WeightIndex(TypedDict):
    """Which weights lie in which file."""

    weight_map: dict[str, str]


@dataclass(frozen=True, eq=False)
class Encoder:
    """What a model says about the encoder that it was learnt with."""

    path: str  #: the folder
    digest: str  #: hash of its files; see :func:`folder_digest`
    size: int  #: numbers in a vector
    pooling: str = "first"
    #: those that learning changed; none if it left the encoder as it was
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
            if not (Path(folder) / _CONFIG).is_file():
                raise FileNotFoundError
            return open_encoder(folder, self.pooling, self.weights, digest=self.digest)
        except OSError:
            raise ModelFileError(
                f"{folder}: the encoder of the model is missing; try: restoring it, or setting {ELSEWHERE} to its folder"
            ) from None

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
    digest: str | None = None,
) -> WordEncoder:
    """Return the encoder in a folder, with some of its weights replaced.

    Raises
    ------
    gramian.errors.MissingExtraError
        If torch or transformers is not there.
    gramian.errors.InputError
        If the folder holds no encoder.
    gramian.errors.ModelFileError
        If its files do not have the hash `digest`.
    """
    try:
        from gramian.neural.word_encoder import WordEncoder
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers"):
            raise
        raise MissingExtraError(str(error.name), "encoder", "a model with a pre-trained encoder") from None
    with _checked(folder, digest) as checked:
        return WordEncoder(checked, pooling, weights or {}, is_tuned, name=str(folder))


def folder_digest(folder: str | Path) -> str:
    """Return a hash of an encoder's configuration, tokenizer and weights.

    Raises
    ------
    gramian.errors.InputError
        If there is no encoder in the folder.
    """
    return _digest(_encoder_files(folder))


def _encoder_files(folder: str | Path) -> list[Path]:
    """Return the files of an encoder, known by their names; nothing is opened."""
    if not (Path(folder) / _CONFIG).is_file():
        raise InputError(
            "contains no encoder (config.json, tokenizer and weights)",
            str(folder),
            hint="a folder that save_pretrained of Hugging Face's transformers wrote",
        )
    return [path for path in sorted(Path(folder).iterdir()) if _FILES.fullmatch(path.name) and path.is_file()]


def _digest(files: Sequence[Path]) -> str:
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            whole.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


@contextmanager
def _checked(folder: str | Path, digest: str | None) -> Iterator[Path]:
    """Give a folder with links to exactly those files of an encoder that its hash covers, once the hash is known to fit."""
    files = _encoder_files(folder)
    if digest is not None and _digest(files) != digest:
        raise ModelFileError(
            f"{folder}: these are not the files of the encoder used in training; try: setting {ELSEWHERE} to the right folder"
        )
    names = {path.name for path in files}
    for path in files:
        if path.name.endswith(_INDEX):
            hint = "saving the encoder again"
            index = read_document(
                _WeightIndex, path.read_bytes(), str(path), name="index of weights", hint=hint
            )
            if outside := set(index["weight_map"].values()) - names:
                problem = f"names {min(outside)!r}, which is no file of the encoder"
                raise InputError(problem, str(path), hint=hint)
    with TemporaryDirectory(prefix="gramian-") as temporary:
        for path in files:
            link = Path(temporary) / path.name
            try:
                link.symlink_to(path.resolve())
            except OSError:  # Windows lets few users make links
                copyfile(path, link)
        yield Path(temporary)
