// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <utility>

namespace serve {

Worker::Worker()
    : thread_([this] {
          std::unique_lock lock(mutex_);
          for (;;) {
              changed_.wait(lock, [this] { return stopped_ || !functions_.empty(); });
              if (functions_.empty()) return;
              const std::function<void()> function = std::move(functions_.front());
              functions_.pop_front();
              lock.unlock();
              function();
              lock.lock();
          }
      }) {}

Worker::~Worker() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Worker::run(std::function<void()> function) {
    {
        const std::lock_guard lock(mutex_);
        functions_.push_back(std::move(function));
    }
    changed_.notify_one();
}

}  // namespace serve
