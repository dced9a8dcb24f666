"""Trains SentencePiece models. Requires the package sentencepiece (PyPI).

SPDX-License-Identifier: Apache-2.0
"""
import io


def train(lines, **settings):
    """Returns the bytes of a .model file. One thread, so that the same lines give the same model."""
    import sentencepiece

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, minloglevel=2, num_threads=1, **settings
    )
    return written.getvalue()
