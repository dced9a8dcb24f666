//! Threads, cancelling, deadlines, models in use, closures of the host.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::ops::ControlFlow;
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
    w.model.save(folder.join("model.xf"), None).expect("saved");
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

/// What the headers' thread rules allow, checked by the compiler.
const _: () = {
    const fn any_thread<T: Send + Sync + 'static>() {}
    any_thread::<Config>();
    any_thread::<Context>();
    any_thread::<CancelHandle>();
    any_thread::<Host>();
    any_thread::<Corpus>();
    any_thread::<Tokenizer>();
    any_thread::<Batcher>();
    any_thread::<Batch<'static>>();
    any_thread::<Model>();
    any_thread::<Trainer>();
    any_thread::<Decoder>();
    any_thread::<Hypotheses>();
    any_thread::<Hypothesis<'static>>();
    any_thread::<Error>();
};

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
    assert!(model.read_tensor(0).is_ok());
}

/// Runs a decode call that takes seconds on another thread; gives it once it is under way.
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
    let (context, decoder, batch) = slow_world(Host::new());
    let (cancel, model, started) = (context.cancel_handle(), decoder.model().clone(), Instant::now());
    let embedding = model.read_tensor(0).expect("values");
    cancel.cancel(); // while nothing runs it does nothing
    let mut other = Decoder::new(&model, &config_with(&[("decode.beam", "1")])).expect("a decoder");
    let small = Batch::from_ids([[2, TOKEN_END]]).expect("a batch");
    let worker = under_way(&context, decoder, &batch);

    // Beside a call that reads, others may read but none may write.
    assert_eq!(model.read_tensor(0).expect("readers go together"), embedding);
    refused(model.write_tensor(0, &embedding), Status::Busy, "");
    refused(Trainer::new(&model, None).and_then(|mut trainer| trainer.step(&small)), Status::Busy, "");
    other.cancel_handle().cancel(); // not of the decoder that runs
    assert_eq!(other.decode(&small).expect("answers").len(), 1);

    drop(context); // the objects keep it
    cancel.cancel();
    let (mut decoder, error) = worker.join().expect("no panic");
    assert_eq!(error.status(), Status::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(decoder.decode(&small).expect("usable again").len(), 1);
    model.write_tensor(0, &embedding).expect("nobody is there");
}

#[test]
fn one_decoder_is_cancelled() {
    let (context, decoder, batch) = slow_world(Host::new());
    let cancel = decoder.cancel_handle();
    let worker = under_way(&context, decoder, &batch);
    cancel.clone().cancel();
    let (decoder, error) = worker.join().expect("no panic");
    assert_eq!(error.status(), Status::Cancelled);
    drop(decoder);
    cancel.cancel(); // it holds the decoder
}

#[test]
fn a_deadline_gives_what_there_is() {
    let (_, mut decoder, batch) = slow_world(Host::new());
    let mut soon = Config::new().expect("a config");
    soon.set("decode.deadline_ms", 200).expect("an option");
    let started = Instant::now();
    let found = decoder.decode_with(&batch, DecodeParams::new().config(&soon)).expect("what there is");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(found.len(), batch.len());
    let mut late = 0;
    for sentence in found.iter() {
        match sentence {
            Ok(answers) => assert!(!answers[0].complete),
            Err(error) => {
                assert_eq!(error.status(), Status::Deadline);
                late += 1;
            }
        }
    }
    assert!(late > 0);
}

