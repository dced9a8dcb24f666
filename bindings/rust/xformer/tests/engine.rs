//! The engine: results, partial results, futures, cancellation, deadlines, constraints, and a new model.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use support::*;
use xformer::*;

/// The compiler checks that all objects may be used by any thread.
const _: () = {
    const fn any_thread<T: Send + Sync + 'static>() {}
    any_thread::<Engine>();
    any_thread::<Translation>();
    any_thread::<Event>();
};

/// An engine of the world's model that computes in step().
fn stepped(w: &World, options: &[(&str, &str)]) -> Engine {
    let mut config = config_with(options);
    config.set("engine.thread", false).expect("an option");
    Engine::new(&w.model, &config).expect("an engine")
}

fn run(engine: &Engine) {
    while engine.step().expect("a step") {}
}

fn text(found: &Hypotheses) -> String {
    found.texts().expect("a text").remove(0)
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for futures on this thread, polling all of them after each wake.
fn block_on<T: Future + Unpin>(mut futures: Vec<T>) -> Vec<T::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = std::task::Context::from_waker(&waker);
    let mut found: Vec<Option<T::Output>> = futures.iter().map(|_| None).collect();
    while found.iter().any(Option::is_none) {
        for (future, found) in futures.iter_mut().zip(&mut found).filter(|(_, found)| found.is_none()) {
            if let Poll::Ready(output) = Pin::new(future).poll(&mut task) {
                *found = Some(output);
            }
        }
        if found.iter().any(Option::is_none) {
            thread::park();
        }
    }
    found.into_iter().flatten().collect()
}

#[test]
fn results_are_those_of_the_decoder() {
    let mut w = World::new();
    w.train(20);
    let mut config = Config::new().expect("a config");
    config.set("decode.beam", 3).expect("an option").set("decode.n_best", 2).expect("an option");
    let params = || DecodeParams::new().config(&config);
    let expected = all(&w.decoder.translate_with(&sources(), params()).expect("hypotheses"));
    let engine = Engine::new(&w.model, &w.config).expect("an engine");
    let request = |source: &'static str| Request::text(source).config(&config);

    // Waited for in any order, received by next(), and awaited, all at the same time on several threads.
    let wait = |sources: &[&'static str]| -> Vec<_> {
        let waiting: Vec<_> = sources.iter().map(|s| engine.translate(request(s)).expect("accepted")).collect();
        waiting.into_iter().rev().map(|one| all(&one.wait().expect("hypotheses")).remove(0)).rev().collect()
    };
    let events = |sources: &[&'static str]| -> Vec<_> {
        let ids: Vec<_> = sources.iter().map(|s| engine.submit(request(s)).expect("accepted")).collect();
        let mut found = vec![None; ids.len()];
        for _ in &ids {
            let event = engine.next(None).expect("no error").expect("an event");
            let at = ids.iter().position(|id| *id == event.id).expect("one of the ids");
            assert!(event.last && event.model_hash != 0);
            found[at] = Some(all(&event.result.expect("hypotheses")).remove(0));
        }
        found.into_iter().flatten().collect()
    };
    let futures = |sources: &[&'static str]| -> Vec<_> {
        let futures = sources.iter().map(|s| engine.translate(request(s)).expect("accepted")).collect();
        block_on(futures).into_iter().map(|found| all(&found.expect("hypotheses")).remove(0)).collect()
    };
    assert_eq!(futures(&sources()), expected);
    thread::scope(|threads| {
        let workers = [
            threads.spawn(|| wait(&sources())),
            threads.spawn(|| wait(&sources())),
            threads.spawn(|| futures(&sources())),
            threads.spawn(|| futures(&sources())),
            threads.spawn(|| events(&sources())),
        ];
        for worker in workers {
            assert_eq!(worker.join().expect("no panic"), expected);
        }
    });

    // Ids, prefixes, and texts that cannot be decoded.
    let ids = w.model.encode(Side::Source, "one two", None).expect("ids");
    let found = engine.translate(Request::ids(&ids).config(&config)).expect("accepted").wait().expect("hypotheses");
    let batch = Batch::from_ids([ids]).expect("a batch");
    assert_eq!(all(&found), all(&w.decoder.decode_with(&batch, params()).expect("hypotheses")));
    let found = engine.translate(Request::text("two").prefix("eins ")).expect("accepted").wait().expect("hypotheses");
    assert!(text(&found).starts_with("eins"), "{}", text(&found));
    let found = engine.translate(Request::text("").prefix("")).expect("accepted").wait().expect("hypotheses");
    assert_eq!(text(&found), "");
    refused(engine.translate(Request::text(b"\xff")).expect("accepted").wait(), Status::Data, "");
    refused(engine.translate(Request::text("one").prefix_ids(&[5])), Status::InvalidArgument, "prefix_ids");
    refused(engine.translate(Request::text("one").priority(1001)), Status::OutOfRange, "priority");
    refused(engine.step(), Status::State, "thread");
}

