//! Runs the contracts of bindings/contracts.tsv, which all bindings have in common.
//
// SPDX-License-Identifier: Apache-2.0

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Cursor};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use support::*;
use xformer::experimental::*;
use xformer::*;

/// The status and the message of an operation that failed.
struct Failure(String, String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = Some(error.native_code()).filter(|code| *code != 0);
        let message = format!("{}{}", error, code.map_or(String::new(), |code| format!(" ({})", code)));
        // The error of a callback of a source or a sink is a part of the message.
        let raised = error.status() == Status::Io && message.contains("from within");
        Failure(if raised { "RAISED".into() } else { short_name(error.status()) }, message)
    }
}

fn short_name(status: Status) -> String {
    status.name().trim_start_matches("XF_ERROR_").to_string()
}

type Outcome = Result<String, Failure>;
type Operation = fn(&mut World, &[Vec<u8>]) -> Outcome;

fn within<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Other, "from within"))
}

fn unescaped(text: &str) -> Vec<u8> {
    let text = text.replace("\\0", "\0").replace("\\t", "\t").replace("\\n", "\n");
    let text = text.replace("LONG", &"one ".repeat(2000));
    let mut bytes = Vec::new();
    for (index, part) in text.split("\\e").enumerate() {
        bytes.extend((index > 0).then_some(0xff));
        bytes.extend(part.bytes());
    }
    bytes
}

fn text(argument: &[u8]) -> &str {
    std::str::from_utf8(argument).expect("a text")
}

fn number<T: std::str::FromStr>(argument: &[u8]) -> T {
    text(argument).parse().ok().expect("a number")
}

fn numbers<T: std::str::FromStr>(argument: &[u8]) -> Vec<T> {
    text(argument).split_whitespace().map(|word| number(word.as_bytes())).collect()
}

fn several(argument: &[u8], separator: u8) -> Vec<&[u8]> {
    let parts = argument.split(|byte| *byte == separator).collect();
    if argument.is_empty() {
        Vec::new()
    } else {
        parts
    }
}

fn texts(argument: &[u8]) -> Vec<&str> {
    several(argument, b'/').into_iter().map(text).collect()
}

fn pairs_of(argument: &[u8]) -> Vec<(&[u8], &[u8])> {
    several(argument, b';')
        .into_iter()
        .map(|row| row.split_at(row.iter().position(|b| *b == b'/').expect("a slash")))
        .map(|(source, target)| (source, &target[1..]))
        .collect()
}

fn options(arguments: &[Vec<u8>]) -> Result<Config> {
    let mut config = config();
    for option in arguments.chunks(2) {
        config.set(text(&option[0]), text(&option[1]))?;
    }
    Ok(config)
}

/// Only the options of the arguments.
fn only(arguments: &[Vec<u8>]) -> Result<Config> {
    let mut config = Config::new()?;
    for option in arguments.chunks(2) {
        config.set(text(&option[0]), text(&option[1]))?;
    }
    Ok(config)
}

fn one_pair(source: &[u8], target: &[u8]) -> Result<Batch<'static>> {
    let source = numbers::<i32>(source);
    if target.is_empty() {
        return Batch::from_ids([source]);
    }
    Batch::from_id_pairs([source], [numbers::<i32>(target)])
}

fn statuses(found: &Hypotheses) -> String {
    let name = |sentence: Result<_>| sentence.map_or_else(|error| short_name(error.status()), |_| "OK".to_string());
    found.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn same(equal: bool) -> Outcome {
    Ok(if equal { "equal" } else { "different" }.to_string())
}

fn truth(value: bool) -> &'static str {
    if value {
        "True"
    } else {
        "False"
    }
}

/// The outcome of a call without a value.
fn fails<T>(result: Result<T>) -> Outcome {
    Ok(result.map(|_| String::new())?)
}

fn side(name: &[u8]) -> Side {
    if name == b"source" {
        Side::Source
    } else {
        Side::Target
    }
}

fn save<'s>(w: &mut World, kind: &[u8], sink: impl Into<Sink<'s>>) -> Result<()> {
    match kind {
        b"checkpoint" => w.trainer.save(sink, None),
        b"tokenizer" => w.tokenizer.save(sink),
        _ => w.model.save(sink, None),
    }
}

/// The bytes of a file of the world.
fn saved(w: &mut World, kind: &[u8]) -> Vec<u8> {
    if kind == b"checkpoint" {
        w.train(1);
    }
    let mut data = Vec::new();
    save(w, kind, &mut data).expect("saved");
    data
}

fn loaded<'s>(w: &World, kind: &[u8], source: impl Into<Source<'s>>) -> Outcome {
    Ok(match kind {
        b"checkpoint" => Trainer::resume(&w.context, source, None)?.step_count().to_string(),
        b"tokenizer" => Tokenizer::load(&w.context, source)?.info().vocab_size.to_string(),
        b"inspect" => {
            let s = Model::inspect(&w.context, source, None)?;
            let weights = format!("{:?}", s.weights).to_lowercase();
            let known = format!("{} parameters, {} ids, step {}", s.parameters, s.vocab_size, s.step);
            let ordered = s.file_bytes < s.decode_bytes && s.decode_bytes < s.train_bytes;
            let end = if ordered { ", ordered" } else { "" };
            format!("{}, tokenizer {}, {}{}", known, truth(s.has_tokenizer), weights, end)
        }
        _ => Model::load(&w.context, source, None)?.config().get_str("model.vocab_size")?.to_string(),
    })
}

fn loaded_path(w: &World, kind: &[u8], path: &str) -> Outcome {
    match kind {
        b"corpus" => Ok(Corpus::open(&w.context, path, None)?.len().to_string()),
        _ => loaded(w, kind, path),
    }
}

