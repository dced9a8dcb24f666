"""bulk.py - what the workers of Spark and Ray do: a model that stays loaded, and texts to translations.

Nothing here knows an engine. One text that can't be translated does not fail the others: it gets None and a reason.
What concerns the whole process, such as a model that is not there or no memory, raises: the engine then tries the task
again, and reports it. A text's translation depends on the model and on the options alone, not on the texts beside it:
work that is done twice, after a worker was lost, gives the same.

SPDX-License-Identifier: Apache-2.0
"""
import os
import time

import xformer

#: Columns that are added to those of the data.
TRANSLATION, REASON = "translation", "reason"


class Translator:
    """A model on this machine's processors. One call at a time; its threads are context.threads."""

    def __init__(self, model, options=None):
        """model: the path of a file, or its bytes. options: such as {"context.threads": 2, "decode.beam": 1}."""
        began = time.monotonic()
        self._context = xformer.Context(options)
        self._decoder = xformer.Decoder(xformer.Model.load(self._context, model), options)
        self.seconds_to_load = time.monotonic() - began

    def __call__(self, texts):
        """Two lists as long as texts: translations, and reasons. One of the two is None for each text."""
        texts = list(texts)
        there = [isinstance(text, (str, bytes)) for text in texts]  # a missing one is None in Arrow, NaN in pandas
        found = iter(self._decoder.translate(text for text, is_text in zip(texts, there) if is_text))
        translations, reasons = [], []
        for is_text in there:
            answers = next(found) if is_text else None
            good = answers is not None and answers.error is None
            translations.append(answers[0].text if good else None)
            reasons.append(None if good else "there is no text" if answers is None else answers.error.message)
        return translations, reasons


_kept = {}


def translator(model, options=None):
    """The Translator of this process for a file and options, loaded once.

    An engine calls a function for each task, and a process serves many tasks. The module must be one that workers
    import, by addPyFile() say: globals of the main program are copied to each task, and keep nothing.
    """
    options = dict(options or {})
    stamp = os.stat(model)  # a file that was replaced under the same name is another model
    key = (str(model), stamp.st_mtime_ns, stamp.st_size, tuple(sorted(options.items())))
    if key not in _kept:
        _kept.clear()  # one model a process: another one pushes it out
        _kept[key] = Translator(model, options)
    return _kept[key]


def one_line(text):
    """A translation as a line of a text file, as the program translate prints it; what failed is an empty line."""
    return "" if text is None else text.translate(str.maketrans("\n\r\t", "   "))


def options_of(settings, threads):
    """The options that a command line gives: KEY=VALUE each, and how many threads a worker has."""
    options = {"context.threads": threads}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise SystemExit("'%s' is not KEY=VALUE" % setting)
        options[key] = value
    xformer.Config(options)  # a wrong key or value is told here, and not by each worker
    return options