#[test]
fn partial_results_only_grow() {
    let mut w = World::new();
    w.train(150);
    let options = [("decode.beam", "1"), ("decode.min_tokens", "6")];
    let mut expected = Decoder::new(&w.model, &config_with(&options)).expect("a decoder");
    let engine = stepped(&w, &options);
    let mut partial = 0;
    for source in sources() {
        let id = engine.submit(Request::text(source).stream(true)).expect("accepted");
        let mut before = String::new();
        let mut last = false;
        while !last {
            engine.step().expect("a step");
            if let Some(event) = engine.next(Duration::ZERO).expect("no error") {
                let found = event.result.expect("hypotheses");
                assert!(event.id == id && text(&found).starts_with(&before));
                assert_eq!(found.best(0).expect("a hypothesis").complete, event.last);
                (last, before) = (event.last, text(&found));
                partial += usize::from(!last);
            }
        }
        assert_eq!(vec![before], expected.translate(&[source]).expect("hypotheses").texts().expect("texts"));
    }
    assert!(partial > sources().len());

    // The iterator waits, and ends after the last result.
    let engine = Engine::new(&w.model, &config_with(&options)).expect("an engine");
    let mut translation = engine.translate(Request::text("two one four").stream(true)).expect("accepted");
    let texts: Vec<_> = translation.by_ref().map(|found| text(&found.expect("hypotheses"))).collect();
    assert!(texts.windows(2).all(|pair| pair[1].starts_with(&pair[0])));
    let whole = expected.translate(&["two one four"]).expect("hypotheses").texts().expect("texts");
    assert_eq!(texts.last(), whole.first());
    assert_eq!(translation.model_hash(), engine.info().expect("info").model_hash);
    assert!(translation.next().is_none());
    refused(translation.wait(), Status::State, "received");
}

