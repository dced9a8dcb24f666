//! Threads, cancelling, models in use, log closures.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use support::*;
use xformer::*;

#[test]
fn four_threads_decode_one_model() {
    let (mut w, folder) = (World::new(), Folder::new());
    w.train(30);
    let expected = answers(&w.decoder.translate(&sources()).expect("answers"));
    w.model.save(folder.join("model.xf")).expect("saved");
    let translate = |model: &Model| {
        let mut decoder = Decoder::new(model, &config()).expect("a decoder");
        (0..5).map(|_| answers(&decoder.translate(&sources()).expect("answers"))).collect::<Vec<_>>()
    };
    let own_model = || {
        let context = Context::new(&config()).expect("a context");
        translate(&Model::load(&context, folder.join("model.xf")).expect("a model"))
    };
    thread::scope(|threads| {
        let mut workers = Vec::new();
        for _ in 0..4 {
            workers.push(threads.spawn(|| translate(&w.model)));
            workers.push(threads.spawn(own_model));
        }
        for worker in workers {
            assert_eq!(worker.join().expect("no panic"), vec![expected.clone(); 5]);
        }
    });
}

#[test]
fn objects_move_between_threads() {
    let mut w = World::new();
    let batch = w.batch();
    let (mut trainer, model) = (w.trainer, w.model.clone());
    let trainer = thread::spawn(move || {
        trainer.step(&batch).expect("a step");
        trainer
    });
    let trainer = trainer.join().expect("no panic");
    assert_eq!(trainer.step_count(), 1);
    thread::spawn(move || drop((trainer, w.context, w.decoder))).join().expect("no panic");
    assert!(model.read(0).is_ok());
}

/// Runs a decode call that takes seconds on another thread; gives it once it is under way, and what cancels it.
fn under_way(context: &Context, mut decoder: Decoder, batch: &Batch<'static>) -> thread::JoinHandle<(Decoder, Error)> {
    let (batch, before) = (batch.clone(), context.memory().expect("stats").allocations);
    let worker = thread::spawn(move || {
        let result = decoder.decode(&batch);
        (decoder, result.expect_err("it was cancelled"))
    });
    while context.memory().expect("stats").allocations == before {
        thread::sleep(Duration::from_millis(1));
    }
    worker
}

#[test]
fn cancel_and_a_model_in_use() {
    let (context, decoder, batch) = slow_world();
    let (cancel, model) = (context.cancel_handle(), decoder.model().clone());
    let (embedding, started) = (model.read(0).expect("values"), Instant::now());
    let worker = under_way(&context, decoder, &batch);

    // Beside a call that reads, others may read but none may write.
    assert_eq!(model.read(0).expect("readers go together"), embedding);
    let error = model.write(0, &embedding).expect_err("a decoder reads");
    assert!(error.is_busy() && error.status() == Status::State, "{:?}", error);
    assert!(error.message().contains("is read by a call of another thread"), "{}", error);
    assert!(Trainer::new(&model, None).expect_err("a decoder reads").is_busy());

    cancel.cancel();
    let (mut decoder, error) = worker.join().expect("no panic");
    assert_eq!(error.status(), Status::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(60));
    let small = Batch::from_ids([[2, TOKEN_END]]).expect("a batch");
    assert_eq!(decoder.decode(&small).expect("usable again").len(), 1);
    model.write(0, &embedding).expect("nobody is there");
}

#[test]
fn a_trainer_has_its_model_for_itself() {
    let w = World::new();
    let World { mut trainer, mut batcher, mut decoder, model, .. } = w;
    let stop = AtomicBool::new(false);
    let (mut refused, mut served) = (0, 0);
    let steps = thread::scope(|threads| {
        let training = threads.spawn(|| {
            let (mut made, mut refused) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                for stats in trainer.steps(&mut batcher).take(5) {
                    match stats {
                        Ok(_) => made += 1,
                        Err(error) if error.is_busy() => refused += 1,
                        Err(error) => panic!("{}", error),
                    }
                }
                thread::yield_now();
            }
            (made, refused, trainer.step_count())
        });
        let begun = Instant::now();
        while (refused < 3 || served < 3) && begun.elapsed() < Duration::from_secs(60) {
            match decoder.translate(&["one two"]) {
                Ok(_) => served += 1,
                Err(error) if error.is_busy() => {
                    assert!(error.message().contains("is changed by a call of another thread"), "{}", error);
                    refused += 1;
                }
                Err(error) => panic!("{}", error),
            }
            thread::sleep(Duration::from_micros(50));
        }
        stop.store(true, Ordering::Relaxed);
        training.join().expect("no panic")
    });
    assert!(refused >= 3 && served >= 3, "{} refused, {} served", refused, served);
    assert_eq!(steps.0, steps.2, "{} of the trainer's own calls were refused", steps.1);
    assert!(model.read(0).is_ok());
}

