//! Each error that can be provoked: its status, its code, its sentence; and that what failed changed nothing.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::fs;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

use support::*;
use xformer::*;

const ENOENT: i32 = 2;
const EISDIR: i32 = 21;

/// The error of a call, which has this status and a sentence with these words.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, status: Status, words: &str) -> Error {
    let error = result.expect_err("an error");
    assert_eq!(error.status(), status, "{}", error);
    assert!(error.message().contains(words), "{} lacks {}", error, words);
    assert_eq!(error.to_string(), error.message());
    assert!(!error.is_busy());
    error
}

#[test]
fn invalid_arguments() {
    let (mut w, folder) = (World::new(), Folder::new());
    refused(w.config.set("model.d_model", "wide"), Status::InvalidArgument, "'wide'");
    refused(w.config.set("model.d_model", true), Status::InvalidArgument, "model.d_model");
    refused(w.config.set("model.norm", 1.5), Status::InvalidArgument, "model.norm");
    refused(w.config.set("model\0", 1), Status::InvalidArgument, "NUL at byte 5");
    let best = config_with(&[("decode.beam", "2"), ("decode.n_best", "3")]);
    refused(Decoder::new(&w.model, &best), Status::InvalidArgument, "n_best");
    refused(bleu::<&str, &str>(&[], &[], BleuTokenize::V13a), Status::InvalidArgument, "0");
    refused(bleu(&["a"], &["a", "b"], BleuTokenize::V13a), Status::InvalidArgument, "1 hypotheses and 2 references");
    refused(chrf(&["a\0b"], &["a"]), Status::InvalidArgument, "a hypothesis has a NUL at byte 1");
    refused(w.model.save("a\0b"), Status::InvalidArgument, "the path has a NUL at byte 1");
    refused(w.model.read_into(0, &mut [0.0]), Status::InvalidArgument, "count is 1");
    refused(w.model.write(0, &[1.0]), Status::InvalidArgument, "count is 1");
    let mut values = w.model.read(0).expect("values");
    values[1] = f32::NAN;
    refused(w.model.write(0, &values), Status::InvalidArgument, "not finite");
    refused(Model::average::<&Path>(&w.context, []), Status::InvalidArgument, "0");
    refused(Model::new(&w.context, None, None), Status::InvalidArgument, "vocab_size");
    refused(Corpus::from_pairs(&w.context, [("a\tb", "c")], None), Status::InvalidArgument, "pair 0");
    refused(Corpus::from_pairs(&w.context, [("a", "b"), ("c", "d\n")], None), Status::InvalidArgument, "pair 1");
    let plain = Batch::from_ids([[5, TOKEN_END]]).expect("a batch");
    refused(w.trainer.step(&plain), Status::InvalidArgument, "target");
    refused(w.trainer.step_all(&[]), Status::InvalidArgument, "0");
    refused(w.decoder.score(&plain), Status::InvalidArgument, "target");
    w.model.save(folder.join("a.xf")).expect("saved");
    let other = Model::new(&w.context, &config_with(&[("model.d_ff", "8")]), &w.tokenizer).expect("a model");
    other.save(folder.join("b.xf")).expect("saved");
    let average = Model::average(&w.context, [folder.join("a.xf"), folder.join("b.xf")]);
    refused(average, Status::InvalidArgument, "model.d_ff");
}

#[test]
fn batches_of_a_wrong_shape() {
    for (ids, offsets, words) in [
        (&[1][..], &[0][..], "do not go from 0 to the number of ids, 1"),
        (&[1], &[1, 1], "do not go from 0"),
        (&[1], &[], "do not go from 0"),
        (&[1], &[0, 2], "do not go from 0"),
        (&[1, 1], &[0, 5, 2], "fall from 5 to 2 after entry 1"),
        (&[1, 1], &[0, -1, 2], "fall from 0 to -1 after entry 0"),
    ] {
        refused(Batch::new(ids, offsets), Status::InvalidArgument, words);
        let source = Batch::from_ids([[1]]).expect("a batch");
        refused(source.with_targets(ids, offsets), Status::InvalidArgument, &format!("tgt_offsets {}", words));
    }
    let pairs = Batch::from_id_pairs([[1], [1]], [[1]]);
    refused(pairs, Status::InvalidArgument, "2 sources and 1 targets");
}

