"""``python -m gramian`` is ``gramian``."""

from gramian.cli import main

main()
