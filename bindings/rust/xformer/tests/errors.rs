//! Errors: status, native code, message, and that a failed call changes nothing.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

use support::*;
use xformer::experimental::*;
use xformer::*;

const ENOENT: i32 = 2;
const EISDIR: i32 = 21;

#[test]
fn numbers_and_names_of_statuses() {
    let mut known = 0;
    for code in -200..0 {
        let status = Status::from(code);
        assert_eq!((i32::from(status), status.code()), (code, code));
        match status {
            Status::Unknown(number) => assert_eq!(number, code),
            _ => {
                known += 1;
                // InvalidArgument is "XF_ERROR_INVALID_ARGUMENT".
                let c_name = status.name().strip_prefix("XF_ERROR_").expect("an error").replace('_', "");
                assert_eq!(c_name.to_lowercase(), format!("{:?}", status).to_lowercase());
            }
        }
    }
    assert_eq!(known, 22);
    assert_eq!(Status::Unknown(-100).to_string(), "XF_STATUS_UNKNOWN");
    assert_eq!(BackendState::from(77), BackendState::Unknown(77));
}

#[test]
fn errors_as_io_errors() {
    let (mut w, folder) = (World::new(), Folder::new());
    let kind = |result: Result<()>| std::io::Error::from(result.expect_err("an error")).kind();
    assert_eq!(kind(w.config.set("model.heads", -1).map(drop)), ErrorKind::InvalidInput);
    assert_eq!(kind(w.config.set("none", -1).map(drop)), ErrorKind::NotFound);
    assert_eq!(kind(w.tokenizer.encode(b"\xff").map(drop)), ErrorKind::InvalidData);
    assert_eq!(kind(w.trainer.update().map(drop)), ErrorKind::Other);
    let directory = refused(Model::load(&w.context, folder.path(), None), Status::Io, "");
    assert_eq!(kind(Err(directory)), std::io::Error::from_raw_os_error(EISDIR).kind());
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
    refused(bleu(&[""; 0], &[""; 0], BleuTokenize::V13a), Status::InvalidArgument, "0");
    refused(bleu(&["a"], &["a", "b"], BleuTokenize::V13a), Status::InvalidArgument, "1 hypotheses and 2 references");
    refused(w.model.save("a\0b", None), Status::InvalidArgument, "the path contains NUL at byte 1");
    refused(w.model.read_tensor_into(0, &mut [0.0]), Status::InvalidArgument, "count is 1");
    refused(w.model.write_tensor(0, &[1.0]), Status::InvalidArgument, "count is 1");
    let mut values = w.model.read_tensor(0).expect("values");
    values[1] = f32::NAN;
    refused(w.model.write_tensor(0, &values), Status::InvalidArgument, "not finite");
    refused(Model::average::<&str>(&w.context, []), Status::InvalidArgument, "0");
    refused(Model::new(&w.context, None, None), Status::InvalidArgument, "vocab_size");
    refused(w.model.set_metadata("", "text"), Status::InvalidArgument, "");
    refused(w.model.set_metadata("a", "b\0"), Status::InvalidArgument, "the value contains NUL at byte 1");
    refused(w.corpus.subset(&[]), Status::InvalidArgument, "");
    let params = DecodeParams::new().prefixes(["a"]);
    refused(w.decoder.translate_with(&["a", "b"], params), Status::InvalidArgument, "1 prefixes for 2 sentences");
    let plain = Batch::from_ids([[5, END]]).expect("a batch");
    refused(w.trainer.step(&plain), Status::InvalidArgument, "target");
    refused(w.trainer.step_all(&[]), Status::InvalidArgument, "0");
    refused(w.decoder.score(&plain), Status::InvalidArgument, "target");
    w.model.save(folder.join("a.xf"), None).expect("saved");
    let other = Model::new(&w.context, &w.tokenizer, &config_with(&[("model.d_ff", "8")])).expect("a model");
    other.save(folder.join("b.xf"), None).expect("saved");
    let average = Model::average(&w.context, [folder.join("a.xf"), folder.join("b.xf")]);
    refused(average, Status::InvalidArgument, "model.d_ff");
}

