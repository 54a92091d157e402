from .parsing.parser import Parser as Parser
from .parsing.parser import load as load
from .parsing.result import ParseResult as ParseResult
from .training.front_door import train as train
from .trees import Tree as Tree
from .trees import read_trees as read_trees

__version__: str
