// The products of a step by cuBLASLt.
#pragma once

#include <map>
#include <memory>

#include "harness/platform/gemm.hpp"
#include "kernels/training_step.cuh"

namespace training_step {

class Library {
 public:
  explicit Library(gpubench::GemmType type) : type_(type) {}

  // Has the library choose its algorithm, for which it may allocate: not while a graph is captured.
  void prepare(const Product& p) {
    if (gemms_.contains(p)) return;
    const gpubench::GemmBatch batch{p.count, p.m * p.k, p.n * p.k, p.m * p.n};
    gemms_.emplace(p, gpubench::Gemm(shape_of(p), batch));
  }
  void operator()(cudaStream_t s, const Product& p, const void* a, const void* b, void* d,
                  const gpubench::GemmScales& scales = {}) const {
    gemms_.at(p).queue(s, a, b, d, scales);
  }

 private:
  gpubench::GemmShape shape_of(const Product& p) const {
    using gpubench::GemmShape;
    switch (p.kind) {
      case Product::Kind::dense:
        return GemmShape::dense(p.in_fp8 ? gpubench::GemmType::fp8 : type_, p.m, p.n, p.k);
      case Product::Kind::textbook:
        return GemmShape::textbook(type_, p.m, p.n, p.k);
      default:
        return GemmShape::over_rows(type_, p.m, p.n, p.k);
    }
  }

  gpubench::GemmType type_;
  std::map<Product, gpubench::Gemm> gemms_;
};

}  // namespace training_step
