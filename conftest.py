"""Modules that import torch, or Triton; where these are not installed, their examples are not looked for."""

from importlib.util import find_spec

collect_ignore = [
    f"src/gramian/{module}.py"
    for package, modules in {
        "torch": (
            "neural/net", "neural/net_trainer", "neural/span_layer", "neural/span_tree_crf", "neural/word_encoder",
            "chart/gpu/batch_forest", "chart/gpu/batch_parser", "chart/gpu/dense_chart", "chart/gpu/grammar_tensors", "chart/gpu/net_labels",
            "chart/gpu/pause", "chart/gpu/state_pass", "chart/gpu/torch_backend", "chart/gpu/tree_choice", "chart/gpu/word_rows",
            "learn/device_inference", "parsing/batch_results", "parsing/device_parsing", "torch_device",
        ),
        "transformers": ("neural/word_encoder",),
        "triton": (
            "neural/span_tree_gpu", "chart/gpu/batch_forest_gpu", "chart/gpu/dense_chart_gpu", "chart/gpu/state_pass_gpu", "chart/gpu/tree_choice_gpu",
        ),
    }.items()
    if find_spec(package) is None
    for module in modules
]  # fmt: skip
