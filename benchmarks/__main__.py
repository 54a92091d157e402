"""List the benchmarks, or run those that a folder has the data for.

    python -m benchmarks                      what there is
    python -m benchmarks FOLDER               all that FOLDER has the data for
    python -m benchmarks FOLDER read_trees    only these

FOLDER holds ``train.mrg`` and ``dev.mrg``, and for those that need one a model, ``model.grammar``.
"""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import benchmarks


def names() -> list[str]:
    return [
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name not in ("__main__", "machine")
    ]


def main(arguments: list[str]) -> int:
    if arguments and not Path(arguments[0]).is_dir():
        print(f"there is no folder {arguments[0]!r}\n\n{__doc__}", file=sys.stderr)
        return 2
    unknown = set(arguments[1:]) - set(names())
    if unknown:
        print(f"there is no benchmark {sorted(unknown)}; try: {', '.join(names())}", file=sys.stderr)
        return 2
    failed = 0
    for name in arguments[1:] or names():
        module = importlib.import_module(f"benchmarks.{name}")
        summary = (module.__doc__ or "").strip().split("\n", 1)[0]
        if not arguments:
            print(f"{name:<20} {summary}")
            continue
        wanted = module.ARGUMENTS if hasattr(module, "ARGUMENTS") else None
        paths = (
            [] if wanted is None else [Path(arguments[0]) / part if "." in part else part for part in wanted]
        )
        missing = [str(path) for path in paths if isinstance(path, Path) and not path.exists()]
        if wanted is None or missing:
            why = (
                f"needs {', '.join(missing)}"
                if missing
                else f"has arguments of its own: python -m benchmarks.{name}"
            )
            print(f"{name}: left out, {why}", file=sys.stderr)
            continue
        print(f"{name}: {summary}", file=sys.stderr, flush=True)
        failed += (
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *map(str, paths)]).returncode != 0
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
