// Writing and reading the files of an encoded corpus; see corpus_folder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/corpus_folder.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/os/file.h"
#include "core/safetensors.h"

namespace xf {
namespace {

constexpr char kIndexName[] = "corpus.safetensors", kTokenizerName[] = "tokenizer.json", kPartPrefix[] = "part-";
constexpr char kFolderFormat[] = "xformer-corpus", kFolderVersion[] = "1";
// Metadata of the files, in addition to that of Encoders::identity.
constexpr char kFolderFormatKey[] = "format", kFolderVersionKey[] = "format_version", kTextKey[] = "text_sha256",
               kTokenizerKey[] = "tokenizer_sha256";
// Tensors of the index, and the columns of the first one.
constexpr char kParts[] = "parts", kDigests[] = "part_sha256", kLines[] = "lines", kFileNames[] = "file_names",
               kFileFirsts[] = "file_first_pairs";
constexpr int64_t kPartColumns = 3;
constexpr int64_t CorpusStats::*kLineCounts[] = {
    &CorpusStats::lines,      &CorpusStats::kept,     &CorpusStats::no_tab,       &CorpusStats::many_tabs,
    &CorpusStats::empty_side, &CorpusStats::too_long, &CorpusStats::invalid_utf8, &CorpusStats::nul_byte};
// Larger than any corpus; sums of such numbers do not overflow.
constexpr int64_t kMaxCount = int64_t{1} << 53;
constexpr int64_t kMaxTwoByteId = std::numeric_limits<uint16_t>::max();

std::string file_in(const std::string &folder, const std::string &name) {
    return folder + (folder.empty() || folder.back() == '/' ? "" : "/") + name;
}

std::string part_name(int64_t part) { return format("%s%05" PRId64 ".safetensors", kPartPrefix, part); }

// Returns whether a file or folder exists. A file that cannot be examined must not be taken for a missing one.
bool examine(const std::string &path, FileStatus *status) {
    if (stat_file(path.c_str(), status) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) fail_errno(errno, "examine", path);
    return false;
}

bool has_file(const std::string &folder, const std::string &name) {
    FileStatus status;
    return examine(file_in(folder, name), &status);
}

bool is_folder(const std::string &path) {
    FileStatus status;
    return examine(path, &status) && status.kind == FileKind::kFolder;
}

// Copies values for SafetensorsWriter, which asks for any range of bytes.
SafetensorsWriter::Source bytes_of(const void *data) {
    return [data](uint64_t offset, void *dst, size_t bytes) {
        std::memcpy(dst, static_cast<const char *>(data) + offset, bytes);
    };
}

template <class T>
void add_tensor(SafetensorsWriter *writer, const char *name, const char *dtype, std::vector<int64_t> shape,
                std::span<const T> values) {
    writer->add(name, dtype, std::move(shape), bytes_of(values.data()));
}

// The value of a metadata key, or "".
std::string value_of(const Metadata &metadata, const std::string &key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
}

// Opens a file of the format.
SafetensorsReader open_file(const std::string &path) {
    SafetensorsReader reader(std::make_shared<InputFile>(path));
    const std::string found = value_of(reader.metadata(), kFolderFormatKey);
    XF_CHECK(found == kFolderFormat, XF_ERROR_CORRUPT, "'%s' has the format '%.32s', expected %s", path.c_str(),
             found.c_str(), kFolderFormat);
    const std::string version = value_of(reader.metadata(), kFolderVersionKey);
    XF_CHECK(version == kFolderVersion, XF_ERROR_VERSION, "'%s' has version '%.32s' of its format, expected %s",
             path.c_str(), version.c_str(), kFolderVersion);
    return reader;
}

const TensorInfo &require(const SafetensorsReader &reader, const char *name, std::initializer_list<const char *> dtypes,
                          std::initializer_list<int64_t> shape) {
    const TensorInfo *const tensor = reader.find(name);
    XF_CHECK(tensor != nullptr, XF_ERROR_CORRUPT, "'%s' has no tensor '%s'", reader.input().name().c_str(), name);
    const bool known = std::any_of(dtypes.begin(), dtypes.end(), [&](const char *d) { return tensor->dtype == d; });
    const bool same = std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end(),
                                 [](int64_t wanted, int64_t found) { return wanted < 0 || wanted == found; });
    XF_CHECK(known && same, XF_ERROR_CORRUPT, "'%s': tensor '%s' has another dtype or shape than a corpus has",
             reader.input().name().c_str(), name);
    return *tensor;
}

// The first difference of two identities as a part of a sentence, or "" if there is none.
std::string difference(const Metadata &now, const Metadata &encoded) {
    for (const auto &[key, value] : now) {
        const std::string other = value_of(encoded, key);
        if (other == value) continue;
        if (key == kTokenizerKey)
            return format("it was encoded with another tokenizer (SHA-256 %.16s..., now %.16s...)", other.c_str(),
                          value.c_str());
        return format("its %s is '%.40s', now '%.40s'", key.c_str(), other.c_str(), value.c_str());
    }
    return "";
}

// The lengths and ids of one side of a part, as they are in the file.
struct SideOfPart {
    std::vector<int32_t> lengths;
    std::vector<uint16_t> narrow;
    std::vector<int32_t> wide;
    bool is_wide = false;
    size_t at = 0;  // the next id

