"""Dependency parsing with split head-automata grammars."""
