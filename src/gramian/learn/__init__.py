"""Learners: a treebank in arrays goes in, a grammar comes out."""

from gramian.learn.base import PCFG, Learner
from gramian.learn.cluster import SpectralClustering
from gramian.learn.em import EM, SpectralEM
from gramian.learn.moments import SpectralMoments
from gramian.learn.observations import Observations
from gramian.learn.split_merge import SplitMerge

__all__ = [
    "EM",
    "PCFG",
    "Learner",
    "Observations",
    "SpectralClustering",
    "SpectralEM",
    "SpectralMoments",
    "SplitMerge",
]
