"""Self-training: teachers parse raw text, and their silver trees train new models."""
