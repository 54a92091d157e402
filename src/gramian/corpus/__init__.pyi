from .arrays import Shape as Shape
from .arrays import Treebank as Treebank
from .productions import Productions as Productions
from .vocab import Vocabulary as Vocabulary
