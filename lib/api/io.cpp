// SPDX-License-Identifier: Apache-2.0
#include "api/io.h"

#include "api/guard.h"
#include "core/atomic_file.h"

namespace xf {
namespace {

void check_member(bool set, const char *object, const char *member, const char *kind) {
    XF_CHECK(set, XF_ERROR_INVALID_ARGUMENT, "%s->%s is not set; it is required if %s->kind is %s", object, member,
             object, kind);
}

[[noreturn]] void fail_kind(const char *object, int32_t kind) {
    fail(XF_ERROR_INVALID_ARGUMENT,
         "%s->kind is %d; expected XF_IO_PATH, XF_IO_MEMORY, XF_IO_DESCRIPTOR, or XF_IO_CALLBACK", object, kind);
}

}  // namespace

std::shared_ptr<const Input> open_source(const xf_source *in) {
    const xf_source source = get_struct(in, "source");
    switch (source.kind) {
        case XF_IO_PATH:
            check_member(source.path != nullptr, "source", "path", "XF_IO_PATH");
            return std::make_shared<InputFile>(source.path);
        case XF_IO_MEMORY:
            check_member(source.data != nullptr || source.size == 0, "source", "data", "XF_IO_MEMORY");
            return std::make_shared<MemoryInput>(source.data, source.size);
        case XF_IO_DESCRIPTOR:
            return std::make_shared<InputFile>(source.fd);
        case XF_IO_CALLBACK:
            check_member(source.read != nullptr, "source", "read", "XF_IO_CALLBACK");
            return std::make_shared<CallbackInput>(source.read, source.user, source.size);
        default:
            fail_kind("source", source.kind);
    }
}

Sink::Sink(const xf_sink *sink) : sink_(get_struct(sink, "sink")) {
    switch (sink_.kind) {
        case XF_IO_PATH:
            check_member(sink_.path != nullptr, "sink", "path", "XF_IO_PATH");
            name_ = sink_.path;
            break;
        case XF_IO_MEMORY:
            check_member(sink_.data != nullptr || sink_.capacity == 0, "sink", "data", "XF_IO_MEMORY");
            name_ = "memory";
            break;
        case XF_IO_DESCRIPTOR:
            name_ = format("descriptor %d", sink_.fd);
            break;
        case XF_IO_CALLBACK:
            check_member(sink_.write != nullptr, "sink", "write", "XF_IO_CALLBACK");
            name_ = "the write callback";
            break;
        default:
            fail_kind("sink", sink_.kind);
    }
}

std::unique_ptr<Output> Sink::open() const {
    switch (sink_.kind) {
        case XF_IO_PATH:
            return std::make_unique<AtomicFile>(name_);
        case XF_IO_MEMORY:
            return std::make_unique<MemoryOutput>(sink_.data, sink_.capacity);
        case XF_IO_DESCRIPTOR:
            return std::make_unique<DescriptorOutput>(sink_.fd);
        default:
            return std::make_unique<CallbackOutput>(sink_.write, sink_.user);
    }
}

}  // namespace xf