    void resize(int64_t pairs, int64_t tokens, bool has_wide) {
        lengths.resize(pairs);
        is_wide = has_wide;
        narrow.resize(is_wide ? 0 : tokens);
        wide.resize(is_wide ? tokens : 0);
        at = 0;
    }

    void *ids() { return is_wide ? static_cast<void *>(wide.data()) : narrow.data(); }

    bool has_valid_lengths() const {
        uint64_t tokens = 0;
        for (const int32_t length : lengths) {
            if (length < 0) return false;
            tokens += length;
        }
        return tokens == (is_wide ? wide.size() : narrow.size());
    }

    std::span<const int32_t> next(int64_t pair, std::vector<int32_t> *scratch) {
        const size_t begin = at;
        at += lengths[pair];
        if (is_wide) return std::span(wide).subspan(begin, at - begin);
        scratch->assign(narrow.begin() + begin, narrow.begin() + at);
        return *scratch;
    }
};

struct PartContents {
    SideOfPart sides[2];

    // Reads and checks a file.
    void read(const std::string &path, const CorpusFolder::Part &part, const Call &call) {
        static constexpr const char *kLengths[] = {"source_lengths", "target_lengths"};
        static constexpr const char *kIds[] = {"source_ids", "target_ids"};
        const SafetensorsReader reader = open_file(path);
        XF_CHECK(value_of(reader.metadata(), kDigestKey) == part.sha256, XF_ERROR_CORRUPT,
                 "'%s' is not the part with which the corpus was completed", path.c_str());
        for (size_t side = 0; side < 2; ++side) {
            const int64_t tokens = side == 0 ? part.source_tokens : part.target_tokens;
            require(reader, kLengths[side], {"I32"}, {part.pairs});
            const TensorInfo &ids = require(reader, kIds[side], {"I32", "U16"}, {tokens});
            sides[side].resize(part.pairs, tokens, ids.dtype == "I32");
        }
        reader.load_all(
            [&](const TensorInfo &tensor) -> void * {
                for (size_t side = 0; side < 2; ++side) {
                    if (tensor.name == kLengths[side]) return sides[side].lengths.data();
                    if (tensor.name == kIds[side]) return sides[side].ids();
                }
                return nullptr;
            },
            Call(&call));
        for (const SideOfPart &side : sides) {
            XF_CHECK(side.has_valid_lengths(), XF_ERROR_CORRUPT, "'%s' has lengths that do not match its ids",
                     path.c_str());
            for (const int32_t id : side.wide)
                XF_CHECK(id >= 0, XF_ERROR_CORRUPT, "'%s' contains the id %d", path.c_str(), id);
        }
    }
};

// The files that encode() writes.
class FolderWriter {
public:
    FolderWriter(const std::string &path, const Encoders &encoders, const std::string &tokenizer,
                 const Corpus::Warn &warn, const Call &call)
        : path_(path),
          encoders_(encoders),
          identity_(encoders.identity()),
          tokenizer_(tokenizer),
          warn_(warn),
          call_(&call) {
        check_path(path);
    }

