"""Detectors by models of transformers: downloads of weights, their size announced, and a remedy where they fail."""

from __future__ import annotations

import importlib.util
import os
import threading
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, MissingExtraError
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.renaming import ScoringDetector

MEGABYTES = {
    "openai/clip-vit-base-patch32": 605,
    "openai/clip-vit-base-patch16": 599,
    "openai/clip-vit-large-patch14": 1711,
    "google/owlv2-base-patch16": 620,
    "google/owlv2-base-patch16-ensemble": 620,
    "google/owlv2-large-patch14-ensemble": 1751,
    "IDEA-Research/grounding-dino-tiny": 690,
    "IDEA-Research/grounding-dino-base": 933,
}
"""About what is fetched, for when the hub does not tell."""
_PATIENCE = 5.0  # s for the hub to say how large a model is
_SAFE, _PICKLED = ".safetensors", "pytorch_model"


class ModelDetector(ScoringDetector):
    """Scores names by a model of transformers, whose weights are loaded with the first image that has things."""

    #: the detector's name, and its classes of transformers: of the model and of its processor
    name: str
    classes: tuple[str, str]

    def __init__(self, options: Options):
        if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers")):
            raise MissingExtraError(f"the detector {self.name!r} (torch and transformers)", "vision")
        super().__init__(options)
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | ConfigError | None = None

    def loaded(self) -> tuple[Any, Any]:
        """Model and processor. Raises ConfigError where they cannot be had, which is not tried again."""
        import transformers

        with self._loading:
            if self._loaded is None:
                try:
                    model, processor = load(self._options, *(getattr(transformers, name) for name in self.classes))
                    self._loaded = model.eval(), processor
                except ConfigError as error:
                    self._loaded = error
            if isinstance(self._loaded, ConfigError):
                raise self._loaded
            return self._loaded


def load(options: Options, *classes: Any) -> list[Any]:
    """`from_pretrained` of each class, for one model. Announces the size of the download, if any.

    Raises ConfigError where the weights cannot be obtained, with the remedy.
    """
    keywords: dict[str, Any] = {}
    if Path(options.model).is_dir():
        _check_folder(Path(options.model))
        keywords["local_files_only"] = True
    elif options.model.startswith((".", "/", "~")):
        raise ConfigError(f"there is no folder {options.model!r} with a model; {_how_to(options)}")
    else:
        keywords["revision"] = options.revision
        if _is_cached(options):
            keywords["local_files_only"] = True
        else:
            options.say(f"{options.model}: {_size(options)} will be downloaded from huggingface.co, once")
    try:
        return [kind.from_pretrained(options.model, **keywords) for kind in classes]
    except Exception as error:  # a hub out of reach, a damaged file, a model of another kind: each its own exception
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(f"the model {options.model!r} cannot be loaded: {reason}; {_how_to(options)}") from error


def _how_to(options: Options) -> str:
    return (
        "give the path of a folder with its config.json and weights as the model, or fetch it where there is a network "
        f"(hf download {options.model if '/' in options.model else 'NAME'}) and set HF_HOME to the folder it is in; "
        "then start the node again"
    )


def _check_folder(folder: Path) -> None:
    names = [path.name for path in folder.iterdir()]
    lacking = [] if "config.json" in names else ["config.json"]
    if not any(name.endswith(_SAFE) or name.startswith(_PICKLED) for name in names):
        lacking.append("weights (model.safetensors or pytorch_model.bin)")
    if lacking:
        shown = ", ".join(sorted(names)[:8]) or "nothing"
        raise ConfigError(f"the model folder {str(folder)!r} has no {' and no '.join(lacking)}; it holds {shown}")


def _is_cached(options: Options) -> bool:
    from huggingface_hub import try_to_load_from_cache

    def has(name: str) -> bool:
        return isinstance(try_to_load_from_cache(options.model, name, revision=options.revision), str)

    weights = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")
    return has("config.json") and any(has(name) for name in weights)


def _size(options: Options) -> str:
    """Size of a model's download: from the hub, else from the table above."""
    known = MEGABYTES.get(options.model)
    if not os.environ.get("HF_HUB_OFFLINE"):
        try:
            from huggingface_hub import HfApi

            info = HfApi().model_info(options.model, revision=options.revision, timeout=_PATIENCE, files_metadata=True)
            sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
            total = sum(size for name, size in sizes.items() if name.endswith(_SAFE)) or sum(
                size for name, size in sizes.items() if Path(name).name.startswith(_PICKLED)
            )
            if total:
                return f"{total / 1e6:.0f} MB"
        except Exception:  # no network, no such model: from_pretrained will say so better
            pass
    return f"about {known} MB" if known else "an unknown number of megabytes"
