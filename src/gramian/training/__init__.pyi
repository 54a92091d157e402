from .members import Member as Member
from .members import disagreement as disagreement
from .members import plan_members as plan_members
from .members import train_member as train_member
