"""Charts of whole batches of sentences on a GPU or any other torch device; nothing else imports torch for parsing.

:mod:`~gramian.chart.gpu.dense_chart` fills a chart without states densely. What remains after pruning becomes one list of items and
edges for all sentences of a batch (:mod:`~gramian.chart.gpu.batch_forest`). State vectors run over it width by width
(:mod:`~gramian.chart.gpu.state_pass`). Trees are chosen on the device (:mod:`~gramian.chart.gpu.tree_choice`) and returned as arrays.
"""
