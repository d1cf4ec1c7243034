// A multiplication of a type with block scales by a kernel of the suite's own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/precision/library_row.hpp"
#include "harness/bench/scaled_tcgen05.hpp"
#include "harness/cuda/residency.hpp"
#include "harness/cuda/tensor_map.hpp"
#include "kernels/common/tiles.cuh"
#include "kernels/precision/tcgen05_pair.cuh"

namespace precision {

// What a format makes of element i of a matrix. It keeps the last block of each row that it was
// asked for, since a block's scale takes all its elements.
template <class Format>
class Held {
 public:
  explicit Held(const Format& format) : format_(format) {}

  double operator()(std::size_t i) const {
    const std::size_t block = i / Format::together, row = i / format_.values.k;
    Block& kept = (*kept_)[row % kept_->size()];
    if (kept.number != block) {
      kept.number = block;
      format_.held(block, kept.values);
    }
    return kept.values[i % Format::together];
  }

 private:
  struct Block {
    std::optional<std::size_t> number;
    double values[Format::together];
  };
  Format format_;
  std::shared_ptr<std::vector<Block>> kept_ =
      std::make_shared<std::vector<Block>>(tcgen05_parts::block_n);
};

// A product by tcgen05: of one block, or of a pair.
template <class Format, unsigned blocks>
struct Tcgen05Product {
  using Step = tcgen05_parts::Step<Format, blocks>;
  static constexpr unsigned threads = tcgen05_parts::threads,
                            shared_bytes = tcgen05_parts::Pipeline<Format, blocks>::bytes,
                            tile_m = blocks * tcgen05_parts::block_m,
                            tile_n = tcgen05_parts::block_n;
  std::size_t m, n, k;
  float unscale;

  static constexpr auto kernel() {
    if constexpr (blocks == 1) {
      return tcgen05<Format>;
    } else {
      return tcgen05_pair<Format>;
    }
  }
  // How many blocks or pairs run at once.
  static unsigned at_once() {
    return blocks == 1 ? gpubench::sm_count()
                       : gpubench::resident_clusters(kernel(), blocks, threads, shared_bytes);
  }
  // `most`: blocks or pairs.
  void queue(cudaStream_t s, const void* a, const void* b, const std::uint8_t* scales_a,
             const std::uint8_t* scales_b, float* d, unsigned most) const {
    const auto tiles = static_cast<unsigned>(m / tile_m * (n / tile_n));
    // As many as that takes, no more.
    const unsigned of_each = (tiles + most - 1) / most;
    const auto launch = [&](const auto& of_scales_a, const auto& of_scales_b) {
      gpubench::launch_by_cluster(kernel(), blocks, (tiles + of_each - 1) / of_each * blocks,
                                  threads, shared_bytes, s, elements(a, m, tcgen05_parts::block_m),
                                  elements(b, n, Step::b_rows), of_scales_a, of_scales_b, d,
                                  unscale, static_cast<unsigned>(m), static_cast<unsigned>(n),
                                  static_cast<unsigned>(k));
    };
    if constexpr (blocks == 1) {
      launch(scales_a, scales_b);
    } else {
      launch(tiles_of_scales(scales_a, m), tiles_of_scales(scales_b, n));
    }
  }

