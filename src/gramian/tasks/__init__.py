"""Resumable tasks on processes or a cluster; the only package that starts processes."""