#[test]
fn out_of_range() {
    let mut w = World::new();
    refused(w.config.set("train.dropout", 2.0), Status::OutOfRange, "0.95");
    refused(w.config.set("train.dropout", f64::NAN), Status::OutOfRange, "nan");
    refused(w.config.set("model.norm", "sideways"), Status::OutOfRange, "post|pre");
    refused(w.config.set("model.heads", -1), Status::OutOfRange, "-1");
    refused(w.decoder.decode(&Batch::from_ids([[5000, 1]]).expect("a batch")), Status::OutOfRange, "5000");
    let negative = Batch::from_id_pairs([[-1, 1]], [[2, 1]]).expect("a batch");
    refused(w.trainer.step(&negative), Status::OutOfRange, "-1");
    refused(w.tokenizer.decode(&[1 << 30]), Status::OutOfRange, "1073741824");
    refused(w.tokenizer.piece(-1), Status::OutOfRange, "-1");
    refused(w.batcher.seek(0, 1 << 40), Status::OutOfRange, "1099511627776");
    refused(w.corpus.pair(12), Status::OutOfRange, "pair 12");
    refused(w.corpus.pair(usize::MAX), Status::OutOfRange, "expected 0 to 11");
    refused(w.model.read(1000), Status::OutOfRange, "parameter 1000");
    refused(w.model.write(1000, &[]), Status::OutOfRange, "parameter 1000");
    refused(w.decoder.translate(&["one ".repeat(2000)]), Status::OutOfRange, "decode.max_source_tokens");
    w.trainer.accumulate(&w.batcher.next_batch().expect("no error").expect("a batch")).expect("gradients");
    refused(w.trainer.gradient(1000), Status::OutOfRange, "parameter 1000");
    assert_eq!((w.trainer.step_count(), w.config.get_f64("train.dropout")), (0, Ok(0.1)));
}

#[test]
fn names_and_files() {
    let (mut w, folder) = (World::new(), Folder::new());
    refused(w.config.set("model.d_modle", 3), Status::NotFound, "'model.d_model'");
    refused(w.config.get_i64("model.d_modle"), Status::NotFound, "'model.d_model'");
    refused(w.config.get_str("none"), Status::NotFound, "none");
    refused(w.config.preset("gigantic"), Status::NotFound, "tiny, small, base, big");
    refused(w.model.export(folder.join("no/folder"), None), Status::NotFound, "/no/");
    refused(Context::new(&config_with(&[("context.device", "cpu:none")])), Status::NotFound, "none");
    let none = folder.join("none");
    let missing = [
        refused(Model::load(&w.context, &none), Status::NotFound, "none"),
        refused(Trainer::resume(&w.context, &none), Status::NotFound, "none"),
        refused(Tokenizer::load(&w.context, &none), Status::NotFound, "none"),
        refused(Corpus::open(&w.context, &none, None), Status::NotFound, "none"),
        refused(w.model.save(folder.join("no/folder")), Status::NotFound, "/no/"),
    ];
    assert!(missing.iter().all(|error| error.native_code() == ENOENT), "{:?}", missing);
    let directories = [
        refused(Model::load(&w.context, folder.path()), Status::Io, ""),
        refused(Tokenizer::load(&w.context, folder.path()), Status::Io, ""),
        refused(Corpus::open(&w.context, folder.path(), None), Status::Io, ""),
    ];
    assert!(directories.iter().all(|error| error.native_code() == EISDIR), "{:?}", directories);
    let io = std::io::Error::from(missing[0].clone());
    assert_eq!(io.kind(), std::io::ErrorKind::NotFound);
    let inner = io.into_inner().expect("the error inside").downcast::<Error>().expect("an xformer::Error");
    assert_eq!(*inner, missing[0]);
}

#[test]
fn damaged_files() {
    let (mut w, folder) = (World::new(), Folder::new());
    w.model.save(folder.join("model.xf")).expect("saved");
    refused(Trainer::resume(&w.context, folder.join("model.xf")), Status::Corrupt, "");
    let data = fs::read(folder.join("model.xf")).expect("a file");
    let mut flipped = data.clone();
    flipped[data.len() / 2] ^= 1;
    let file = folder.join("damaged.xf");
    for content in [&flipped[..], &data[..data.len() - 9], &data[..4], b"", &b"not a model, but text".repeat(9)] {
        fs::write(&file, content).expect("written");
        refused(Model::load(&w.context, &file), Status::Corrupt, "");
    }
    for step in 1..40 {
        fs::write(&file, &data[..step * data.len() / 40]).expect("written");
        refused(Model::load(&w.context, &file), Status::Corrupt, "");
    }
    refused(Tokenizer::load(&w.context, &file), Status::Corrupt, "");
    fs::write(&file, "not a plugin").expect("written");
    refused(w.context.load_backend(&file), Status::Backend, "damaged.xf");
    refused(w.context.load_backend(folder.join("none")), Status::NotFound, "none");
}

