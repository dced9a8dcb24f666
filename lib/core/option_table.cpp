// The table of all options. CONTRIBUTING.md lists what else a new option needs.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

namespace xf {
namespace {

constexpr int32_t kI64 = XF_OPTION_INTEGER, kF64 = XF_OPTION_REAL, kBool = XF_OPTION_BOOL, kStr = XF_OPTION_TEXT;
constexpr double kMaxDim = 1 << 16, kMaxSeed = 9007199254740991.0;

constexpr Option kOptions[] = {
    {"context.device", kStr, "auto", 0, 0, nullptr,
     "Device to compute on: auto, cpu, cpu:ref, cpu:openblas, cuda, or cuda:N. auto selects the best available device. "
     "A named device that is unavailable is an error."},
    {"context.backend_path", kStr, "", 0, 0, nullptr,
     "Folders to search for plugins first, separated by colons, on Windows by semicolons. Each must be an absolute "
     "path."},
    {"context.backend_search", kStr, "default", 0, 0, "default|given",
     "Folders to search for plugins after those of context.backend_path. default: those of the environment variable "
     "XF_BACKEND_PATH, the folder xformer next to the library, and the folder of the library. given: none."},
    {"context.threads", kI64, "0", 0, 1024, nullptr,
     "Number of CPU threads that compute, including the calling thread. 0 uses every processor in the affinity mask, "
     "but no more than the CPU quota of the control group, rounded up. With an executor, it is the maximum number of "
     "tasks of a job. Results do not depend on it."},
    {"context.memory_budget", kI64, "0", 0, 9e15, nullptr,
     "Maximum memory that the context may hold, in bytes; 0 is unlimited. A request beyond it fails with "
     "XF_ERROR_NO_MEMORY."},
    {"context.isa", kStr, "auto", 0, 0, "auto|base|avx2|avx512|avx512vnni|neon|neon-dot|neon-i8mm",
     "Instruction set of the CPU kernels; auto selects the best one that the CPU supports. All except base give "
     "identical bits. avx512 uses neither VNNI nor BF16 instructions."},

    {"context.precision", kStr, "fp32", 0, 0, "fp32|bf16",
     "Type of activations and matrix products; parameters, gradients, and sums remain fp32. bf16 requires the cuda or "
     "openblas backend."},
    {"context.comm", kStr, "none", 0, 0, "none|auto|mpi|nccl",
     "Transport between the ranks of a training job. none: a single process, or the transport of the host "
     "(xf_host::comm). mpi: MPI. auto: mpi if mpirun or srun started more than one process, otherwise none. nccl: "
     "gradients and parameters are sent from GPU to GPU with NCCL; other messages use the transport of the host, or "
     "the one that auto selects."},
    {"context.comm_timeout", kF64, "60", 0.001, 86400, nullptr,
     "Number of seconds without a message from another rank after which the call fails with XF_ERROR_PEER. With MPI, "
     "ranks also send signs of life while they compute, load, or save. Other transports send none, so with them it "
     "must exceed the time to save a checkpoint and the difference in step time between ranks."},
    {"context.comm_start_timeout", kF64, "300", 0.001, 86400, nullptr,
     "Number of seconds that a rank waits until all ranks have joined, with MPI."},
    {"context.comm_work_timeout", kF64, "3600", 0.001, 1e6, nullptr,
     "Number of seconds that a rank waits for another rank that is alive but computes, loads, or saves, with MPI."},

    {"tokenizer.kind", kStr, "bpe", 0, 0, "bpe|wordpiece|unigram",
     "Byte-pair encoding; WordPiece (learns pieces by likelihood, segments by the longest match); or unigram (learns "
     "and segments by likelihood).",
     "s. 5.1"},
    {"tokenizer.vocab_size", kI64, "37000", 259, 1 << 20, nullptr,
     "Vocabulary size to reach in training, including 2 special tokens and 256 bytes; a small corpus may yield fewer "
     "tokens.",
     "s. 5.1"},
    {"tokenizer.normalization", kStr, "nfkc", 0, 0, "none|nfc|nfkc",
     "Unicode normalization of all text; none preserves all bytes."},
    {"tokenizer.invalid_utf8", kStr, "error", 0, 0, "error|replace",
     "Handling of text that is not valid UTF-8: an error with the byte offset, or replacement of invalid bytes by "
     "U+FFFD. Not used with tokenizer.normalization none, which accepts all bytes."},
    {"tokenizer.character_coverage", kF64, "0.9999", 0, 1, nullptr,
     "The most frequent characters above U+007F become tokens until they cover this fraction of all occurrences of "
     "such characters; the others are encoded as bytes."},

    {"text.source_language", kStr, "", 0, 0, nullptr,
     "Language of the source texts, by its name in model.languages, for example en_XX. Sentences given as ids must "
     "already contain its token."},
    {"text.target_language", kStr, "", 0, 0, nullptr,
     "Language of the target texts and of hypotheses, by its name in model.languages. Target ids must already contain "
     "its token, and so must source ids if model.target_language is source."},

    {"data.batch_tokens", kI64, "25000", 2, 1 << 24, nullptr,
     "Maximum number of source tokens, and of target tokens, in a batch, end tokens included.", "s. 5.1"},
    {"data.max_tokens", kI64, "256", 2, 1 << 20, nullptr,
     "Sentence pairs with more tokens on either side, end token included, are excluded from training and counted."},
    {"data.max_bytes", kI64, "65536", 1, 1 << 28, nullptr,
     "Lines with more bytes on either side are skipped and counted."},
    {"data.strict", kBool, "false", 0, 1, nullptr,
     "Treat the first invalid line of a corpus as an error instead of skipping it."},
    {"data.sample", kI64, "0", 0, int64_t{1} << 40, nullptr,
     "Keep at most this many pairs of a corpus of text, chosen at random; 0 keeps all."},
    {"data.part_pairs", kI64, "131072", 1, 1 << 24, nullptr, "Pairs in each part of an encoded corpus on disk."},
    {"data.chunk_pairs", kI64, "1048576", 1, 1 << 30, nullptr,
     "Pairs of an encoded corpus that are in memory and shuffled together, rounded to whole parts."},
    {"data.shuffle", kBool, "true", 0, 1, nullptr,
     "Shuffle every epoch and group pairs of similar length; false keeps the order of the corpus.", "s. 5.1"},
    {"data.mix", kStr, "", 0, 0, nullptr,
     "How often the pairs of a file of the corpus occur in an epoch: file=factor, separated by commas. A factor is "
     "from "
     "0 to 1000; the default is 1. With 2.3, a pair occurs twice, and in 30 % of the epochs a third time."},
    {"data.augment", kF64, "0", 0, 1, nullptr,
     "Share of the pairs that are changed, differently in every epoch: capital or small letters, no final punctuation, "
     "or a typing error in the source."},
    {"data.seed", kI64, "1", 0, kMaxSeed, nullptr,
     "Seed of the shuffle, the sample, the mix, the changes of data.augment, and random segmentation."},
    {"data.sampling", kF64, "0", 0, 100, nullptr,
     "Segment the texts at random, differently in every epoch; 0 disables it. For BPE tokenizers: probability of "
     "omitting a merge, below 1; 0.1 is usual (Provilkov et al. 2020). For unigram tokenizers: alpha, with each "
     "segmentation x drawn with probability proportional to P(x)^alpha; 0.2 to 0.5 is usual (Kudo 2018)."},

    {"model.encoder_layers", kI64, "6", 1, 1024, nullptr, "Number of encoder layers, N.", "s. 3.1"},
    {"model.decoder_layers", kI64, "6", 1, 1024, nullptr, "Number of decoder layers, N.", "s. 3.1"},
    {"model.d_model", kI64, "512", 2, kMaxDim, nullptr, "Width of the residual stream; must be even.", "s. 3.1"},
    {"model.d_ff", kI64, "2048", 1, kMaxDim * 4, nullptr, "Inner width of the feed-forward layers.", "s. 3.3"},
    {"model.heads", kI64, "8", 1, 1024, nullptr, "Number of attention heads, h.", "s. 3.2.2"},
    {"model.d_k", kI64, "64", 1, kMaxDim, nullptr, "Width of the queries and keys of a head.", "s. 3.2.2"},
    {"model.d_v", kI64, "64", 1, kMaxDim, nullptr, "Width of the values of a head.", "s. 3.2.2"},
    {"model.vocab_size", kI64, "0", 0, 1 << 20, nullptr, "Vocabulary size, V; 0 uses the size of the tokenizer.",
     "s. 5.1"},
    {"model.source_vocab_size", kI64, "0", 0, 1 << 20, nullptr,
     "Vocabulary size of the sources; 0 uses model.vocab_size. A different size requires separate embeddings: "
     "model.tie decoder or none."},
    {"model.tie", kStr, "all", 0, 0, "all|decoder|none",
     "Which of source embedding, target embedding, and output projection share one matrix: all three (as in the "
     "paper), the last two, or none.",
     "s. 3.4"},
    {"model.activation", kStr, "relu", 0, 0, "relu|gelu|swish|reglu|geglu|swiglu",
     "Activation of the feed-forward layers: gelu is exact (erf); swish is x sigmoid(x); reglu, geglu, and swiglu are "
     "the gated variants act(x W) * (x V) (Shazeer 2020).",
     "s. 3.3"},
    {"model.attention_bias", kBool, "false", 0, 1, nullptr, "Add a bias to the four projections of attention.",
     "s. 3.2.2"},
    {"model.output_bias", kBool, "false", 0, 1, nullptr, "Add a bias to the output projection.", "s. 3.4"},
    {"model.norm", kStr, "post", 0, 0, "post|pre|post_rms|pre_rms",
     "Position of normalization: after the residual sum (as in the paper), or before each sub-layer with a final "
     "normalization per stack. post and pre are LayerNorm; post_rms and pre_rms are RMSNorm, which subtracts no mean "
     "and has no bias (Zhang & Sennrich 2019).",
     "s. 3.1"},
    {"model.embedding_norm", kBool, "false", 0, 1, nullptr,
     "Normalize the sum of embedding and position before the first layer of each stack."},
    {"model.embedding_scale", kBool, "true", 0, 1, nullptr, "Multiply embeddings by sqrt(d_model).", "s. 3.4"},
    {"model.norm_epsilon", kF64, "1e-6", 1e-12, 1e-2, nullptr, "Added to the variance inside the square root."},
    {"model.positions", kStr, "sinusoid", 0, 0, "sinusoid|learned|fixed",
     "Position encoding: the paper's sinusoids, trained tables, or fixed tables, which are loaded from the file and "
     "are sinusoids in a new model.",
     "s. 3.5, Table 3 (E)"},
    {"model.max_length", kI64, "1024", 2, 1 << 20, nullptr,
     "Maximum sequence length in tokens, and the number of rows of the position table. The table must not exceed "
     "16 MiB or the size of the parameters, whichever is larger.",
     "s. 3.5"},
    {"model.window", kI64, "0", 0, 1 << 20, nullptr,
     "Self-attention window r: each position attends to positions at most r / 2 away; 0 attends to all.", "s. 4"},
    {"model.start_token", kI64, "-1", -1, 1 << 20, nullptr,
     "First input token of the decoder; -1 uses that of the tokenizer, or 0 if there is none.", "s. 3.1"},
    {"model.end_token", kI64, "-1", -1, 1 << 20, nullptr,
     "Token that ends every source and target; -1 uses that of the tokenizer, or 1 if there is none.", "s. 3.1"},
    {"model.first_token", kI64, "-1", -1, 1 << 20, nullptr,
     "First token of every hypothesis, for example a language token; -1: not fixed."},
    {"model.banned_tokens", kStr, "", 0, 0, nullptr,
     "Tokens that never occur in a hypothesis, in addition to the start token: numbers separated by commas."},
    {"model.languages", kStr, "", 0, 0, nullptr,
     "Languages of a multilingual model with their tokens: name=token, separated by commas."},
    {"model.source_language", kStr, "none", 0, 0, "none|before|after",
     "Position of the source language token: none, before the text's tokens, or after the end token."},
    {"model.target_language", kStr, "none", 0, 0, "none|first|start|source",
     "Use of the target language token: none, the first token of the hypothesis, the first input of the decoder, or "
     "the first token of the source."},
    {"model.seed", kI64, "1", 0, kMaxSeed, nullptr, "Seed of the initial parameters."},
    {"model.weights", kStr, "same", 0, 0, "same|fp32|fp16|bf16|int8",
     "Type of the matrices of a model that is loaded, copied, or saved; same keeps the current type. Models with fp32 "
     "matrices can be trained; those with other types need half or a quarter of the memory and can only decode, "
     "score, and evaluate. int8 has one scale per row; vectors and position tables remain fp32."},

    {"train.dropout", kF64, "0.1", 0, 0.95, nullptr,
     "Dropout rate after each sub-layer and on the sum of embedding and position.", "s. 5.4"},
    {"train.attention_dropout", kF64, "0", 0, 0.95, nullptr, "Dropout rate on attention weights.", "s. 6.3"},
    {"train.activation_dropout", kF64, "0", 0, 0.95, nullptr,
     "Dropout rate on the inner values of the feed-forward layers."},
    {"train.label_smoothing", kF64, "0.1", 0, 0.99, nullptr, "Probability mass that is taken from the correct token.",
     "s. 5.4"},
    {"train.label_smoothing_kind", kStr, "others", 0, 0, "others|uniform",
     "Distribution of the smoothing mass. others: evenly over all other tokens (tensor2tensor). uniform: evenly over "
     "all tokens (Marian, Sockeye)."},
    {"train.schedule", kStr, "inverse_sqrt", 0, 0, "inverse_sqrt|constant|linear|cosine",
     "Learning rate schedule. inverse_sqrt: eq. (3) times train.learning_rate. The others start with a linear warm-up "
     "to train.learning_rate: constant keeps it; linear and cosine decay to 0 at train.total_steps.",
     "s. 5.3, eq. (3)"},
    {"train.learning_rate", kF64, "1", 0, 1e3, nullptr,
     "Factor of the inverse_sqrt schedule (1 in the paper), or the peak learning rate of the other schedules.",
     "s. 5.3"},
    {"train.warmup_steps", kI64, "4000", 1, 1e9, nullptr, "Number of linear warm-up steps.", "s. 5.3, eq. (3)"},
    {"train.total_steps", kI64, "100000", 1, 1e12, nullptr,
     "Step at which a linear or cosine schedule reaches 0; must exceed train.warmup_steps."},
    {"train.adam_beta1", kF64, "0.9", 0, 0.999999, nullptr, "Adam's first decay rate.", "s. 5.3"},
    {"train.adam_beta2", kF64, "0.98", 0, 0.999999, nullptr, "Adam's second decay rate.", "s. 5.3"},
    {"train.adam_epsilon", kF64, "1e-9", 1e-16, 1, nullptr, "Adam's epsilon.", "s. 5.3"},
    {"train.weight_decay", kF64, "0", 0, 1e3, nullptr,
     "Decoupled weight decay (AdamW, Loshchilov & Hutter 2019): each step subtracts this fraction of each matrix, "
     "times the learning rate. Embeddings are included; norms and biases are not."},
    {"train.clip_norm", kF64, "0", 0, 1e18, nullptr,
     "Maximum L2 norm of the gradient over all parameters; a larger gradient is scaled down. 0 disables clipping."},
    {"train.ema", kF64, "0", 0, 0.9999999, nullptr,
     "Decay of an exponential moving average of the parameters (xf_trainer_copy_average()); 0 disables it."},
    {"train.accumulate", kI64, "1", 1, 1 << 20, nullptr,
     "Number of batches per shard whose gradients xf_train_next() adds for one update."},
    {"train.shards", kI64, "0", 0, 1 << 16, nullptr,
     "Number of shards of a step. Each has train.accumulate batches, and the gradients of all shards are added in a "
     "fixed tree. Must not be less than the number of ranks; results depend on the number of shards, but not on the "
     "number of ranks. 0: one per rank."},
    {"train.reduce_precision", kStr, "fp32", 0, 0, "fp32|bf16",
     "Type of the gradients of the shards when they are added and sent to other ranks. bf16 halves the traffic: each "
     "gradient is rounded before it is added; sums remain fp32."},
    {"train.on_nonfinite", kStr, "stop", 0, 0, "stop|skip|rollback",
     "Reaction to a loss or gradient that is not finite: stop with an error, skip the step, or roll back to the last "
     "checkpoint. The tenth such step in a row is always an error."},
    {"train.seed", kI64, "1", 0, kMaxSeed, nullptr, "Seed of dropout."},

    {"decode.beam", kI64, "4", 1, 1024, nullptr, "Beam size; 1 is greedy search.", "s. 6.1"},
    {"decode.alpha", kF64, "0.6", 0, 10, nullptr, "Length penalty: score = log P / ((5 + L) / 6)^alpha.", "s. 6.1"},
    {"decode.max_extra_tokens", kI64, "50", 0, 1 << 20, nullptr,
     "Maximum number of tokens by which a hypothesis may exceed its source, end tokens included on both sides.",
     "s. 6.1"},
    {"decode.min_tokens", kI64, "0", 0, 1 << 20, nullptr,
     "Minimum length of a hypothesis, end token excluded; the maximum length takes precedence."},
    {"decode.n_best", kI64, "1", 1, 1024, nullptr,
     "Maximum number of hypotheses per sentence; must not exceed decode.beam, except with decode.temperature or "
     "decode.alternatives, where it is the number of samples or alternatives."},
    {"decode.batch_sentences", kI64, "32", 1, 1 << 16, nullptr,
     "Maximum number of sentences that are decoded together; fewer if sources are longer than 256 tokens. Affects "
     "speed and memory, not results."},
    {"decode.draft_tokens", kI64, "8", 0, 64, nullptr,
     "Maximum number of tokens that a draft (xf_decode_models) proposes per step; 0 disables the draft. Affects speed, "
     "not results.",
     "Leviathan et al. 2023"},
    {"decode.temperature", kF64, "0", 0, 100, nullptr,
     "0: no sampling. Above 0: each token is chosen at random, with a probability proportional to P^(1 / temperature); "
     "requires decode.beam 1."},
    {"decode.top_k", kI64, "0", 0, 1 << 30, nullptr,
     "Number of most probable tokens among which a sample is chosen; 0: all. Requires decode.temperature above 0."},
    {"decode.top_p", kF64, "1", 0, 1, nullptr,
     "A sample is chosen among the smallest number of most probable tokens that together have at least this share of "
     "the probability, after decode.temperature and decode.top_k. Requires decode.temperature above 0."},
    {"decode.min_p", kF64, "0", 0, 1, nullptr,
     "A sample is chosen among the tokens whose probability is at least this value times that of the most probable "
     "token, after decode.temperature. Requires decode.temperature above 0."},
    {"decode.seed", kI64, "1", 0, kMaxSeed, nullptr,
     "Seed of the random numbers of sampling. The same seed, source, and options give the same samples in any batch."},
    {"decode.repetition_penalty", kF64, "1", 0.01, 100, nullptr,
     "Factor of the log-probability of each token that a hypothesis already contains; above 1, repetitions become less "
     "probable."},
    {"decode.no_repeat_ngram", kI64, "0", 0, 1 << 20, nullptr,
     "No sequence of this number of tokens occurs twice in a hypothesis, except in its prefix; 0: no limit."},
    {"decode.banned_phrases", kStr, "", 0, 0, nullptr,
     "Texts, one per line, that no hypothesis contains after its prefix. A text that begins with a letter or digit is "
     "banned only at the beginning of a word: \"Bad\" bans \"Bad\" and \"Badewanne\", but not \"Schwimmbad\". The "
     "model must have a tokenizer."},
    {"decode.alternatives", kBool, "false", 0, 1, nullptr,
     "true: each of the decode.n_best best tokens after the prefix begins one hypothesis, which greedy search "
     "completes. Requires decode.beam 1."},
    {"decode.divide_evaluation", kBool, "false", 0, 1, nullptr,
     "With several ranks, xf_evaluate() is a collective call in which each rank evaluates a part of the batches. All "
     "ranks return the same bits as a single rank."},
    {"decode.alignment", kBool, "false", 0, 1, nullptr,
     "true: hypotheses report the source token to which each of their tokens is aligned (xf_hypothesis::alignment). "
     "Requires one more pass of the model for each hypothesis."},

    {"engine.thread", kBool, "true", 0, 1, nullptr,
     "true: an engine computes on a separate thread. false: it computes in xf_engine_step()."},
    {"engine.max_requests", kI64, "1024", 1, 1 << 20, nullptr,
     "Maximum number of requests that an engine holds. A request counts from xf_engine_submit() until its last event "
     "is received."},
};

}  // namespace

size_t option_count() { return sizeof kOptions / sizeof kOptions[0]; }
const Option &option(size_t index) { return kOptions[index]; }

}  // namespace xf
