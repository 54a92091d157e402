"""What was learnt: latent-variable grammars, their lexicons and their files."""

from gramian.grammar.lexicon import Lexicon
from gramian.grammar.lpcfg import LPCFG

__all__ = ["LPCFG", "Lexicon"]