#[test]
fn another_version_of_a_file() {
    let (w, folder) = (World::new(), Folder::new());
    let file = folder.join("tokenizer.json");
    w.tokenizer.save(&file).expect("saved");
    let text = fs::read_to_string(&file).expect("a file");
    assert!(text.contains("\"version\":1"));
    fs::write(&file, text.replacen("\"version\":1", "\"version\":7", 1)).expect("written");
    refused(Tokenizer::load(&w.context, &file), Status::Version, "version 7");
}

#[test]
fn limits_memory_and_devices() {
    let large = [("model.d_model", "65536"), ("model.max_length", "1048576"), ("model.vocab_size", "9")];
    let context = Context::new(&config()).expect("a context");
    refused(Model::new(&context, &config_with(&large), None), Status::Limit, "");

    let budget = Context::new(&config_with(&[("context.memory_budget", "1048576")])).expect("a context");
    let base = config_with(&[("model.vocab_size", "9000"), ("model.d_model", "512")]);
    refused(Model::new(&budget, &base, None), Status::NoMemory, "1048576");
    assert_eq!(budget.memory().expect("stats").budget, 1 << 20);
    Model::new(&budget, &config_with(&[("model.vocab_size", "9")]), None).expect("the context goes on");

    let bf16 = config_with(&[("context.device", "cpu:ref"), ("context.precision", "bf16")]);
    refused(Context::new(&bf16), Status::Unsupported, "bf16");
}

#[test]
fn data() {
    let mut w = World::new();
    refused(w.tokenizer.encode(b"ab\xff"), Status::Data, "2");
    refused(w.decoder.translate(&[&b"one"[..], b"\xff"]), Status::Data, "text 1");
    refused(Batch::from_texts(&w.tokenizer, [b"\xff"]), Status::Data, "0");
    refused(Corpus::from_text(&w.context, "nothing", "", None), Status::Data, "nothing");
    let strict = config_with(&[("data.strict", "true")]);
    refused(Corpus::from_text(&w.context, "strict", "a\tb\nno tab\n", &strict), Status::Data, "strict");
    let folder = Folder::new();
    fs::write(folder.join("en"), "one\n").expect("written");
    fs::write(folder.join("de"), "eins\nzwei\n").expect("written");
    let parallel = Corpus::open_parallel(&w.context, folder.join("en"), folder.join("de"), None);
    refused(parallel, Status::Data, "");
    let none_left = config_with(&[("data.max_tokens", "2")]);
    let long = Corpus::from_pairs(&w.context, [("one two three four", "a")], None).expect("a corpus");
    refused(Batcher::new(&long, &w.tokenizer, &none_left), Status::Data, "");
    assert_eq!(w.tokenizer.encode("one").map(|ids| ids.is_empty()), Ok(false));
}

#[test]
fn nonfinite_numbers_change_nothing() {
    let mut w = World::new();
    for (index, info) in w.model.params().iter().enumerate().filter(|(_, info)| info.rows > 1) {
        w.model.write(index, &vec![3e38; info.size()]).expect("written");
    }
    let (before, batch) = (w.model.read(1).expect("values"), w.batch());
    refused(w.trainer.step(&batch), Status::Nonfinite, "");
    assert_eq!((w.model.read(1).expect("values"), w.trainer.step_count()), (before, 0));
}

#[test]
fn a_constraint_that_stops() {
    let mut w = World::new();
    w.decoder.set_constraint(|_, _| ControlFlow::Break(())).expect("a constraint");
    refused(w.decoder.translate(&["one"]), Status::Callback, "");

    let wrong = |_: &Prefix<'_>, allowed: &mut Allowed<'_>| {
        allowed.allow(100_000);
        ControlFlow::Continue(())
    };
    w.decoder.set_constraint(wrong).expect("a constraint");
    let panic = catch_unwind(AssertUnwindSafe(|| w.decoder.translate(&["one"]))).expect_err("the panic");
    let words = panic.downcast_ref::<String>().expect("a sentence");
    assert!(words.contains("id 100000, expected 0 to"), "{}", words);
    w.trainer.step(&w.batcher.next_batch().expect("no error").expect("a batch")).expect("the model is free again");

    // The decoder goes on; scores feel no constraint.
    let pair = Batch::from_id_pairs([[2, TOKEN_END]], [[3, TOKEN_END]]).expect("a batch");
    assert_eq!(w.decoder.score(&pair).expect("scores").len(), 1);
    w.decoder.clear_constraint().expect("no constraint");
    assert_eq!(w.decoder.translate(&["one"]).expect("an answer").len(), 1);
}