    // Writes the next part, unless it is there. Creates the folder with the first one, so that a wrong path of the
    // texts leaves nothing.
    void take(const Corpus &texts) {
        if (parts_.empty() && make_folder(path_.c_str()) != 0 && !(errno == EEXIST && is_folder(path_)))
            fail_errno(errno, "create the folder", path_);
        const std::string name = part_name(std::ssize(parts_)), path = file_in(path_, name);
        const std::string text = texts.text_sha256();
        if (!has_file(path_, name) || !reuse(path, text)) write(path, text, texts);
    }

    void finish(const CorpusStats &stats, const std::vector<CorpusFile> &files) const {
        write_tokenizer();
        std::vector<int64_t> numbers, lines;
        std::string digests;
        for (const CorpusFolder::Part &part : parts_) {
            numbers.insert(numbers.end(), {part.pairs, part.source_tokens, part.target_tokens});
            digests += part.sha256;
        }
        for (const auto count : kLineCounts) lines.push_back(stats.*count);
        std::string names;
        std::vector<int64_t> firsts;
        for (const CorpusFile &file : files) {
            names += file.name + '\0';
            firsts.push_back(file.first);
        }
        const int64_t parts = std::ssize(parts_);
        SafetensorsWriter writer = writer_of();
        add_tensor(&writer, kParts, "I64", {parts, kPartColumns}, std::span<const int64_t>(numbers));
        add_tensor(&writer, kDigests, "U8", {parts, int64_t{kDigestDigits}}, std::span<const char>(digests));
        add_tensor(&writer, kLines, "I64", {std::ssize(lines)}, std::span<const int64_t>(lines));
        add_tensor(&writer, kFileNames, "U8", {std::ssize(names)}, std::span<const char>(names));
        add_tensor(&writer, kFileFirsts, "I64", {std::ssize(firsts)}, std::span<const int64_t>(firsts));
        save(writer, file_in(path_, kIndexName));
    }

private:
    void write_tokenizer() const {
        const std::string path = file_in(path_, kTokenizerName);
        if (has_file(path_, kTokenizerName)) {
            const InputFile input(path);
            const bool same = input.size() == tokenizer_.size() && read_all(input, input.size()) == tokenizer_;
            XF_CHECK(same, XF_ERROR_STATE, "'%s' is another tokenizer: choose another folder, or delete this one",
                     path.c_str());
            return;
        }
        AtomicFile file(path);
        file.write(tokenizer_.data(), tokenizer_.size());
        file.commit();
    }

    SafetensorsWriter writer_of() const {
        SafetensorsWriter writer;
        writer.set_metadata(kFolderFormatKey, kFolderFormat);
        writer.set_metadata(kFolderVersionKey, kFolderVersion);
        for (const auto &[key, value] : identity_) writer.set_metadata(key, value);
        return writer;
    }

    std::string save(const SafetensorsWriter &writer, const std::string &path) const {
        AtomicFile file(path);
        std::string digest = writer.write(&file, path, Call(call_));
        file.commit();
        return digest;
    }

    // Takes an existing part of the same texts. Returns false if it is damaged.
    bool reuse(const std::string &path, const std::string &text) {
        try {
            const SafetensorsReader reader = open_file(path);
            const std::string other = difference(identity_, reader.metadata());
            XF_CHECK(other.empty(), XF_ERROR_STATE, "'%s' can't be continued: %s", path.c_str(), other.c_str());
            XF_CHECK(value_of(reader.metadata(), kTextKey) == text, XF_ERROR_STATE,
                     "'%s' has other texts: choose another folder, or delete this one", path.c_str());
            reader.verify(Call(call_));
            const auto count = [&](const char *name) { return require(reader, name, {"I32", "U16"}, {-1}).shape[0]; };
            parts_.push_back({count("source_lengths"), count("source_ids"), count("target_ids"),
                              value_of(reader.metadata(), kDigestKey)});
            return true;
        } catch (const Error &error) {
            if (error.status() != XF_ERROR_CORRUPT) throw;
            if (warn_) warn_(format("%s; the part is encoded again", error.what()));
            return false;
        }
    }

