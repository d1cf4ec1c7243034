// normalization: what does each pass over a row cost in softmax, LayerNorm and RMSNorm?
//
// Expected  Passes over memory are time. With one kernel per pass, softmax and LayerNorm read the
//           matrix three times and write it once; RMSNorm reads it twice. So they take 2 and 1.5
//           times as long as a kernel that keeps the row in registers, which reads and writes once.
//           One kernel that reads the row again (`passes`; `online` saves one pass) pays for it
//           only where the rows in work on an SM have outgrown its L1, and in full beyond L2: 3 + 1
//           and 2 + 1 passes. The law covers rows that fill half of L1 at most; for longer ones the
//           model is too fast, because it assumes that a block finds in L1 what it read before.
// Units     columns [numbers of a row]; the matrix has 2^26 numbers in every row of results. Useful
//           bytes: it is read once and written once.
// Confirm   ncu --metrics dram__bytes.sum,lts__t_sector_op_read_hit_rate.pct
#include <cuda_bf16.h>

#include <algorithm>

#include "harness/bench/bench.hpp"
#include "kernels/normalization.cuh"

namespace {

using namespace normalization;
using gpubench::Bench;
using gpubench::Roofs;
using gpubench::Suite;

constexpr std::size_t n = std::size_t{1} << 26;

// The reference is fp64: its rounding to the dtype, and what sums in fp32 and expf are off by.
template <class T>
constexpr gpubench::Tolerance tolerance = sizeof(T) == 2 ? gpubench::Tolerance{0x1p-7, 1e-5}
                                                         : gpubench::Tolerance{2e-5, 2e-6};

// `rows_at_work`: on an SM.
struct Way {
  unsigned passes;  // of the matrix through DRAM
  unsigned launches;
  double at_work;  // bytes of rows that an SM looks at again; 0: it does not
};

gpubench::Law law_of(const Bench& bench, const Way& way, double matrix) {
  const auto floor = bench.device().find("kernel_floor_seconds");
  const auto l1_bytes = bench.device().find("l1_bytes_per_sm");
  if (!floor || !l1_bytes || 2 * way.at_work > *l1_bytes) return {};
  return [=](const Roofs& roofs) {
    return 2 * matrix / (way.launches * *floor + way.passes * matrix / roofs.at("dram"));
  };
}

template <class T, class Norm, unsigned held>
auto* kernel_of(const std::string& by) {
  return by == "registers" ? registers<T, Norm, held>
         : by == "online"  ? again<T, Norm, true>
                           : again<T, Norm, false>;
}

template <class T, class Norm>
void rows_of(Bench& bench) {
  const std::string& by = bench.axis("by");
  const auto columns = static_cast<std::size_t>(bench.arg("columns"));
  const auto rows = static_cast<unsigned>(n / columns);
  const auto packs = static_cast<unsigned>(columns / Pack<T>::size);
  const Shape shape = shape_of(packs);
  if (by == "registers" && packs > most_packs * shape.lanes) {
    bench.skip("the registers of a block do not hold a row of " +
               std::to_string(columns * sizeof(T)) + " bytes");
  }
  const Rows values{42, columns};
  const auto in = bench.input<T>(n, values);
  const auto known = bench.output<float2>(by == "kernels" ? rows : 0);
  const auto out = bench.output<T>(n);
  bench.verify(out, Expected<Norm>(values), tolerance<T>);
  const dim3 block(shape.lanes, shape.rows_a_block);
  const unsigned blocks = (rows + shape.rows_a_block - 1) / shape.rows_a_block;
  auto* const kernel = packs <= few_packs * shape.lanes ? kernel_of<T, Norm, few_packs>(by)
                                                        : kernel_of<T, Norm, most_packs>(by);
  Way way{passes_at_best, 1, 0};
  if (by == "kernels") {
    way = {passes_of_kernels<Norm>(), Norm::passes + 1, 0};
  } else if (by != "registers") {
    const unsigned at_work =
        gpubench::residency(kernel, block.x * block.y, 0).blocks * shape.rows_a_block;
    way.at_work = static_cast<double>(at_work * columns * sizeof(T));
  }
  constexpr double matrix = n * sizeof(T);
  bench.work({.useful_bytes = 2 * matrix, .law = law_of(bench, way, matrix), .law_tolerance = 0.2});
  bench.run([&](cudaStream_t s) {
    const auto queue = [&](auto* function, auto... arguments) {
      launch(function, blocks, block, 0, s, arguments..., packs, rows);
    };
    if (by != "kernels") return queue(kernel, in.data(), out.data());
    queue(look<T, Norm, 0>, in.data(), known.data());
    if constexpr (Norm::passes > 1) queue(look<T, Norm, 1>, in.data(), known.data());
    queue(write<T, Norm>, in.data(), known.data(), out.data());
  });
}

template <class Norm>
void by_dtype(Bench& bench) {
  return bench.axis("dtype") == "bf16" ? rows_of<__nv_bfloat16, Norm>(bench)
                                       : rows_of<float, Norm>(bench);
}

using Ways = std::vector<std::string>;
using Columns = std::vector<std::int64_t>;

[[maybe_unused]] const bool added = [] {
  // All of `columns` in the full suite, and of `ways` those that are `usual` in the default one
  // too.
  const auto add = [](const char* kernel, gpubench::BenchFunction function, const Ways& ways,
                      const Ways& usual, const Columns& of_usual) {
    const auto rows = [&](const char* dtype, Suite suite, const std::string& way,
                          const Columns& columns) {
      gpubench::record("normalization", kernel, function)
          ->Axis("by", {way})
          ->Axis("dtype", {dtype})
          ->ArgNames({"columns"})
          ->In(suite)
          ->ArgsProduct({columns});
    };
    for (const std::string& way : ways) {
      Columns rest{128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
      if (std::find(usual.begin(), usual.end(), way) != usual.end()) {
        rows("bf16", Suite::standard, way, of_usual);
        std::erase_if(rest, [&](std::int64_t c) {
          return std::find(of_usual.begin(), of_usual.end(), c) != of_usual.end();
        });
      }
      rows("bf16", Suite::full, way, rest);
      rows("fp32", Suite::full, way, {128, 1024, 8192, 65536});
    }
  };
  const Ways all{"kernels", "passes", "online", "registers"}, ends{"kernels", "registers"};
  add("softmax", by_dtype<Softmax>, all, all, {1024, 65536});
  add("layer_norm", by_dtype<LayerNorm>, all, ends, {8192});
  // One look tells all there is to know.
  add("rms_norm", by_dtype<RmsNorm>, {"kernels", "passes", "registers"}, ends, {8192});
  return true;
}();

}  // namespace
