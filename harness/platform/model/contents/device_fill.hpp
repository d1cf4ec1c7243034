// Fills a buffer of the model device: remembers the function, and nothing is written until somebody
// reads. (The GPU's answer to the same name: harness/platform/gpu/contents/device_fill.hpp.)
#pragma once

#include <cstddef>

#include "harness/contents/random.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {

template <class T, class Values>
void fill_random(T* to, std::size_t, Values values) {
  model::current_runtime()->memory().fill(to, [values](std::byte* destination, std::size_t offset,
                                                       std::size_t bytes) GPUBENCH_UNCOUNTED {
    static_assert(model::DeviceMemory::page_bytes % sizeof(T) == 0);
    auto* elements = reinterpret_cast<T*>(destination);
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      elements[i] = values(offset / sizeof(T) + i);
    }
  });
}

}  // namespace gpubench