#[test]
fn a_trainer_has_its_model_for_itself() {
    let World { mut trainer, mut batcher, mut decoder, model, .. } = World::new();
    let stop = AtomicBool::new(false);
    let (mut refused, mut served) = (0, 0);
    let steps = thread::scope(|threads| {
        let training = threads.spawn(|| {
            let (mut made, mut refused) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                for stats in trainer.steps(&mut batcher).take(5) {
                    match stats {
                        Ok(_) => made += 1,
                        Err(error) if error.status() == Status::Busy => refused += 1,
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
                Err(error) if error.status() == Status::Busy => refused += 1,
                Err(error) => panic!("{}", error),
            }
            thread::sleep(Duration::from_micros(50));
        }
        stop.store(true, Ordering::Relaxed);
        training.join().expect("no panic")
    });
    assert!(refused >= 3 && served >= 3, "{} refused, {} served", refused, served);
    assert_eq!(steps.0, steps.2, "{} of the trainer's own calls were refused", steps.1);
    assert!(model.read_tensor(0).is_ok());
}

#[test]
fn cancelled_training_leaves_no_batch_out() {
    let (mut w, mut whole) = (World::new(), World::new());
    whole.train(60);
    let (cancel, stop, mut cancelled) = (w.trainer.cancel_handle(), AtomicBool::new(false), 0);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                cancel.cancel();
                thread::sleep(Duration::from_micros(300));
            }
        });
        while w.trainer.step_count() < 60 {
            let before = (w.trainer.step_count(), w.batcher.stats());
            if let Err(error) = w.trainer.next_step(&mut w.batcher) {
                assert_eq!(error.status(), Status::Cancelled);
                assert_eq!((w.trainer.step_count(), w.batcher.stats()), before);
                cancelled += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(cancelled > 0);
    assert_eq!(w.model.read_tensor(0), whole.model.read_tensor(0));
}

fn bad_line(context: &Context) -> Result<Corpus> {
    Corpus::from_text(context, "some text", "a\tb\nbad\n", None)
}

type Lines = Arc<Mutex<Vec<(LogLevel, String, String)>>>;

/// A host that keeps the lines from a level on.
fn keeping(level: LogLevel) -> (Host, Lines) {
    let lines = Lines::default();
    let log = Arc::clone(&lines);
    let keep = move |level: LogLevel, component: &str, message: &str| {
        log.lock().expect("the lock").push((level, component.to_string(), message.to_string()));
    };
    (Host::new().log(level, keep), lines)
}

#[test]
fn log_lines() {
    let (host, lines) = keeping(LogLevel::Info);
    let w = World::with(host, &config());
    assert!(!lines.lock().expect("the lock").is_empty(), "those of creation");
    bad_line(&w.context).expect("a corpus");
    let told = |(level, component, message): &(LogLevel, String, String)| {
        *level == LogLevel::Warning && component == "data" && message.contains("some text")
    };
    assert!(lines.lock().expect("the lock").iter().any(told));
    assert!(LogLevel::Error < LogLevel::Debug);

    let (host, errors) = keeping(LogLevel::Error);
    bad_line(&Context::with_host(&config(), host).expect("a context")).expect("a corpus");
    assert!(errors.lock().expect("the lock").is_empty(), "a warning is less severe than an error");
    assert_eq!(Arc::strong_count(&errors), 1);
}

#[test]
fn a_closure_lives_as_long_as_the_objects_and_no_longer() {
    let token = Arc::new(());
    let held = Arc::clone(&token);
    let log = move |_: LogLevel, _: &str, _: &str| assert!(Arc::strong_count(&held) > 1);
    let w = World::with(Host::new().log(LogLevel::Debug, log), &config());
    let World { config, context, corpus, tokenizer, mut batcher, model, mut trainer, decoder } = w;
    drop((config, context, corpus, tokenizer, model, decoder));
    trainer.next_step(&mut batcher).expect("a step");
    assert_eq!(Arc::strong_count(&token), 2);
    drop((trainer, batcher));
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_panic_in_a_closure_goes_on_after_the_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let panicking = move |_: LogLevel, _: &str, message: &str| {
        if message.contains("some text") {
            count.fetch_add(1, Ordering::Relaxed);
            panic!("from the closure");
        }
    };
    let context = Context::with_host(&config(), Host::new().log(LogLevel::Warning, panicking)).expect("a context");
    let two_lines = || Corpus::from_text(&context, "some text", "a\tb\nbad\nworse\n", None);
    let panic = catch_unwind(AssertUnwindSafe(two_lines)).expect_err("the panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"from the closure"));
    assert_eq!(calls.load(Ordering::Relaxed), 1); // not again in the same call
    catch_unwind(AssertUnwindSafe(|| bad_line(&context))).expect_err("the panic of the next call");
    assert_eq!(Corpus::from_pairs(&context, PAIRS, None).expect("the context goes on").len(), 12);
}

#[test]
fn a_closure_may_cancel_but_not_use_its_context() {
    type Meddle = Box<dyn FnOnce() + Send>;
    let meddle: Arc<Mutex<Option<Meddle>>> = Arc::default();
    let (found, inner) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&meddle));
    let host = Host::new().log(LogLevel::Warning, move |_, _, _| {
        let meddle = inner.lock().expect("the lock").take();
        if let Some(meddle) = meddle {
            meddle();
        }
    });
    let World { context, mut decoder, mut batcher, model, tokenizer, corpus, config, .. } =
        World::with(host, &config());
    let (errors, cancel, other, folder) = (Arc::clone(&found), context.cancel_handle(), World::new(), Folder::new());
    let (own, path) = (model.clone(), folder.join("x.xf"));
    *meddle.lock().expect("the lock") = Some(Box::new(move || {
        let mut other = other;
        let mut refused = vec![
            decoder.translate(&["one"]).expect_err("refused"),
            own.read_tensor(0).expect_err("refused"),
            own.save(&path, None).expect_err("refused"),
            tokenizer.encode("one").expect_err("refused"),
            corpus.pair(0).expect_err("refused"),
            batcher.next_batch().expect_err("refused"),
            Trainer::new(&own, &config).expect_err("refused"),
        ];
        errors.lock().expect("the lock").append(&mut refused);
        // Of another context all may be used, and what is dropped here is freed in time.
        assert_eq!(other.translate().len(), 12);
        drop((decoder, batcher, own, other));
        cancel.cancel();
    }));
    let text = "no tab\n".repeat(100_000) + "a\tb\n";
    let cancelled = Corpus::from_text(&context, "text", text, None).expect_err("cancelled in its closure");
    assert_eq!(cancelled.status(), Status::Cancelled);
    let found = found.lock().expect("the lock");
    assert_eq!(found.len(), 7);
    let told = |error: &Error| error.status() == Status::State && error.message().contains("closure");
    assert!(found.iter().all(told), "{:?}", found);
    assert!(model.read_tensor(0).is_ok());
}

