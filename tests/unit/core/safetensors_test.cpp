// The container: golden bytes, round trips, every truncation and bit flip. Hostile headers are in
// safetensors_header_test.cpp, failing system calls in atomic_file_test.cpp, file_test.cpp, and harness/fault.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors.h"

#include "core/atomic_file.h"
#include "core/fault_io.hpp"
#include "support/test.hpp"

using namespace xf;
using xf_test::TempFolder;

namespace {

const float kWeights[6] = {1, -2, 0.5f, 3, 4, -0.25f};
const int8_t kSmall[3] = {-1, 0, 7};

void add(SafetensorsWriter *writer, const char *name, const char *dtype, std::vector<int64_t> shape, const void *data) {
    writer->add(name, dtype, std::move(shape), [data](uint64_t offset, void *dst, size_t bytes) {
        std::memcpy(dst, static_cast<const char *>(data) + offset, bytes);
    });
}

SafetensorsWriter small_model(const char *config = "d_model = 2\nname = \"a\\b\"") {
    SafetensorsWriter writer;
    writer.set_metadata("config", config);
    add(&writer, "small", "I8", {3}, kSmall);
    add(&writer, "weights", "F32", {2, 3}, kWeights);
    return writer;
}

// Loads a file: the header, then all data with the checksum.
void load(const SafetensorsReader &reader) {
    std::vector<std::string> memory;
    memory.reserve(reader.tensors().size());
    reader.load_all([&](const TensorInfo &tensor) {
        return memory.emplace_back(static_cast<size_t>(tensor.end - tensor.begin), '\0').data();
    });
}

std::string save(const SafetensorsWriter &writer, const std::string &path) {
    AtomicFile file(path);
    std::string digest = writer.write(&file, path);
    file.commit();
    return digest;
}

SafetensorsReader open(const std::string &path) { return SafetensorsReader(std::make_shared<InputFile>(path)); }

// Of bytes that must outlive the reader.
SafetensorsReader reader_of(const std::string &bytes) {
    return SafetensorsReader(std::make_shared<MemoryInput>(bytes.data(), bytes.size()));
}

std::string bytes_of(const SafetensorsWriter &writer) {
    const TempFolder folder;
    save(writer, folder / "m");
    return read_all(InputFile(folder / "m"), 1 << 24);
}

}  // namespace

// The digest was computed with Python's hashlib over the bytes with the digits replaced by '0'.
XF_TEST(golden_bytes) {
    SafetensorsWriter writer;
    writer.set_metadata("k", "v");
    const uint8_t data[2] = {1, 2};
    add(&writer, "t", "U8", {2}, data);
    const std::string json =
        "{\"__metadata__\":{\"k\":\"v\",\"sha256\":\""
        "53ade7109c15f447a4ad731872e3475d47c7efa0ce8ac95a7090b60bfba22fda\"},"
        "\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}";
    std::string expected = json;
    expected.append((8 - expected.size() % 8) % 8, ' ');
    expected = std::string(1, static_cast<char>(expected.size())) + std::string(7, '\0') + expected + "\1\2";
    CHECK(bytes_of(writer) == expected);
}

XF_TEST(round_trip) {
    const TempFolder folder;
    const std::string digest = save(small_model(), folder / "m");
    const SafetensorsReader reader = open(folder / "m");
    CHECK_EQ(reader.metadata().at("config"), std::string("d_model = 2\nname = \"a\\b\""));
    CHECK_EQ(reader.metadata().at("sha256"), digest);
    CHECK_EQ(reader.tensors().size(), size_t{2});
    CHECK_EQ(reader.tensors()[0].name, std::string("weights"));  // wide elements come first
    CHECK(reader.find("none") == nullptr);
    const TensorInfo *weights = reader.find("weights");
    CHECK(weights && weights->shape == std::vector<int64_t>({2, 3}) && weights->dtype == "F32");
    reader.verify();

    float back[6] = {};
    int8_t small[3] = {};
    reader.load_all([&](const TensorInfo &tensor) -> void * {
        return tensor.name == "weights" ? static_cast<void *>(back) : small;
    });
    CHECK(std::memcmp(back, kWeights, sizeof back) == 0 && std::memcmp(small, kSmall, sizeof small) == 0);
}

XF_TEST(sources_are_streamed_in_order) {
    const size_t count = 300'000;  // more than one chunk
    SafetensorsWriter writer;
    uint64_t next = 0;
    bool in_order = true;
    writer.add("big", "I32", {static_cast<int64_t>(count)}, [&](uint64_t offset, void *dst, size_t bytes) {
        in_order = in_order && offset == next;
        next = offset + bytes;
        for (size_t i = 0; i < bytes / 4; ++i) {
            const uint32_t value = static_cast<uint32_t>(offset / 4 + i) * 2654435761u;
            std::memcpy(static_cast<char *>(dst) + 4 * i, &value, 4);
        }
    });
    add(&writer, "none", "F32", {0, 7}, nullptr);
    add(&writer, "scalar", "I64", {}, "12345678");
    const std::string bytes = bytes_of(writer);
    CHECK(in_order && next == count * 4);
    next = 0;
    CHECK(bytes == bytes_of(writer));
    const SafetensorsReader reader = reader_of(bytes);
    std::vector<uint32_t> back(count);
    reader.load_all([&](const TensorInfo &tensor) { return tensor.name == "big" ? back.data() : nullptr; });
    bool equal = true;
    for (size_t i = 0; i < count; ++i) equal = equal && back[i] == static_cast<uint32_t>(i) * 2654435761u;
    CHECK(equal);
    CHECK(reader.find("scalar")->shape.empty());
    CHECK_EQ(reader.find("none")->end, reader.find("none")->begin);
}

