//! From text to scores: tokenizer, model, training, files, translation, and the functions of each object.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::fs;
use std::io::Cursor;
use std::ops::ControlFlow;

use support::*;
use xformer::experimental::*;
use xformer::*;

#[test]
fn train_save_load_translate_measure() {
    let (mut w, folder) = (World::new(), Folder::new());
    let stats = w.train(150);
    assert_eq!(stats.iter().map(|s| s.step).collect::<Vec<_>>(), (1..=150).collect::<Vec<_>>());
    assert_eq!(w.trainer.step_count(), 150);
    assert!(stats[149].nll < stats[0].nll / 2.0, "{} {}", stats[0].nll, stats[149].nll);
    assert!(stats.iter().all(|s| s.gradient_norm > 0.0 && s.learning_rate > 0.0 && s.loss > 0.0));

    w.model.save(folder.join("model.xf"), None).expect("saved");
    w.trainer.save(folder.join("run.ckpt"), &w.batcher).expect("saved");
    let found = w.decoder.translate(&sources()).expect("hypotheses");
    for name in ["model.xf", "run.ckpt"] {
        let loaded = Model::load(&w.context, folder.join(name), None).expect("a model");
        assert_eq!(loaded.tensors(), w.model.tensors());
        let again = Decoder::new(&loaded, &w.config).expect("a decoder").translate(&sources()).expect("hypotheses");
        assert_eq!(all(&again), all(&found));
    }

    let texts = found.texts().expect("texts");
    let score = bleu(&texts, &targets(), BleuTokenize::V13a).expect("a score");
    assert!(score.score > 30.0 && score.brevity_penalty > 0.0, "{:?}", score);
    assert_eq!(score.reference_length, targets().iter().map(|t| t.split(' ').count() as i64).sum::<i64>());
    assert!(score.hypothesis_length > 0 && score.signature.contains("tok:13a"), "{}", score.signature);
    let chrf = chrf(&texts, &targets()).expect("a score");
    assert!(chrf.score > 30.0 && chrf.signature.contains("nc:6"), "{:?}", chrf);
    let perfect = bleu(&targets(), &targets(), BleuTokenize::None).expect("a score");
    assert!((perfect.score - 100.0).abs() < 1e-9 && perfect.precisions.iter().all(|p| (p - 100.0).abs() < 1e-9));
    assert!(perfect.signature.contains("tok:none"), "{}", perfect.signature);
    let split = |tokenize| bleu(&["a b-c d e"], &["a b c d-e"], tokenize).expect("a score").hypothesis_length;
    assert_eq!((split(BleuTokenize::None), split(BleuTokenize::SplitHyphens)), (4, 6));
}

#[test]
fn a_resumed_run_continues_with_the_same_bits() {
    let (mut w, folder) = (World::new(), Folder::new());
    w.train(5);
    w.trainer.save(folder.join("run.ckpt"), &w.batcher).expect("saved");
    let stats = w.batcher.stats().expect("stats");
    let expected = w.train(7);

    let mut trainer = Trainer::resume(&w.context, folder.join("run.ckpt"), None).expect("a trainer");
    assert_eq!(trainer.step_count(), 5);
    assert_eq!(trainer.config().expect("a config").get_f64("train.learning_rate"), Ok(0.01));
    let tokenizer = trainer.model().tokenizer().expect("a tokenizer").clone();
    let mut batcher = Batcher::new(&w.corpus, &tokenizer, &w.config).expect("a batcher");
    batcher.resume(&trainer).expect("a position");
    assert_eq!(batcher.stats().expect("stats"), stats);
    let again: Vec<StepStats> = trainer.steps(&mut batcher).take(7).collect::<Result<_>>().expect("steps");
    assert_eq!(again, expected);

    // The model remains usable without its trainer, and the tokenizer without its model.
    let model = trainer.model().clone();
    drop(trainer);
    model.save(folder.join("late.xf"), None).expect("saved");
    let mut decoder = Decoder::new(&model, &w.config).expect("a decoder");
    drop(model);
    assert_eq!(decoder.translate(&sources()).expect("hypotheses").texts(), Ok(w.translate()));
    drop(decoder);
    assert!(!tokenizer.encode("one").expect("ids").is_empty());
}

#[test]
fn accumulated_gradients_are_one_step() {
    let (mut w, mut other) = (World::new(), World::new());
    let batches: Vec<Batch<'static>> = w.batcher.epoch().take(2).collect::<Result<_>>().expect("batches");
    let whole = other.trainer.step_all(&batches).expect("a step");
    let first = w.trainer.accumulate(&batches[0]).expect("gradients");
    assert_eq!((first.step, first.sentences), (0, batches[0].len() as i64));
    let one = read_gradient(&mut w.trainer, 0).expect("a gradient");
    w.trainer.accumulate(&batches[1]).expect("gradients");
    let both = read_gradient(&mut w.trainer, 0).expect("a gradient");
    assert!(one.len() == w.model.tensors()[0].size() && one != both && both.iter().any(|g| *g != 0.0));
    let halves = w.trainer.update().expect("a step");
    assert_eq!((halves.step, halves.sentences, halves.nll), (1, whole.sentences, whole.nll));
    assert_eq!(w.model.read_tensor(0).expect("values"), other.model.read_tensor(0).expect("values"));
}

