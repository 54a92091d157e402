from .members import Member as Member
from .members import disagreement as disagreement
from .members import plan_members as plan_members
from .training_data import TrainingData as TrainingData
from .training_run import TrainingRun as TrainingRun
from .training_settings import TrainingSettings as TrainingSettings