#[test]
fn cancelled_training_changes_nothing() {
    let mut w = World::new();
    let (before, batch) = (w.model.read(0).expect("values"), w.batch());
    w.context.cancel_handle().cancel();
    assert_eq!(w.trainer.step(&batch).expect_err("cancelled").status(), Status::Cancelled);
    assert_eq!((w.model.read(0).expect("values"), w.trainer.step_count()), (before, 0));
    w.trainer.step(&batch).expect("a step");
    let cancel = w.context.cancel_handle();
    drop(w);
    cancel.cancel(); // it holds the context
}

fn bad_line(context: &Context) -> Result<Corpus> {
    Corpus::from_text(context, "some text", "a\tb\nbad\n", None)
}

#[test]
fn log_lines() {
    let mut w = World::new();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let keep = move |level: LogLevel, component: &str, message: &str| {
        log.lock().expect("the lock").push((level, component.to_string(), message.to_string()));
    };
    w.context.set_log(LogLevel::Debug, keep).expect("a log");
    bad_line(&w.context).expect("a corpus");
    let told = |(level, component, message): &(LogLevel, String, String)| {
        *level == LogLevel::Warning && component == "data" && message.contains("some text")
    };
    assert!(lines.lock().expect("the lock").iter().any(told));
    assert!(LogLevel::Error < LogLevel::Debug);

    let count = lines.lock().expect("the lock").len();
    w.context.set_log(LogLevel::Error, |_, _, message| panic!("{}", message)).expect("a log");
    bad_line(&w.context).expect("a warning weighs less than an error");
    w.context.clear_log().expect("no log");
    bad_line(&w.context).expect("a corpus");
    assert_eq!((lines.lock().expect("the lock").len(), Arc::strong_count(&lines)), (count, 1));
}

#[test]
fn a_closure_lives_as_long_as_the_objects_and_no_longer() {
    let mut w = World::new();
    let token = Arc::new(());
    let held = Arc::clone(&token);
    w.context.set_log(LogLevel::Debug, move |_, _, _| assert!(Arc::strong_count(&held) > 1)).expect("a log");
    let World { config, context, corpus, tokenizer, mut batcher, model, mut trainer, decoder } = w;
    drop((config, context, corpus, tokenizer, model, decoder));
    trainer.step(&batcher.next_batch().expect("no error").expect("a batch")).expect("a step");
    assert_eq!(Arc::strong_count(&token), 2);
    drop((trainer, batcher));
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_panic_in_a_closure_goes_on_after_the_call() {
    let mut w = World::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let panicking = move |_: LogLevel, _: &str, _: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        panic!("from the closure");
    };
    w.context.set_log(LogLevel::Warning, panicking).expect("a log");
    let two_lines = || Corpus::from_text(&w.context, "text", "a\tb\nbad\nworse\n", None);
    let panic = catch_unwind(AssertUnwindSafe(two_lines)).expect_err("the panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"from the closure"));
    assert_eq!(calls.load(Ordering::Relaxed), 1); // not again in the same call
    catch_unwind(AssertUnwindSafe(|| bad_line(&w.context))).expect_err("the panic of the next call");
    w.context.clear_log().expect("no log");
    bad_line(&w.context).expect("the context goes on");
}

#[test]
fn a_closure_may_cancel_but_not_use_its_context() {
    let World { mut context, decoder, batcher, model, tokenizer, corpus, config, .. } = World::new();
    let other = World::new();
    let (found, objects) = (Arc::new(Mutex::new(Vec::new())), Mutex::new(Some((decoder, batcher, other))));
    let (errors, cancel) = (Arc::clone(&found), context.cancel_handle());
    let (inner, folder) = (model.clone(), Folder::new());
    let path = folder.join("x.xf");
    let meddle = move |_: LogLevel, _: &str, _: &str| {
        let (mut decoder, mut batcher, mut other) = match objects.lock().expect("the lock").take() {
            Some(objects) => objects,
            None => return, // the second line
        };
        let mut refused = vec![
            decoder.translate(&["one"]).expect_err("refused"),
            inner.read(0).expect_err("refused"),
            inner.save(&path).expect_err("refused"),
            tokenizer.encode("one").expect_err("refused"),
            corpus.pair(0).expect_err("refused"),
            batcher.next_batch().expect_err("refused"),
            Trainer::new(&inner, &config).expect_err("refused"),
        ];
        errors.lock().expect("the lock").append(&mut refused);
        // Of another context all may be used, and what is dropped here is freed in time.
        assert_eq!(other.translate().len(), 12);
        drop((decoder, batcher, other));
        cancel.cancel();
    };
    context.set_log(LogLevel::Warning, meddle).expect("a log");
    let text = "no tab\n".repeat(100_000) + "a\tb\n";
    let cancelled = Corpus::from_text(&context, "text", text, None).expect_err("cancelled in its closure");
    assert_eq!(cancelled.status(), Status::Cancelled);
    let found = found.lock().expect("the lock");
    assert_eq!(found.len(), 7);
    assert!(found.iter().all(|error| error.status() == Status::State && error.message().contains("log closure")));
    assert!(model.read(0).is_ok());
    context.clear_log().expect("no log");
}
