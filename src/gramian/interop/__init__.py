"""Bridges to other packages, each imported only when asked for."""
