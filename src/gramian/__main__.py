"""``python -m gramian`` is ``gramian``: a command that may be interrupted from its very beginning."""

import atexit
import gc

from gramian.interruption import interruptible


def main() -> None:
    """Run the command line."""
    with interruptible():
        # What is loaded stays: to look for cycles in it takes a tenth of a short command.
        gc.set_threshold(200_000, 50, 100)
        atexit.register(gc.freeze)  # whoever ends need not look for cycles among all that was loaded
        from gramian.cli import main as command_line

        command_line()


if __name__ == "__main__":
    main()
