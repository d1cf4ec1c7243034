#pragma once

#include "harness/bench/block_scales.hpp"
#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "kernels/compute_peak.cuh"
#include "kernels/compute_peak/scaled_mma.cuh"
#include "kernels/compute_peak/scaled_tcgen05.cuh"
#include "kernels/compute_peak/scaled_tcgen05_pair.cuh"
#include "kernels/compute_peak/tcgen05.cuh"
#include "kernels/compute_peak/tcgen05_pair.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class ComputePeakRuns : public KernelTest {
 protected:
  template <class Unit>
  void chains_of() {
    using namespace compute_peak;
    const auto out = output<double>(2 * chain_threads);
    launch(chains<Unit>, 2, chain_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedChains<Unit>{});
  }
  template <class Type>
  void mma_of() {
    using namespace compute_peak;
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::mma<Type>, 1, matrix_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedSums<Type>{false});
  }
  template <class Type>
  void scaled_mma_of() {
    using namespace compute_peak;
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::scaled_mma<Type>, 1, matrix_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedScaledSums<Type>{});
  }
  template <class Type>
  void wgmma_of() {
    using namespace compute_peak;
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::wgmma<Type>, 1, matrix_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedSums<Type>{true});
  }
  template <class Type>
  void scaled_tcgen05_of() {
    using namespace compute_peak;
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::scaled_tcgen05<Type>, 1, matrix_threads, scaled_shared_bytes, nullptr,
           out.data());
    expect_elements(out, ExpectedScaledRows<Type>{});
  }
  template <class Type>
  void tcgen05_of() {
    using namespace compute_peak;
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::tcgen05<Type>, 1, matrix_threads, tcgen05_shared_bytes, nullptr,
           out.data());
    expect_elements(out, ExpectedRows<Type>{});
  }
  // One pair.
  template <class Type>
  void tcgen05_pair_of() {
    using namespace compute_peak;
    const auto out = output<double>(2 * matrix_threads);
    launch_cluster(compute_peak::tcgen05_pair<Type>, 2, 2, matrix_threads, pair_shared_bytes,
                   nullptr, out.data());
    expect_elements(out, ExpectedPairRows<Type>{});
  }
  template <class Type>
  void scaled_tcgen05_pair_of() {
    using namespace compute_peak;
    const auto out = output<double>(2 * matrix_threads);
    launch_cluster(compute_peak::scaled_tcgen05_pair<Type>, 2, 2, matrix_threads,
                   scaled_pair_shared_bytes, nullptr, out.data());
    expect_elements(out, ExpectedScaledPairRows<Type>{});
  }
};

}  // namespace gpubench