#[test]
fn epochs_accumulation_and_changed_options() {
    let (mut w, folder) = (World::new(), Folder::new());
    let batches = w.batcher.stats().expect("stats").batches;
    let mut steps = 0;
    while let Some(stats) = w.trainer.next_step(&mut w.batcher).expect("a step") {
        steps += 1;
        assert_eq!((stats.step, stats.outcome), (steps, StepOutcome::Updated));
    }
    assert_eq!((steps, w.batcher.stats().expect("stats").epoch), (batches, 1));

    let two = config_with(&[("train.accumulate", "2"), ("train.ema", "0.5")]);
    let (mut pairs, mut single) = (World::with(Host::new(), &two), World::new());
    let both: Vec<Batch<'static>> = single.batcher.epoch().take(2).collect::<Result<_>>().expect("batches");
    let stats = pairs.trainer.next_step(&mut pairs.batcher).expect("a step");
    assert_eq!(stats, Some(single.trainer.step_all(&both).expect("a step")));
    let (mean, last) = (pairs.trainer.copy_average().expect("an average"), &pairs.model);
    assert_ne!(mean.read_tensor(0), last.read_tensor(0));
    assert_eq!(mean.tensors(), last.tensors());

    w.trainer.save(folder.join("run.ckpt"), &w.batcher).expect("saved");
    let mut slower = Config::new().expect("a config");
    slower.set("train.learning_rate", 0.001).and_then(|c| c.set("train.warmup_steps", 1)).expect("options");
    let mut trainer = Trainer::resume(&w.context, folder.join("run.ckpt"), &slower).expect("a trainer");
    assert_eq!(trainer.config().expect("a config").get_f64("train.learning_rate"), Ok(0.001));
    let stats = trainer.next_step(&mut w.batcher).expect("a step").expect("no end");
    assert!((stats.learning_rate - 0.001).abs() < 1e-9, "{:?}", stats);
}

#[test]
fn averages_and_copies() {
    let (w, folder) = (World::new(), Folder::new());
    let before = w.model.read_tensor(0).expect("values");
    let copy = w.model.copy(None, None).expect("a copy");
    w.model.save(folder.join("a.xf"), None).expect("saved");
    w.model.write_tensor(0, &before.iter().map(|x| x + 1.0).collect::<Vec<f32>>()).expect("written");
    w.model.save(folder.join("b.xf"), None).expect("saved");
    assert_eq!(copy.read_tensor(0).expect("values"), before);
    let files = [copy.to_bytes(None).expect("bytes"), w.model.to_bytes(None).expect("bytes")];
    for mean in [
        Model::average(&w.context, [folder.join("a.xf"), folder.join("b.xf")]).expect("a model"),
        Model::average(&w.context, &files).expect("a model"),
    ] {
        assert!(mean.read_tensor(0).expect("values").iter().zip(&before).all(|(m, b)| (m - b - 0.5).abs() < 1e-5));
        assert!(mean.tokenizer().is_some());
    }
    let elsewhere = Context::new(&w.config).expect("a context");
    let far = copy.copy(&elsewhere, None).expect("a copy");
    drop((w, copy));
    assert_eq!(far.read_tensor(0).expect("values"), before);
}

