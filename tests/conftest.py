"""Settings for all tests: no deadline for hypothesis, since compilation counts as time."""

from hypothesis import settings

settings.register_profile("gramian", deadline=None)
settings.load_profile("gramian")
