"""Models on the Hugging Face Hub, saved and loaded only when asked for: ``pip install 'gramian[hub]'``.

A repository of the Hub, or a folder in its layout, has the model as ``model.grammar`` and a model card as ``README.md``.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gramian import __version__
from gramian.errors import InputError, MissingExtraError
from gramian.io.output import writing
from gramian.parsing.installed_models import FILE
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser

_CARD = """\
---
{header}
---

# {name}

A constituency parser for gramian, saved by version {version}.

```python
import gramian.interop.hub

parser = gramian.interop.hub.load_from_hub("{repository}")
```

{facts}"""
_FACTS = """\
## Training data

{data}

## Settings

{options}

## Scores on {source}

{scores}

## Licence

The model is under {licence}; gramian itself is under the MIT licence.
"""
_HELD_OUT = "held-out trees"
_SHOWN_OPTIONS = ("method", "n_states", "models", "max_iter", "horizontal", "vertical", "direction")
_METRICS = {
    "f1": "F1",
    "precision": "Precision",
    "recall": "Recall",
    "exact": "Exact match",
    "tagging": "Tagging accuracy",
}


def model_card(model: Model, repository: str, licence: str) -> str:
    """Return a model card in Markdown, made from the metadata of a model.

    Parameters
    ----------
    model : Model
    repository : str
        ``owner/name`` on the Hub.
    licence : str
        Of the model, as SPDX writes it.

    Examples
    --------
    >>> import gramian
    >>> model_card(gramian.load().model, "me/english", "CC-BY-SA-4.0").splitlines()[1:4]
    ['language: "en"', 'library_name: "gramian"', 'license: "cc-by-sa-4.0"']
    """
    name, metrics = repository.rpartition("/")[2], model.metrics
    scores = {title: metrics[key] for key, title in _METRICS.items() if key in metrics}
    result = {
        "task": {"type": "constituency-parsing"},
        "dataset": {"type": "treebank", "name": metrics.get("dev", _HELD_OUT)},
        "metrics": [{"type": title, "value": value} for title, value in scores.items()],
    }
    header = {
        "language": model.language or "und",
        "library_name": "gramian",
        "license": licence.lower(),
        "tags": ["constituency-parsing", "latent-variable-grammar"],
    } | ({"model-index": [{"name": name, "results": [result]}]} if scores else {})
    return _CARD.format(
        header="\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in header.items()),
        name=name,
        repository=repository,
        version=__version__,
        facts=model_facts(model, licence),
    )


def model_facts(model: Model, licence: str) -> str:
    """Return the sections of a model card about training data, settings, scores and licence."""
    data, metrics, options = model.data, model.metrics, model.options
    scores = {title: metrics[key] for key, title in _METRICS.items() if key in metrics}
    return _FACTS.format(
        data=_listed({key: data[key] for key in ("source", "trees", "words", "attribution") if key in data}),
        options=_listed({key: options[key] for key in _SHOWN_OPTIONS if key in options}),
        source=metrics.get("dev", _HELD_OUT),
        scores=_listed(scores | ({"signature": metrics["signature"]} if "signature" in metrics else {})),
        licence=licence,
    )


def _listed(facts: Mapping[str, Any]) -> str:
    return "\n".join(f"- {key}: {value}" for key, value in facts.items()) or "- not recorded"


def save_folder(model: Model, folder: str | os.PathLike[str], repository: str, licence: str) -> None:
    """Write a model and its card to a folder in the layout of the Hub; parameters as for :func:`save_to_hub`."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    save_model(model, Path(folder) / FILE)
    with writing(Path(folder) / "README.md") as card:
        card.write(model_card(model, repository, licence))


def save_to_hub(
    model: Model | Parser, repository: str, *, licence: str, private: bool = False, token: str | None = None
) -> str:
    """Upload a model and its card; the repository is created if it is missing.

    Parameters
    ----------
    model : Model or Parser
    repository : str
        ``owner/name`` on the Hub.
    licence : str
        Of the model, as SPDX writes it; models that were learnt from a treebank may have to keep its licence.
    private : bool
        Whether a new repository is private.
    token : str, optional
        By default that of ``hf auth login``.

    Returns
    -------
    str
        The address of the commit.

    Examples
    --------
    >>> save_to_hub(gramian.load("my.grammar"), "me/my-english", licence="CC-BY-SA-4.0")  # doctest: +SKIP
    """
    hub = _library()
    with tempfile.TemporaryDirectory() as folder:
        save_folder(model.model if isinstance(model, Parser) else model, folder, repository, licence)
        api = hub.HfApi(token=token, library_name="gramian", library_version=__version__)
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository, folder_path=folder, commit_message="Upload a gramian model"
        )
    return str(commit.commit_url)


def load_from_hub(
    repository: str, *, revision: str | None = None, token: str | None = None, **options: Any
) -> Parser:
    """Return a parser with the model of a repository; its file is downloaded once, and kept in the cache of the Hub.

    Parameters
    ----------
    repository : str
        ``owner/name`` on the Hub, or a local folder in its layout, which needs no network.
    revision : str, optional
        A branch, tag or commit. Name a commit to load the same model for ever.
    token : str, optional
        For private repositories.
    **options
        Options of :class:`gramian.Parser`.

    Examples
    --------
    >>> load_from_hub("me/my-english", revision="COMMIT").parse("It works.")  # doctest: +SKIP
    """
    if os.path.isdir(repository):
        return Parser(load_model(Path(repository) / FILE), **options)
    hub = _library()
    try:
        path = hub.hf_hub_download(repository, FILE, revision=revision, token=token, library_name="gramian")
    except (
        OSError,
        ValueError,
    ) as error:  # of the network, or a repository, revision or file that is not there
        hint = "check the name, the network and the token"
        raise InputError(f"cannot be loaded from the Hub ({error})", repository, hint=hint) from None
    return Parser(load_model(path), **options)


def _library() -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        raise MissingExtraError(
            "huggingface_hub", "hub", "loading models from the Hub and saving them there"
        ) from None
    return huggingface_hub
