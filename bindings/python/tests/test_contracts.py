"""Runs the contracts of ../../contracts.tsv, which all bindings have in common.

SPDX-License-Identifier: Apache-2.0
"""
import io
import json
import math
import os
import tempfile
import threading
import unittest

from support import OPTIONS, PAIRS, ROOT, World, xformer
from xformer import experimental

SOURCES, TARGETS = [s for s, _ in PAIRS], [t for _, t in PAIRS]
#: Makes a call that takes seconds.
SLOW = (["one two three four"] * 3000, {"decode.max_extra_tokens": 40, "decode.min_tokens": 40})


class Failure(Exception):
    """Raised by callbacks."""

    def __init__(self, *args):
        super().__init__("from within")


def fail(*args):
    raise Failure()


def status_of(error):
    if isinstance(error, xformer.ClosedError):
        return "CLOSED"
    if isinstance(error, xformer.XformerError):
        return error.status.name
    for kinds, status in (
        (Failure, "RAISED"),
        (KeyError, "NOT_FOUND"),
        ((IndexError, OverflowError), "OUT_OF_RANGE"),
        ((TypeError, ValueError), "INVALID_ARGUMENT"),
    ):
        if isinstance(error, kinds):
            return status
    return type(error).__name__


def message_of(error):
    code = getattr(error, "native_code", 0)
    return str(error) + (" (%d)" % code if code else "")


def unescaped(text):
    for escape, character in (("\\0", "\0"), ("\\t", "\t"), ("\\n", "\n"), ("\\e", "\ud800"), ("LONG", "one " * 2000)):
        text = text.replace(escape, character)
    return text


def several(text, separator="/"):
    return text.split(separator) if text else []


def ids(text):
    return [int(word) for word in text.split()]


def options(a):
    return dict(zip(a[::2], a[1::2]))


def statuses(found):
    return " ".join("OK" if each.error is None else each.error.status.name for each in found)


def saved(w, kind):
    """The bytes of a file of the world."""
    if kind == "checkpoint":
        w.trainer.next(w.batcher)
    memory = io.BytesIO()
    {"model": w.model, "inspect": w.model, "tokenizer": w.tokenizer, "checkpoint": w.trainer}[kind].save(memory)
    return memory.getvalue()


def loaded(w, kind, source):
    if kind == "model":
        return xformer.Model.load(w.context, source).config.text("model.vocab_size")
    if kind == "checkpoint":
        return str(xformer.Trainer.resume(w.context, source).steps)
    if kind == "tokenizer":
        return str(len(xformer.Tokenizer.load(w.context, source)))
    if kind == "corpus":
        return str(len(xformer.Corpus.open(w.context, source)))
    summary = xformer.Model.inspect(w.context, source)
    known = (summary.parameters, summary.vocab_size, summary.step, summary.has_tokenizer, summary.weights)
    ordered = summary.file_bytes < summary.decode_bytes < summary.train_bytes
    return "%d parameters, %d ids, step %d, tokenizer %s, %s" % known + ", ordered" * ordered


def pair(w):
    """A pair of tokenizers."""
    sides = {}
    for side, kind, size in (("source", "bpe", 280), ("target", "wordpiece", 270)):
        given = {"tokenizer.kind": kind, "tokenizer.vocab_size": size}
        memory = io.BytesIO()
        xformer.Tokenizer.train(w.context, w.corpus, given).save(memory)
        sides[side] = memory.getvalue().decode()
    text = json.dumps({"format": "xformer-tokenizer", "version": 1, "kind": "pair", **sides})
    return xformer.Tokenizer.load(w.context, text.encode())


def pair_model(w):
    return xformer.Model(w.context, pair(w), {**OPTIONS, "model.tie": "decoder"})


def sides(tokenizer):
    return "%s %d, %s %d" % (*tokenizer.source.info[:2], *tokenizer.target.info[:2])


def pairs_of(text):
    return [tuple(row.split("/")) for row in several(text, ";")]