 private:
  // As of two bytes each.
  CUtensorMap elements(const void* matrix, std::size_t rows, unsigned box_rows) const {
    const std::size_t row = k * Step::bits / 16;
    return gpubench::tensor_map(matrix, rows, row, row, box_rows);
  }
  CUtensorMap tiles_of_scales(const std::uint8_t* scales, std::size_t rows) const {
    constexpr unsigned row = tcgen05_parts::scale_tile_bytes / 2;
    const std::size_t tiles = rows / tcgen05_parts::scale_tile_rows * (k / Format::together / 4);
    return gpubench::tensor_map(scales, tiles, row, row, Step::scale_tiles, row,
                                CU_TENSOR_MAP_SWIZZLE_NONE);
  }
};

// The Tensor Cores' rate, or what L2 has for the tiles and their scales, after a kernel's start.
template <class Product>
Law law_of_tcgen05(const Bench& bench, const GemmShape& shape, unsigned blocks) {
  const auto sms = bench.device().find("sm_count"),
             floor = bench.device().find("kernel_floor_seconds");
  if (!sms || !floor) return {};
  const double share =
      tiles::useful_share(static_cast<double>(shape.m), static_cast<double>(shape.n),
                          Product::tile_m, Product::tile_n, *sms / blocks);
  const double per_byte =
      2.0 * Product::tile_m * Product::tile_n * Product::Step::k / (blocks * Product::Step::bytes);
  const Law law = [=, roof = gemm_roof(shape.type, bench.device())](const Roofs& roofs) {
    // SMs that have no tile left take nothing from L2.
    return std::min(share * roofs.at(roof), per_byte * roofs.at("l2"));
  };
  return gpubench::law_after_start(law, shape.flops(), *floor);
}

// The error against fp64 of elements that are spread over the first tile that has been written.
template <class Format>
double error_of_tile(std::size_t n, const float* d, const Values& of_a, const Values& of_b) {
  using namespace tcgen05_parts;
  constexpr std::size_t down = 4, across = 8;
  const ProductSample sample{n, block_m / down, block_n / across};
  std::vector<float> row(n);
  const auto read_row = [&](std::size_t number) {
    CUDA_CHECK(cudaMemcpy(row.data(), d + number * n, n * sizeof(float), cudaMemcpyDeviceToHost));
  };
  for (std::size_t first_row = 0; first_row < n; first_row += block_m) {
    read_row(first_row);
    for (std::size_t column = 0; column < n; column += block_n) {
      if (gpubench::is_poison(row[column])) continue;
      std::vector<double> got;
      for (std::size_t r = 0; r < sample.rows; ++r) {
        read_row(first_row + r * down);
        for (std::size_t c = 0; c < sample.columns; ++c) got.push_back(row[column + c * across]);
      }
      return relative_error(
          sample, got, [&](std::size_t i) { return of_a((first_row + i / n * down) * n + i % n); },
          [&](std::size_t i) { return of_b((column + i / n * across) * n + i % n); });
    }
  }
  return NAN;
}

template <GemmType type, class Format, unsigned blocks>
void tcgen05_row(Bench& bench, Contents contents) {
  using Product = Tcgen05Product<Format, blocks>;
  const std::string why = gpubench::why_no_scaled_tcgen05(type == GemmType::nvfp4);
  if (!why.empty()) bench.skip(why);
  const auto n = bench.arg<std::size_t>("n");
  const Matrix<Format> of_a{{{contents, 1, n}}, n, type}, of_b{{{contents, 2, n}}, n, type};
  const GemmShape shape = shape_of(type, n, n, n);
  const auto a = bench.input<typename Matrix<Format>::Element>(of_a.elements(), of_a.fill);
  const auto b = bench.input<typename Matrix<Format>::Element>(of_b.elements(), of_b.fill);
  const auto scales_a = bench.input<std::uint8_t>(of_a.scales(), of_a.scale_values());
  const auto scales_b = bench.input<std::uint8_t>(of_b.scales(), of_b.scale_values());
  const auto d = bench.output<float>(n * n);
  bench.compiled(Product::kernel(), false);
  bench.check([=](bool only_written) {
    if (!only_written) gpubench::require_written(d.data(), d.size());
    return gpubench::check_written_tiles(shape, d.data(), Held<Format>(of_a.fill),
                                         Held<Format>(of_b.fill), Product::tile_m, Product::tile_n);
  });
  const auto step = static_cast<double>(gemm_step(type, bench.device().compute_capability()));
  const Loss loss = library_loss(type, contents, static_cast<double>(n), step);
  const ErrorOfRow error(bench, loss, [=, &bench] {
    const Values &values_a = of_a.fill.values, &values_b = of_b.fill.values;
    if (bench.modelled()) return error_of_tile<Format>(n, d.data(), values_a, values_b);
    const ProductSample sample = ProductSample::of(n, 64);
    return relative_error(sample, gpubench::sampled(sample, d.data()),
                          spread(of_a, sample.rows).fill.values,
                          spread(of_b, sample.columns).fill.values);
  });
  // As gemm_ladder's rungs: the law has all phases of a tile overlap.
  bench.work({.flops = shape.flops(),
              .law = law_of_tcgen05<Product>(bench, shape, blocks),
              .law_tolerance = 0.5});
  const auto unscale = static_cast<float>(of_a.fill.unscale() * of_b.fill.unscale());
  const Product product{n, n, n, unscale};
  const unsigned at_once = Product::at_once();
  bench.run([&](cudaStream_t s) {
    product.queue(s, a.data(), b.data(), scales_a.data(), scales_b.data(), d.data(), at_once);
  });
  error.note_error();
}

}  // namespace precision
