// What every atomic of a kernel is: one access that is counted, and one step for whoever else
// comes.
#pragma once

#include <atomic>

#include "harness/platform/model/emulator/block_runner.hpp"

namespace gpubench::model {

// `next`: what takes the place of what is there. Blocks run on several threads at once, so an
// atomic has to be one.
template <class T, class Next>
[[gnu::always_inline]] inline T counted_atomic(T* address, const void* code, Next&& next) {
  running_block->on_access(address, sizeof(T), EventKind::atomic, code);
  const std::atomic_ref<T> word(*address);
  T before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, next(before), std::memory_order_relaxed)) {
  }
  return before;
}

}  // namespace gpubench::model
