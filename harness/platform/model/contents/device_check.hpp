// Compares the elements of a buffer of the model device with what they must be: those on pages that
// exist, which are all that a kernel can have written. (The GPU's answer to the same name:
// harness/platform/gpu/contents/device_check.hpp.)
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "harness/contents/element_check.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {

// As many bytes of poison as are looked at together.
inline constexpr auto poison_stretch = [] {
  std::array<unsigned char, 64> stretch{};
  stretch.fill(poison_byte);
  return stretch;
}();

// "" when all is right, else the first wrong element in words. `only_written`: a sample of the
// blocks ran, so elements that still hold the poison are some other block's.
template <class T, class Expected>
GPUBENCH_UNCOUNTED std::string check_elements(const T* got, std::size_t n, Expected expected,
                                              double relative, double absolute, bool only_written) {
  constexpr std::size_t stretch = poison_stretch.size() / sizeof(T);
  using As = Compared<T, Expected>;
  std::size_t checked = 0;
  const auto ranges = model::current_runtime()->memory().present_ranges(got, n * sizeof(T));
  for (const auto& [begin, bytes] : ranges) {
    const auto first = static_cast<std::size_t>(reinterpret_cast<const T*>(begin) - got);
    const std::size_t end = first + bytes / sizeof(T);
    for (std::size_t i = first; i < end; ++i) {
      if (only_written && is_poison(got[i])) {
        // Where a sample of the blocks wrote here and there, that is most of it.
        while (i + 1 + stretch <= end &&
               std::memcmp(got + i + 1, poison_stretch.data(), stretch * sizeof(T)) == 0) {
          i += stretch;
        }
        continue;
      }
      const auto is = static_cast<As>(got[i]), want = static_cast<As>(expected(i));
      if (!is_right(is, want, relative, absolute)) return describe_wrong(i, is, want);
      ++checked;
    }
  }
  if (checked == 0 || (!only_written && checked != n)) {
    return describe_written(checked, n);
  }
  return {};
}

}  // namespace gpubench
