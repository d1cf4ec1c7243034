#pragma once

#include "kernels/memory_hierarchy.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class MemoryHierarchyRuns : public KernelTest {
 protected:
  // A ring of pointers through `lines` lines, `step` lines from one to the next.
  static DeviceBuffer<std::uint64_t> ring_of(std::size_t lines, std::size_t step) {
    using namespace memory_hierarchy;
    DeviceBuffer<std::uint64_t> words(lines * line / sizeof(std::uint64_t));
    fill_random(words.data(), words.size(),
                Ring{reinterpret_cast<std::uint64_t>(words.data()), lines, step});
    return words;
  }
  static const memory_hierarchy::Link* links(const DeviceBuffer<std::uint64_t>& words) {
    return reinterpret_cast<const memory_hierarchy::Link*>(words.data());
  }

  void chase_through(std::size_t lines, unsigned taken) {
    using namespace memory_hierarchy;
    SCOPED_TRACE(testing::Message() << taken << " links of " << lines);
    const std::size_t step = ring_step(lines);
    const auto words = ring_of(lines, step);
    const auto end = output<std::uint64_t>(1);
    launch(chase, 1, 1, 0, nullptr, links(words), taken,
           reinterpret_cast<const Link**>(end.data()));
    expect_elements(end,
                    Always{reinterpret_cast<std::uint64_t>(links(words) + taken * step % lines)});
  }
  void touch_all(std::size_t lines) {
    using namespace memory_hierarchy;
    SCOPED_TRACE(lines);
    const auto words = ring_of(lines, 1);
    const auto never = output<std::uint64_t>(1);
    const auto blocks = static_cast<unsigned>((lines + lines_a_block - 1) / lines_a_block);
    launch(touch, blocks, touch_threads, 0, nullptr, links(words), lines, never.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(never.download()[0], ~std::uint64_t{0}) << "what was poisoned is touched";
  }
  void strided_by(unsigned stride) {
    using namespace memory_hierarchy;
    SCOPED_TRACE(stride);
    const auto in = input<unsigned>(strided_words);
    const auto sums = output<unsigned>(1);
    launch(strided, 1, strided_threads, 0, nullptr, in.data(), stride, 0u, sums.data());
    expect_elements(sums, ExpectedStrided<Generator<unsigned>>{values<unsigned>, stride});
  }
  void chase_in_shared_memory(unsigned taken) {
    using namespace memory_hierarchy;
    const auto end = output<unsigned>(1);
    launch(shared_chase, 1, warp, 0, nullptr, taken, end.data());
    expect_elements(end, Always{taken * shared_step % (4 * shared_words)});
  }
};

}  // namespace gpubench
