"""Annotation: a bank of sentences whose trees people correct, and a parser that proposes and learns from them.

An :class:`~gramian.annotate.annotation.Annotation` is a tree with decisions: phrases that must or must not be there, and fixed tags.
Edits change both, a proposer parses again under the decisions, and a bank keeps every step on disk.
"""
