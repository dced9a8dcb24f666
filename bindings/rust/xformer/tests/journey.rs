//! From text to scores: tokenizer, model, training, files, translation, and the functions of each object.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use support::*;
use xformer::*;

#[test]
fn callbacks_of_sources_that_panic() {
    let w = World::new();
    let panicking = Source::callback(100, |_, _| panic!("from the reader"));
    let load = || Model::load(&w.context, panicking, None);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)).expect_err("the panic");
    let elsewhere = Context::new(&w.config).expect("a context");
    let (before, far) = (w.model.read_tensor(0), w.model.copy(&elsewhere, None).expect("a copy"));
    drop(w);
    assert_eq!(far.read_tensor(0), before);
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
