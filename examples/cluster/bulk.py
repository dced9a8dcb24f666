"""bulk.py - the translator that the workers of Spark and Ray share: loads a model once and translates lists of texts.

This module does not depend on an engine. If a text cannot be translated, its translation is None and it has a reason;
the other texts are not affected. Errors that concern the whole process, such as a missing model or exhausted memory,
raise an exception, and the engine retries the task or reports the error. A translation depends only on the text, the
model, and the options. A task that is repeated after a worker was lost therefore has the same result.

SPDX-License-Identifier: Apache-2.0
"""
import os
import time

import xformer

#: Names of the columns that the programs add.
TRANSLATION, REASON = "translation", "reason"


class Translator:
    """A loaded model. Only one thread may call it at a time; context.threads sets the threads of a call."""

    def __init__(self, model, options=None):
        """Loads a model from a path or from bytes. Example of options: {"context.threads": 2, "decode.beam": 1}."""
        began = time.monotonic()
        self._context = xformer.Context(options)
        self._decoder = xformer.Decoder(xformer.Model.load(self._context, model, options), options)
        self.seconds_to_load = time.monotonic() - began

    def __call__(self, texts):
        """Returns two lists, translations and reasons. For each text, exactly one of the two is None."""
        texts = list(texts)
        there = [isinstance(text, (str, bytes)) for text in texts]  # a missing text is None in Arrow and NaN in pandas
        found = iter(self._decoder.translate(text for text, is_text in zip(texts, there) if is_text))
        translations, reasons = [], []
        for is_text in there:
            hypotheses = next(found) if is_text else None
            good = hypotheses is not None and hypotheses.error is None
            translations.append(hypotheses[0].text if good else None)
            reasons.append(None if good else "the text is missing" if hypotheses is None else hypotheses.error.message)
        return translations, reasons


_kept = {}


def translator(model, options=None):
    """Returns the Translator of this process for a file and options, and creates it on the first call.

    An engine calls a function for each task, and a process runs many tasks. Workers must import this module, for
    example through addPyFile(): the globals of the main program are copied for each task, so a cache there is lost.
    """
    options = dict(options or {})
    stamp = os.stat(model)  # detects a file that was replaced under the same name
    key = (str(model), stamp.st_mtime_ns, stamp.st_size, tuple(sorted(options.items())))
    if key not in _kept:
        _kept.clear()  # keep only one model per process
        _kept[key] = Translator(model, options)
    return _kept[key]


def one_line(text):
    """Returns a translation as one line, as the program translate prints it; an empty line for None."""
    return "" if text is None else text.translate(str.maketrans("\n\r\t", "   "))


def options_of(settings, threads):
    """Returns the options for KEY=VALUE settings and a number of threads per worker."""
    options = {"context.threads": threads}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise SystemExit("--set is '%s', expected KEY=VALUE" % setting)
        options[key] = value
    xformer.Config(options)  # reports a wrong key or value here, before any worker starts
    return options
