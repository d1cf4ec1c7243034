// Compares the elements of a buffer of the model device with what they must be: those on pages that
// exist, which are all that a kernel can have written. (The GPU's answer to the same name:
// harness/platform/gpu/contents/device_check.hpp.)
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "harness/contents/element_check.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {

// "" when all is right, else the first wrong element in words. `only_written`: a sample of the
// blocks ran, so elements that still hold the poison are some other block's.
template <class T, class Expected>
std::string check_elements(const T* got, std::size_t n, Expected expected, double relative,
                           double absolute, bool only_written) {
  std::size_t checked = 0;
  const auto ranges = model::current_runtime()->memory().present_ranges(got, n * sizeof(T));
  for (const auto& [begin, bytes] : ranges) {
    const auto first = static_cast<std::size_t>(reinterpret_cast<const T*>(begin) - got);
    for (std::size_t i = first; i < first + bytes / sizeof(T); ++i) {
      if (only_written && is_poison(got[i])) continue;
      const T want = static_cast<T>(expected(i));
      if (!is_right(got[i], want, relative, absolute)) return describe_wrong(i, got[i], want);
      ++checked;
    }
  }
  if (checked == 0 || (!only_written && checked != n)) {
    return describe_written(checked, n);
  }
  return {};
}

}  // namespace gpubench
