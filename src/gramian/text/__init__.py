"""Running text to sentences and tokens, by learned models or by rule, and the training of these models."""
