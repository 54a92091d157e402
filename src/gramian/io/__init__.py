"""Files and what model files are made of: text in and out, tensors, resumption."""
