"""Benchmarks: one file a question, one JSON object an answer.

Each is a command of its own (``python -m benchmarks.parse_speed --help``) and takes paths as arguments; ratios are taken within
one run, since machines differ and are rarely idle. ``python -m benchmarks`` lists them.
"""
