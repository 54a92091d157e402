"""Modules that learn nets import torch, or Triton; where these are not installed, their examples are not looked for."""

from importlib.util import find_spec

collect_ignore = [
    f"src/gramian/neural/{module}.py"
    for package, modules in {
        "torch": ("net", "net_trainer", "span_tree_crf", "word_encoder"),
        "transformers": ("word_encoder",),
        "triton": ("span_tree_gpu",),
    }.items()
    if find_spec(package) is None
    for module in modules
]
