from .net_options import Learning as Learning
from .net_options import NetSize as NetSize
from .neural_model import NeuralModel as NeuralModel
