from .cluster import SpectralClustering as SpectralClustering
from .em import EM as EM
from .em import SpectralEM as SpectralEM
from .learner import PCFG as PCFG
from .learner import Learner as Learner
from .moments import SpectralMoments as SpectralMoments
from .observations import Observations as Observations
from .split_merge import SplitMerge as SplitMerge
