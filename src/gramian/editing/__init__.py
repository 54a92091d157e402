"""Rewriting of trees by rules in the manner of Tsurgeon: scripts, their operations, and their application to treebanks."""
