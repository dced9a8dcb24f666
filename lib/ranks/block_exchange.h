// Exchange of slices of device blocks between ranks.
//
// Memory of a CPU device is sent as it is. Memory of other devices is sent by a device transport if the context has
// one; otherwise it is copied to host memory, exchanged, and copied back.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/context.h"
#include "backend/device.h"
#include "core/heap.h"
#include "ranks/block_math.h"
#include "ranks/device_transport.h"
#include "ranks/slices.h"

namespace xf {

class BlockExchange {
public:
    using Messages = std::vector<Communicator::Message>;

    // total: elements of a block.
    BlockExchange(const std::shared_ptr<Context> &context, int64_t total);

    const Communicator &communicator() const { return communicator_; }
    int rank() const { return communicator_.rank(); }
    int ranks() const { return communicator_.size(); }
    const Slices &slices() const { return slices_; }
    BlockMath &math() { return math_; }

    // Connects the device transport, if there is one. Collective; required before exchange().
    void connect(Stream &stream);
    // Exchanges messages in device memory and changes their addresses. The received data may be used after check().
    void exchange(Stream &stream, Messages *sends, Messages *receives);
    // Throws XF_ERROR_PEER if data that was received by the device transport is corrupt. Collective.
    void check(Stream &stream);
    // Allocates the staging buffers for messages of so many bytes in each direction, if they are needed.
    void reserve_staging(size_t bytes);

    // Copies the elements of this rank from a block to a slice.
    void take_slice(Stream &stream, float *slice, const float *block);
    // Collects the slices of all ranks in block, on every rank. Writes nothing to block before all slices have arrived.
    // scratch: as large as the block, overwritten. All pointers are device memory.
    void all_gather(Stream &stream, const float *slice, float *block, float *scratch);
    // Collects them on rank 0; on other ranks block is not used.
    void gather(Stream &stream, const float *slice, float *block, float *scratch);
    // Exchanges one number per chunk, in the order of the packed block: this rank has set those of its slice.
    void all_gather_chunks(double *values);
    // Allocates the host memory for gather() and all_gather(), if they need it.
    void reserve_host_block();

    // Returns a hash of a block.
    uint64_t hash(Stream &stream, const float *block);

private:
    float *host_block();
    void unpack(Stream &stream, float *block, const float *packed, bool in_host_memory);

    std::shared_ptr<Heap> heap_;  // also keeps the context alive
    ThreadPool &pool_;
    Communicator &communicator_;
    BlockMath math_;
    std::unique_ptr<DeviceTransport> transport_;  // null: not requested
    bool connected_ = false;
    bool direct_;  // device memory is host memory
    Slices slices_;
    // An exchange of all_gather(): what each rank sends of the packed block.
    struct GatherStage {
        RankSet ranks;
        std::vector<Range> bytes;  // [ranks()]
    };

    std::vector<Range> slice_bytes_, chunk_bytes_;  // [ranks], of the packed block and of values per chunk
    std::vector<GatherStage> gather_stages_;
    Messages sends_, receives_;         // of all_gather()
    std::vector<void *> destinations_;  // of staged messages
    HeapVector<float> host_block_;
    HeapVector<char> staging_;
};

}  // namespace xf