fn load(w: &mut World, a: &[Vec<u8>]) -> Outcome {
    let (folder, kind) = (Folder::new(), &a[0][..]);
    let path = |name: &str| folder.join(name).to_str().expect("a path").to_string();
    let mut data = match text(&a[1]) {
        "missing" => return loaded_path(w, kind, &path("none")),
        "folder" => return loaded_path(w, kind, folder.path().to_str().expect("a path")),
        "nul" => return loaded_path(w, kind, "a\0b"),
        "text" => b"text".repeat(50),
        "empty" => Vec::new(),
        "model" => saved(w, b"model"),
        _ => saved(w, kind),
    };
    match text(&a[1]) {
        "half" => data.truncate(data.len() / 2),
        "flipped" => {
            let middle = data.len() / 2;
            data[middle] ^= 1;
        }
        "newer" => data = text(&data).replace("\"version\":1", "\"version\":7").into_bytes(),
        _ => (),
    }
    fs::write(path("file"), &data).expect("written");
    match text(&a[2]) {
        "path" => loaded(w, kind, path("file")),
        "bytes" => loaded(w, kind, &data),
        "file" => loaded(w, kind, &fs::File::open(path("file")).expect("a file")),
        "callback" => loaded(w, kind, Source::reader(&mut Cursor::new(&data)).expect("a reader")),
        _ => loaded(w, kind, Source::callback(data.len() as u64, |_, _| within())),
    }
}

fn save_and_load(w: &mut World, a: &[Vec<u8>]) -> Outcome {
    let (folder, kind) = (Folder::new(), &a[0][..]);
    let (path, mut data) = (folder.join("file"), Vec::new());
    let file = fs::File::create(&path).expect("a file");
    match text(&a[1]) {
        "path" => save(w, kind, &path)?,
        "bytes" => save(w, kind, &mut data)?,
        "file" => save(w, kind, &file)?,
        "callback" => save(w, kind, Sink::writer(&mut &file))?,
        "nofolder" => save(w, kind, folder.join("no/folder"))?,
        "nul" => save(w, kind, "a\0b")?,
        _ => save(w, kind, Sink::callback(|_, _| within()))?,
    }
    if data.is_empty() {
        data = fs::read(&path).expect("a file");
    }
    loaded(w, kind, &data).map(|_| "loads".to_string())
}

/// A pair of tokenizers.
fn pair(w: &World) -> Tokenizer {
    let side = |kind, size| {
        let mut data = Vec::new();
        let given = config_with(&[("tokenizer.kind", kind), ("tokenizer.vocab_size", size)]);
        Tokenizer::train(&w.context, &w.corpus, &given).and_then(|one| one.save(&mut data)).expect("saved");
        text(&data).replace('\\', "\\\\").replace('"', "\\\"")
    };
    let json = format!(
        "{{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"pair\",\"source\":\"{}\",\"target\":\"{}\"}}",
        side("bpe", "280"),
        side("wordpiece", "270")
    );
    Tokenizer::load(&w.context, json.as_bytes()).expect("a pair")
}

fn pair_model(w: &World) -> (Model, Decoder) {
    let model = Model::new(&w.context, &pair(w), &config_with(&[("model.tie", "decoder")])).expect("a model");
    let decoder = Decoder::new(&model, &w.config).expect("a decoder");
    (model, decoder)
}

fn sides(tokenizer: &Tokenizer) -> String {
    let name = |side| tokenizer.side(side).map(|one| format!("{} {}", one.info().kind, one.info().vocab_size));
    format!("{}, {}", name(Side::Source).expect("a side"), name(Side::Target).expect("a side"))
}

fn round_trip(tokenizer: &Tokenizer, text: &[u8]) -> Outcome {
    Ok(tokenizer.decode(&tokenizer.encode(text)?)?)
}

fn slow() -> (Vec<&'static str>, Config) {
    let more = [("decode.max_extra_tokens", "40"), ("decode.min_tokens", "40")];
    (vec!["one two three four"; 3000], config_with(&more))
}

fn slow_translation(decoder: &mut Decoder, constraint: Option<Constraint<'_>>) -> Result<Hypotheses> {
    let (texts, config) = slow();
    let params = DecodeParams::new().config(&config);
    match constraint {
        Some(constraint) => decoder.translate_with(&texts, params.constraint(constraint)),
        None => decoder.translate_with(&texts, params),
    }
}

fn cancelled_before(w: &mut World, a: &[Vec<u8>]) -> Outcome {
    let (folder, batch) = (Folder::new(), w.batch());
    fs::write(folder.join("pairs"), "a\tb\n").expect("written");
    let (model, checkpoint, words) = (saved(w, b"model"), saved(w, b"checkpoint"), saved(w, b"tokenizer"));
    let mut average = Trainer::new(&w.model, &config_with(&[("train.ema", "0.5")])).expect("a trainer");
    average.step(&batch).expect("a step");
    let (mut position, mut out) = (Vec::new(), Vec::new());
    w.trainer.save(&mut position, &w.batcher).expect("saved");
    let resumed = Trainer::resume(&w.context, &position, None).expect("a trainer");
    let mut call = || match text(&a[0]) {
        "translate" => w.decoder.translate(&["one"]).map(drop),
        "decode" => w.decoder.decode(&batch).map(drop),
        "score" => w.decoder.score(&batch).map(drop),
        "score_texts" => w.decoder.score_texts(&PAIRS).map(drop),
        "evaluate" => w.decoder.evaluate(&mut w.batcher).map(drop),
        "step" => w.trainer.step(&batch).map(drop),
        "next" => w.trainer.next_step(&mut w.batcher).map(drop),
        "accumulate" => w.trainer.accumulate(&batch).map(drop),
        "train_tokenizer" => Tokenizer::train(&w.context, &w.corpus, &w.config).map(drop),
        "load_tokenizer" => Tokenizer::load(&w.context, &words).map(drop),
        "save_tokenizer" => w.tokenizer.save(&mut out),
        "load" => Model::load(&w.context, &model, None).map(drop),
        "save" => w.model.save(&mut out, None),
        "average" => Model::average(&w.context, [&model]).map(drop),
        "copy" => w.model.copy(None, None).map(drop),
        "open" => Corpus::open(&w.context, folder.join("pairs"), None).map(drop),
        "pairs" => Corpus::from_pairs(&w.context, PAIRS, None).map(drop),
        "ids" => Corpus::from_ids(&w.context, &batch).map(drop),
        "batcher" => Batcher::new(&w.corpus, &w.tokenizer, &w.config).map(drop),
        "next_batch" => w.batcher.next_batch().map(drop),
        "seek" => w.batcher.seek(0, 1),
        "resume_batcher" => w.batcher.resume(&resumed),
        "resume" => Trainer::resume(&w.context, &checkpoint, None).map(drop),
        "checkpoint" => w.trainer.save(&mut out, None),
        "copy_average" => average.copy_average().map(drop),
        "gather" => all_gather(&w.context, 7).map(drop),
        other => panic!("there is no call {}", other),
    };
    let token = CancelToken::new();
    token.cancel();
    let outcome = Call::new().cancel_token(&token).run(&mut call);
    call().expect("it is not cancelled");
    Ok(outcome.map(|()| "not cancelled".to_string())?)
}

