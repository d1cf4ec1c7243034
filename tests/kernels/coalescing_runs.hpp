#pragma once

#include "kernels/coalescing.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class CoalescingRuns : public KernelTest {
 protected:
  static constexpr unsigned two_blocks = 2;
  static constexpr std::size_t words_of_two_blocks = two_blocks * coalescing::words_a_block;

  // `kernel` of two blocks reads `words` words in all, in the places that `where` names.
  template <class Where, class... P, class... A>
  void sum(std::size_t words, Where where, void (*kernel)(P...), A... further) {
    using namespace coalescing;
    const auto in = input<word>(words);
    const auto sums = output<word>(two_blocks);
    launch(kernel, two_blocks, threads, 0, nullptr, in.data(), sums.data(), further...);
    expect_elements(sums, ExpectedSum{values<word>, where});
  }
  void read_by_stride(unsigned stride) {
    SCOPED_TRACE(stride);
    sum(words_of_two_blocks * stride, coalescing::Strided{stride}, coalescing::strided_read,
        stride);
  }
  void write_by_stride(unsigned stride) {
    using namespace coalescing;
    SCOPED_TRACE(stride);
    const auto out = output<word>(words_of_two_blocks * stride);
    CUDA_CHECK(cudaMemset(out.data(), 0, out.size() * sizeof(word)));
    launch(strided_write, two_blocks, threads, 0, nullptr, out.data(), stride);
    expect_elements(out, ExpectedStrided{stride, 0});
  }
  // `kernel` of two blocks writes their words from `offset` on, and no others.
  template <class... P, class... A>
  void write_from(std::size_t offset, void (*kernel)(P...), A... further) {
    using namespace coalescing;
    SCOPED_TRACE(offset);
    const auto out = output<word>(words_of_two_blocks + offset);
    CUDA_CHECK(cudaMemset(out.data(), 0, out.size() * sizeof(word)));
    launch(kernel, two_blocks, threads, 0, nullptr, out.data(), further...);
    expect_elements(out, ExpectedWords{offset, 0});
  }
  // `kernel` of two blocks adds up whole records.
  template <class Layout, class... P>
  void read_whole(unsigned fields, void (*kernel)(P...)) {
    using namespace coalescing;
    SCOPED_TRACE(fields);
    const std::size_t records = two_blocks * threads * words_of_records / fields;
    const auto in = input<word>(records * fields);
    const auto sums = output<word>(two_blocks);
    launch(kernel, two_blocks, threads, 0, nullptr, in.data(), sums.data(), records);
    expect_elements(sums, ExpectedRecords<Generator<word>, Layout>{values<word>, fields, records});
  }
  template <class Layout>
  void read_fields(unsigned fields) {
    using namespace coalescing;
    SCOPED_TRACE(fields);
    for (unsigned field = 0; field < fields; ++field) {
      sum(words_of_two_blocks * fields, Field<Layout>{fields, field, words_of_two_blocks},
          read_field<Layout>, fields, field, words_of_two_blocks);
    }
  }
};

}  // namespace gpubench
