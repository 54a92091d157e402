"""Settings for all tests: no deadline for hypothesis, since compilation counts as time.

The examples drawn are the same in every run; ``pytest --hypothesis-profile=search`` draws new ones.
"""

from hypothesis import settings

settings.register_profile("gramian", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("gramian")