const OPERATIONS: &[(&str, Operation)] = &[
    ("config.set", |w, a| {
        w.config.set(text(&a[0]), text(&a[1]))?;
        Ok(w.config.get_str(text(&a[0]))?.to_string())
    }),
    ("config.preset", |_, a| Ok(Config::new()?.preset(text(&a[0]))?.get_str("model.d_model")?.to_string())),
    ("config.copy", |w, _| {
        w.config.set("data.seed", 5)?;
        let mut copy = w.config.clone();
        copy.set("data.seed", 7)?;
        Ok(format!("{} {}", w.config.get_i64("data.seed")?, copy.get_i64("data.seed")?))
    }),
    ("option", |_, a| Ok(option(text(&a[0]))?.default_value.to_string())),
    ("bleu", |_, a| Ok(format!("{:.0}", bleu(&texts(&a[0]), &texts(&a[1]), BleuTokenize::V13a)?.score))),
    ("chrf", |_, a| Ok(format!("{:.0}", chrf(&texts(&a[0]), &texts(&a[1]))?.score))),
    ("sentences", |_, a| {
        let language = Some(text(&a[1])).filter(|code| !code.is_empty());
        let spans = split_sentences(&a[0], language, text(&a[2]).parse().expect("a number"))?;
        Ok(spans.into_iter().map(|span| text(&a[0][span])).collect::<Vec<_>>().join("/"))
    }),
    ("context.create", |_, a| Ok(Context::new(&only(a)?)?.info()?.backend)),
    ("context.info", |w, _| {
        let info = w.context.info()?;
        let precision = format!("{:?}", info.precision).to_lowercase();
        Ok(format!("{} {} {} {}", precision, info.threads, info.rank, info.rank_count))
    }),
    ("context.backends", |w, _| {
        let backends = w.context.backends()?;
        Ok(format!("{} active", backends.iter().filter(|backend| backend.state == BackendState::Active).count()))
    }),
    ("context.memory", |w, _| {
        let memory = w.context.memory()?;
        let counted = memory.peak >= memory.current && memory.current > 0 && memory.allocations > 0;
        Ok(format!("budget {}, {}", memory.budget, truth(counted)))
    }),
    ("version", |_, _| {
        let (number, known) = (version_num(), !build_info().is_empty());
        let text = format!("{}.{}.{}", number >> 16, number >> 8 & 0xff, number & 0xff);
        Ok(truth(known && text == version()).to_string())
    }),
    ("context.gather", |w, a| Ok(all_gather(&w.context, number(&a[0]))?[0].to_string())),
    ("context.budget", |_, a| {
        let context = Context::new(&config_with(&[("context.memory_budget", text(&a[0]))]))?;
        let mut config = Config::new()?;
        fails(Model::new(&context, None, &*config.set("model.vocab_size", 9000)?))
    }),
    ("load", load),
    ("save", save_and_load),
    ("tokenizer.info", |w, _| {
        let info = w.tokenizer.info();
        Ok(format!("{} {} {} {}", info.kind, info.vocab_size, info.start_token, info.end_token))
    }),
    ("tokenizer.encode", |w, a| round_trip(&w.tokenizer, &a[0])),
    ("tokenizer.decode", |w, a| Ok(w.tokenizer.decode(&numbers(&a[0]))?)),
    ("tokenizer.piece", |w, a| Ok(w.tokenizer.piece(number(&a[0]))?)),
    ("model.encode", |w, a| {
        let ids = w.model.encode(side(&a[0]), &a[1], &only(&a[2..])?)?;
        let (end, ids) = ids.split_last().expect("an end symbol");
        Ok(format!("{} + {}", w.tokenizer.decode(ids)?, end))
    }),
    ("pair.info", |w, _| {
        let pair = pair(w);
        let info = pair.info();
        let start = format!("{} {} {} {}", info.kind, info.vocab_size, info.start_token, info.end_token);
        Ok(format!("{}: {}", start, sides(&pair)))
    }),
    ("pair.encode", |w, a| round_trip(&pair(w), &a[0])),
    ("pair.decode", |w, a| Ok(pair(w).decode(&numbers(&a[0]))?)),
    ("pair.side", |w, a| round_trip(&pair(w).side(side(&a[0]))?, &a[1])),
    ("pair.model_encode", |w, a| {
        let (model, _) = pair_model(w);
        let one = model.tokenizer().expect("a pair").side(side(&a[0]))?;
        let ids = model.encode(side(&a[0]), &a[1], None)?;
        same(ids == [one.encode(&a[1])?, vec![one.info().end_token]].concat())
    }),
    ("pair.score_texts", |w, a| {
        let (model, mut decoder) = pair_model(w);
        let pairs: Vec<_> = several(&a[0], b'/').into_iter().zip(several(&a[1], b'/')).collect();
        let scores = decoder.score_texts(&pairs)?;
        let good: Vec<_> =
            pairs.iter().zip(&scores).filter(|(_, score)| score.is_ok()).map(|(pair, _)| *pair).collect();
        let count = good.len();
        let expected = decoder.score(&Batch::from_text_pairs(&model, good, None)?)?;
        let equal = same(scores.into_iter().flatten().collect::<Vec<_>>() == expected)?;
        Ok(format!("{} {}", equal, count))
    }),
    ("pair.translate", |w, a| Ok(statuses(&pair_model(w).1.translate(&several(&a[0], b'/'))?))),
    ("pair.train", |w, a| {
        let (model, _) = pair_model(w);
        let mut batcher = Batcher::new(&w.corpus, model.tokenizer(), &w.config)?;
        let mut trainer = Trainer::new(&model, &w.config)?;
        trainer.steps(&mut batcher).take(number(&a[0])).collect::<Result<Vec<_>>>()?;
        Ok(trainer.step_count().to_string())
    }),
    ("pair.file", |w, _| {
        let model = Model::load(&w.context, &pair_model(w).0.to_bytes(None)?, None)?;
        let tokenizer = model.tokenizer().expect("a tokenizer");
        Ok(format!("{}: {}", tokenizer.info().kind, sides(tokenizer)))
    }),
    ("pair.one_embedding", |w, _| fails(Model::new(&w.context, &pair(w), &config()))),
    ("corpus.pairs", |w, a| {
        let corpus = Corpus::from_pairs(&w.context, pairs_of(&a[0]), None)?;
        let (source, target) = corpus.pair(0)?;
        Ok(format!("{} of {}: {}/{}", corpus.len(), corpus.stats()?.lines, source, target))
    }),
    ("corpus.strict", |w, a| {
        let strict = config_with(&[("data.strict", "true")]);
        Ok(Corpus::from_pairs(&w.context, pairs_of(&a[0]), &strict)?.len().to_string())
    }),
    ("corpus.get", |w, a| Ok(w.corpus.pair(number(&a[0])).map(|(source, target)| format!("{}/{}", source, target))?)),
    ("corpus.subset", |w, a| {
        let corpus = w.corpus.subset(&numbers(&a[0]))?;
        let (source, target) = corpus.pair(0)?;
        Ok(format!("{}: {}/{}", corpus.len(), source, target))
    }),
    ("corpus.split", |w, a| {
        let (rest, held_out) = w.corpus.split(number(&a[0]), 7)?;
        Ok(format!("{} {}", rest.len(), held_out.len()))
    }),
    ("corpus.lines", |w, a| {
        let folder = Folder::new();
        fs::write(folder.join("lines"), &a[0]).expect("written");
        let stats = Corpus::open(&w.context, folder.join("lines"), None)?.stats()?;
        let counts = (stats.lines, stats.kept, stats.bad_columns);
        let more = format!("empty {}, NUL {}", stats.empty_side, stats.nul_byte);
        Ok(format!("lines {}, kept {}, bad columns {}, {}", counts.0, counts.1, counts.2, more))
    }),
    ("corpus.parallel", |w, a| {
        let folder = Folder::new();
        fs::write(folder.join("source"), &a[0]).expect("written");
        fs::write(folder.join("target"), &a[1]).expect("written");
        let corpus = Corpus::open_parallel(&w.context, folder.join("source"), folder.join("target"), None)?;
        let (source, target) = corpus.pair(corpus.len() - 1)?;
        Ok(format!("{}: {}/{}", corpus.len(), source, target))
    }),
    ("corpus.encode", |w, a| {
        let folder = Folder::new();
        fs::write(folder.join("source"), &a[0]).expect("written");
        fs::write(folder.join("target"), &a[1]).expect("written");
        let (texts, encoded) = ((folder.join("source"), folder.join("target")), folder.join("encoded"));
        Corpus::encode_parallel(&w.context, texts, &w.tokenizer, &encoded, None)?;
        let corpus = Corpus::open(&w.context, &encoded, None)?;
        let stats = Batcher::new(&corpus, &w.tokenizer, &w.config)?.stats()?;
        Ok(format!("{} {}", corpus.len(), stats.pairs))
    }),
    ("corpus.encoded_pair", |w, _| {
        let folder = Folder::new();
        fs::write(folder.join("lines"), "a\tb\n").expect("written");
        Corpus::encode(&w.context, folder.join("lines"), &w.tokenizer, folder.join("encoded"), None)?;
        let corpus = Corpus::open(&w.context, folder.join("encoded"), None)?;
        Ok(corpus.pair(0).map(|pair| pair.0.to_string())?)
    }),
    ("corpus.ids", |w, a| Ok(Corpus::from_ids(&w.context, &one_pair(&a[0], &a[1])?)?.len().to_string())),
    ("corpus.ids_text", |w, _| {
        let corpus = Corpus::from_ids(&w.context, &one_pair(b"5 1", b"6 1")?)?;
        Ok(corpus.pair(0).map(|pair| pair.0.to_string())?)
    }),
    ("batcher.epochs", |w, a| {
        let mut epochs = Vec::new();
        for _ in 0..number(&a[0]) {
            let epoch = w.batcher.epoch().collect::<Result<Vec<_>>>()?;
            let indices: Vec<i64> =
                epoch.iter().flat_map(|batch| batch.pair_index().expect("indices").to_vec()).collect();
            epochs.push(format!("{} ({})", indices.len(), indices.iter().sum::<i64>()));
        }
        let stats = w.batcher.stats()?;
        Ok(format!("{}, epoch {}, batch {}", epochs.join(" "), stats.epoch, stats.batch))
    }),
    ("batcher.seek", |w, a| {
        w.batcher.seek(number(&a[0]), number(&a[1]))?;
        Ok(format!("{} {}", w.batcher.stats()?.epoch, w.batcher.stats()?.batch))
    }),
    ("batcher.resume", |w, _| fails(w.batcher.resume(&w.trainer))),
    ("batcher.resume_other", |w, _| {
        let mut data = Vec::new();
        w.trainer.save(&mut data, &w.batcher)?;
        let trainer = Trainer::resume(&w.context, &data, None)?;
        let mut other = Batcher::new(&w.corpus, &w.tokenizer, &config_with(&[("data.seed", "9")]))?;
        fails(other.resume(&trainer))
    }),
    ("batcher.max_tokens", |w, a| {
        let few = config_with(&[("data.max_tokens", text(&a[0]))]);
        fails(Batcher::new(&w.corpus.subset(&[0])?, &w.tokenizer, &few))
    }),
    ("batcher.no_tokenizer", |w, _| fails(Batcher::new(&w.corpus, None, &w.config))),
    ("batch", |w, a| {
        let batch = Batch::new(numbers(&a[0]), numbers(&a[1]))?;
        Ok(w.decoder.decode(&batch)?.len().to_string())
    }),
    ("batch.pairs", |w, a| {
        let batch = Batch::new(numbers(&a[0]), numbers(&a[1]))?.with_targets(numbers(&a[2]), numbers(&a[3]))?;
        Ok(w.decoder.score(&batch)?.len().to_string())
    }),
    ("batch.ids", |_, a| {
        let batch = Batch::from_id_pairs(vec![[1]; number(&a[0])], vec![[1]; number(&a[1])]);
        Ok(batch?.len().to_string())
    }),
    ("score", |w, a| Ok(w.decoder.score(&one_pair(&a[0], &a[1])?)?.len().to_string())),
    ("tensor.read", |w, a| Ok(w.model.read_tensor(number(&a[0]))?.len().to_string())),
    ("tensor.write", |w, a| {
        let mut values = vec![if a[0] == b"nan" { f32::NAN } else { 0.5 }; w.model.tensors()[0].size()];
        if a[0] == b"short" {
            values.truncate(1);
        }
        w.model.write_tensor(0, &values)?;
        Ok(format!("{:.1}", w.model.read_tensor(0)?[0]))
    }),
    ("metadata", |w, a| {
        w.model.set_metadata(text(&a[0]), text(&a[1]))?;
        let loaded = Model::load(&w.context, &w.model.to_bytes(None)?, None)?;
        Ok(loaded.metadata()?[text(&a[0])].clone())
    }),
    ("metadata.remove", |w, a| {
        w.model.set_metadata(text(&a[0]), "b")?;
        let before = w.model.metadata()?;
        w.model.set_metadata(text(&a[0]), None)?;
        Ok(if w.model.metadata()?.is_empty() { before[text(&a[0])].clone() } else { "not removed".to_string() })
    }),
    ("model.create", |w, a| {
        Ok(Model::new(&w.context, None, &options(a)?)?.config().get_str("model.vocab_size")?.to_string())
    }),
    ("model.copy", |w, a| {
        let mut weights = Config::new()?;
        weights.set("model.weights", text(&a[0]))?;
        Ok(format!("{:?}", w.model.copy(None, &weights)?.tensors()[0].number_type).to_lowercase())
    }),
    ("model.train_quantized", |w, _| fails(Trainer::new(&w.model.copy_with_weights(NumberType::Int8)?, None))),
    ("model.average", |w, a| {
        let (before, mut files) = (w.model.read_tensor(0)?, Vec::new());
        for _ in 0..number(&a[0]) {
            files.push(w.model.to_bytes(None)?);
            w.model.write_tensor(0, &w.model.read_tensor(0)?.iter().map(|x| x + 1.0).collect::<Vec<_>>())?;
        }
        Ok(format!("{:.1}", Model::average(&w.context, &files)?.read_tensor(0)?[50] - before[50]))
    }),
    ("train.step", |w, a| {
        let stats = w.trainer.step(&one_pair(&a[0], &a[1])?)?;
        Ok(format!("{} {:?}", stats.step, stats.outcome).to_lowercase())
    }),
    ("train.no_batch", |w, _| fails(w.trainer.step_all(&[]))),
    ("train.progress", |w, _| {
        let batch = w.batch();
        Call::new().progress(|_| ControlFlow::Continue(())).run(|| {
            w.trainer.step(&batch)?;
            w.trainer.next_step(&mut w.batcher)?;
            w.trainer.accumulate(&batch)
        })?;
        w.trainer.update()?;
        Ok(format!("{} steps", w.trainer.step_count()))
    }),
    ("train.halves", |w, _| {
        let batches = [w.batch(), w.batch()];
        let whole = World::new().trainer.step_all(&batches)?;
        for batch in &batches {
            w.trainer.accumulate(batch)?;
        }
        same(w.trainer.update()? == whole)
    }),
    ("train.update", |w, _| fails(w.trainer.update())),
    ("train.gradient", |w, _| fails(read_gradient(&mut w.trainer, 0))),
    ("train.save_pending", |w, _| {
        let batch = w.batch();
        w.trainer.accumulate(&batch)?;
        fails(w.trainer.save(&mut Vec::new(), None))
    }),
    ("train.nonfinite", |w, _| {
        for (index, info) in w.model.tensors().iter().enumerate().filter(|(_, info)| info.shape.len() > 1) {
            w.model.write_tensor(index, &vec![3e38; info.size()])?;
        }
        let before = w.batcher.stats()?;
        let outcome = w.trainer.next_step(&mut w.batcher);
        assert_eq!((w.trainer.step_count(), w.batcher.stats()?), (0, before));
        fails(outcome)
    }),
    ("train.resume", |w, a| {
        let data = saved(w, b"checkpoint");
        let config = Trainer::resume(&w.context, &data, &only(a)?)?.config()?;
        Ok(config.get_str(text(&a[0]))?.to_string())
    }),
    ("train.resume_bits", |w, _| {
        w.train(5);
        let mut data = Vec::new();
        w.trainer.save(&mut data, &w.batcher)?;
        let expected = w.train(7);
        w.trainer = Trainer::resume(&w.context, &data, None)?;
        w.batcher.resume(&w.trainer)?;
        same(w.train(7) == expected)
    }),
    ("train.average", |w, a| {
        let mut trainer = Trainer::new(&w.model, &config_with(&[("train.ema", text(&a[0]))]))?;
        trainer.next_step(&mut w.batcher)?;
        let equal = trainer.copy_average()?.read_tensor(0)? == w.model.read_tensor(0)?;
        Ok(if equal { "equal" } else { "differs" }.to_string())
    }),
    ("train.translate", |w, a| {
        w.train(number(&a[0]));
        let model = Model::load(&w.context, &w.model.to_bytes(None)?, None)?;
        let found = Decoder::new(&model, &w.config)?.translate(&sources())?.texts()?;
        let score = bleu(&found, &targets(), BleuTokenize::V13a)?.score;
        Ok(if score > 30.0 { "BLEU above 30" } else { "worse" }.to_string())
    }),
    ("translate", |w, a| Ok(statuses(&w.decoder.translate(&several(&a[0], b'/'))?))),
    ("translate.empty", |w, _| {
        let found = w.decoder.translate(&[""])?;
        let best = found.best(0)?;
        let text = best.text().expect("a text");
        Ok(format!("{} hypothesis with score {:.0}{}", found.get(0)?.len(), best.score, text))
    }),
    ("translate.options", |w, a| {
        w.train(60);
        let found = w.decoder.translate_with(&["one"], DecodeParams::new().config(&only(a)?))?.get(0)?.len();
        Ok(format!("{} then {}", found, w.decoder.translate(&["one"])?.get(0)?.len()))
    }),
    ("translate.alignment", |w, a| {
        let found = w.decoder.translate_with(&[" one two"], DecodeParams::new().config(&only(a)?))?;
        let (best, ends) = (found.best(0)?, found.source_ends(0)?);
        if ends.is_empty() && best.alignment.is_empty() && best.text_ends.is_empty() {
            return Ok("none".to_string());
        }
        let aligned = best.alignment.iter().all(|&s| s >= 0 && (s as usize) + 1 < ends.len());
        let counts = best.alignment.len() == best.ids.len() && best.text_ends.len() == best.ids.len();
        let fits = counts && best.text_ends.last().copied() == best.text_bytes.map(<[u8]>::len);
        let state = if aligned && fits { "aligned" } else { "wrong" };
        Ok(format!("source {} translation {}", ends[ends.len() - 1], state))
    }),
    ("translate.prefixes", |w, a| {
        let params = DecodeParams::new().prefixes(several(&a[0], b'/'));
        let found = w.decoder.translate_with(&["four two"], params)?;
        Ok(match found.best(0) {
            Err(error) => short_name(error.status()),
            Ok(best) if best.text_bytes.expect("a text").starts_with(&a[0]) => "begins".to_string(),
            Ok(best) => best.text().expect("a text").into_owned(),
        })
    }),
    ("translate.batches", |w, _| {
        let whole = all(&w.decoder.translate(&sources())?);
        let single = sources().iter().map(|s| Ok(all(&w.decoder.translate(&[s])?))).collect::<Result<Vec<_>>>()?;
        let batch = Batch::from_texts(&w.model, sources(), None)?;
        same(single.concat() == whole && all(&w.decoder.decode(&batch)?) == whole)
    }),
    ("decode", |w, a| {
        let batch = Batch::from_ids(several(&a[0], b'/').into_iter().map(numbers::<i32>))?;
        Ok(statuses(&w.decoder.decode(&batch)?))
    }),
    ("decode.prefixes", |w, a| {
        let params = DecodeParams::new().prefix_ids(several(&a[0], b'/').into_iter().map(numbers::<i32>));
        Ok(statuses(&w.decoder.decode_with(&one_pair(b"5 1", b"")?, params)?))
    }),
    ("score_texts", |w, a| {
        let pairs: Vec<_> = several(&a[0], b'/').into_iter().zip(several(&a[1], b'/')).collect();
        let scores = w.decoder.score_texts(&pairs)?;
        Ok(format!("{} of {}", scores.iter().flatten().count(), scores.len()))
    }),
    ("no_tokenizer", |w, a| {
        let model = Model::new(&w.context, None, &config_with(&[("model.vocab_size", "290")]))?;
        let mut decoder = Decoder::new(&model, &w.config)?;
        Ok(match text(&a[0]) {
            "encode" => model.encode(Side::Source, "one", None).map(drop),
            "translate" => decoder.translate(&["one"]).map(drop),
            _ => decoder.score_texts(&PAIRS).map(drop),
        }
        .map(|()| String::new())?)
    }),
    ("evaluate", |w, _| {
        let before = w.batcher.stats()?;
        let stats = w.decoder.evaluate(&mut w.batcher)?;
        assert_eq!(w.batcher.stats()?, before);
        Ok(stats.sentences.to_string())
    }),
    ("constraint", |w, a| {
        let spells = a[0] == b"spell";
        let constraint = Constraint::new(move |partials| {
            for partial in partials {
                let next = if partial.ids.len() < 3 { 2 + i32::from(b'a') } else { END };
                partial.allow_only(spells.then_some(next));
            }
            ControlFlow::Continue(())
        });
        let found = w.decoder.translate_with(&["one two"], DecodeParams::new().constraint(constraint))?;
        let best = found.best(0)?;
        let text = best.text().expect("a text").into_owned();
        Ok(if best.finished { text } else { format!("unfinished {}", best.log_probability) })
    }),
    ("attention", |w, a| {
        let kind = match text(&a[0]) {
            "encoder" => AttentionKind::Encoder,
            "decoder" => AttentionKind::Decoder,
            _ => AttentionKind::Cross,
        };
        let pair = one_pair(b"5 6 1", b"9 8 7 1")?;
        let found = attention_weights(&mut w.decoder, &pair, kind, number(&a[1]))?;
        Ok(format!("{} {} {}", found.heads, found.queries, found.keys))
    }),
    ("attention.sources_only", |w, _| {
        let pair = one_pair(b"5 1", b"")?;
        fails(attention_weights(&mut w.decoder, &pair, AttentionKind::Decoder, 0))
    }),
    ("attention.two_pairs", |w, _| {
        let pairs = Batch::from_id_pairs([[5, 1]; 2], [[6, 1]; 2])?;
        fails(attention_weights(&mut w.decoder, &pairs, AttentionKind::Cross, 0))
    }),
    ("cancel.before", cancelled_before),
    ("cancel.many", |w, a| {
        let (token, mut cancelled) = (CancelToken::new(), 0);
        for _ in 0..number(&a[0]) {
            token.cancel();
            let outcome = Call::new().cancel_token(&token).run(|| w.decoder.translate(&sources()));
            cancelled += usize::from(outcome.err().map(|error| error.status()) == Some(Status::Cancelled));
            token.reset();
            Call::new().cancel_token(&token).run(|| w.decoder.translate(&["one"]))?;
        }
        Ok(cancelled.to_string())
    }),
    ("decode.models", |w, a| {
        let other = Model::new(&w.context, &w.tokenizer, &config_with(&[("model.seed", "77")]))?;
        let copy = w.model.copy(None, None)?;
        let named = |name| if name == "copy" { &copy } else { &other };
        let mut more = DecodeModels::new().ensemble(text(&a[1]).split_whitespace().map(named));
        if !a[2].is_empty() {
            more = more.draft(named(text(&a[2])));
        }
        let given = options(&a[3..])?;
        let expected = all(&Decoder::new(&w.model, &given)?.translate(&sources())?);
        let engine = match text(&a[0]) {
            "decoder" => {
                let mut decoder = Decoder::with_models(&w.model, more, &given)?;
                drop((copy, other));
                return same(all(&decoder.translate(&sources())?) == expected);
            }
            "engine" => Engine::with_models(&w.model, more, &given)?,
            _ => {
                let engine = Engine::new(&other, &given)?;
                engine.set_models(&w.model, more)?;
                engine
            }
        };
        drop((copy, other));
        let one = |source| Ok(all(&engine.translate(Request::text(source))?.wait()?));
        let found = sources().into_iter().map(one).collect::<Result<Vec<_>>>()?;
        same(found.concat() == expected)
    }),
    ("engine.translate", |w, a| {
        let found = Engine::new(&w.model, &w.config)?.translate(Request::text(&a[0]))?.wait()?;
        same(all(&found) == all(&w.decoder.translate(&[&a[0]])?))
    }),
    ("engine.cancelled", |w, _| {
        let engine = Engine::new(&w.model, &config_with(&[("engine.thread", "false")]))?;
        let translation = engine.translate(Request::text("one"))?;
        engine.cancel(translation.id())?;
        while engine.step()? {}
        fails(translation.wait())
    }),
    ("engine.priority", |w, a| {
        fails(Engine::new(&w.model, &w.config)?.submit(Request::text("one").priority(number(&a[0]))))
    }),
    ("cancel.during", |w, a| {
        let (token, ended) = (CancelToken::new(), AtomicBool::new(false));
        let (context, decoder) = (&w.context, &mut w.decoder);
        let outcome = thread::scope(|threads| {
            threads.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(20));
                    if a[0] == b"flag" {
                        token.cancel();
                    } else {
                        context.cancel();
                    }
                }
            });
            let outcome = Call::new().cancel_token(&token).run(|| slow_translation(decoder, None).map(drop));
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        w.decoder.translate(&["one"])?.best(0)?;
        fails(outcome)
    }),
    ("cancel.within", |w, a| {
        let token = CancelToken::new();
        let stop = || {
            token.cancel();
            ControlFlow::Continue(())
        };
        let call = Call::new().cancel_token(&token);
        let found = if a[0] == b"constraint" {
            call.run(|| slow_translation(&mut w.decoder, Some(Constraint::new(|_| stop()))))
        } else {
            call.progress(|_| stop()).run(|| slow_translation(&mut w.decoder, None))
        };
        Ok(found.map(|found| statuses(&found))?)
    }),
    ("cancel.training", |w, _| {
        let token = CancelToken::new();
        let outcome: Result<()> = Call::new().cancel_token(&token).run(|| {
            for stats in w.trainer.steps(&mut w.batcher).take(1000) {
                if stats?.step == 3 {
                    token.cancel();
                }
            }
            Ok(())
        });
        assert_eq!(w.trainer.step_count(), 3);
        fails(outcome)
    }),
    ("deadline", |w, a| {
        if a[0] == b"score" {
            let batch = Batch::from_id_pairs(vec![[5, 6, 7, 1]; 20000], vec![[5, 6, 7, 1]; 20000])?;
            let soon = Call::new().deadline(Duration::from_millis(1));
            return fails(soon.run(|| w.decoder.score(&batch)));
        }
        let soon = Call::new().deadline(Duration::from_millis(50));
        let late = statuses(&soon.run(|| slow_translation(&mut w.decoder, None))?);
        Ok(if late.contains("DEADLINE") { "late".to_string() } else { late })
    }),
    ("progress", |w, _| {
        let mut task = String::new();
        let call = Call::new().progress(|progress| {
            assert!((0..=progress.total).contains(&progress.done));
            task = progress.task.to_string();
            ControlFlow::Break(())
        });
        let outcome = call.run(|| slow_translation(&mut w.decoder, None));
        assert_eq!(outcome.expect_err("it stops").status(), Status::Callback);
        Ok(task)
    }),
    ("callback.fails", |w, a| {
        let World { decoder, .. } = w;
        let outcome = catch_unwind(AssertUnwindSafe(|| match text(&a[0]) {
            "progress" => {
                let call = Call::new().progress(|_| panic!("from within"));
                call.run(|| slow_translation(decoder, None)).map(drop)
            }
            "constraint" => slow_translation(decoder, Some(Constraint::new(|_| panic!("from within")))).map(drop),
            _ => {
                let folder = Folder::new();
                fs::write(folder.join("some text"), "a\tb\nbad\n").expect("written");
                let host = Host::new().log(LogLevel::Warning, |_, _, _| panic!("from within"));
                let context = Context::with_host(&config(), host).expect("a context");
                Corpus::open(&context, folder.join("some text"), None).map(drop)
            }
        }));
        w.decoder.translate(&["one"])?.best(0)?;
        match outcome {
            Ok(outcome) => fails(outcome),
            Err(panic) => Err(Failure("RAISED".into(), panic.downcast_ref::<&str>().expect("a text").to_string())),
        }
    }),
    ("log", |_, a| {
        let (folder, lines) = (Folder::new(), Arc::new(AtomicUsize::new(0)));
        fs::write(folder.join("some text"), "a\tb\nbad\n").expect("written");
        let (level, count) = (if a[0] == b"error" { LogLevel::Error } else { LogLevel::Warning }, Arc::clone(&lines));
        let host = Host::new().log(level, move |_, _, message| {
            count.fetch_add(usize::from(message.contains("some text:2")), Ordering::Relaxed);
        });
        Corpus::open(&Context::with_host(&config(), host)?, folder.join("some text"), None)?;
        Ok(format!("{} lines", lines.load(Ordering::Relaxed)))
    }),
    ("threads", |w, a| {
        let expected = all(&w.decoder.translate(&sources())?);
        let model = &w.model;
        let work = || {
            let mut decoder = Decoder::new(model, &config())?;
            (0..5).map(|_| Ok(all(&decoder.translate(&sources())?))).collect::<Result<Vec<_>>>()
        };
        let found = thread::scope(|threads| {
            let workers: Vec<_> = (0..number(&a[0])).map(|_| threads.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().expect("no panic")).collect::<Result<Vec<_>>>()
        })?;
        same(found.iter().flatten().all(|found| *found == expected))
    }),
    ("closed.creators", |_, _| {
        let World { config, context, corpus, tokenizer, mut batcher, model, mut trainer, mut decoder } = World::new();
        let batch = batcher.next_batch()?.expect("a batch").into_owned();
        drop((config, context, corpus, tokenizer, model));
        trainer.step(&batch)?;
        batcher.next_batch()?;
        decoder.translate(&["one"])?.best(0)?;
        Ok("usable".to_string())
    }),
    ("closed.last", |_, a| {
        let w = World::new();
        let mut rest: Vec<Box<dyn std::any::Any>> = vec![
            Box::new(w.config),
            Box::new(w.context),
            Box::new(w.corpus),
            Box::new(w.tokenizer),
            Box::new(w.batcher),
            Box::new(w.model),
            Box::new(w.trainer),
            Box::new(w.decoder),
        ];
        rest.rotate_left(number(&a[0]));
        rest.drain(..).for_each(drop);
        Ok("closed".to_string())
    }),
    ("borrowed.kept", |_, _| {
        let World { model, trainer, decoder, .. } = World::new();
        let (tokenizer, borrowed) = (model.tokenizer().expect("a tokenizer").clone(), trainer.model().clone());
        drop((model, trainer, decoder));
        let ids = borrowed.encode(Side::Source, "one", None)?;
        Ok(if tokenizer.encode("one")? == ids[..ids.len() - 1] { "usable" } else { "different" }.to_string())
    }),
];

