"""A page to look at trees, confidences and latent states, and the JSON it is made of.

:func:`gramian.web.app.create_app` is the web application; ``gramian serve`` runs it on this machine.
"""
