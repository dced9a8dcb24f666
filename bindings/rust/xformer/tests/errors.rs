//! Errors in the form of Rust; see contracts.rs for the others.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

use support::*;
use xformer::experimental::*;
use xformer::*;

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
    let missing = refused(Model::load(&w.context, folder.join("none"), None), Status::NotFound, "none");
    let inner = std::io::Error::from(missing.clone()).into_inner().expect("the error inside");
    assert_eq!(inner.downcast_ref::<Error>(), Some(&missing));
}

#[test]
fn values_of_other_types() {
    let (mut w, mut values) = (World::new(), [0.0]);
    refused(w.config.set("model.d_model", true), Status::InvalidArgument, "model.d_model");
    refused(w.config.set("model.norm", 1.5), Status::InvalidArgument, "model.norm");
    w.config.set("train.dropout", f64::NAN).expect_err("NaN");
    refused(w.model.read_tensor_into(0, &mut values), Status::InvalidArgument, "count is 1");
    w.trainer.accumulate(&w.batcher.next_batch().expect("no error").expect("a batch")).expect("gradients");
    refused(read_gradient(&mut w.trainer, 1000), Status::OutOfRange, "1000");
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
}
