//! Forks, leaks, and other versions of the library. These tests run in separate processes.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::fs;
use std::ops::ControlFlow;
use std::os::raw::c_int;
use std::path::PathBuf;
use std::process::{Command, Output};

use support::*;
use xformer::experimental::Constraint;
use xformer::*;

extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// Runs one ignored test of this file in a separate process with these environment variables.
fn alone(test: &str, variables: &[(&str, PathBuf)]) -> Output {
    let program = std::env::current_exe().expect("this program");
    let arguments = ["--exact", test, "--ignored", "--nocapture", "--test-threads=1"];
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    command.output().expect("it runs")
}

fn passed(output: &Output) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{}\n{}", out, err);
}

#[test]
fn forks() {
    passed(&alone("a_forked_child", &[]));
}

#[test]
#[ignore = "run by forks() in a separate process"]
fn a_forked_child() {
    let mut w = World::new();
    w.train(2);
    let engine = Engine::new(&w.model, &w.config).expect("an engine");
    let translation = engine.translate(Request::text("one")).expect("accepted");
    drop(engine.translate(Request::text("two"))); // starts the receiver thread
                                                  // SAFETY: the child has its own copy of the memory and ends with _exit.
    let child = unsafe { fork() };
    if child == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| in_the_child(w, engine, translation)));
        // SAFETY: it ends the child, which has nothing to clean up.
        unsafe { _exit(if outcome.is_ok() { 7 } else { 1 }) }
    }
    let mut status = 0;
    // SAFETY: `status` is valid.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!((status & 0x7f, status >> 8), (0, 7));
    assert_eq!(w.translate().len(), 12);
    assert_eq!(translation.wait().expect("hypotheses").len(), 1);
}

fn in_the_child(mut w: World, engine: Engine, translation: Translation) {
    let batch = Batch::from_ids([[2, END]]).expect("a batch");
    let errors = [
        w.context.memory().expect_err("forked"),
        w.context.backends().expect_err("forked"),
        w.corpus.stats().expect_err("forked"),
        w.batcher.next_batch().expect_err("forked"),
        w.decoder.decode(&batch).expect_err("forked"),
        w.trainer.step(&batch).expect_err("forked"),
        w.model.read_tensor(0).expect_err("forked"),
        engine.info().expect_err("forked"),
        engine.submit(Request::text("one")).expect_err("forked"),
        translation.wait().expect_err("forked"),
        Model::new(&w.context, &w.tokenizer, &w.config).expect_err("forked"),
    ];
    for error in errors {
        assert_eq!(error.status(), Status::Forked, "{}", error);
    }
    drop((w, engine));
    let mut new = World::new();
    new.train(1);
    assert_eq!(new.translate().len(), 12);
}

/// Replaces the version functions of the library.
#[test]
fn another_version_of_the_library() {
    let folder = Folder::new();
    let (source, library) = (folder.join("other.c"), folder.join("libother.so"));
    let text = "#include <stdlib.h>\n\
                int xf_version_num(void) { return atoi(getenv(\"OTHER_NUMBER\")); }\n\
                const char *xf_version(void) { return \"other\"; }\n";
    fs::write(&source, text).expect("written");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler).args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(status.expect("a C compiler, cc").success());
    for (number, test) in [
        (0x000200, "a_library_that_does_not_fit"),
        (0x000009, "a_library_that_does_not_fit"),
        (0x010100, "a_library_that_does_not_fit"),
        (-1, "a_library_that_does_not_fit"),
        (0x000163, "a_library_that_fits"),
    ] {
        let variables = [("LD_PRELOAD", library.clone()), ("OTHER_NUMBER", number.to_string().into())];
        passed(&alone(test, &variables));
    }
}

#[test]
#[ignore = "run by another_version_of_the_library() in a separate process"]
fn a_library_that_fits() {
    assert!(Config::new().is_ok());
}

#[test]
#[ignore = "run by another_version_of_the_library() in a separate process"]
fn a_library_that_does_not_fit() {
    let errors = [
        Context::new(None).expect_err("another version"),
        Config::new().expect_err("another version"),
        options().expect_err("another version"),
        chrf(&["a"], &["a"]).expect_err("another version"),
    ];
    for error in errors {
        assert_eq!(error.status(), Status::Version);
        assert_eq!(error.message(), "the loaded library has version other, but this crate needs version 0.1");
    }
}

#[test]
fn leaks() {
    passed(&alone("memory_is_freed", &[]));
}