#[test]
fn requests_end_early() {
    let w = World::new();
    let engine = stepped(&w, &[]);
    let translation = engine.translate(Request::text("one")).expect("accepted");
    let late = engine.translate(Request::text("two").deadline(Duration::from_millis(1))).expect("accepted");
    assert_eq!(engine.cancel(translation.id()), Ok(true));
    refused(engine.cancel(99), Status::NotFound, "99");
    thread::sleep(Duration::from_millis(3));
    run(&engine);
    assert_eq!(engine.cancel(translation.id()), Ok(false));
    refused(translation.wait(), Status::Cancelled, "");
    refused(late.wait(), Status::Deadline, "");

    // A translation that is dropped, also a polled one, cancels its request and needs no receiver.
    let mut polled = engine.translate(Request::text("one")).expect("accepted");
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    assert!(Pin::new(&mut polled).poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    drop((polled, engine.translate(Request::text("two")).expect("accepted")));
    run(&engine);
    while engine.info().expect("info").events > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    let info = engine.info().expect("info");
    assert_eq!((info.submitted, info.cancelled, info.failed), (4, 3, 1));

    // The wait has the token and the deadline of the call; a wait that ends cancels its request.
    let (token, call) = (CancelToken::new(), Call::new().deadline(Duration::from_millis(5)));
    refused(call.run(|| engine.next(None)), Status::Deadline, "");
    token.cancel();
    refused(Call::new().cancel_token(&token).run(|| engine.next(None)), Status::Cancelled, "");
    let translation = engine.translate(Request::text("one")).expect("accepted");
    refused(Call::new().cancel_token(&token).run(|| translation.wait()), Status::Cancelled, "");
    assert!(engine.next(Duration::from_millis(1)).expect("no error").is_none());
}

#[test]
fn cancelling_the_context_ends_all_waits() {
    let w = World::new();
    let engine = stepped(&w, &[]);
    let waiting: Vec<_> = (0..3).map(|_| engine.translate(Request::text("one")).expect("accepted")).collect();
    let (sender, ended) = mpsc::channel();
    thread::scope(|threads| {
        for one in waiting {
            let sender = sender.clone();
            threads.spawn(move || sender.send(one.wait().map(drop)).expect("a receiver"));
        }
        for _ in 0..3 {
            let outcome = loop {
                w.context.cancel(); // no effect on waits that have not begun
                if let Ok(outcome) = ended.recv_timeout(Duration::from_millis(20)) {
                    break outcome;
                }
            };
            refused(outcome, Status::Cancelled, "");
        }
    });
}

#[test]
fn a_full_engine_is_busy() {
    let w = World::new();
    let engine = stepped(&w, &[("engine.max_requests", "2")]);
    for _ in 0..2 {
        engine.submit(Request::text("one")).expect("accepted");
    }
    refused(engine.translate(Request::text("two")), Status::Busy, "engine.max_requests");
    run(&engine);
    refused(engine.submit(Request::text("two")), Status::Busy, "engine.max_requests"); // not received
    assert_eq!(engine.next(None).expect("no error").expect("an event").id, 1);
    assert_eq!(engine.submit(Request::text("two")), Ok(3));
}

#[test]
fn a_new_model_decodes_later_requests() {
    let mut w = World::new();
    let (engine, batch) = (stepped(&w, &[]), w.batch());
    let copy = w.model.copy(None, None).expect("a copy");
    let mut trainer = Trainer::new(&copy, &w.config).expect("a trainer");
    trainer.step(&batch).expect("a step");
    drop(trainer);
    let before = engine.info().expect("info").model_hash;
    let mut first = engine.translate(Request::text("one two")).expect("accepted");
    assert_eq!(engine.step(), Ok(true));
    refused(w.trainer.step(&batch), Status::Busy, "");
    engine.set_model(&copy).expect("replaced");
    let info = engine.info().expect("info");
    assert!(info.model_hash != before && info.model_count == 2);
    let mut second = engine.translate(Request::text("one two")).expect("accepted");
    run(&engine);
    for (translation, hash) in [(&mut first, before), (&mut second, info.model_hash)] {
        translation.next().expect("a result").expect("hypotheses");
        assert_eq!(translation.model_hash(), hash);
    }
    w.trainer.step(&batch).expect("the engine does not use its model");
    refused(engine.set_model(&World::new().model), Status::InvalidArgument, "context");
}

#[test]
fn constraints_live_until_the_last_event() {
    let mut w = World::new();
    let expected = w.decoder.translate(&["one"]).expect("hypotheses");
    let engine = Engine::new(&w.model, &w.config).expect("an engine");
    let calls = Arc::new(AtomicUsize::new(0));
    let request = |flow: fn() -> ControlFlow<()>| {
        let calls = Arc::clone(&calls);
        Request::text("one").constraint(move |partials| {
            assert!(partials.iter().all(|partial| partial.sentence == 0 && partial.allows(END)));
            calls.fetch_add(1, Ordering::Relaxed);
            flow()
        })
    };
    let wait = |flow| engine.translate(request(flow)).expect("accepted").wait();
    let free = wait(|| ControlFlow::Continue(()));
    assert_eq!(all(&free.expect("hypotheses")), all(&expected));
    assert!(calls.load(Ordering::Relaxed) > 0);
    refused(wait(|| ControlFlow::Break(())), Status::Callback, "constraint");
    refused(wait(|| panic!("from the {}", "closure")), Status::Callback, "from the closure");
    refused(engine.submit(request(|| ControlFlow::Continue(())).priority(-1001)), Status::OutOfRange, "");
    let nothing = Request::text("one").constraint(|partials| {
        partials.iter_mut().for_each(|partial| partial.allow_only([END]));
        ControlFlow::Continue(())
    });
    assert_eq!(text(&engine.translate(nothing).expect("accepted").wait().expect("hypotheses")), "");
    assert_eq!(Arc::strong_count(&calls), 1);

    // An engine that ends frees those that are left.
    let idle = stepped(&w, &[]);
    idle.submit(request(|| ControlFlow::Continue(()))).expect("accepted");
    let batch = w.batch();
    drop((idle, engine));
    assert_eq!(Arc::strong_count(&calls), 1);
    w.trainer.step(&batch).expect("no engine uses the model");
}

#[test]
fn an_engine_may_end_in_its_constraint_or_waker() {
    type Last = Arc<Mutex<Option<Engine>>>;
    let w = World::new();
    let (dropped, ended) = mpsc::channel();
    let last = Last::default();
    let engine = Engine::new(&w.model, &w.config).expect("an engine");
    let (own, sender) = (Arc::clone(&last), Mutex::new(dropped.clone()));
    *last.lock().expect("the lock") = Some(engine.clone());
    let request = Request::text("one").constraint(move |_| {
        thread::sleep(Duration::from_millis(30)); // until the test has dropped its engine
        drop(own.lock().expect("the lock").take());
        let _ = sender.lock().expect("the lock").send(());
        ControlFlow::Continue(())
    });
    engine.submit(request).expect("accepted");
    drop(engine);
    ended.recv().expect("the constraint was called");

    struct DropTranslation(Mutex<Option<Translation>>, Mutex<mpsc::Sender<()>>);
    impl Wake for DropTranslation {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().expect("the lock").take());
            self.1.lock().expect("the lock").send(()).expect("a receiver");
        }
    }
    let engine = stepped(&w, &[]);
    let mut translation = engine.translate(Request::text("one")).expect("accepted");
    let waker = Arc::new(DropTranslation(Mutex::default(), Mutex::new(dropped)));
    let task = Waker::from(Arc::clone(&waker));
    assert!(Pin::new(&mut translation).poll(&mut std::task::Context::from_waker(&task)).is_pending());
    *waker.0.lock().expect("the lock") = Some(translation);
    run(&engine);
    drop(engine);
    ended.recv().expect("the task was woken");
}
