"""Whole batches of sentences, and expectation-maximisation, on a GPU or any other device of torch; nothing else imports torch for these.

A chart without states is filled densely (:mod:`~gramian.chart.gpu.dense_chart`); what it leaves of all sentences of a batch becomes one list
of items and edges (:mod:`~gramian.chart.gpu.batch_forest`), over which vectors of states run width by width
(:mod:`~gramian.chart.gpu.state_pass`); trees are chosen there too (:mod:`~gramian.chart.gpu.tree_choice`) and come back as arrays.
"""
