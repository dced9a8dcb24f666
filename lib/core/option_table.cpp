// The table itself: one row per option. To add an option, add a row.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

namespace xf {
namespace {

constexpr xf_option_type kI64 = XF_OPTION_I64, kF64 = XF_OPTION_F64, kBool = XF_OPTION_BOOL, kStr = XF_OPTION_STR;
constexpr double kMaxDim = 1 << 16, kMaxSeed = 9007199254740991.0;

constexpr Option kOptions[] = {
    {"context.device", kStr, "auto", 0, 0, nullptr,
     "What computes: auto, cpu, cpu:ref, cpu:openblas, cuda, cuda:N; a device that is named and absent is an error.",
     "", "0.1"},
    {"context.backend_path", kStr, "", 0, 0, nullptr,
     "Folders where plugins are looked for first, separated by colons; each name begins with a slash.", "", "0.1"},
    {"context.threads", kI64, "0", 0, 1024, nullptr,
     "Worker threads on the CPU; 0 is one per processor this process may use: of its affinity mask, and no more than "
     "the quota of its control groups, rounded up. With an executor: the most tasks it is given at once. Results do "
     "not depend on it.",
     "", "0.1"},
    {"context.memory_budget", kI64, "0", 0, 9e15, nullptr,
     "Bytes of tensors the context may hold; more is XF_ERROR_NO_MEMORY; 0 is no limit.", "", "0.1"},
    {"context.isa", kStr, "auto", 0, 0, "auto|base|avx2|avx512|avx512vnni",
     "Instruction set of the CPU kernels; auto is the best this CPU has. All but base give the same bits; avx512 "
     "leaves VNNI and BF16 out.",
     "", "0.1"},

    {"context.precision", kStr, "fp32", 0, 0, "fp32|bf16",
     "What activations and matrix products are computed in; parameters, gradients and sums stay fp32. CUDA and "
     "openblas serve both.",
     "", "0.1"},
    {"context.weights", kStr, "file", 0, 0, "file|fp32|fp16|bf16|int8",
     "How the matrices of models that are loaded or copied into the context are kept: as the file has them, fp32 where "
     "the device lacks that, or in this type. A model of fp32 can be trained; the others decode alone, in a half or a "
     "quarter of the memory.",
     "", "0.1"},
    {"context.graphs", kBool, "true", 0, 1, nullptr,
     "Calls that repeat are recorded once and replayed, where the device can (CUDA graphs). Results do not depend on "
     "it.",
     "", "0.1"},
    {"context.comm", kStr, "none", 0, 0, "none|auto|mpi",
     "How this process reaches the other ranks of its training job: none, it is alone, or the host gives a comm; mpi; "
     "auto is mpi where mpirun or srun has started more than one process.",
     "", "0.1"},
    {"context.comm_device", kStr, "host", 0, 0, "host|nccl",
     "How gradients and parameters in the memory of GPUs reach other ranks: by way of the host and context.comm, or by "
     "NCCL beside it.",
     "", "0.1"},
    {"context.comm_buckets", kI64, "1", 0, 1 << 10, nullptr,
     "Parts at least in which gradients of a CPU go to other ranks, the first ones while the backward pass goes on: 1 "
     "sends them behind it, 0 chooses by their size. All ranks have the same. Results do not depend on it.",
     "", "0.1"},
    {"context.comm_timeout", kF64, "60", 0.001, 86400, nullptr,
     "Seconds for which a rank waits for another before that is XF_ERROR_PEER; more than what saving takes, and than "
     "one "
     "rank's step may take longer than another's.",
     "", "0.1"},

    {"tokenizer.kind", kStr, "bpe", 0, 0, "bpe|wordpiece|unigram",
     "Byte pair encoding; WordPiece: pieces by likelihood, words cut at the longest; unigram: both by likelihood.",
     "s. 5.1", "0.1"},
    {"tokenizer.vocab_size", kI64, "37000", 259, 1 << 20, nullptr,
     "Tokens to learn, the 2 symbols and 256 bytes included.", "s. 5.1", "0.1"},
    {"tokenizer.normalization", kStr, "nfkc", 0, 0, "none|nfc|nfkc",
     "Unicode normalisation of all text; none accepts and gives back any bytes.", "", "0.1"},
    {"tokenizer.invalid_utf8", kStr, "error", 0, 0, "error|replace",
     "What becomes of text that is not UTF-8: an error with its byte offset, or U+FFFD in place of the bad bytes.", "",
     "0.1"},
    {"tokenizer.min_pair_count", kI64, "2", 1, 1e9, nullptr,
     "Pairs (unigram: strings) that occur less often give no token; a small text may give fewer than asked for.", "",
     "0.1"},
    {"tokenizer.character_coverage", kF64, "0.9999", 0, 1, nullptr,
     "Share of the characters above U+007F, by count, that get a token; others are written in bytes.", "", "0.1"},

    {"data.batch_tokens", kI64, "25000", 2, 1 << 24, nullptr,
     "At most so many source tokens and so many target tokens in a batch, end symbols counted.", "s. 5.1", "0.1"},
    {"data.max_tokens", kI64, "256", 2, 1 << 20, nullptr,
     "Pairs with a side of more tokens, the end symbol counted, are left out of training and counted.", "", "0.1"},
    {"data.max_bytes", kI64, "65536", 1, 1 << 28, nullptr, "Lines with a longer side are skipped and counted.", "",
     "0.1"},
    {"data.strict", kBool, "false", 0, 1, nullptr, "The first bad line of a corpus is an error rather than skipped.",
     "", "0.1"},
    {"data.shuffle", kBool, "true", 0, 1, nullptr,
     "Shuffle every epoch and put pairs of similar length together; off keeps the corpus order.", "s. 5.1", "0.1"},
    {"data.seed", kI64, "1", 0, kMaxSeed, nullptr, "Seed of the shuffle and of segmentation at random.", "", "0.1"},
    {"data.bpe_dropout", kF64, "0", 0, 0.99, nullptr,
     "Each epoch cuts the texts anew, and a merge of BPE is left out with this probability (Provilkov et al. 2020); 0 "
     "is off, 0.1 is usual. For tokenizers of BPE.",
     "", "0.1"},
    {"data.unigram_alpha", kF64, "0", 0, 100, nullptr,
     "Each epoch cuts the texts anew, in a way x drawn by P(x)^alpha (Kudo 2018); 0 is off, 0.2 to 0.5 is usual. For "
     "unigram tokenizers.",
     "", "0.1"},
    {"data.source_language", kStr, "", 0, 0, nullptr,
     "Language of the source texts, by its name in model.languages (en_XX, say). Sentences given as ids already hold "
     "its token.",
     "", "0.1"},
    {"data.target_language", kStr, "", 0, 0, nullptr,
     "Language of the target texts, by its name in model.languages. Sentences given as ids already hold its token.", "",
     "0.1"},

    {"model.encoder_layers", kI64, "6", 1, 1024, nullptr, "N, layers of the encoder.", "s. 3.1", "0.1"},
    {"model.decoder_layers", kI64, "6", 1, 1024, nullptr, "N, layers of the decoder.", "s. 3.1", "0.1"},
    {"model.d_model", kI64, "512", 2, kMaxDim, nullptr, "Width of the residual stream; even.", "s. 3.1", "0.1"},
    {"model.d_ff", kI64, "2048", 1, kMaxDim * 4, nullptr, "Inner width of the feed-forward layers.", "s. 3.3", "0.1"},
    {"model.heads", kI64, "8", 1, 1024, nullptr, "h, attention heads.", "s. 3.2.2", "0.1"},
    {"model.d_k", kI64, "64", 1, kMaxDim, nullptr, "Width of a head's queries and keys.", "s. 3.2.2", "0.1"},
    {"model.d_v", kI64, "64", 1, kMaxDim, nullptr, "Width of a head's values.", "s. 3.2.2", "0.1"},
    {"model.vocab_size", kI64, "0", 0, 1 << 20, nullptr, "V; 0 takes the tokenizer's size.", "s. 5.1", "0.1"},
    {"model.source_vocab_size", kI64, "0", 0, 1 << 20, nullptr,
     "Vocabulary of the sources; 0 is V. Another one needs an embedding of its own: model.tie decoder or none.", "",
     "0.1"},
    {"model.tie", kStr, "all", 0, 0, "all|decoder|none",
     "Which of source embedding, target embedding and output projection are one matrix: all three (the paper), the "
     "last two, or none.",
     "s. 3.4", "0.1"},
    {"model.activation", kStr, "relu", 0, 0, "relu|gelu|swish",
     "Activation of the feed-forward layers; gelu is the exact one, by erf; swish is x sigmoid(x).", "s. 3.3", "0.1"},
    {"model.gated", kBool, "false", 0, 1, nullptr,
     "Feed-forward of gated linear units: its inner values are act(x W) (x V) (Shazeer 2020).", "", "0.1"},
    {"model.attention_bias", kBool, "false", 0, 1, nullptr, "The four projections of attention have biases.",
     "s. 3.2.2", "0.1"},
    {"model.output_bias", kBool, "false", 0, 1, nullptr, "The output projection has a bias.", "s. 3.4", "0.1"},
    {"model.norm", kStr, "post", 0, 0, "post|pre",
     "Layer normalisation after the residual sum (the paper) or before the sub-layer, with a last norm per stack.",
     "s. 3.1", "0.1"},
    {"model.norm_kind", kStr, "layer", 0, 0, "layer|rms",
     "LayerNorm, or RMSNorm, which takes off no mean and has no bias (Zhang & Sennrich 2019).", "s. 3.1", "0.1"},
    {"model.embedding_norm", kBool, "false", 0, 1, nullptr,
     "Normalises the sum of embedding and position before the first layer of each stack.", "", "0.1"},
    {"model.embedding_scale", kBool, "true", 0, 1, nullptr, "Embeddings are multiplied by sqrt(d_model).", "s. 3.4",
     "0.1"},
    {"model.norm_epsilon", kF64, "1e-6", 1e-12, 1e-2, nullptr, "Added to the variance inside the square root.", "",
     "0.1"},
    {"model.positions", kStr, "sinusoid", 0, 0, "sinusoid|learned|fixed",
     "How positions enter the embeddings: the paper's sinusoids, tables that are trained, or tables that are kept as "
     "they were loaded, the sinusoids at first.",
     "s. 3.5, Table 3 (E)", "0.1"},
    {"model.max_length", kI64, "1024", 2, 1 << 20, nullptr,
     "Longest sequence in tokens; rows of the position table, which may take 16 MiB, or as much as the parameters.",
     "s. 3.5", "0.1"},
    {"model.window", kI64, "0", 0, 1 << 20, nullptr, "r: self-attention sees positions up to r / 2 away; 0 sees all.",
     "s. 4", "0.1"},
    {"model.start_token", kI64, "-1", -1, 1 << 20, nullptr,
     "What the decoder is fed first; -1 is the tokenizer's, or 0.", "s. 3.1", "0.1"},
    {"model.end_token", kI64, "-1", -1, 1 << 20, nullptr,
     "What ends every source and every target; -1 is the tokenizer's, or 1.", "s. 3.1", "0.1"},
    {"model.first_token", kI64, "-1", -1, 1 << 20, nullptr,
     "The first token of every answer, such as that of its language; -1 leaves it to the search.", "", "0.1"},
    {"model.banned_tokens", kStr, "", 0, 0, nullptr,
     "Tokens that no answer has, beside the start token: numbers separated by commas.", "", "0.1"},
    {"model.languages", kStr, "", 0, 0, nullptr,
     "Languages of a model of many, with their tokens: name=token, separated by commas.", "", "0.1"},
    {"model.source_language", kStr, "none", 0, 0, "none|before|after",
     "Where the token of the source's language stands: nowhere, before the text's tokens, or behind the end token.", "",
     "0.1"},
    {"model.target_language", kStr, "none", 0, 0, "none|first|start|source",
     "What the token of the answer's language is: nothing, the first token of the answer, what the decoder is fed "
     "first, or the first token of the source.",
     "", "0.1"},
    {"model.seed", kI64, "1", 0, kMaxSeed, nullptr, "Seed of the initial parameters.", "", "0.1"},

    {"train.dropout", kF64, "0.1", 0, 0.95, nullptr, "Rate after each sub-layer and on embedding plus position.",
     "s. 5.4", "0.1"},
    {"train.attention_dropout", kF64, "0", 0, 0.95, nullptr, "Rate on attention weights.", "s. 6.3", "0.1"},
    {"train.activation_dropout", kF64, "0", 0, 0.95, nullptr, "Rate on the inner values of the feed-forward layers.",
     "", "0.1"},
    {"train.label_smoothing", kF64, "0.1", 0, 0.99, nullptr, "Probability mass taken from the right token.", "s. 5.4",
     "0.1"},
    {"train.label_smoothing_kind", kStr, "others", 0, 0, "others|uniform",
     "Where that mass goes: to each other token alike (tensor2tensor), or to every token alike (Marian, Sockeye).", "",
     "0.1"},
    {"train.schedule", kStr, "inverse_sqrt", 0, 0, "inverse_sqrt|constant|linear|cosine",
     "Learning rate by step: eq. (3) times train.learning_rate; or, after a linear warm-up, train.learning_rate "
     "itself, "
     "kept or taken to 0 at train.total_steps in a straight line or half a cosine.",
     "s. 5.3, eq. (3)", "0.1"},
    {"train.learning_rate", kF64, "1", 0, 1e3, nullptr, "Factor of the schedule; 1 is the paper's.", "s. 5.3", "0.1"},
    {"train.warmup_steps", kI64, "4000", 1, 1e9, nullptr, "Steps of linear warm-up.", "s. 5.3, eq. (3)", "0.1"},
    {"train.total_steps", kI64, "100000", 1, 1e12, nullptr,
     "Step at which a linear or cosine schedule has come to 0; more than train.warmup_steps.", "", "0.1"},
    {"train.adam_beta1", kF64, "0.9", 0, 0.999999, nullptr, "Adam's first decay.", "s. 5.3", "0.1"},
    {"train.adam_beta2", kF64, "0.98", 0, 0.999999, nullptr, "Adam's second decay.", "s. 5.3", "0.1"},
    {"train.adam_epsilon", kF64, "1e-9", 1e-16, 1, nullptr, "Adam's epsilon.", "s. 5.3", "0.1"},
    {"train.weight_decay", kF64, "0", 0, 1e3, nullptr,
     "Each step takes this share, times the learning rate, off the matrices, embeddings too, not off norms and biases "
     "(AdamW: Loshchilov & Hutter 2019).",
     "", "0.1"},
    {"train.clip_norm", kF64, "0", 0, 1e18, nullptr,
     "A gradient whose L2 norm over all parameters is larger is scaled down to it; 0 is off.", "", "0.1"},
    {"train.ema", kF64, "0", 0, 0.9999999, nullptr,
     "Decay of an exponential moving average of the parameters, kept beside them (xf_trainer_ema); 0 is none.", "",
     "0.1"},
    {"train.accumulate", kI64, "1", 1, 1 << 20, nullptr,
     "Batches of a batcher whose gradients xf_train_next adds up for one update.", "", "0.1"},
    {"train.shards", kI64, "0", 0, 1 << 16, nullptr,
     "Parts of a step, each of train.accumulate batches, whose gradients are added up in a fixed tree: a multiple of "
     "the number of ranks, which then changes nothing in the results; 0 is one for each rank.",
     "", "0.1"},
    {"train.reduce_precision", kStr, "fp32", 0, 0, "fp32|bf16",
     "Gradients of train.shards as they are added up and as they go to other ranks: bf16 halves what goes, and rounds "
     "each before it is added; sums are fp32.",
     "", "0.1"},
    {"train.compare_steps", kI64, "100", 0, 1e9, nullptr,
     "Steps after which the ranks compare their parameters, by hash; 0 is once, before the first.", "", "0.1"},
    {"train.on_nonfinite", kStr, "stop", 0, 0, "stop|skip|rollback",
     "When loss or gradient is not finite: an error, a step left out, or a return to the last checkpoint; the tenth in "
     "a row is an error.",
     "", "0.1"},
    {"train.seed", kI64, "1", 0, kMaxSeed, nullptr, "Seed of dropout.", "", "0.1"},

    {"decode.beam", kI64, "4", 1, 1024, nullptr, "Beam size; 1 is greedy search.", "s. 6.1", "0.1"},
    {"decode.alpha", kF64, "0.6", 0, 10, nullptr, "Length penalty: score = log P / ((5 + L) / 6)^alpha.", "s. 6.1",
     "0.1"},
    {"decode.max_extra_tokens", kI64, "50", 0, 1 << 20, nullptr,
     "An answer has at most so many tokens more than its source, end symbols counted on both sides.", "s. 6.1", "0.1"},
    {"decode.min_tokens", kI64, "0", 0, 1 << 20, nullptr,
     "An answer ends after so many tokens at the earliest, the end symbol not counted; the limit comes first.", "",
     "0.1"},
    {"decode.source_language", kStr, "", 0, 0, nullptr,
     "Language of the texts, by its name in model.languages (en_XX, say). Sentences given as ids already hold its "
     "token.",
     "", "0.1"},
    {"decode.target_language", kStr, "", 0, 0, nullptr,
     "Language of the answers, by its name in model.languages. Where its token stands in the source, sentences given "
     "as ids already hold it.",
     "", "0.1"},
    {"decode.deadline_ms", kI64, "0", 0, 2147483647, nullptr,
     "Milliseconds after which a call's searches end with the best so far; 0: no deadline.", "", "0.1"},
    {"decode.n_best", kI64, "1", 1, 1024, nullptr, "Answers per sentence, at most decode.beam.", "", "0.1"},
    {"decode.batch_sentences", kI64, "32", 1, 1 << 16, nullptr,
     "Sentences decoded at a time, fewer where they are longer than 256 tokens; changes speed and memory, not results.",
     "", "0.1"},
    {"decode.max_source_tokens", kI64, "1024", 2, 1 << 20, nullptr,
     "A longer source is an error, and so is one longer than model.max_length.", "", "0.1"},

    {"file.precision", kStr, "fp32", 0, 0, "fp32|fp16|bf16|int8",
     "Numbers in a saved model: a file of 16 bits is half as large, one of 8 bits a quarter. int8 is of the matrices, "
     "with a scale per row; vectors and position tables stay fp32.",
     "", "0.1"},
};

}  // namespace

size_t option_count() { return sizeof kOptions / sizeof kOptions[0]; }
const Option &option(size_t index) { return kOptions[index]; }

}  // namespace xf
