"""Modules that import torch, or Triton; where these are not installed, their examples are not looked for."""

from importlib.util import find_spec

collect_ignore = [
    f"src/gramian/{module}.py"
    for package, modules in {
        "torch": (
            "neural/net", "neural/net_trainer", "neural/span_layer", "neural/span_tree_crf", "neural/word_encoder",
            "device/batch_forest", "device/batch_parser", "device/dense_chart", "device/grammar_tensors", "device/net_labels",
            "device/pause", "device/state_pass", "device/torch_backend", "device/tree_choice", "device/word_rows",
            "learn/device_inference", "parsing/batch_results", "parsing/device_parsing", "torch_device",
        ),
        "transformers": ("neural/word_encoder",),
        "triton": (
            "neural/span_tree_gpu", "device/batch_forest_gpu", "device/dense_chart_gpu", "device/state_pass_gpu", "device/tree_choice_gpu",
        ),
    }.items()
    if find_spec(package) is None
    for module in modules
]  # fmt: skip
