"""The commands of ``python -m xformer.convert``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments)``. Ends with 0; with 1 and a sentence on
standard error for what can't be converted; with 2 for wrong arguments; with 130 after Ctrl-C. The
last three leave everything as it was; but Ctrl-C in the last moment may find the file already there, whole.

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
    parser = argparse.ArgumentParser(prog="python -m xformer.convert", description="Converts files of other programs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        words = (module.__doc__ or "").partition("\n\n")[0]
        module.add_arguments(commands.add_parser(name, help=words, description=words))
    given = parser.parse_args(arguments)
    try:
        COMMANDS[given.command].run(given)
        return 0
    except ConvertError as error:
        reason = str(error)
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        reason = "NumPy is not installed, which this command needs: pip install xformer[convert]"
    except KeyboardInterrupt:
        return 130
    say("%s: %s" % (parser.prog, reason))
    return 1


if __name__ == "__main__":
    if sys.stderr is None:  # closed by the caller: what is said goes nowhere
        sys.stderr = open(os.devnull, "w")
    sys.exit(main())