    void write(const std::string &path, const std::string &text, const Corpus &texts) {
        const EncodedCorpus encoded = encode_corpus(texts, encoders_, kEveryPair, Call(call_));
        const int64_t pairs = encoded.size();
        SafetensorsWriter writer = writer_of();
        writer.set_metadata(kTextKey, text);
        const auto add_side = [&](const std::string &side, const auto &ids, const auto &offsets,
                                  std::vector<int32_t> *lengths) {
            for (int64_t i = 0; i < pairs; ++i) lengths->push_back(offsets[i + 1] - offsets[i]);
            add_tensor(&writer, (side + "_lengths").c_str(), "I32", {pairs}, std::span<const int32_t>(*lengths));
            const bool wide = std::any_of(ids.begin(), ids.end(), [](int32_t id) { return id > kMaxTwoByteId; });
            const std::string name = side + "_ids";
            if (wide)
                add_tensor(&writer, name.c_str(), "I32", {std::ssize(ids)}, std::span<const int32_t>(ids));
            else
                writer.add(name, "U16", {std::ssize(ids)}, [&ids](uint64_t offset, void *dst, size_t bytes) {
                    auto *out = static_cast<unsigned char *>(dst);  // `offset` may be odd
                    for (uint64_t at = offset; at < offset + bytes; ++at)
                        *out++ = static_cast<uint32_t>(ids[at / 2]) >> (at % 2 * 8);
                });
        };
        std::vector<int32_t> source_lengths, target_lengths;
        add_side("source", encoded.src_ids, encoded.src_offsets, &source_lengths);
        add_side("target", encoded.tgt_ids, encoded.tgt_offsets, &target_lengths);
        std::string digest = save(writer, path);
        parts_.push_back({pairs, std::ssize(encoded.src_ids), std::ssize(encoded.tgt_ids), std::move(digest)});
    }

    const std::string &path_;
    const Encoders &encoders_;
    const Metadata identity_;
    const std::string &tokenizer_;
    const Corpus::Warn &warn_;
    const Call *call_;
    std::vector<CorpusFolder::Part> parts_;
};

}  // namespace

bool CorpusFolder::exists(const std::string &path) {
    if (path.find('\0') != std::string::npos || !is_folder(path)) return false;
    if (has_file(path, kIndexName)) return true;
    XF_CHECK(!has_file(path, part_name(0)), XF_ERROR_DATA,
             "the corpus in '%s' is incomplete: encode it again into the same folder to continue", path.c_str());
    return false;
}

CorpusStats CorpusFolder::encode(const std::string &path, const TextFiles &texts, const CorpusOptions &options,
                                 const Encoders &encoders, const std::string &tokenizer, const Corpus::Warn &warn,
                                 const Call &call) {
    FolderWriter writer(path, encoders, tokenizer, warn, call);
    const Corpus::InParts read =
        Corpus::read_in_parts(texts, options, warn, call, [&](const Corpus &part) { writer.take(part); });
    writer.finish(read.stats, read.files);
    return read.stats;
}

