//! Threads, cancellation, deadlines, progress, models in use, and closures of the host.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::fs;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use support::*;
use xformer::experimental::*;
use xformer::*;

/// The compiler checks that all objects may be used by any thread.
const _: () = {
    const fn any_thread<T: Send + Sync + 'static>() {}
    any_thread::<Config>();
    any_thread::<Context>();
    any_thread::<CancelToken>();
    any_thread::<Comm>();
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

/// Starts a call that takes seconds on another thread, and returns while it is running.
fn running(
    context: &Context,
    mut decoder: Decoder,
    batch: &Batch<'static>,
    token: &CancelToken,
) -> thread::JoinHandle<(Decoder, Error)> {
    let (batch, before, token) = (batch.clone(), context.memory().expect("stats").allocations, token.clone());
    let worker = thread::spawn(move || {
        let result = Call::new().cancel_token(&token).run(|| decoder.decode(&batch));
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
    let (cancel, model, started) = (context.clone(), decoder.model().clone(), Instant::now());
    let embedding = model.read_tensor(0).expect("values");
    cancel.cancel(); // no effect on later calls
    let mut other = Decoder::new(&model, &config_with(&[("decode.beam", "1")])).expect("a decoder");
    let small = Batch::from_ids([[2, END]]).expect("a batch");
    let worker = running(&context, decoder, &batch, &CancelToken::new());

    // During a call that reads, other calls may read but not write.
    assert_eq!(model.read_tensor(0).expect("another reader"), embedding);
    refused(model.write_tensor(0, &embedding), Status::Busy, "");
    refused(Trainer::new(&model, None).and_then(|mut trainer| trainer.step(&small)), Status::Busy, "");
    assert_eq!(other.decode(&small).expect("hypotheses").len(), 1);

    drop(context); // kept by the other objects
    cancel.cancel();
    let (mut decoder, error) = worker.join().expect("no panic");
    assert_eq!(error.status(), Status::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(decoder.decode(&small).expect("it remains usable").len(), 1);
    model.write_tensor(0, &embedding).expect("no call is running");
}

#[test]
fn an_inner_run_replaces_the_parameters() {
    let (mut w, token) = (World::new(), CancelToken::new());
    token.clone().cancel();
    assert!(token.is_cancelled());
    Call::new().cancel_token(&token).run(|| {
        Call::new().run(|| w.decoder.translate(&["one"])).expect("not cancelled");
        refused(w.decoder.translate(&["one"]), Status::Cancelled, "");
    });
    w.decoder.translate(&["one"]).expect("not cancelled");
}

#[test]
fn a_trainer_uses_its_model_exclusively() {
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
fn cancelled_training_loses_no_batch() {
    let (mut w, mut whole) = (World::new(), World::new());
    whole.train(60);
    let (token, stop, mut cancelled) = (CancelToken::new(), AtomicBool::new(false), 0);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                token.cancel();
                thread::sleep(Duration::from_micros(300));
            }
        });
        while w.trainer.step_count() < 60 {
            let before = (w.trainer.step_count(), w.batcher.stats());
            let call = Call::new().cancel_token(&token);
            if let Err(error) = call.run(|| w.trainer.next_step(&mut w.batcher)) {
                assert_eq!(error.status(), Status::Cancelled);
                assert_eq!((w.trainer.step_count(), w.batcher.stats()), before);
                cancelled += 1;
                token.reset();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(cancelled > 0);
    assert_eq!(w.model.read_tensor(0), whole.model.read_tensor(0));
}

/// Opens a file with this text, the name of which is in the log lines.
fn open(context: &Context, text: &str) -> Result<Corpus> {
    let folder = Folder::new();
    fs::write(folder.join("some text"), text).expect("written");
    Corpus::open(context, folder.join("some text"), None)
}

fn bad_line(context: &Context) -> Result<Corpus> {
    open(context, "a\tb\nbad\n")
}

#[test]
fn a_closure_is_dropped_with_the_last_object() {
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
fn a_panic_in_a_closure_continues_after_the_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let panicking = move |_: LogLevel, _: &str, message: &str| {
        if message.contains("some text") {
            count.fetch_add(1, Ordering::Relaxed);
            panic!("from the closure");
        }
    };
    let context = Context::with_host(&config(), Host::new().log(LogLevel::Warning, panicking)).expect("a context");
    let two_lines = || open(&context, "a\tb\nbad\nworse\n");
    let panic = catch_unwind(AssertUnwindSafe(two_lines)).expect_err("the panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"from the closure"));
    assert_eq!(calls.load(Ordering::Relaxed), 1); // not twice in the same call
    catch_unwind(AssertUnwindSafe(|| bad_line(&context))).expect_err("the panic of the next call");
    assert_eq!(Corpus::from_pairs(&context, PAIRS, None).expect("the context is usable").len(), 12);
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
    let (errors, cancel, other, folder) = (Arc::clone(&found), context.clone(), World::new(), Folder::new());
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
        // Objects of another context may be used. Objects that are dropped here are freed after the call.
        assert_eq!(other.translate().len(), 12);
        cancel.cancel();
        drop((decoder, batcher, own, other, cancel));
    }));
    let text = "no tab\n".repeat(100_000) + "a\tb\n";
    let cancelled = open(&context, &text).expect_err("cancelled in its closure");
    assert_eq!(cancelled.status(), Status::Cancelled);
    let found = found.lock().expect("the lock");
    assert_eq!(found.len(), 7);
    let is_refused = |error: &Error| error.status() == Status::State && error.message().contains("callback");
    assert!(found.iter().all(is_refused), "{:?}", found);
    assert!(model.read_tensor(0).is_ok());
}

#[test]
fn progress_is_reported_and_may_stop() {
    let (context, mut decoder, batch) = slow_world();
    let mut tasks = Vec::new();
    let call = Call::new().progress(|progress| {
        tasks.push((progress.task.to_string(), progress.done, progress.total));
        refused(context.info(), Status::State, "callback");
        ControlFlow::Break(())
    });
    refused(call.run(|| decoder.decode(&batch)), Status::Callback, "");
    let (task, done, total) = tasks.last().expect("a call");
    assert!(task == "translate" && *total == batch.len() as i64 && (0..*total).contains(done), "{:?}", tasks);

    // The closure may cancel, and its own calls have no progress.
    let token = CancelToken::new();
    let call = Call::new().cancel_token(&token).progress(|_| {
        token.cancel();
        ControlFlow::Continue(())
    });
    refused(call.run(|| decoder.decode(&batch)), Status::Cancelled, "");
}

/// Trains two ranks, which must make the same steps as one.
fn two_ranks(comms: Vec<Comm>) {
    let shards = config_with(&[("train.shards", "2")]);
    let mut single = World::with(Host::new(), &shards);
    let expected = single.train(4);
    let ranks: Vec<_> = comms
        .into_iter()
        .enumerate()
        .map(|(rank, comm)| {
            let shards = shards.clone();
            thread::spawn(move || {
                let mut w = World::with(Host::new().comm(comm), &shards);
                let info = w.context.info().expect("info");
                assert_eq!((info.rank, info.rank_count), (rank as i32, 2));
                assert_eq!(all_gather(&w.context, 10 + i64::from(info.rank)), Ok(vec![10, 11]));
                (w.train(4), w.model.read_tensor(0).expect("values"))
            })
        })
        .collect();
    for rank in ranks {
        let (stats, values) = rank.join().expect("no panic");
        assert_eq!((stats, Ok(values)), (expected.clone(), single.model.read_tensor(0)));
    }
}

#[test]
fn ranks_of_a_loopback() {
    two_ranks(Comm::loopback(2).expect("two ranks"));
    drop(Comm::loopback(3).expect("not used"));
    refused(Comm::loopback(0), Status::OutOfRange, "0");
    refused(Comm::loopback(usize::MAX), Status::OutOfRange, "expected 1 to 1024");
}

/// Two ranks that are connected by channels.
struct Channel {
    sender: mpsc::Sender<Vec<u8>>,
    receiver: mpsc::Receiver<Vec<u8>>,
}

impl Transport for Channel {
    fn exchange(&mut self, sends: &[SendPart<'_>], receives: &mut [ReceivePart<'_>], timeout: Duration) -> Result<()> {
        let gone = |_| transport_error(Status::Peer, "the other rank is gone");
        for part in sends {
            self.sender.send(part.data.to_vec()).map_err(|_| gone(mpsc::RecvTimeoutError::Disconnected))?;
        }
        for part in receives {
            part.data.copy_from_slice(&self.receiver.recv_timeout(timeout).map_err(gone)?);
        }
        Ok(())
    }
}

#[test]
fn ranks_of_a_transport() {
    let ((sender, other_receiver), (other_sender, receiver)) = (mpsc::channel(), mpsc::channel());
    let first = Channel { sender, receiver };
    let second = Channel { sender: other_sender, receiver: other_receiver };
    two_ranks(vec![Comm::new(0, 2, first), Comm::new(1, 2, second)]);

    let ((sender, _), (_, receiver)) = (mpsc::channel(), mpsc::channel());
    let alone = Host::new().comm(Comm::new(0, 2, Channel { sender, receiver }));
    let context = Context::with_host(&config(), alone).expect("a context");
    refused(all_gather(&context, 1), Status::Peer, "the other rank is gone");
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
