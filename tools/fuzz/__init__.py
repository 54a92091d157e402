"""Inputs that are nearly right, by the hundred thousand: whatever gramian reads is read or refused by a named error.

``python -m tools.fuzz --help`` says how; every input follows from the parser's name, the seed and its number alone.
"""