#[test]
fn progress_is_told_and_may_stop() {
    let tasks = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&tasks);
    let host = Host::new().progress(move |task, done, total| {
        told.lock().expect("the lock").push((task.to_string(), done, total));
        ControlFlow::Break(())
    });
    let (_, mut decoder, batch) = slow_world(host);
    let error = decoder.decode(&batch).expect_err("stopped");
    assert_eq!(error.status(), Status::Callback);
    let tasks = tasks.lock().expect("the lock");
    let (task, done, total) = tasks.last().expect("a call");
    assert!(task == "translate" && *total == batch.len() as i64 && (0..*total).contains(done), "{:?}", tasks);
}

#[test]
fn an_executor_of_the_program() {
    let mut expected = World::new();
    let losses = expected.train(5);
    let threads = config_with(&[("context.threads", "3")]);
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let side_by_side = Host::new().parallel(move |tasks, task| {
        count.fetch_add(1, Ordering::Relaxed);
        thread::scope(|threads| (0..tasks).for_each(|_| drop(threads.spawn(task))));
    });
    let too_often = Host::new().parallel(|tasks, task| (0..2 * tasks).for_each(|_| task()));
    let not_at_all = Host::new().parallel(|_, _| ());
    for host in [side_by_side, too_often, not_at_all] {
        let mut w = World::with(host, &threads);
        assert_eq!(w.train(5), losses);
        assert_eq!(w.model.read_tensor(0), expected.model.read_tensor(0));
        assert_eq!(w.translate(), expected.translate());
    }
    assert!(calls.load(Ordering::Relaxed) > 0);

    let panicking = Host::new().parallel(|_, _| panic!("from the executor"));
    let mut w = World::with(panicking, &threads);
    let panic = catch_unwind(AssertUnwindSafe(|| w.train(1))).expect_err("the panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"from the executor"));
}