XF_TEST(an_empty_model_and_odd_names_round_trip) {
    const std::string empty = bytes_of(SafetensorsWriter());
    reader_of(empty).verify();
    SafetensorsWriter writer;
    writer.set_metadata("sha256\":\"", std::string(64, '0'));
    writer.set_metadata("z\n\t\x01", std::string("\0\"\\\x1f\x7f", 5));
    add(&writer, "sha256", "U8", {1}, "x");
    add(&writer, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x8d\x8b", "U8", {1}, "y");
    const std::string bytes = bytes_of(writer);
    const SafetensorsReader reader = reader_of(bytes);
    reader.verify();
    CHECK_EQ(reader.metadata().at("z\n\t\x01"), std::string("\0\"\\\x1f\x7f", 5));
    CHECK(reader.find("gr\xc3\xbc\xc3\x9f \xf0\x9f\x8d\x8b"));
}

XF_TEST(files_that_cannot_be_loaded_are_not_written) {
    const TempFolder folder;
    const auto refuses = [&](const char *name, xf_status status) {
        SafetensorsWriter writer;
        add(&writer, "twice", "U8", {1}, "x");
        add(&writer, name, "U8", {1}, "x");
        CHECK_FAILS(save(writer, folder / "m"), status);
    };
    refuses("twice", XF_ERROR_INVALID_ARGUMENT);
    refuses("", XF_ERROR_INVALID_ARGUMENT);
    refuses("\xff", XF_ERROR_INVALID_ARGUMENT);
    refuses("__metadata__", XF_ERROR_INVALID_ARGUMENT);
    refuses(std::string(1025, 'n').c_str(), XF_ERROR_LIMIT);
    CHECK(!std::ifstream(folder / "m").good());
    SafetensorsWriter writer;
    CHECK_FAILS(add(&writer, "a", "F99", {1}, "x"), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(add(&writer, "a", "U8", {-1}, "x"), XF_ERROR_LIMIT);
    CHECK_FAILS(writer.set_metadata("sha256", "x"), XF_ERROR_INVALID_ARGUMENT);
    save(writer, folder / "m");  // the refused tensors have no effect
    CHECK(open(folder / "m").tensors().empty());
}

XF_TEST(a_file_without_a_checksum_is_read_but_not_verified) {
    const std::string json = "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}} ";
    const std::string bytes = std::string(1, static_cast<char>(json.size())) + std::string(7, '\0') + json + "x";
    const SafetensorsReader reader = reader_of(bytes);
    CHECK_EQ(reader.tensors()[0].name, std::string("t"));
    CHECK_FAILS(reader.verify(), XF_ERROR_CORRUPT);
}

XF_TEST(every_truncation_is_corrupt) {
    const std::string bytes = bytes_of(small_model());
    for (size_t length = 0; length < bytes.size(); ++length)
        CHECK_FAILS(load(reader_of(bytes.substr(0, length))), XF_ERROR_CORRUPT);
    const std::string longer = bytes + "x";
    CHECK_FAILS(load(reader_of(longer)), XF_ERROR_CORRUPT);
}

// Names, configuration, padding, digits, and the length are protected as well as the data. XF_ERROR_LIMIT is also
// right: a flip in a dimension may make it too large.
XF_TEST(every_bit_flip_is_detected) {
    std::string bytes = bytes_of(small_model());
    load(reader_of(bytes));
    size_t corrupt = 0, limit = 0, missed = 0;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        const xf_status found = xf_test::outcome_of([&] { load(reader_of(bytes)); }).status;
        missed += found == XF_OK;
        corrupt += found == XF_ERROR_CORRUPT;
        limit += found == XF_ERROR_LIMIT;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
    CHECK_EQ(missed, size_t{0});
    CHECK_EQ(corrupt + limit, bytes.size() * 8);
    CHECK(limit < 20);
}

XF_TEST(a_file_that_changes_while_it_is_open_is_detected) {
    const TempFolder folder;
    save(small_model(), folder / "m");
    const SafetensorsReader reader = open(folder / "m");
    const std::string bytes = read_all(InputFile(folder / "m"), 1 << 20);
    {
        std::fstream file(folder / "m", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(bytes.size() - 1));
        file.put('!');
    }
    CHECK_FAILS(reader.verify(), XF_ERROR_CORRUPT);
    CHECK_EQ(truncate((folder / "m").c_str(), static_cast<off_t>(bytes.size() - 1)), 0);
    CHECK_FAILS(reader.verify(), XF_ERROR_CORRUPT);
}

XF_TEST(an_exception_of_a_source_keeps_the_old_file) {
    const TempFolder folder;
    save(small_model(), folder / "m");
    SafetensorsWriter writer;
    writer.add("t", "U8", {1}, [](uint64_t, void *, size_t) { fail(XF_ERROR_BACKEND, "the device is gone"); });
    CHECK_FAILS(save(writer, folder / "m"), XF_ERROR_BACKEND);
    load(open(folder / "m"));
    CHECK_EQ(xf_test::count_temps(folder), 0);
}
