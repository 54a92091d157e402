from .dependency_parser import DependencyParse as DependencyParse
from .dependency_parser import DependencyParser as DependencyParser
from .shag import SHAG as SHAG
from .shag_parser import SHAGParser as SHAGParser