#[test]
fn sources_and_sinks() {
    let (w, folder) = (World::new(), Folder::new());
    w.model.set_metadata("languages", "en-de").expect("stored");
    w.model.set_metadata("license", "none").expect("stored");
    w.model.set_metadata("license", None).expect("removed");
    let path = folder.join("model.xf");
    w.model.save(&path, None).expect("saved");
    let bytes = w.model.to_bytes(None).expect("bytes");
    assert!(bytes == fs::read(&path).expect("a file"));

    let file = fs::File::open(&path).expect("a file");
    let (mut read, mut cursor) = (0, Cursor::new(&bytes));
    let callback = |offset: u64, room: &mut [u8]| {
        read += room.len();
        room.copy_from_slice(&bytes[offset as usize..offset as usize + room.len()]);
        Ok(())
    };
    let size = bytes.len() as u64;
    let reader = Source::reader(&mut cursor).expect("its size");
    for source in [(&path).into(), (&bytes).into(), (&file).into(), reader, Source::callback(size, callback)] {
        let model = Model::load(&w.context, source, None).expect("a model");
        assert_eq!(model.read_tensor(0), w.model.read_tensor(0));
        assert_eq!(
            model.metadata().expect("texts").into_iter().collect::<Vec<_>>(),
            [("languages".into(), "en-de".into())]
        );
        assert_eq!(model.config().get_i64("model.d_model"), Ok(16));
    }
    assert!(read >= bytes.len());
    let broken = || std::io::Error::new(std::io::ErrorKind::BrokenPipe, "the store is unreachable");
    let source = Source::callback(size, |_, _| Err(broken()));
    refused(Model::load(&w.context, source, None), Status::Io, "the store is unreachable");
    let panicking = Source::callback(size, |_, _| panic!("from the reader"));
    let load = || Model::load(&w.context, panicking, None);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)).expect_err("the panic");

    let (mut vector, mut cursor, mut length) = (vec![7; 9], Cursor::new(Vec::new()), 0);
    let file = fs::File::create(folder.join("open.xf")).expect("a file");
    w.model.save(&mut vector, None).expect("saved");
    w.model.save(Sink::writer(&mut cursor), None).expect("saved");
    w.model.save(&file, None).expect("saved");
    assert!(vector == bytes && cursor.into_inner() == bytes);
    assert!(fs::read(folder.join("open.xf")).expect("a file") == bytes);
    let sink = Sink::callback(|offset, part| {
        length = length.max(offset + part.len() as u64);
        Ok(())
    });
    w.model.save(sink, None).expect("saved");
    assert_eq!(length, size);
    refused(w.model.save(Sink::callback(|_, _| Err(broken())), None), Status::Io, "the store is unreachable");

    let mut tokenizer = Vec::new();
    w.tokenizer.save(&mut tokenizer).expect("saved");
    let loaded = Tokenizer::load(&w.context, &tokenizer).expect("a tokenizer");
    assert_eq!(loaded.encode("one two"), w.tokenizer.encode("one two"));
    let mut trainer = Trainer::new(&w.model, &w.config).expect("a trainer");
    let mut checkpoint = Vec::new();
    trainer.save(&mut checkpoint, None).expect("saved");
    assert_eq!(Trainer::resume(&w.context, &checkpoint, None).expect("a trainer").step_count(), 0);

    let numbers: usize = w.model.tensors().iter().map(TensorInfo::size).sum();
    let summary = Model::inspect(&w.context, &path, None).expect("a summary");
    assert_eq!((summary.parameters, summary.vocab_size), (numbers as i64, w.tokenizer.info().vocab_size.into()));
    assert_eq!((summary.file_bytes, summary.step), (size as i64, -1));
    assert!(summary.has_tokenizer && summary.weights == NumberType::Fp32 && summary.decode_bytes > 4 * numbers as i64);
    assert!(summary.train_bytes > 12 * numbers as i64);
    let half = w.model.to_bytes(&config_with(&[("model.weights", "bf16")])).expect("bytes");
    let summary = Model::inspect(&w.context, &half, None).expect("a summary");
    assert!(half.len() < bytes.len() && summary.weights == NumberType::Bf16);
}