#[test]
fn every_row() {
    let (mut failures, mut used) = (Vec::new(), BTreeSet::new());
    let table = include_str!("../../../contracts.tsv");
    for line in table.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let mut row = line.split('\t').chain([""; 5]);
        let mut column = || row.next().unwrap_or("");
        let (name, arguments, status, expected, except) = (column(), column(), column(), column(), column());
        if except.contains("rust: ") {
            continue;
        }
        used.insert(name);
        let arguments_: Vec<_> = arguments.split('|').map(unescaped).collect();
        let operation = OPERATIONS.iter().find(|(known, _)| *known == name);
        let outcome = match operation {
            Some((_, operation)) => operation(&mut World::new(), &arguments_),
            None => Err(Failure("the operation is unknown".into(), String::new())),
        };
        let (found, value) = match outcome {
            Ok(value) => ("OK".to_string(), value),
            Err(Failure(status, message)) => (status, message),
        };
        let expected = String::from_utf8(unescaped(expected)).expect("a text");
        let fits = match status {
            "OK" => value == expected,
            _ => expected.split(" & ").all(|part| value.contains(part)),
        };
        if found != status || !fits {
            failures.push(format!("{} {}: {} {:?}, expected {} {:?}", name, arguments, found, value, status, expected));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let all: BTreeSet<_> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(used, all);
}