#[test]
fn attention_of_what_is_not_there() {
    let mut w = World::new();
    let pair = Batch::from_id_pairs([[2, TOKEN_END]], [[3, TOKEN_END]]).expect("a batch");
    let two = Batch::from_id_pairs([[2, 1], [2, 1]], [[3, 1], [3, 1]]).expect("a batch");
    let plain = Batch::from_ids([[2, TOKEN_END]]).expect("a batch");
    refused(w.decoder.attention_weights(&pair, AttentionKind::Cross, 1), Status::OutOfRange, "layer is 1");
    refused(w.decoder.attention_weights(&pair, AttentionKind::Cross, usize::MAX), Status::OutOfRange, "layer");
    refused(w.decoder.attention_weights(&two, AttentionKind::Cross, 0), Status::InvalidArgument, "2 sentences");
    refused(w.decoder.attention_weights(&plain, AttentionKind::Decoder, 0), Status::InvalidArgument, "target");
}

#[test]
fn states() {
    let (mut w, folder) = (World::new(), Folder::new());
    let batch = w.batch();
    refused(w.trainer.update(), Status::State, "");
    refused(w.trainer.gradient(0), Status::State, "");
    refused(w.trainer.seek(&mut w.batcher), Status::State, "");
    w.trainer.accumulate(&batch).expect("gradients");
    refused(w.trainer.save(folder.join("waiting"), None), Status::State, "");
    refused(w.trainer.step(&batch), Status::State, "");
    w.trainer.update().expect("a step");

    // A checkpoint of another run's batcher.
    w.trainer.save(folder.join("run.ckpt"), &w.batcher).expect("saved");
    let resumed = Trainer::resume(&w.context, folder.join("run.ckpt")).expect("a trainer");
    let other = config_with(&[("data.seed", "9")]);
    let mut batcher = Batcher::new(&w.corpus, &w.tokenizer, &other).expect("a batcher");
    refused(resumed.seek(&mut batcher), Status::Data, "data.seed");
}

/// What this crate's own buffers never meet.
#[test]
fn a_buffer_too_small_in_c() {
    let mut config = std::ptr::null_mut();
    let mut error = sys::xf_error { status: 0, native_code: 0, message: [0; sys::XF_ERROR_MESSAGE_SIZE] };
    let mut context = std::ptr::null_mut();
    let mut tokenizer = std::ptr::null_mut();
    let mut corpus = std::ptr::null_mut();
    let (mut ids, mut count) = ([0; 1], 0);
    // SAFETY: handles are made before they are used, used by this thread alone and freed once; texts have their
    // lengths.
    unsafe {
        assert_eq!(sys::xf_config_create(&mut config, &mut error), sys::XF_OK);
        assert_eq!(sys::xf_context_create(config, std::ptr::null(), &mut context, &mut error), sys::XF_OK);
        let (name, text) = (b"text\0".as_ptr().cast(), b"one\teins\n");
        let data = text.as_ptr().cast();
        let made = sys::xf_corpus_from_memory(context, config, name, data, text.len(), &mut corpus, &mut error);
        assert_eq!(made, sys::XF_OK);
        assert_eq!(sys::xf_tokenizer_train(context, config, corpus, &mut tokenizer, &mut error), sys::XF_OK);
        let status = sys::xf_tokenizer_encode(tokenizer, data, 3, ids.as_mut_ptr(), 0, &mut count, &mut error);
        assert_eq!(Status::from(status), Status::BufferTooSmall);
        assert!(count > 0);
        sys::xf_tokenizer_free(tokenizer);
        sys::xf_corpus_free(corpus);
        sys::xf_context_free(context);
        sys::xf_config_free(config);
    }
}

#[test]
fn any_order_of_dropping() {
    // What was made goes on without what it was made from.
    let World { config, context, corpus, tokenizer, mut batcher, model, mut trainer, mut decoder } = World::new();
    let batch = batcher.next_batch().expect("no error").expect("a batch").into_owned();
    drop((config, context, corpus, tokenizer, model));
    trainer.step(&batch).expect("a step");
    let found = decoder.translate(&["one two"]).expect("answers");
    assert!(batcher.next_batch().expect("no error").is_some());
    drop((trainer, decoder));
    assert!(found.best(0).expect("an answer").text().is_some());

    // Each object in turn is the last to go.
    for last in 0..7 {
        let w = World::new();
        let mut rest: Vec<Box<dyn std::any::Any>> = vec![
            Box::new(w.context),
            Box::new(w.corpus),
            Box::new(w.tokenizer),
            Box::new(w.batcher),
            Box::new(w.model),
            Box::new(w.trainer),
            Box::new(w.decoder),
        ];
        rest.rotate_left(last);
        rest.drain(..).for_each(drop);
    }
}