#[test]
fn beam_scores_and_evaluation_agree() {
    let mut w = World::new();
    w.train(100);
    let beam = [("decode.beam", "5"), ("decode.n_best", "3"), ("decode.alpha", "0.6")];
    let mut decoder = Decoder::new(&w.model, &config_with(&beam)).expect("a decoder");
    let mut texts = sources();
    texts.push("");
    let found = decoder.translate(&texts).expect("hypotheses");
    assert_eq!((found.len(), found.is_empty(), found.iter().len()), (13, false, 13));

    let nothing = found.best(12).expect("a hypothesis");
    assert_eq!((nothing.ids, nothing.text().as_deref(), nothing.score), (&[][..], Some(""), 0.0));
    refused(found.best(usize::MAX), Status::OutOfRange, "");

    let (mut sources_of, mut targets_of, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for (source, sentence) in sources().iter().zip(found.iter()) {
        let ranked = sentence.expect("hypotheses");
        assert_eq!(ranked.len(), 3);
        assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for h in &ranked {
            let length = h.ids.len() + usize::from(h.finished);
            assert!((h.score - h.log_probability / ((5.0 + length as f64) / 6.0).powf(0.6)).abs() < 1e-5);
            let sum: f64 = h.token_log_probabilities.iter().map(|p| f64::from(*p)).sum();
            assert!(h.token_log_probabilities.len() == length && (sum - h.log_probability).abs() < 1e-4, "{:?}", h);
            let text = w.tokenizer.decode(h.ids).expect("a text");
            assert_eq!((h.text().as_deref(), h.text_bytes), (Some(&*text), Some(text.as_bytes())));
            assert!(h.complete);
        }
        if ranked[0].finished {
            sources_of.push(w.model.encode(Side::Source, source, None).expect("ids"));
            targets_of.push([ranked[0].ids, &[END]].concat());
            expected.push(ranked[0].log_probability);
        }
    }
    assert!(!expected.is_empty());
    let batch = Batch::from_id_pairs(&sources_of, &targets_of).expect("a batch");
    let scores = decoder.score(&batch).expect("scores");
    assert!(scores.iter().zip(&expected).all(|(score, e)| (score - e).abs() < 1e-4), "{:?} {:?}", scores, expected);
    let corpus = Corpus::from_ids(&w.context, &batch).expect("a corpus");
    let mut batcher = Batcher::new(&corpus, None, &w.config).expect("a batcher");
    let stats = decoder.evaluate(&mut batcher).expect("stats");
    assert_eq!(stats.sentences, expected.len() as i64);
    assert!((stats.nll + scores.iter().sum::<f64>() / stats.tgt_tokens as f64).abs() < 1e-9);
    assert!((stats.perplexity - stats.nll.exp()).abs() < 1e-9 && stats.loss > 0.0);

    w.batcher.seek(0, 1).expect("a position");
    let position = w.batcher.stats();
    let stats = decoder.evaluate(&mut w.batcher).expect("stats");
    assert_eq!(w.batcher.stats(), position);
    let texts = decoder.score_texts(&PAIRS).expect("scores");
    let sum: f64 = texts.iter().map(|score| score.expect("a score")).sum();
    assert!((stats.nll + sum / stats.tgt_tokens as f64).abs() < 1e-9);
    let batch = Batch::from_text_pairs(&w.model, PAIRS, None).expect("a batch");
    let scores = decoder.score(&batch).expect("scores").into_iter().map(Ok).collect::<Vec<_>>();
    assert_eq!(texts, scores);
    let bad = decoder.score_texts(&[(&b"one"[..], &b"eins"[..]), (b"\xff", b"zwei")]).expect("the call succeeds");
    assert!(bad[0].is_ok() && bad[1] == Err(Status::Data));
}

#[test]
fn texts_and_ids_decode_alike() {
    let mut w = World::new();
    w.train(30);
    let whole = all(&w.decoder.translate(&sources()).expect("hypotheses"));
    let batch = Batch::from_texts(&w.model, sources(), None).expect("a batch");
    assert_eq!(all(&w.decoder.decode(&batch).expect("hypotheses")), whole);
    let apart: Vec<_> = sources().iter().map(|s| all(&w.decoder.translate(&[s]).expect("a hypothesis"))).collect();
    assert_eq!(apart.concat(), whole);
    assert!(w.decoder.translate::<&str>(&[]).expect("nothing").is_empty());
    assert!(w.decoder.decode(&Batch::from_ids([[0; 0]; 0]).expect("a batch")).expect("nothing").is_empty());
}

#[test]
fn a_model_without_a_tokenizer() {
    let config = config_with(&[("model.vocab_size", "20")]);
    let model = Model::new(&Context::new(&config).expect("a context"), None, &config).expect("a model");
    assert!(model.tokenizer().is_none());
    assert_eq!(model.config().get_i64("model.vocab_size"), Ok(20));
    let mut decoder = Decoder::new(&model, &config).expect("a decoder");
    let found = decoder.decode(&Batch::from_ids([[5, END]]).expect("a batch")).expect("hypotheses");
    assert_eq!(found.best(0).expect("a hypothesis").text(), None);
    assert_eq!(found.texts(), Ok(vec![String::new()]));
    assert_eq!(decoder.translate(&["one"]).expect_err("no tokenizer").status(), Status::State);
}

#[test]
fn the_tokenizer() {
    let (w, folder) = (World::new(), Folder::new());
    let ids = w.tokenizer.encode("one two").expect("ids");
    let framed = w.model.encode(Side::Source, " one two ", None).expect("ids");
    assert_eq!(framed, [&ids[..], &[END]].concat());
    let info = w.tokenizer.info();
    assert_eq!((&*info.kind, info.start_token, info.end_token), ("bpe", START, END));
    let side = w.tokenizer.side(Side::Target).expect("a tokenizer");
    assert_eq!((side.encode("one two"), side.info()), (Ok(ids.clone()), info));
    assert_eq!(w.tokenizer.decode(&ids).expect("a text"), "one two");
    assert_eq!(w.tokenizer.decode(&[START, END]).expect("a text"), "");
    assert_eq!(w.tokenizer.piece(START).expect("a name"), "<s>");
    assert_eq!(w.tokenizer.piece(2 + 0x41).expect("a name"), "A");
    assert!(w.tokenizer.encode("").expect("no ids").is_empty() && w.tokenizer.info().vocab_size > 258);
    w.tokenizer.save(folder.join("tokenizer.json")).expect("saved");
    let loaded = Tokenizer::load(&w.context, folder.join("tokenizer.json")).expect("a tokenizer");
    assert_eq!(
        (loaded.encode("one two").expect("ids"), loaded.info().vocab_size),
        (ids, w.tokenizer.info().vocab_size)
    );

    // Normalization makes 33 bytes of these 3; the first buffers are too small for them.
    let long = "\u{fdfa}".repeat(50);
    let ids = w.tokenizer.encode(&long).expect("ids");
    assert!(ids.len() > long.len() + 16);
    assert_eq!(w.tokenizer.decode(&ids).expect("a text").chars().count(), 50 * 18);

    // Without normalization, all bytes are kept.
    let raw = config_with(&[("tokenizer.normalization", "none"), ("tokenizer.invalid_utf8", "replace")]);
    let raw = Tokenizer::train(&w.context, &w.corpus, &raw).expect("a tokenizer");
    assert_eq!(raw.decode(&[2 + 0xff]).expect("a text"), "\u{fffd}");
    assert_eq!(raw.decode_bytes(&[2 + 0xff]).expect("bytes"), [0xff]);
}

#[test]
fn a_tokenizer_with_a_piece_longer_than_the_first_buffer() {
    let word = "abcdefghij".repeat(10);
    let context = Context::new(&config()).expect("a context");
    let corpus = Corpus::from_pairs(&context, [(&word, &word), (&word, &word)], None).expect("a corpus");
    let tokenizer = Tokenizer::train(&context, &corpus, &config_with(&[("tokenizer.vocab_size", "400")]));
    let tokenizer = tokenizer.expect("a tokenizer");
    let last = tokenizer.info().vocab_size - 1;
    assert!(tokenizer.piece(last).expect("a name").ends_with(&word));
    assert_eq!(tokenizer.decode(&[last]).expect("a text").trim(), word);
}

#[test]
fn options_prefixes_and_constraints_of_a_call() {
    let mut w = World::new();
    w.train(30);
    let free = all(&w.decoder.translate(&sources()).expect("hypotheses"));

    // A prefix, as text and as ids, and options of the call.
    let mut config = Config::new().expect("a config");
    config.set("decode.min_tokens", 4).and_then(|c| c.set("decode.n_best", 2)).expect("options");
    let beginning = w.tokenizer.encode("vier").expect("ids");
    let params = DecodeParams::new().config(&config).prefixes(["vier"; 12]);
    let found = w.decoder.translate_with(&sources(), params).expect("hypotheses");
    for hypothesis in found.iter().flat_map(|sentence| sentence.expect("hypotheses")) {
        assert!(hypothesis.ids.starts_with(&beginning) && hypothesis.ids.len() >= 4, "{:?}", hypothesis);
    }
    assert!(found.iter().all(|sentence| sentence.expect("hypotheses").len() == 2));
    let batch = Batch::from_texts(&w.model, sources(), None).expect("a batch");
    let params = DecodeParams::new().config(&config).prefix_ids(vec![&beginning; 12]);
    assert_eq!(all(&w.decoder.decode_with(&batch, params).expect("hypotheses")), all(&found));
    let some = DecodeParams::new().prefixes(["", "vier"]);
    let some = all(&w.decoder.translate_with(&sources()[..2], some).expect("hypotheses"));
    assert!(some[0] == free[0] && some[1][0].0.starts_with(&beginning));

    // The same with a constraint, which borrows local variables.
    let mut steps = 0;
    let size = w.tokenizer.info().vocab_size;
    let constraint = Constraint::new(|partials| {
        steps += 1;
        for partial in partials {
            assert!(partial.sentence < 12 && partial.remaining >= 1 && partial.vocab_size == size);
            assert!(partial.allows(END) && partial.allows(size - 1));
            match beginning.get(partial.ids.len()) {
                Some(id) => partial.allow_only([*id]),
                None if partial.ids.len() < 3 => partial.forbid(END),
                None => partial.allow(END),
            }
        }
        ControlFlow::Continue(())
    });
    let params = DecodeParams::new().constraint(constraint);
    let found = w.decoder.translate_with(&sources(), params).expect("hypotheses");
    for hypothesis in found.iter().flat_map(|sentence| sentence.expect("hypotheses")) {
        assert!(hypothesis.ids.starts_with(&beginning) && hypothesis.ids.len() >= 3, "{:?}", hypothesis);
    }
    assert!(steps > 2);

    // No token may follow: the log-probability is minus infinity.
    let nothing = DecodeParams::new().constraint(Constraint::new(|partials| {
        partials.iter_mut().for_each(|partial| partial.allow_only([]));
        ControlFlow::Continue(())
    }));
    let found = w.decoder.translate_with(&["one"], nothing).expect("a hypothesis");
    let best = found.best(0).expect("a hypothesis");
    assert_eq!((best.finished, best.log_probability), (false, f64::NEG_INFINITY));
    assert_eq!(all(&w.decoder.translate(&sources()).expect("hypotheses")), free);
}

#[test]
fn attention() {
    let mut w = World::new();
    w.train(10);
    let pair = Batch::from_text_pairs(&w.model, [("one two three", "eins zwei")], None).expect("a batch");
    let (source, target) = (pair.src_ids().len(), pair.tgt_ids().expect("a target").len());
    for (kind, queries, keys) in [
        (AttentionKind::Encoder, source, source),
        (AttentionKind::Decoder, target, target),
        (AttentionKind::Cross, target, source),
    ] {
        let found = attention_weights(&mut w.decoder, &pair, kind, 0).expect("weights");
        assert_eq!(
            (found.heads, found.queries, found.keys, found.values.len()),
            (2, queries, keys, 2 * queries * keys)
        );
        for (head, query) in (0..2).flat_map(|head| (0..queries).map(move |query| (head, query))) {
            let row = found.row(head, query);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{:?}", row);
            let ahead = row.iter().skip(query + 1).sum::<f32>();
            assert!(kind != AttentionKind::Decoder || ahead == 0.0, "{:?}", row);
        }
    }
}

#[test]
fn weights() {
    let (w, folder) = (World::new(), Folder::new());
    w.model.save(folder.join("model.xf"), None).expect("saved");
    let size = |name: &str| fs::metadata(folder.join(name)).expect("a file").len();
    let original = w.model.read_tensor(0).expect("values");
    for (precision, error) in [("fp16", 2f32.powi(-11)), ("bf16", 2f32.powi(-8))] {
        w.model.save(folder.join("half.xf"), &config_with(&[("model.weights", precision)])).expect("saved");
        assert!(size("half.xf") < size("model.xf") * 3 / 4);
        let half = Model::load(&w.context, folder.join("half.xf"), None).expect("a model");
        let half = half.read_tensor(0).expect("values");
        assert!(half.iter().zip(&original).all(|(h, o)| (h - o).abs() <= error * o.abs() + 1e-7));
        assert_ne!(half, original);
    }

    let matrix =
        |model: &Model| model.tensors().iter().find(|info| info.shape.len() > 1).expect("a matrix").number_type;
    let quantized = w.model.copy_with_weights(NumberType::Int8).expect("a copy");
    assert_eq!((matrix(&w.model), matrix(&quantized)), (NumberType::Fp32, NumberType::Int8));
    let int8 = config_with(&[("model.weights", "int8")]);
    let loaded = Model::load(&w.context, folder.join("model.xf"), &int8).expect("a model");
    assert_eq!((matrix(&loaded), loaded.read_tensor(0)), (NumberType::Int8, quantized.read_tensor(0)));
    refused(Trainer::new(&quantized, &w.config), Status::State, "int8");
    let fp32 = quantized.copy_with_weights(NumberType::Fp32).expect("a copy");
    Trainer::new(&fp32, &w.config).expect("a trainer");
    refused(w.model.copy_with_weights(NumberType::Unknown(77)), Status::OutOfRange, "unknown(77)");
}

#[test]
fn corpora() {
    let (w, folder) = (World::new(), Folder::new());
    assert_eq!((w.corpus.len(), w.corpus.is_empty(), w.corpus.pairs().len()), (12, false, 12));
    let pairs: Vec<_> = w.corpus.pairs().collect::<Result<_>>().expect("pairs");
    assert_eq!(pairs, PAIRS);

    let text = "one\teins\r\nno tab\n\tzwei\nthree\tdrei\n\u{ff}x\tx\nn\0l\tnull\n";
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\tx\n");
    fs::write(folder.join("pairs.tsv"), &bytes).expect("written");
    let opened = Corpus::open(&w.context, folder.join("pairs.tsv"), None).expect("a corpus");
    let stats = opened.stats().expect("stats");
    assert_eq!((stats.lines, stats.kept, stats.bad_columns, stats.empty_side), (7, 3, 1, 1));
    assert_eq!((stats.invalid_utf8, stats.nul_byte, stats.too_long), (1, 1, 0));
    assert_eq!(opened.pair(0), Ok(("one", "eins")));

    fs::write(folder.join("en"), "one\ntwo\n").expect("written");
    fs::write(folder.join("de"), "eins\nzwei\n").expect("written");
    let parallel = Corpus::open_parallel(&w.context, folder.join("en"), folder.join("de"), None).expect("a corpus");
    assert_eq!(parallel.pair(1), Ok(("two", "zwei")));

    // Pairs may contain tabs and line ends.
    let texts = [("a\tb", "c\n"), ("", "nothing"), ("d", "e")];
    let corpus = Corpus::from_pairs(&w.context, texts, None).expect("a corpus");
    assert_eq!((corpus.len(), corpus.stats().expect("stats").empty_side), (2, 1));
    assert_eq!((corpus.pair(0), corpus.pair(1)), (Ok(("a\tb", "c\n")), Ok(("d", "e"))));

    let some = w.corpus.subset(&[11, 0, 0]).expect("a corpus");
    assert_eq!(some.pairs().collect::<Result<Vec<_>>>().expect("pairs"), [PAIRS[11], PAIRS[0], PAIRS[0]]);
    let (rest, held_out) = w.corpus.split(3, 7).expect("two corpora");
    let again = w.corpus.split(3, 7).expect("two corpora");
    let texts = |corpus: &Corpus| -> Vec<(String, String)> {
        corpus.pairs().map(|pair| pair.map(|(s, t)| (s.into(), t.into())).expect("a pair")).collect()
    };
    assert_eq!((rest.len(), held_out.len()), (9, 3));
    assert_eq!((texts(&rest), texts(&held_out)), (texts(&again.0), texts(&again.1)));
    let mut all = [texts(&rest), texts(&held_out)].concat();
    let mut expected = texts(&w.corpus);
    all.sort_unstable();
    expected.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn a_corpus_of_ids() {
    let config = config_with(&[("model.vocab_size", "20")]);
    let context = Context::new(&config).expect("a context");
    let pairs = Batch::from_id_pairs([[5, 6, 1], [7, 8, 1]], [[9, 1], [10, 1]]).expect("a batch");
    let corpus = Corpus::from_ids(&context, &pairs).expect("a corpus");
    let mut batcher = Batcher::new(&corpus, None, &config).expect("a batcher");
    let model = Model::new(&context, None, &config).expect("a model");
    let mut trainer = Trainer::new(&model, &config).expect("a trainer");
    let stats = trainer.next_step(&mut batcher).expect("a step").expect("no end");
    assert_eq!((corpus.len(), stats.sentences, stats.src_tokens, stats.tgt_tokens), (2, 2, 6, 4));
}

#[test]
fn batchers() {
    let mut w = World::new();
    let stats = w.batcher.stats().expect("stats");
    assert_eq!((stats.epoch, stats.batch, stats.pairs, stats.too_long, stats.empty), (0, 0, 12, 0, 0));
    let epoch: Vec<Batch<'static>> = w.batcher.epoch().collect::<Result<_>>().expect("batches");
    assert_eq!(epoch.len() as i64, stats.batches);
    assert_eq!(epoch.iter().map(|b| b.tgt_ids().expect("targets").len() as i64).sum::<i64>(), stats.tgt_tokens);
    let mut seen: Vec<i64> = epoch.iter().flat_map(|b| b.pair_index().expect("indices").to_vec()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..12).collect::<Vec<i64>>());
    for batch in &epoch {
        for (sentence, index) in batch.pair_index().expect("indices").iter().enumerate() {
            let pair = PAIRS[*index as usize];
            assert_eq!(batch.source(sentence), w.model.encode(Side::Source, pair.0, None).expect("ids"));
            assert_eq!(batch.target(sentence), Some(&*w.model.encode(Side::Target, pair.1, None).expect("ids")));
        }
    }
    assert_eq!(w.batcher.stats().expect("stats").epoch, 1);
    w.batcher.seek(0, 1).expect("a position");
    assert_eq!(w.batcher.next_batch(), Ok(Some(epoch[1].clone())));
    // An iterator that has ended does not begin the next epoch.
    w.batcher.seek(0, stats.batches).expect("a position");
    let mut rest = w.batcher.epoch();
    assert!(rest.next().is_none() && rest.next().is_none());
    drop(rest);
    assert!(w.batcher.next_batch().expect("no error").is_some());
}

#[test]
fn batches() {
    let batch = Batch::from_id_pairs([[5, 1], [6, 1]], [[7, 1], [8, 1]]).expect("a batch");
    assert_eq!((batch.len(), batch.is_empty()), (2, false));
    assert_eq!((batch.src_ids(), batch.src_offsets()), (&[5, 1, 6, 1][..], &[0, 2, 4][..]));
    assert_eq!((batch.tgt_ids(), batch.tgt_offsets()), (Some(&[7, 1, 8, 1][..]), Some(&[0, 2, 4][..])));
    let (ids, offsets) = ([7, 1, 8, 1], [0, 2, 4]);
    let borrowed = Batch::new(vec![5, 1, 6, 1], vec![0, 2, 4]).expect("sources");
    let borrowed = borrowed.with_targets(&ids[..], &offsets[..]).expect("targets");
    assert_eq!(borrowed, batch);
    assert_eq!(borrowed.into_owned(), batch);
    assert_eq!(batch.pair_index(), None);
    let w = World::new();
    let texts = Batch::from_text_pairs(&w.model, PAIRS, None).expect("a batch");
    assert_eq!(texts.target(6), Some(&*w.model.encode(Side::Target, "zwei", None).expect("ids")));
}

#[test]
fn parameters() {
    let w = World::new();
    let info = &w.model.tensors()[0];
    let mut values = w.model.read_tensor(0).expect("values");
    assert_eq!((values.len(), info.number_type), (info.size(), NumberType::Fp32));
    assert_eq!(info.shape, [w.tokenizer.info().vocab_size as usize, 16]);
    assert!(!info.name.is_empty());
    values[3] = 0.5;
    w.model.write_tensor(0, &values).expect("written");
    let mut again = vec![0.0; values.len()];
    w.model.read_tensor_into(0, &mut again).expect("values");
    assert_eq!(again, values);
    assert_eq!(w.decoder.model().read_tensor(0), Ok(values));
}

#[test]
fn configs() {
    let mut config = Config::new().expect("a config");
    config.set("decode.beam", 7).and_then(|c| c.set("train.dropout", 0.25)).expect("numbers");
    config.set("data.shuffle", false).and_then(|c| c.set("train.learning_rate", 2)).expect("more");
    config.set("model.norm", "pre").and_then(|c| c.set("model.heads", "3")).expect("text");
    config.set("context.device", &String::from("cpu")).expect("a string");
    let copy = config.clone();
    config.preset("small").and_then(|c| c.preset("big")).expect("presets");
    assert_eq!((config.get_i64("model.d_model"), copy.get_i64("model.d_model")), (Ok(1024), Ok(512)));
    assert_eq!((copy.get_i64("decode.beam"), copy.get_f64("train.dropout")), (Ok(7), Ok(0.25)));
    assert_eq!((copy.get_bool("data.shuffle"), copy.get_f64("train.learning_rate")), (Ok(false), Ok(2.0)));
    assert_eq!((copy.get_str("model.norm"), copy.get_i64("model.heads")), (Ok("pre"), Ok(3)));
    let shown = format!("{:?}", copy);
    assert!(shown.contains("\"decode.beam\": \"7\"") && !shown.contains("decode.alpha"), "{}", shown);

    let table = options().expect("the table");
    assert!(table.len() > 40 && table.iter().all(|row| !row.doc.is_empty() && row.since == "0.1"));
    let norm = table.iter().find(|row| row.key == "model.norm").expect("a row");
    assert_eq!((norm.type_, &norm.choices[..]), (OptionType::Text, &["post", "pre", "post_rms", "pre_rms"][..]));
    let dropout = table.iter().find(|row| row.key == "train.dropout").expect("a row");
    assert_eq!((dropout.type_, dropout.maximum, dropout.paper), (OptionType::Real, 0.95, "s. 5.4"));
    assert_eq!(option("model.norm").as_ref(), Ok(norm));
    refused(option("model.nrom"), Status::NotFound, "model.norm");
    refused(copy.get_i64("train.dropout"), Status::InvalidArgument, "0.25, expected an integer");
    refused(copy.get_i64("model.norm"), Status::InvalidArgument, "model.norm");
    let (fresh, mut set) = (Config::new().expect("a config"), copy);
    for row in &table {
        set.set(row.key, row.default_value).expect("a default");
        assert_eq!(set.get_str(row.key), fresh.get_str(row.key));
    }
    assert_eq!(format!("{:?}", set), "{}");
}

#[test]
fn the_context() {
    let w = World::new();
    let info = w.context.info().expect("info");
    assert!(info.description.contains("1 thread,") && info.device.starts_with("cpu"), "{:?}", info);
    assert_eq!((info.threads, info.precision), (1, NumberType::Fp32));
    let memory = w.context.memory().expect("stats");
    assert!(memory.current > 0 && memory.peak >= memory.current && memory.budget == 0 && memory.allocations > 0);
    assert_eq!((info.rank, info.rank_count, all_gather(&w.context, -7)), (0, 1, Ok(vec![-7])));
    let backends = w.context.backends().expect("backends");
    let built_in = backends.iter().find(|backend| backend.name == "ref").expect("the built-in one");
    assert_eq!((&*built_in.kind, &*built_in.path, &*built_in.reason), ("cpu", "", ""));
    assert_eq!(backends.iter().filter(|backend| backend.state == BackendState::Active).count(), 1);
    let plain = Context::new(&config_with(&[("context.device", "cpu:ref")])).expect("a context");
    let states: Vec<_> = plain.backends().expect("backends").into_iter().map(|b| (b.name, b.state)).collect();
    assert!(states.contains(&("ref".to_string(), BackendState::Active)), "{:?}", states);
    let opened = |state| matches!(state, BackendState::Usable | BackendState::Unusable);
    assert!(!states.iter().any(|(_, state)| opened(*state)), "{:?}", states);

    assert_eq!(version().split('.').count(), 3);
    assert!(version_num() >> 16 == 0 && !build_info().is_empty());
}