#[test]
fn batches_of_a_wrong_shape() {
    for (ids, offsets, words) in [
        (&[1][..], &[0][..], "must begin with 0 and end with the number of ids, 1"),
        (&[1], &[1, 1], "must begin with 0"),
        (&[1], &[], "must begin with 0"),
        (&[1], &[0, 2], "must begin with 0"),
        (&[1, 1], &[0, 5, 2], "decrease from 5 to 2 after index 1"),
        (&[1, 1], &[0, -1, 2], "decrease from 0 to -1 after index 0"),
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
    w.config.set("train.dropout", f64::NAN).expect_err("NaN");
    refused(w.config.set("model.norm", "sideways"), Status::OutOfRange, "post|pre");
    refused(w.config.set("model.heads", -1), Status::OutOfRange, "-1");
    let negative = Batch::from_id_pairs([[-1, 1]], [[2, 1]]).expect("a batch");
    refused(w.trainer.step(&negative), Status::OutOfRange, "-1");
    refused(w.tokenizer.decode(&[1 << 30]), Status::OutOfRange, "1073741824");
    refused(w.tokenizer.piece(-1), Status::OutOfRange, "-1");
    refused(w.batcher.seek(0, 1 << 40), Status::OutOfRange, "1099511627776");
    refused(w.corpus.pair(12), Status::OutOfRange, "12");
    refused(w.corpus.pair(usize::MAX), Status::OutOfRange, "expected 0 to 11");
    refused(w.model.read_tensor(1000), Status::OutOfRange, "1000");
    refused(w.model.write_tensor(1000, &[]), Status::OutOfRange, "1000");
    refused(w.corpus.subset(&[12]), Status::OutOfRange, "12");
    refused(w.corpus.split(12, 1), Status::OutOfRange, "12");
    w.trainer.accumulate(&w.batcher.next_batch().expect("no error").expect("a batch")).expect("gradients");
    refused(read_gradient(&mut w.trainer, 1000), Status::OutOfRange, "1000");
    assert_eq!((w.trainer.step_count(), w.config.get_f64("train.dropout")), (0, Ok(0.1)));
}

#[test]
fn names_and_files() {
    let (mut w, folder) = (World::new(), Folder::new());
    refused(w.config.set("model.d_modle", 3), Status::NotFound, "'model.d_model'");
    refused(w.config.get_i64("model.d_modle"), Status::NotFound, "'model.d_model'");
    refused(w.config.get_str("none"), Status::NotFound, "none");
    refused(w.config.preset("gigantic"), Status::NotFound, "tiny, small, base, big");
    refused(Context::new(&config_with(&[("context.device", "cpu:none")])), Status::NotFound, "none");
    let none = folder.join("none");
    let missing = [
        refused(Model::load(&w.context, &none, None), Status::NotFound, "none"),
        refused(Trainer::resume(&w.context, &none, None), Status::NotFound, "none"),
        refused(Tokenizer::load(&w.context, &none), Status::NotFound, "none"),
        refused(Corpus::open(&w.context, &none, None), Status::NotFound, "none"),
        refused(w.model.save(folder.join("no/folder"), None), Status::NotFound, "/no/"),
    ];
    assert!(missing.iter().all(|error| error.native_code() == ENOENT), "{:?}", missing);
    let directories = [
        refused(Model::load(&w.context, folder.path(), None), Status::Io, ""),
        refused(Tokenizer::load(&w.context, folder.path()), Status::Io, ""),
    ];
    refused(Corpus::open(&w.context, folder.path(), None), Status::Data, "has no files");
    assert!(directories.iter().all(|error| error.native_code() == EISDIR), "{:?}", directories);
    let io = std::io::Error::from(missing[0].clone());
    assert_eq!(io.kind(), std::io::ErrorKind::NotFound);
    let inner = io.into_inner().expect("the error inside").downcast::<Error>().expect("an xformer::Error");
    assert_eq!(*inner, missing[0]);
}

#[test]
fn damaged_files() {
    let (w, folder) = (World::new(), Folder::new());
    w.model.save(folder.join("model.xf"), None).expect("saved");
    refused(Trainer::resume(&w.context, folder.join("model.xf"), None), Status::InvalidArgument, "");
    let data = fs::read(folder.join("model.xf")).expect("a file");
    let mut flipped = data.clone();
    flipped[data.len() / 2] ^= 1;
    let file = folder.join("damaged.xf");
    for content in [&flipped[..], &data[..data.len() - 9], &data[..4], b"", &b"not a model, but text".repeat(9)] {
        fs::write(&file, content).expect("written");
        refused(Model::load(&w.context, &file, None), Status::Corrupt, "");
    }
    for step in 1..40 {
        fs::write(&file, &data[..step * data.len() / 40]).expect("written");
        refused(Model::load(&w.context, &file, None), Status::Corrupt, "");
    }
    refused(Tokenizer::load(&w.context, &file), Status::Corrupt, "");
    refused(Model::load(&w.context, &data[..data.len() / 2], None), Status::Corrupt, "");
    refused(Model::inspect(&w.context, b"no model", None), Status::Corrupt, "");
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
    refused(Model::new(&context, None, &config_with(&large)), Status::Limit, "");

    let budget = Context::new(&config_with(&[("context.memory_budget", "1048576")])).expect("a context");
    let base = config_with(&[("model.vocab_size", "9000"), ("model.d_model", "512")]);
    refused(Model::new(&budget, None, &base), Status::NoMemory, "1048576");
    assert_eq!(budget.memory().expect("stats").budget, 1 << 20);
    Model::new(&budget, None, &config_with(&[("model.vocab_size", "9")])).expect("the context is usable");

    let bf16 = config_with(&[("context.device", "cpu:ref"), ("context.precision", "bf16")]);
    refused(Context::new(&bf16), Status::Unsupported, "bf16");
}

#[test]
fn data() {
    let w = World::new();
    refused(w.tokenizer.encode(b"ab\xff"), Status::Data, "2");
    refused(Batch::from_texts(&w.model, [b"\xff"], None), Status::Data, "0");
    refused(Corpus::from_pairs::<&str, &str>(&w.context, [], None), Status::Data, "");
    let strict = config_with(&[("data.strict", "true")]);
    refused(Corpus::from_pairs(&w.context, [("a", "b"), ("c", "")], &strict), Status::Data, "");
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
    for (index, info) in w.model.tensors().iter().enumerate().filter(|(_, info)| info.shape.len() > 1) {
        w.model.write_tensor(index, &vec![3e38; info.size()]).expect("written");
    }
    let (before, batch) = (w.model.read_tensor(1).expect("values"), w.batch());
    let position = w.batcher.stats().expect("stats");
    refused(w.trainer.step(&batch), Status::Nonfinite, "");
    refused(w.trainer.next_step(&mut w.batcher), Status::Nonfinite, "");
    assert_eq!(w.batcher.stats().expect("stats"), position); // no batch was skipped
    assert_eq!((w.model.read_tensor(1).expect("values"), w.trainer.step_count()), (before, 0));
}

#[test]
fn a_constraint_that_stops() {
    let mut w = World::new();
    let stop = DecodeParams::new().constraint(Constraint::new(|_| ControlFlow::Break(())));
    refused(w.decoder.translate_with(&["one"], stop), Status::Callback, "");

    let mut calls = 0;
    let wrong = DecodeParams::new().constraint(Constraint::new(|partials| {
        calls += 1;
        partials[0].allow(100_000);
        ControlFlow::Continue(())
    }));
    let translate = || w.decoder.translate_with(&["one", "two"], wrong);
    let panic = catch_unwind(AssertUnwindSafe(translate)).expect_err("the panic");
    let words = panic.downcast_ref::<String>().expect("a sentence");
    assert!(words.contains("id 100000, expected 0 to") && calls == 1, "{} {}", words, calls);
    w.trainer.next_step(&mut w.batcher).expect("the model is not in use");
    assert_eq!(w.decoder.translate(&["one"]).expect("a hypothesis").len(), 1);
}

#[test]
fn a_bad_sentence_has_its_own_error() {
    let mut w = World::new();
    let long = "one ".repeat(2000);
    let texts = [&b"one two"[..], b"ab\xff", long.as_bytes(), b"three"];
    let found = w.decoder.translate(&texts).expect("the call succeeds");
    assert_eq!(found.len(), 4);
    refused(found.get(1), Status::Data, "2");
    refused(found.best(1), Status::Data, "2");
    refused(found.get(2), Status::OutOfRange, "model.max_length");
    refused(found.get(4), Status::OutOfRange, "4");
    refused(found.texts(), Status::Data, "");
    for (sentence, text) in [(0, "one two"), (3, "three")] {
        let alone = w.decoder.translate(&[text]).expect("a hypothesis");
        assert_eq!(found.best(sentence), alone.best(0));
    }
    let batch = Batch::from_ids([&[5, END][..], &[5000, END], &[-1, END]]).expect("a batch");
    let found = w.decoder.decode(&batch).expect("the call succeeds");
    assert!(found.best(0).is_ok());
    refused(found.best(1), Status::OutOfRange, "5000");
    refused(found.best(2), Status::OutOfRange, "-1");
    assert_eq!(found.iter().filter(Result::is_ok).count(), 1);
}

#[test]
fn attention_of_missing_layers() {
    let mut w = World::new();
    let pair = Batch::from_id_pairs([[2, END]], [[3, END]]).expect("a batch");
    let two = Batch::from_id_pairs([[2, 1], [2, 1]], [[3, 1], [3, 1]]).expect("a batch");
    let plain = Batch::from_ids([[2, END]]).expect("a batch");
    refused(attention_weights(&mut w.decoder, &pair, AttentionKind::Cross, 1), Status::OutOfRange, "layer is 1");
    refused(attention_weights(&mut w.decoder, &pair, AttentionKind::Cross, usize::MAX), Status::OutOfRange, "layer");
    refused(attention_weights(&mut w.decoder, &two, AttentionKind::Cross, 0), Status::InvalidArgument, "2 sentences");
    refused(attention_weights(&mut w.decoder, &plain, AttentionKind::Decoder, 0), Status::InvalidArgument, "target");
}

#[test]
fn states() {
    let (mut w, folder) = (World::new(), Folder::new());
    let batch = w.batch();
    refused(w.trainer.update(), Status::State, "");
    refused(read_gradient(&mut w.trainer, 0), Status::State, "");
    refused(w.batcher.resume(&w.trainer), Status::State, "");
    w.trainer.accumulate(&batch).expect("gradients");
    refused(w.trainer.save(folder.join("waiting"), None), Status::State, "");
    refused(w.trainer.step(&batch), Status::State, "");
    w.trainer.update().expect("a step");

    // A checkpoint of a run with another batcher.
    w.trainer.save(folder.join("run.ckpt"), &w.batcher).expect("saved");
    let resumed = Trainer::resume(&w.context, folder.join("run.ckpt"), None).expect("a trainer");
    let other = config_with(&[("data.seed", "9")]);
    let mut batcher = Batcher::new(&w.corpus, &w.tokenizer, &other).expect("a batcher");
    refused(batcher.resume(&resumed), Status::Data, "data.seed");
    let seed = config_with(&[("train.seed", "77")]);
    refused(Trainer::resume(&w.context, folder.join("run.ckpt"), &seed), Status::State, "train.seed");
    refused(w.trainer.copy_average(), Status::State, "");
    let ids = Batch::from_id_pairs([[5, END]], [[6, END]]).expect("a batch");
    refused(Corpus::from_ids(&w.context, &ids).expect("a corpus").pair(0), Status::State, "");
}

/// The buffers of this crate are never too small.
#[test]
fn a_buffer_too_small_in_c() {
    let mut config = std::ptr::null_mut();
    let mut error = sys::xf_error { status: 0, native_code: 0, message: [0; sys::XF_ERROR_MESSAGE_SIZE] };
    let mut context = std::ptr::null_mut();
    let mut tokenizer = std::ptr::null_mut();
    let mut corpus = std::ptr::null_mut();
    let (null_config, null_call) = (std::ptr::null(), std::ptr::null());
    let (mut ids, mut count) = ([0; 1], 0);
    // SAFETY: handles are created before they are used, and freed once; texts are NUL-terminated or have lengths.
    unsafe {
        assert_eq!(sys::xf_config_create(&mut config, &mut error), sys::XF_OK);
        assert_eq!(sys::xf_context_create(config, std::ptr::null(), &mut context, &mut error), sys::XF_OK);
        let text = b"one\0".as_ptr().cast();
        let (texts, lengths) = (&text as *const _, std::ptr::null());
        let status = sys::xf_corpus_from_pairs(
            context,
            texts,
            lengths,
            texts,
            lengths,
            1,
            null_config,
            null_call,
            &mut corpus,
            &mut error,
        );
        assert_eq!(status, sys::XF_OK);
        let status = sys::xf_tokenizer_train(context, corpus, config, null_call, &mut tokenizer, &mut error);
        assert_eq!(status, sys::XF_OK);
        let status = sys::xf_tokenizer_encode(tokenizer, text, 3, ids.as_mut_ptr(), 0, &mut count, &mut error);
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
    // Objects remain usable without those from which they were created.
    let World { config, context, corpus, tokenizer, mut batcher, model, mut trainer, mut decoder } = World::new();
    let batch = batcher.next_batch().expect("no error").expect("a batch").into_owned();
    drop((config, context, corpus, tokenizer, model));
    trainer.step(&batch).expect("a step");
    let found = decoder.translate(&["one two"]).expect("hypotheses");
    assert!(batcher.next_batch().expect("no error").is_some());
    drop((trainer, decoder));
    assert!(found.best(0).expect("a hypothesis").text().is_some());

    // Each object is the last one once.
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