fn resident() -> i64 {
    let text = fs::read_to_string("/proc/self/statm").expect("a Linux");
    4096 * text.split(' ').nth(1).expect("pages").parse::<i64>().expect("a number")
}

#[test]
#[ignore = "run by leaks() in a separate process"]
fn memory_is_freed() {
    let mut kept = World::new();
    let batch = Batch::from_text_pairs(&kept.model, PAIRS, None).expect("a batch");
    let folder = Folder::new();
    let (model, checkpoint) = (folder.join("model.xf"), folder.join("run.ckpt"));
    kept.model.save(&model, None).expect("saved");
    kept.trainer.save(&checkpoint, None).expect("saved");
    let no_leak = |name: &str, count: usize, work: &mut dyn FnMut()| {
        (0..count / 3).for_each(|_| work());
        let before = resident();
        (0..count).for_each(|_| work());
        // A leak in each call exceeds this limit; the variation of the allocator does not.
        let more = resident() - before;
        assert!(more < 1 << 20, "{}: {} bytes more after {} times", name, more, count);
    };
    no_leak("world", 200, &mut || {
        let mut w = World::with(Host::new().log(LogLevel::Debug, |_, _, _| ()), &config());
        w.train(1);
        w.translate();
    });
    no_leak("context", 300, &mut || drop(Context::new(&config_with(&[("context.threads", "2")]))));
    no_leak("config", 3000, &mut || drop(kept.config.clone()));
    no_leak("corpus", 2000, &mut || drop(Corpus::from_pairs(&kept.context, PAIRS, None)));
    no_leak("tokenizer", 300, &mut || drop(Tokenizer::train(&kept.context, &kept.corpus, &kept.config)));
    no_leak("batcher", 1000, &mut || {
        drop(Batcher::new(&kept.corpus, &kept.tokenizer, &kept.config).expect("a batcher").next_batch());
    });
    no_leak("model", 300, &mut || {
        drop(Model::load(&kept.context, &model, None).expect("a model").tokenizer().cloned())
    });
    no_leak("trainer", 300, &mut || drop(Trainer::resume(&kept.context, &checkpoint, None).expect("a trainer")));
    no_leak("decoder", 500, &mut || drop(Decoder::new(&kept.model, &kept.config)));
    no_leak("errors", 3000, &mut || {
        Model::load(&kept.context, "/none", None).expect_err("no such file");
        kept.decoder.translate(&[b"\xff"]).expect("hypotheses").best(0).expect_err("not UTF-8");
        Config::new().expect("a config").set("none", 1).expect_err("no such option");
    });
    no_leak("hypotheses", 500, &mut || drop(kept.decoder.translate(&sources()).expect("hypotheses").texts()));
    no_leak("prefixes", 500, &mut || {
        let params = DecodeParams::new().prefixes(["eins"]).config(&kept.config);
        let constraint = Constraint::new(|_| ControlFlow::Continue(()));
        drop(kept.decoder.translate_with(&["one"], params.constraint(constraint)));
    });
    no_leak("bytes", 300, &mut || {
        let bytes = kept.model.to_bytes(None).expect("bytes");
        let copy = Model::load(&kept.context, &bytes, None).expect("a model");
        copy.set_metadata("key", "text").expect("stored");
        drop(copy.copy_with_weights(NumberType::Int8).expect("a copy").metadata());
    });
    let engine = Engine::new(&kept.model, &kept.config).expect("an engine");
    no_leak("requests", 500, &mut || {
        let request = Request::text("one").stream(true).constraint(|_| ControlFlow::Continue(()));
        engine.translate(request).expect("accepted").wait().expect("hypotheses");
        drop(engine.translate(Request::text("two")));
        engine.submit(Request::text("three")).expect("accepted");
        while !engine.next(None).expect("no error").expect("an event").last {}
    });
    no_leak("engine", 300, &mut || {
        let engine = Engine::new(&kept.model, &kept.config).expect("an engine");
        let request = Request::text("one").constraint(|_| ControlFlow::Continue(()));
        engine.submit(request).expect("accepted");
    });
    drop(engine);
    no_leak("scores", 500, &mut || drop(kept.decoder.score(&batch).expect("scores")));
    no_leak("calls", 3000, &mut || {
        let token = CancelToken::new();
        token.cancel();
        let call = Call::new().cancel_token(&token).progress(|_| ControlFlow::Continue(()));
        call.run(|| kept.decoder.score(&batch)).expect_err("cancelled");
    });
}
