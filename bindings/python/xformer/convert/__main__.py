"""The commands of ``python -m xformer.convert``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments)``. The exit status is 0 on success, 1 if the
input cannot be converted (the reason is on standard error), 2 for wrong arguments, and 130 after Ctrl-C. A command that
fails changes no files. If Ctrl-C arrives after the output was renamed into place, the file is complete and remains.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

from . import ConvertError, from_hf, from_sentencepiece, say, to_hf

COMMANDS = {"from-hf": from_hf, "to-hf": to_hf, "from-sentencepiece": from_sentencepiece}


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m xformer.convert", description="Converts models and tokenizers from and to other programs."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        description = (module.__doc__ or "").partition("\n\n")[0]
        module.add_arguments(commands.add_parser(name, help=description, description=description))
    given = parser.parse_args(arguments)
    try:
        COMMANDS[given.command].run(given)
        return 0
    except ConvertError as error:
        reason = str(error)
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        reason = "NumPy is not installed, but this command requires it: pip install xformer[convert]"
    except KeyboardInterrupt:
        return 130
    say("%s: %s" % (parser.prog, reason))
    return 1


if __name__ == "__main__":
    if sys.stderr is None:  # closed by the caller: discard all output
        sys.stderr = open(os.devnull, "w")
    sys.exit(main())
