from .automata.pnfa_em import PNFAEM as PNFAEM
from .automata.sequence_model import load_sequence_model as load_sequence_model
from .automata.spectral import SpectralWFA as SpectralWFA
from .automata.string_formats import read_strings as read_strings
from .chart.constraints import Constraints as Constraints
from .corpus.arrays import Treebank as Treebank
from .dependency.dependency_parser import DependencyParser as DependencyParser
from .dependency.shag_parser import SHAGParser as SHAGParser
from .evaluate.evalb import evaluate as evaluate
from .evaluate.scores import BracketScores as BracketScores
from .learn.cluster import SpectralClustering as SpectralClustering
from .learn.em import EM as EM
from .learn.em import SpectralEM as SpectralEM
from .learn.learner import PCFG as PCFG
from .learn.moments import SpectralMoments as SpectralMoments
from .learn.split_merge import SplitMerge as SplitMerge
from .parsing.model import Model as Model
from .parsing.parser import Parser as Parser
from .parsing.parser import load as load
from .parsing.result import ParseResult as ParseResult
from .parsing.result import table as table
from .training.front_door import train as train
from .trees.brackets import read_trees as read_trees
from .trees.conllu import read_conllu as read_conllu
from .trees.tree import Tree as Tree

__version__: str
