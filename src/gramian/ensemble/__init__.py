"""Many models of one treebank: what makes them differ, how they are trained, and how much they disagree."""

from gramian.ensemble.train import Member, disagreement, plan_members, train_member

__all__ = ["Member", "disagreement", "plan_members", "train_member"]
