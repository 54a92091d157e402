"""Text to trees: tokens, the parser, its limits and results, and models with their files."""
