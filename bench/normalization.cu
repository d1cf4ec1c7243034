// normalization: what does each pass over a row cost in softmax, LayerNorm and RMSNorm?
//
// Expected  Time follows the passes over memory. With one kernel per pass, softmax and LayerNorm
//           read the matrix three times and write it once; RMSNorm reads it twice. A kernel that
//           keeps the matrix row in registers reads and writes it once. So one kernel per pass
//           takes 2 times as long (RMSNorm: 1.5). `passes` is one kernel that reads the row again;
//           `online` saves one of its passes. Repeated passes cost time only if the rows that an SM
//           works on outgrow its L1, and their full price only beyond L2: 3 + 1 and 2 + 1 passes.
//           `narrow`, 128 threads for any row, outgrows them sooner. The law covers rows that fill
//           at most half of L1 and, with one kernel per pass, matrices of at least twice L2's size.
// Units     columns [numbers in a matrix row; 2^26 in all]. Useful bytes count a read and a write.
// Confirm   ncu --metrics dram__bytes.sum,lts__t_sector_op_read_hit_rate.pct
#include "harness/bench/bench.hpp"
#include "kernels/normalization.cuh"

namespace {

using namespace normalization;

constexpr std::size_t n = std::size_t{1} << 26;

// The reference is fp64: its rounding to the dtype, and what sums in fp32 and expf are off by.
template <class T>
constexpr Tolerance tolerance = sizeof(T) == 2 ? Tolerance{0x1p-7, 1e-5} : Tolerance{2e-5, 2e-6};

// `at_work`: bytes of rows that an SM looks at again; 0: it does not.
Law law_of(const Bench& bench, const Way& way, double matrix, std::size_t at_work) {
  const auto floor = bench.device().find("kernel_floor_seconds");
  const auto l1_bytes = bench.device().find("l1_bytes_per_sm");
  // What L2 keeps from one kernel to the next does not reach memory.
  const double l2_bytes = way.launches > 1 ? bench.device().find("l2_bytes").value_or(0) : 0;
  if (!floor || !l1_bytes || 2.0 * at_work > *l1_bytes || 2 * l2_bytes > matrix) return {};
  return [=](const Roofs& roofs) { return useful_rate(way, matrix, *floor, roofs.at("dram")); };
}

template <class T, class Norm, unsigned held>
auto* kernel_of(const std::string& by) {
  return by == "registers" ? registers<T, Norm, held>
         : by == "online"  ? again<T, Norm, true>
         : by == "narrow"  ? again<T, Norm, (Norm::passes > 1)>
                           : again<T, Norm, false>;
}

template <class T, class Norm>
void rows_of(Bench& bench) {
  const std::string& by = bench.axis("by");
  const auto columns = bench.arg<std::size_t>("columns");
  const auto rows = static_cast<unsigned>(n / columns);
  const auto packs = static_cast<unsigned>(columns / Pack<T>::size);
  const Shape shape = by == "narrow" ? narrow : shape_of(packs);
  if (by == "registers" && packs > most_packs * shape.lanes) {
    bench.skip("a matrix row of " + std::to_string(columns * sizeof(T)) +
               " bytes does not fit in a block's registers");
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
  const auto resident = gpubench::residency(kernel, block.x * block.y, 0).blocks;
  const bool rereads = by == "passes" || by == "online";
  const std::size_t at_work = rereads ? resident * shape.rows_a_block * columns * sizeof(T) : 0;
  constexpr double matrix = n * sizeof(T);
  const Way way = by == "kernels" ? in_kernels<Norm> : in_one_kernel;
  bench.work({.useful_bytes = 2 * matrix,
              .law = by == "narrow" ? Law{} : law_of(bench, way, matrix, at_work),
              .law_tolerance = by == "registers" && resident == 1 ? 0.5 : 0.4});  // no overlap
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

// The `usual` ways are in the default suite too, at these `columns` of bf16.
void rows(Registration* to, std::vector<std::string> usual, std::vector<std::int64_t> columns) {
  to->ArgName("columns [numbers]");
  for (const std::string& way : to->axis_values("by")) {
    if (std::ranges::find(usual, way) != usual.end()) {
      to->Rest(Suite::standard)->Axis("by", {way})->Axis("dtype", {"bf16"})->Each(columns);
    }
    to->Rest(Suite::full)->Axis("by", {way})->Axis("dtype", {"bf16"})->Range(128, 65536);
    to->Rest(Suite::full)->Axis("by", {way})->Axis("dtype", {"fp32"})->Range(128, 65536, 8);
  }
}
const std::vector<std::string> all{"kernels", "passes", "online", "narrow", "registers"},
    usual{"kernels", "passes", "online", "registers"}, ends{"kernels", "registers"};
GPU_BENCHMARK_OF_TYPE(normalization, softmax, rows_of<T, Softmax>)
    ->Axis("by", all)
    ->Axis<__nv_bfloat16, float>("dtype")
    ->Apply(rows, usual, {1024, 65536});
GPU_BENCHMARK_OF_TYPE(normalization, layer_norm, rows_of<T, LayerNorm>)
    ->Axis("by", all)
    ->Axis<__nv_bfloat16, float>("dtype")
    ->Apply(rows, ends, {8192});
// One look tells all there is to know.
GPU_BENCHMARK_OF_TYPE(normalization, rms_norm, rows_of<T, RmsNorm>)
    ->Axis("by", {"kernels", "passes", "narrow", "registers"})
    ->Axis<__nv_bfloat16, float>("dtype")
    ->Apply(rows, ends, {8192});

}  // namespace