CorpusFolder::CorpusFolder(const std::string &path) : path_(path), first_pairs_(1, 0) {
    const SafetensorsReader reader = open_file(file_in(path, kIndexName));
    const std::string &name = reader.input().name();
    const int64_t count = require(reader, kParts, {"I64"}, {-1, kPartColumns}).shape[0];
    require(reader, kDigests, {"U8"}, {count, int64_t{kDigestDigits}});
    require(reader, kLines, {"I64"}, {std::ssize(kLineCounts)});
    const int64_t files = require(reader, kFileFirsts, {"I64"}, {-1}).shape[0];
    std::vector<int64_t> numbers(count * kPartColumns), lines(std::size(kLineCounts)), firsts(files);
    std::string digests(count * kDigestDigits, '\0'), names(require(reader, kFileNames, {"U8"}, {-1}).shape[0], '\0');
    reader.load_all([&](const TensorInfo &tensor) -> void * {
        if (tensor.name == kParts) return numbers.data();
        if (tensor.name == kDigests) return digests.data();
        if (tensor.name == kFileNames) return names.data();
        if (tensor.name == kFileFirsts) return firsts.data();
        return tensor.name == kLines ? lines.data() : nullptr;
    });
    for (const std::vector<int64_t> *each : {&numbers, &lines})
        for (const int64_t number : *each)
            XF_CHECK(number >= 0 && number <= kMaxCount, XF_ERROR_CORRUPT,
                     "'%s' contains the number %" PRId64 ", expected 0 to %" PRId64, name.c_str(), number, kMaxCount);
    for (size_t i = 0; i < lines.size(); ++i) stats_.*kLineCounts[i] = lines[i];
    int64_t sums[kPartColumns] = {};
    for (int64_t i = 0; i < count; ++i) {
        const int64_t *const row = numbers.data() + i * kPartColumns;
        parts_.push_back({row[0], row[1], row[2], digests.substr(i * kDigestDigits, kDigestDigits)});
        first_pairs_.push_back(first_pairs_.back() + row[0]);
        for (int64_t column = 0; column < kPartColumns; ++column)
            XF_CHECK((sums[column] += row[column]) <= kMaxCount, XF_ERROR_CORRUPT, "'%s' has more than 2^53 tokens",
                     name.c_str());
        XF_CHECK(has_file(path, part_name(i)), XF_ERROR_NOT_FOUND, "'%s' is missing: the corpus has %" PRId64 " parts",
                 file_in(path, part_name(i)).c_str(), count);
    }
    XF_CHECK(count > 0 && first_pairs_.back() == stats_.kept, XF_ERROR_CORRUPT,
             "'%s' has %" PRId64 " pairs in %" PRId64 " parts, expected %" PRId64 " pairs", name.c_str(),
             first_pairs_.back(), count, stats_.kept);
    size_t at = 0;
    for (const int64_t first : firsts) {
        const size_t end = names.find('\0', at);
        const int64_t least = files_.empty() ? 0 : files_.back().first;
        XF_CHECK(end != std::string::npos && first >= least && first <= stats_.kept && (at > 0 || first == 0),
                 XF_ERROR_CORRUPT, "'%s' has an invalid list of files", name.c_str());
        files_.push_back({names.substr(at, end - at), first});
        at = end + 1;
    }
    for (const auto &[key, value] : reader.metadata())
        if (key != kDigestKey && key != kFolderFormatKey && key != kFolderVersionKey) identity_[key] = value;
    fingerprint_ = hash64(digests.data(), digests.size());
}

void CorpusFolder::check_identity(const Encoders &encoders) const {
    XF_CHECK(encoders.identity, XF_ERROR_INVALID_ARGUMENT,
             "the tokenizer is NULL, expected the one with which '%s' was encoded", path_.c_str());
    const std::string other = difference(encoders.identity(), identity_);
    XF_CHECK(other.empty(), XF_ERROR_INVALID_ARGUMENT, "the corpus '%s' does not suit this tokenizer or model: %s",
             path_.c_str(), other.c_str());
}

EncodedCorpus CorpusFolder::read(const std::vector<int64_t> &parts, int64_t max_tokens_per_side,
                                 const std::shared_ptr<Heap> &heap, const Call &call) const {
    EncodedCorpus encoded(heap);
    Part sum{};
    for (const int64_t i : parts) {
        sum.pairs += parts_[i].pairs;
        sum.source_tokens += parts_[i].source_tokens;
        sum.target_tokens += parts_[i].target_tokens;
    }
    PartContents contents;
    std::vector<int32_t> scratch[2];
    for (const int64_t i : parts) {
        contents.read(file_in(path_, part_name(i)), parts_[i], call);
        if (i == parts.front()) {  // after a part has shown that the numbers are real
            encoded.src_ids.reserve(sum.source_tokens);
            encoded.tgt_ids.reserve(sum.target_tokens);
            for (auto *const offsets : {&encoded.src_offsets, &encoded.tgt_offsets, &encoded.corpus_index})
                offsets->reserve(sum.pairs + 1);
        }
        for (int64_t pair = 0; pair < parts_[i].pairs; ++pair) {
            const auto src = contents.sides[0].next(pair, &scratch[0]), tgt = contents.sides[1].next(pair, &scratch[1]);
            encoded.take(src, tgt, first_pairs_[i] + pair, max_tokens_per_side);
        }
    }
    return encoded;
}

}  // namespace xf
