// The base of hostile_test.cpp: a parsed valid checkpoint, and the check that a changed one is refused.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/atomic_file.h"
#include "core/safetensors.h"
#include "handles.hpp"

namespace xf_hostile {

struct Tensor {
    std::string dtype;
    std::vector<int64_t> shape;
    std::vector<char> bytes;
};

struct Content {
    xf::Metadata metadata;
    std::map<std::string, Tensor> tensors;

    void write(const std::string &path) const {
        xf::SafetensorsWriter writer;
        for (const auto &[key, value] : metadata)
            if (key != xf::kDigestKey) writer.set_metadata(key, value);
        for (const auto &[name, t] : tensors)
            writer.add(name, t.dtype, t.shape, [&bytes = t.bytes](uint64_t offset, void *dst, size_t count) {
                std::memcpy(dst, bytes.data() + offset, count);
            });
        unlink(path.c_str());  // so that AtomicFile does not keep it
        xf::AtomicFile file(path);
        writer.write(&file, path);
        file.commit();
    }
    void drop(const std::string &prefix) {
        std::erase_if(tensors, [&](const auto &item) { return item.first.starts_with(prefix); });
    }
    float *floats(const std::string &name) { return reinterpret_cast<float *>(tensors.at(name).bytes.data()); }
};

struct World : Handles {
    Content good;

    World() {
        configure({{"model.max_length", "32"}});
        save_checkpoint(nullptr, "one two\teins zwei\n");
        const xf::SafetensorsReader reader(std::make_shared<xf::InputFile>(path));
        good.metadata = reader.metadata();
        reader.load_all([&](const xf::TensorInfo &info) {
            Tensor &tensor = good.tensors[info.name];
            tensor = {info.dtype, info.shape, std::vector<char>(static_cast<size_t>(info.end - info.begin))};
            return tensor.bytes.data();
        });
    }
    int64_t allocations() {
        xf_memory_stats stats{};
        stats.struct_size = sizeof stats;
        need(xf_context_get_memory(context, &stats, &error));
        return stats.allocations;
    }
    void write(const std::function<void(Content &)> &change) {
        Content content = good;
        change(content);
        content.write(path);
    }
    // Through each way in that looks at the content; a checkpoint that is no longer one is looked at as a model too.
    void refused(xf_status expected, const char *what, const std::function<void(Content &)> &change,
                 bool model_too = true) {
        write(change);
        const int64_t before = allocations();
        const auto check = [&](const char *call, xf_status found, bool allocates = false) {
            if (found != expected || !sentence(found))
                xf_test::record(__FILE__, __LINE__,
                                xf::format("%s: %s gave %s: %s", what, call, xf_status_name(found),
                                           found < 0 ? error.message : "-"));
            if (!allocates && allocations() != before)
                xf_test::record(__FILE__, __LINE__, xf::format("%s: %s allocated", what, call));
        };
        xf_trainer *no_trainer = nullptr;
        check("xf_trainer_resume", resume_trainer(context, path.c_str(), nullptr, &no_trainer, &error));
        if (!model_too) return;
        xf_model *no_model = nullptr;
        const char *paths[] = {path.c_str()};
        check("xf_model_load", load_model(context, path.c_str(), &no_model, &error));
        check("xf_model_average", average_files(context, paths, 1, &no_model, &error), true);
        CHECK(no_model == nullptr && no_trainer == nullptr);
    }
};

}  // namespace xf_hostile
