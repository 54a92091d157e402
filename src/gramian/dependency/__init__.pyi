from .arc_constraints import ArcConstraints as ArcConstraints
from .dependency_parser import DependencyParse as DependencyParse
from .dependency_parser import DependencyParser as DependencyParser
from .head_automata import HeadBasis as HeadBasis
from .shag_parser import SHAGParser as SHAGParser
from .shag_parser import SymbolOptions as SymbolOptions
from .split_head_automata import SHAG as SHAG