def write(w, name, text):
    with open(w.path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return w.path(name)


def one_pair(source, target):
    return xformer.Batch.from_ids([ids(source)], [ids(target)] if target else None)


def calls(w):
    """Calls that can be cancelled, by name."""
    batch = w.batcher.next()
    model, checkpoint, words = saved(w, "model"), saved(w, "checkpoint"), saved(w, "tokenizer")
    pairs = write(w, "pairs", "a\tb\n")
    average = xformer.Trainer(w.model, {**OPTIONS, "train.ema": 0.5})
    average.step(batch)
    memory = io.BytesIO()
    w.trainer.save(memory, w.batcher)
    resumed = xformer.Trainer.resume(w.context, memory.getvalue())
    return {
        "translate": lambda **call: w.decoder.translate(["one"], **call),
        "decode": lambda **call: w.decoder.decode(batch, **call),
        "score": lambda **call: w.decoder.score(batch, **call),
        "score_texts": lambda **call: w.decoder.score_texts(["one"], ["eins"], **call),
        "evaluate": lambda **call: w.decoder.evaluate(w.batcher, **call),
        "step": lambda **call: w.trainer.step(batch, **call),
        "next": lambda **call: w.trainer.next(w.batcher, **call),
        "accumulate": lambda **call: w.trainer.accumulate(batch, **call),
        "train_tokenizer": lambda **call: xformer.Tokenizer.train(w.context, w.corpus, w.config, **call),
        "load_tokenizer": lambda **call: xformer.Tokenizer.load(w.context, words, **call),
        "save_tokenizer": lambda **call: w.tokenizer.save(io.BytesIO(), **call),
        "load": lambda **call: xformer.Model.load(w.context, model, **call),
        "save": lambda **call: w.model.save(io.BytesIO(), **call),
        "average": lambda **call: xformer.Model.average(w.context, [model], **call),
        "copy": lambda **call: w.model.copy(**call),
        "open": lambda **call: xformer.Corpus.open(w.context, pairs, **call),
        "pairs": lambda **call: xformer.Corpus.from_pairs(w.context, PAIRS, **call),
        "ids": lambda **call: xformer.Corpus.from_ids(w.context, batch, **call),
        "batcher": lambda **call: xformer.Batcher(w.corpus, w.tokenizer, w.config, **call),
        "next_batch": lambda **call: w.batcher.next(**call),
        "seek": lambda **call: w.batcher.seek(0, 1, **call),
        "resume_batcher": lambda **call: w.batcher.resume(resumed, **call),
        "resume": lambda **call: xformer.Trainer.resume(w.context, checkpoint, **call),
        "checkpoint": lambda **call: w.trainer.save(io.BytesIO(), **call),
        "copy_average": lambda **call: average.copy_average(**call),
        "gather": lambda **call: experimental.all_gather(w.context, 7, **call),
    }


class Operations:
    """What is done: one function per operation; __ is a dot in its name."""

    def config__set(w, key, value):
        w.config[key] = value
        return w.config.text(key)

    def config__preset(w, name):
        return xformer.Config(preset=name).text("model.d_model")

    def config__copy(w, _):
        w.config["data.seed"] = 5
        copy = w.config.copy()
        copy["data.seed"] = 7
        return "%d %d" % (w.config["data.seed"], copy["data.seed"])

    def option(w, key):
        return xformer.option(key).default

    def bleu(w, hypotheses, references):
        return "%.0f" % xformer.bleu(several(hypotheses), several(references)).score

    def chrf(w, hypotheses, references):
        return "%.0f" % xformer.chrf(several(hypotheses), several(references)).score

    def sentences(w, text, language, most):
        spans = xformer.split_sentences(text, language or None, max_characters=int(most))
        parts = [text[begin:end] for begin, end in spans]
        data = text.encode()
        found = xformer.split_sentences(data, language or None, max_characters=int(most))
        assert [data[begin:end].decode() for begin, end in found] == parts
        return "/".join(parts)

    def context__create(w, *a):
        with xformer.Context(options(a)) as context:
            return context.info.backend

    def context__info(w, _):
        info = w.context.info
        return "%s %d %d %d" % (info.precision, info.threads, info.rank, info.rank_count)

    def context__backends(w, _):
        return "%d active" % sum(backend.state == xformer.BackendState.ACTIVE for backend in w.context.backends)

    def context__memory(w, _):
        memory = w.context.memory
        return "budget %d, %s" % (memory.budget, memory.peak >= memory.current > 0 < memory.allocations)

    def version(w, _):
        major, minor, patch = map(int, xformer.version().split("."))
        return str(bool(xformer.build_info()) and xformer.version_num() == major << 16 | minor << 8 | patch)

    def context__gather(w, value):
        return " ".join(map(str, experimental.all_gather(w.context, int(value))))

    def context__budget(w, budget):
        with xformer.Context({**OPTIONS, "context.memory_budget": budget}) as context:
            return xformer.Model(context, None, {"model.vocab_size": 9000})

    def load(w, kind, content, mode):
        if content in ("missing", "folder", "nul"):
            return loaded(w, kind, {"missing": w.path("none"), "folder": w.folder, "nul": "a\0b"}[content])
        data = b"text" * 50 if content == "text" else saved(w, "model" if content == "model" else kind)
        if content == "half":
            data = data[: len(data) // 2]
        elif content == "empty":
            data = b""
        elif content == "newer":
            data = data.replace(b'"version":1', b'"version":7')
        elif content == "flipped":
            data = data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
        with open(w.path("file"), "wb") as file:
            file.write(data)
        if mode == "path":
            return loaded(w, kind, w.path("file"))
        if mode == "bytes":
            return loaded(w, kind, data)
        if mode == "file":
            with open(w.path("file"), "rb") as file:
                return loaded(w, kind, file)
        read = fail if mode == "failing" else lambda offset, count: data[offset : offset + count]
        return loaded(w, kind, xformer.CallbackSource(read, len(data)))

    def save(w, kind, mode):
        thing = {"model": w.model, "tokenizer": w.tokenizer, "checkpoint": w.trainer}[kind]
        if mode == "bytes":
            memory = io.BytesIO()
            thing.save(memory)
            data = memory.getvalue()
        elif mode == "callback":
            data = bytearray(1 << 20)

            def write(offset, part):
                data[offset : offset + len(part)] = part
                write.size = max(write.size, offset + len(part))

            write.size = 0
            thing.save(xformer.CallbackSink(write))
            del data[write.size :]
        elif mode == "failing":
            thing.save(xformer.CallbackSink(fail))
        elif mode in ("nofolder", "nul"):
            thing.save(w.path("no/folder") if mode == "nofolder" else "a\0b")
        else:
            if mode == "path":
                thing.save(w.path("file"))
            else:
                with open(w.path("file"), "wb") as file:
                    thing.save(file)
            with open(w.path("file"), "rb") as file:
                data = file.read()
        loaded(w, kind, data)
        return "loads"

    def tokenizer__info(w, _):
        return " ".join(map(str, w.tokenizer.info))

    def tokenizer__encode(w, text):
        return w.tokenizer.decode(w.tokenizer.encode(text))

    def tokenizer__decode(w, words):
        return w.tokenizer.decode(ids(words))

    def tokenizer__piece(w, id):
        return w.tokenizer.piece(int(id))

    def model__encode(w, side, text, *a):
        *encoded, end = w.model.encode(text, side, options(a))
        return "%s + %d" % (w.tokenizer.decode(encoded), end)

    def pair__info(w, _):
        tokenizer = pair(w)
        return "%s: %s" % (" ".join(map(str, tokenizer.info)), sides(tokenizer))

    def pair__encode(w, text):
        return pair(w).encode(text)

    def pair__decode(w, words):
        return pair(w).decode(ids(words))

    def pair__side(w, side, text):
        tokenizer = getattr(pair(w), side)
        return tokenizer.decode(tokenizer.encode(text))

    def pair__model_encode(w, side, text):
        model = pair_model(w)
        tokenizer = getattr(model.tokenizer, side)
        same = model.encode(text, side) == tokenizer.encode(text) + [tokenizer.info.end_token]
        return "equal" if same else "different"

    def pair__score_texts(w, sources, targets):
        sources, targets = several(sources), several(targets)
        model = pair_model(w)
        decoder = xformer.Decoder(model, w.config)
        scores = decoder.score_texts(sources, targets, on_error="nan")
        good = [index for index, score in enumerate(scores) if not math.isnan(score)]
        batch = xformer.Batch.from_texts(model, [sources[i] for i in good], [targets[i] for i in good])
        same = decoder.score(batch) == [scores[i] for i in good]
        return "%s %d" % ("equal" if same else "different", len(good))

    def pair__translate(w, texts):
        return statuses(xformer.Decoder(pair_model(w), w.config).translate(several(texts)))

    def pair__train(w, steps):
        model = pair_model(w)
        trainer = xformer.Trainer(model, w.config)
        list(trainer.train(xformer.Batcher(w.corpus, model.tokenizer, w.config), int(steps)))
        return str(trainer.steps)

    def pair__file(w, _):
        tokenizer = xformer.Model.load(w.context, pair_model(w).to_bytes()).tokenizer
        return "%s: %s" % (tokenizer.info.kind, sides(tokenizer))

    def pair__one_embedding(w, _):
        return xformer.Model(w.context, pair(w), OPTIONS)

    def corpus__pairs(w, pairs):
        corpus = xformer.Corpus.from_pairs(w.context, pairs_of(pairs))
        return "%d of %d: %s/%s" % (len(corpus), corpus.stats.lines, *corpus[0])

    def corpus__strict(w, pairs):
        return len(xformer.Corpus.from_pairs(w.context, pairs_of(pairs), {"data.strict": True}))

    def corpus__get(w, index):
        return "/".join(w.corpus[int(index)])

    def corpus__subset(w, indices):
        corpus = w.corpus.subset(ids(indices))
        return "%d: %s/%s" % (len(corpus), *corpus[0])

    def corpus__split(w, held_out):
        return "%d %d" % tuple(map(len, w.corpus.split(int(held_out), 7)))

    def corpus__lines(w, text):
        stats = xformer.Corpus.open(w.context, write(w, "lines", text)).stats
        counts = (stats.lines, stats.kept, stats.bad_columns, stats.empty_side, stats.nul_byte)
        return "lines %d, kept %d, bad columns %d, empty %d, NUL %d" % counts

    def corpus__parallel(w, sources, targets):
        corpus = xformer.Corpus.open(w.context, write(w, "source", sources), write(w, "target", targets))
        return "%d: %s/%s" % (len(corpus), *corpus[len(corpus) - 1])

    def corpus__encode(w, sources, targets):
        paths = (write(w, "source", sources), w.tokenizer, w.path("encoded"), write(w, "target", targets))
        xformer.Corpus.encode(w.context, *paths)
        corpus = xformer.Corpus.open(w.context, w.path("encoded"))
        return "%d %d" % (len(corpus), xformer.Batcher(corpus, w.tokenizer, w.config).stats.pairs)

    def corpus__encoded_pair(w, _):
        xformer.Corpus.encode(w.context, write(w, "lines", "a\tb\n"), w.tokenizer, w.path("encoded"))
        return xformer.Corpus.open(w.context, w.path("encoded"))[0]

    def corpus__ids(w, source, target):
        return str(len(xformer.Corpus.from_ids(w.context, xformer.Batch.from_ids([ids(source)], [ids(target)]))))

    def corpus__ids_text(w, _):
        return xformer.Corpus.from_ids(w.context, xformer.Batch.from_ids([[5, 1]], [[6, 1]]))[0]

    def batcher__epochs(w, count):
        epochs = [[index for batch in w.batcher for index in batch.pair_index] for _ in range(int(count))]
        pairs = " ".join("%d (%d)" % (len(epoch), sum(epoch)) for epoch in epochs)
        return "%s, epoch %d, batch %d" % (pairs, w.batcher.stats.epoch, w.batcher.stats.batch)

    def batcher__seek(w, epoch, batch):
        w.batcher.seek(int(epoch), int(batch))
        return "%d %d" % (w.batcher.stats.epoch, w.batcher.stats.batch)

    def batcher__resume(w, _):
        return w.batcher.resume(w.trainer)

    def batcher__resume_other(w, _):
        memory = io.BytesIO()
        w.trainer.save(memory, w.batcher)
        trainer = xformer.Trainer.resume(w.context, memory.getvalue())
        xformer.Batcher(w.corpus, w.tokenizer, {**OPTIONS, "data.seed": 9}).resume(trainer)

    def batcher__max_tokens(w, count):
        return xformer.Batcher(w.corpus.subset([0]), w.tokenizer, {**OPTIONS, "data.max_tokens": count})

    def batcher__no_tokenizer(w, _):
        return xformer.Batcher(w.corpus, None, OPTIONS)

    def batch(w, *a):
        return str(len(w.decoder.decode(xformer.Batch(*map(ids, a)))))

    def batch__pairs(w, *a):
        return str(len(w.decoder.score(xformer.Batch(*map(ids, a)))))

    def batch__ids(w, sources, targets):
        return len(xformer.Batch.from_ids([[1]] * int(sources), [[1]] * int(targets)))

    def score(w, source, target):
        return len(w.decoder.score(one_pair(source, target)))

    def tensor__read(w, index):
        return str(len(memoryview(w.model.read(int(index))).cast("B").cast("f")))

    def tensor__find(w, name):
        return w.model.read(name)

    def tensor__write(w, kind):
        size = w.model.tensors[0].size
        w.model.write(0, {"good": [0.5] * size, "short": [0.5], "nan": [math.nan] * size}[kind])
        return "%.1f" % w.model.read(0)[0, 0]

    def metadata(w, key, value):
        w.model.metadata[key] = value
        return xformer.Model.load(w.context, w.model.to_bytes()).metadata[key]

    def metadata__remove(w, key):
        w.model.metadata[key] = "b"
        found = w.model.metadata[key]
        del w.model.metadata[key]
        return found if key not in w.model.metadata else "not removed"

    def model__create(w, *a):
        return xformer.Model(w.context, None, {**OPTIONS, **options(a)}).config.text("model.vocab_size")

    def model__copy(w, weights):
        return w.model.copy(weights=weights).tensors[0].type

    def model__train_quantized(w, _):
        return xformer.Trainer(w.model.copy(weights="int8"))

    def model__average(w, count):
        before = w.model.read(0)[3, 2]
        files = []
        for _ in range(int(count)):
            files.append(w.model.to_bytes())
            w.model.write(0, [x + 1 for row in w.model.read(0).tolist() for x in row])
        return "%.1f" % (xformer.Model.average(w.context, files).read(0)[3, 2] - before)

    def train__step(w, source, target):
        stats = w.trainer.step(one_pair(source, target))
        return "%d %s" % (stats.step, stats.outcome.name.lower())

    def train__no_batch(w, _):
        return w.trainer.step([])

    def train__progress(w, _):
        given = {"progress": lambda *state: None}
        batch = w.batcher.next()
        w.trainer.step(batch, **given)
        w.trainer.next(w.batcher, **given)
        w.trainer.accumulate(batch, **given)
        w.trainer.update()
        return "%d steps" % w.trainer.steps

    def train__halves(w, _):
        batches = [w.batcher.next(), w.batcher.next()]
        with World() as other:
            whole = other.trainer.step(batches)
        for batch in batches:
            w.trainer.accumulate(batch)
        return "equal" if w.trainer.update() == whole else "different"

    def train__update(w, _):
        return w.trainer.update()

    def train__gradient(w, _):
        return experimental.gradient(w.trainer, 0)

    def train__save_pending(w, _):
        w.trainer.accumulate(w.batcher.next())
        w.trainer.save(io.BytesIO())

    def train__nonfinite(w, _):
        for index, info in enumerate(w.model.tensors):
            if len(info.shape) > 1:
                w.model.write(index, [3e38] * info.size)
        before = w.batcher.stats
        try:
            return w.trainer.next(w.batcher)
        finally:
            assert (w.trainer.steps, w.batcher.stats) == (0, before)

    def train__resume(w, key, value):
        return xformer.Trainer.resume(w.context, saved(w, "checkpoint"), {key: value}).config.text(key)

    def train__resume_bits(w, _):
        list(w.trainer.train(w.batcher, 5))
        memory = io.BytesIO()
        w.trainer.save(memory, w.batcher)
        expected = list(w.trainer.train(w.batcher, 7))
        trainer = xformer.Trainer.resume(w.context, memory.getvalue())
        batcher = xformer.Batcher(w.corpus, trainer.model.tokenizer, w.config)
        batcher.resume(trainer)
        return "equal" if list(trainer.train(batcher, 7)) == expected else "different"

    def train__average(w, ema):
        trainer = xformer.Trainer(w.model, {**OPTIONS, "train.ema": ema})
        trainer.next(w.batcher)
        same = trainer.copy_average().read(0).tolist() == w.model.read(0).tolist()
        return "equal" if same else "differs"

    def train__translate(w, steps):
        list(w.trainer.train(w.batcher, int(steps)))
        found = xformer.translate(w.model.to_bytes(), SOURCES, w.config)
        return "BLEU above 30" if xformer.bleu(found, TARGETS).score > 30 else "worse"

    def translate(w, texts):
        return statuses(w.decoder.translate(several(texts)))

    def translate__empty(w, _):
        (found,) = w.decoder.translate([""])
        return "%d hypothesis with score %.0f%s" % (len(found), found[0].score, found[0].text)

    def translate__options(w, *a):
        list(w.trainer.train(w.batcher, 60))
        counts = [len(w.decoder.translate(["one"], given)[0]) for given in (options(a), None)]
        return "%d then %d" % tuple(counts)

    def translate__alignment(w, *a):
        (found,) = w.decoder.translate([" one two"], options(a))
        best = found[0]
        if not found.source_ends and not best.alignment and not best.text_ends:
            return "none"
        count, size = len(best.ids), len(best.text.encode())
        aligned = all(0 <= s < len(found.source_ends) - 1 for s in best.alignment)
        fits = len(best.alignment) == len(best.text_ends) == count and best.text_ends[-1] == size
        return "source %d translation %s" % (found.source_ends[-1], "aligned" if aligned and fits else best)

    def translate__prefixes(w, prefixes):
        (found,) = w.decoder.translate(["four two"], prefixes=several(prefixes))
        if found.error is not None:
            return found.error.status.name
        return "begins" if found[0].text.startswith(prefixes) else found[0].text

    def translate__batches(w, _):
        whole = w.decoder.translate(SOURCES)
        single = [w.decoder.translate([source])[0] for source in SOURCES]
        same = whole == single == w.decoder.decode(xformer.Batch.from_texts(w.model, SOURCES))
        return "equal" if same else "different"

    def decode(w, sentences):
        return statuses(w.decoder.decode(list(map(ids, several(sentences)))))

    def decode__prefixes(w, prefixes):
        return w.decoder.decode([[5, 1]], prefixes=list(map(ids, several(prefixes))))

    def score_texts(w, sources, targets):
        scores = w.decoder.score_texts(several(sources), several(targets), on_error="nan")
        return "%d of %d" % (sum(not math.isnan(score) for score in scores), len(scores))

    def no_tokenizer(w, call):
        model = xformer.Model(w.context, None, {**OPTIONS, "model.vocab_size": 290})
        decoder = xformer.Decoder(model, OPTIONS)
        return {
            "encode": lambda: model.encode("one"),
            "translate": lambda: decoder.translate(["one"]),
            "score_texts": lambda: decoder.score_texts(["one"], ["eins"]),
        }[call]()

    def evaluate(w, _):
        before = w.batcher.stats
        sentences = w.decoder.evaluate(w.batcher).sentences
        assert w.batcher.stats == before
        return str(sentences)

    def constraint(w, kind):
        def spell(step):
            return [[2 + ord("a") if len(partial.ids) < 3 else 1] for partial in step.partials]

        given = {
            "spell": spell,
            "nothing": lambda step: [[] for _ in step.partials],
            "busy": lambda step: w.decoder.translate(["one"]),
        }
        best = w.decoder.translate(["one two"], constraint=given[kind])[0][0]
        return best.text if best.finished else "unfinished %.0f" % best.log_probability

    def decode__models(w, target, ensemble, draft, *a):
        other = xformer.Model(w.context, w.tokenizer, {**OPTIONS, "model.seed": 77})
        named = {"copy": w.model.copy(), "other": other, "closed": w.model.copy(), "none": None}
        named["closed"].close()
        more = {"ensemble": [named[name] for name in ensemble.split()], "draft": named.get(draft)}
        given = {**OPTIONS, **options(a)}
        expected = xformer.Decoder(w.model, given).translate(SOURCES)
        if target == "decoder":
            made = xformer.Decoder(w.model, given, **more)
        elif target == "engine":
            made = xformer.Engine(w.model, given, **more)
        else:
            made = xformer.Engine(other, given)
            made.set_model(w.model, **more)
        for model in (named["copy"], other):
            model.close()
        with made:
            found = made.translate(SOURCES) if target == "decoder" else list(map(made.translate, SOURCES))
        return "equal" if found == expected else "different"

    def engine__translate(w, text):
        with xformer.Engine(w.model, w.config) as engine:
            engine.submit(text)
            found = engine.next().text
        return "equal" if found == w.decoder.translate([text])[0][0].text else found

    def engine__cancelled(w, _):
        with xformer.Engine(w.model, {**OPTIONS, "engine.thread": False}) as engine:
            engine.cancel(engine.submit("one"))
            while engine.step():
                pass
            return engine.next(0).text

    def engine__closed(w, _):
        engine = xformer.Engine(w.model, w.config)
        engine.close()
        return engine.submit("one")

    def engine__priority(w, priority):
        with xformer.Engine(w.model, w.config) as engine:
            return engine.submit("one", priority=int(priority))

    def attention(w, kind, layer):
        batch = xformer.Batch.from_ids([[5, 6, 1]], [[9, 8, 7, 1]])
        weights = experimental.attention_weights(w.decoder, batch, experimental.AttentionKind[kind.upper()], int(layer))
        return "%d %d %d" % weights.shape

    def attention__sources_only(w, _):
        batch = xformer.Batch.from_ids([[5, 1]])
        return experimental.attention_weights(w.decoder, batch, experimental.AttentionKind.DECODER, 0)

    def attention__two_pairs(w, _):
        batch = xformer.Batch.from_ids([[5, 1]] * 2, [[6, 1]] * 2)
        return experimental.attention_weights(w.decoder, batch, experimental.AttentionKind.CROSS, 0)

    def cancel__before(w, name):
        call, token = calls(w)[name], xformer.CancelToken()
        token.cancel()
        try:
            call(cancel=token)
        finally:
            call()

    def cancel__many(w, count):
        token, cancelled = xformer.CancelToken(), 0
        for _ in range(int(count)):
            token.cancel()
            try:
                w.decoder.translate(SOURCES, cancel=token)
            except xformer.CancelledError:
                cancelled += 1
            token.reset()
            w.decoder.translate(["one"], cancel=token)
        return str(cancelled)

    def cancel__during(w, how):
        token, ended = xformer.CancelToken(), threading.Event()

        def cancel():
            while not ended.wait(0.02):
                token.cancel() if how == "flag" else w.context.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            w.decoder.translate(*SLOW, cancel=token)
        finally:
            ended.set()
            thread.join()
            assert w.decoder.translate(["one"])[0].error is None

    def cancel__within(w, callback):
        token = xformer.CancelToken()
        w.decoder.translate(*SLOW, cancel=token, **{callback: lambda *state: token.cancel()})

    def cancel__training(w, _):
        token = xformer.CancelToken()
        try:
            for stats in w.trainer.train(w.batcher, 1000, cancel=token):
                if stats.step == 3:
                    token.cancel()
        finally:
            assert w.trainer.steps == 3

    def deadline(w, call):
        if call == "score":
            batch = xformer.Batch.from_ids([[5, 6, 7, 1]] * 20000, [[5, 6, 7, 1]] * 20000)
            return w.decoder.score(batch, deadline=0.001)
        late = statuses(w.decoder.translate(*SLOW, deadline=0.05))
        return "late" if "DEADLINE" in late else late

    def progress(w, _):
        tasks, token = [], xformer.CancelToken()

        def report(task, done, total):
            assert 0 <= done <= total
            tasks.append(task)
            token.cancel()

        try:
            w.decoder.translate(*SLOW, progress=report, cancel=token)
        except xformer.CancelledError:
            return tasks[0]

    def callback__fails(w, callback):
        try:
            w.decoder.translate(*SLOW, **{callback: fail})
        finally:
            assert w.decoder.translate(["one"])[0].error is None

    def log(w, level):
        lines = []
        level = xformer.LogLevel[level.upper()]
        with xformer.Context(OPTIONS, log=lambda *line: lines.append(line), log_level=level) as own:
            xformer.Corpus.open(own, write(w, "some text", "a\tb\nbad\n"))
        return "%d lines" % sum("some text:2" in message for _, _, message in lines)

    def threads(w, count):
        expected, found = w.decoder.translate(SOURCES), []

        def work():
            with xformer.Decoder(w.model, w.config) as decoder:
                found.extend(decoder.translate(SOURCES) == expected for _ in range(5))

        workers = [threading.Thread(target=work) for _ in range(int(count))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return "equal" if found == [True] * 5 * int(count) else "different"

    def busy(w, _):
        begun, end = threading.Event(), threading.Event()

        def wait(step):
            begun.set()
            end.wait(60)

        worker = threading.Thread(target=lambda: w.decoder.translate(["one"], constraint=wait))
        worker.start()
        begun.wait(60)
        try:
            return w.decoder.translate(["one"])
        finally:
            end.set()
            worker.join()

    def closed(w, name):
        thing, batch = getattr(w, name), xformer.Batch.from_ids([[5, 1]], [[6, 1]])
        thing.close()
        thing.close()
        assert thing.closed
        return {
            "config": lambda: w.config["model.d_model"],
            "context": lambda: w.context.memory,
            "corpus": lambda: w.corpus[0],
            "tokenizer": lambda: w.tokenizer.encode("one"),
            "batcher": w.batcher.next,
            "model": w.model.to_bytes,
            "trainer": lambda: w.trainer.step(batch),
            "decoder": lambda: w.decoder.translate(["one"]),
        }[name]()

    def closed__creators(w, _):
        batch = w.batcher.next()
        for thing in (w.config, w.context, w.corpus, w.tokenizer, w.model):
            thing.close()
        w.trainer.step(batch)
        w.batcher.next()
        return "usable" if w.decoder.translate(["one"])[0].error is None else "failed"

    def closed__last(w, last):
        things = list(w.objects().values())
        for thing in things[int(last) :] + things[: int(last)]:
            thing.close()
        return "closed" if all(thing.closed for thing in things) else "open"

    def borrowed__kept(w, _):
        tokenizer, model = w.model.tokenizer, w.trainer.model
        w.model.close()
        w.trainer.close()
        return "usable" if tokenizer.encode("one") == model.encode("one")[:-1] else "different"


OPERATIONS = {
    name.replace("__", "."): function for name, function in vars(Operations).items() if name[0] != "_"
}


class Row(World):
    """The world of one row, with a folder for its files."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)


class Contracts(unittest.TestCase):
    def run_row(self, operation, arguments):
        with tempfile.TemporaryDirectory() as folder, Row(folder) as w:
            try:
                return "OK", str(OPERATIONS[operation](w, *map(unescaped, arguments.split("|"))))
            except Exception as error:
                return status_of(error), message_of(error)

    def test_every_row(self):
        with open(os.path.join(ROOT, "bindings", "contracts.tsv"), encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
        failures, used = [], set()
        for row in rows[1:]:
            operation, arguments, status, expected, reasons = (row + [""] * 5)[:5]
            for reason in reasons.split("; ") if reasons else []:
                self.assertRegex(reason, "^(python|rust|go|java): .", row)
            if "python: " in reasons:
                continue
            used.add(operation)
            if operation not in OPERATIONS:
                failures.append("%s is unknown" % operation)
                continue
            found = self.run_row(operation, arguments)
            parts = unescaped(expected).split(" & ")
            fits = found[1] == unescaped(expected) if status == "OK" else all(part in found[1] for part in parts)
            if found[0] != status or not fits:
                failures.append("%s %s: %s, expected %s %s" % (operation, arguments, found, status, expected))
        self.assertFalse(failures, "\n".join(failures))
        self.assertEqual(used, set(OPERATIONS))


if __name__ == "__main__":
    unittest.main()
