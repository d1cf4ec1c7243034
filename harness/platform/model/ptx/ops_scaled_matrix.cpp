// mma.sync with block scales: PTX ISA, "Block Scaling for mma.sync", "Matrix Fragments for
// mma.m16n8k32" and "... mma.m16n8k64".
#include <algorithm>
#include <array>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"
#include "harness/platform/model/ptx/scaled_matrix.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned rows = 16, columns = 8, most_depth = 64;

struct Form {
  std::array<std::string_view, 11> parts;  // behind "mma.sync.aligned"
  Tensor tensor;
  unsigned bits, depth, blocks;  // of an element; along k; of those, with a scale each
};
constexpr Form forms[] = {
    {{"m16n8k32", "row", "col", "kind::mxf8f6f4", "block_scale", "scale_vec::1X", "f32", "e4m3",
      "e4m3", "f32", "ue8m0"},
     Tensor::mxfp8,
     8,
     32,
     1},
    {{"m16n8k64", "row", "col", "kind::mxf4nvf4", "block_scale", "scale_vec::4X", "f32", "e2m1",
      "e2m1", "f32", "ue4m3"},
     Tensor::nvfp4,
     4,
     64,
     4},
};

// Where a product's scales are: byte and thread of a, then of b.
struct Selectors {
  unsigned byte_a, thread_a, byte_b, thread_b;
};

unsigned selector(Warp& w, const Register& r, unsigned limit, unsigned step) {
  w.require(r.number, ~Mask{0}, "a selector of scales");
  const auto first = static_cast<unsigned>(w.value(r, 0));
  for (unsigned lane = 1; lane < lanes; ++lane) {
    if (w.value(r, lane) != first) throw Fault{"mma.sync whose lanes select other scales", 0};
  }
  if (first >= limit || first % step != 0) {
    throw Fault{"mma.sync with a selector of scales of " + std::to_string(first), 0};
  }
  return first;
}
Selectors selectors_of(Warp& w, const Op& op, const Form& form) {
  const auto& all = op.extra->held;
  return {selector(w, all[2], 4, form.blocks), selector(w, all[3], 2, 1),
          selector(w, all[4], 4, form.blocks), selector(w, all[5], 4, 1)};
}

// a[row * depth + k], each times its scale.
void read_a(Warp& w, const Op& op, const Form& form, const Selectors& of, double* a) {
  const Extra& e = *op.extra;
  const unsigned each = 32 / form.bits, together = form.depth / form.blocks;
  for (unsigned r = 0; r < 4; ++r) {
    const auto* const words = w.row<std::uint32_t>(e.sources[r].offset);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const unsigned row = lane / 4 + 8 * (r % 2), from = (r / 2 * 4 + lane % 4) * each;
      const unsigned holder = lane / 4 * 4 + 2 * of.thread_a + r % 2;
      const std::uint32_t scales = w.row<std::uint32_t>(e.held[0].offset)[holder];
      const double scale = block_scale(form.bits, scales >> 8 * (of.byte_a + from / together));
      for (unsigned i = 0; i < each; ++i) {
        a[row * form.depth + from + i] =
            scale * scaled_element(form.bits, words[lane] >> form.bits * i);
      }
    }
  }
}
// b[k * columns + column], likewise.
void read_b(Warp& w, const Op& op, const Form& form, const Selectors& of, double* b) {
  const Extra& e = *op.extra;
  const unsigned each = 32 / form.bits, together = form.depth / form.blocks;
  for (unsigned r = 0; r < 2; ++r) {
    const auto* const words = w.row<std::uint32_t>(e.more[r].offset);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const unsigned column = lane / 4, from = (r * 4 + lane % 4) * each;
      const std::uint32_t scales =
          w.row<std::uint32_t>(e.held[1].offset)[lane / 4 * 4 + of.thread_b];
      const double scale = block_scale(form.bits, scales >> 8 * (of.byte_b + from / together));
      for (unsigned i = 0; i < each; ++i) {
        b[(from + i) * columns + column] =
            scale * scaled_element(form.bits, words[lane] >> form.bits * i);
      }
    }
  }
}

void multiply(Warp& w, const Op& op, Mask mask) {
  if (mask != ~Mask{0}) throw Fault{"matrix multiplication by fewer than 32 lanes", mask};
  const Extra& e = *op.extra;
  const Form& form = forms[e.rows];
  for (const auto* list : {&e.sources, &e.more, &e.sums}) {
    for (const Register& r : *list) w.require(r.number, mask, "an element of a matrix");
  }
  const Selectors chosen = selectors_of(w, op, form);
  w.require(e.held[0].number, Mask{0x33333333} << 2 * chosen.thread_a, "scales of a");
  w.require(e.held[1].number, Mask{0x11111111} << chosen.thread_b, "scales of b");
  double a[rows * most_depth], b[most_depth * columns], sums[rows * columns];
  read_a(w, op, form, chosen, a);
  read_b(w, op, form, chosen, b);
  const auto each_sum = [&](const std::vector<Register>& registers, auto&& use) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      for (unsigned i = 0; i < registers.size(); ++i) {
        use(w.row<float>(registers[i].offset)[lane],
            sums[(lane / 4 + 8 * (i / 2)) * columns + lane % 4 * 2 + i % 2]);
      }
    }
  };
  each_sum(e.sums, [](float held, double& sum) { sum = held; });
  (has_wide_vectors() ? add_products_wide : add_products)(a, b, sums, rows, columns, form.depth);
  each_sum(e.destinations, [](float& held, double sum) { held = static_cast<float>(sum); });
  for (const Register& r : e.destinations) w.define(r, mask);
  BlockResult& result = w.block.result;
  ++result.warp_operations[static_cast<std::size_t>(WarpOperation::matrices)];
  result.tensor_flops[static_cast<std::size_t>(form.tensor)] +=
      std::uint64_t{2} * rows * columns * form.depth;
}

}  // namespace

// "mma.sync.aligned.FORM d, a, b, c, scales of a, {byte, thread}, scales of b, {byte, thread}"
void build_scaled_multiply(Builder& b) {
  const auto& p = b.instruction().parts;
  const auto* const form = std::ranges::find_if(forms, [&](const Form& f) {
    return p.size() == 3 + f.parts.size() && p[1] == "sync" && p[2] == "aligned" &&
           std::equal(f.parts.begin(), f.parts.end(), p.begin() + 3);
  });
  if (form == std::end(forms) || b.operand_count() != 8) b.unknown();
  b.accept_all_parts();
  Extra& extra = b.extra();
  extra.rows = static_cast<unsigned>(form - std::begin(forms));
  extra.destinations = b.vector_of(b.operand(0), 4, true);
  extra.sources = b.vector_of(b.operand(1), 4, false);
  extra.more = b.vector_of(b.operand(2), 4, false);
  extra.sums = b.vector_of(b.operand(3), 4, false);
  extra.held = {b.source(b.operand(4), 4), b.source(b.operand(6), 4)};
  for (const std::size_t selectors : {5, 7}) {
    for (const Register& r : b.vector_of(b.operand(selectors), 2, false)) extra.held.push_back(r);
  }
  if (extra.destinations.size() != 4 || extra.sources.size() != 4 || extra.more.size() != 2 ||
      extra.sums.size() != 4 || extra.held.size() != 6) {
    b.refuse("has another number of registers");
  }
  Op& op = b.add(&multiply);
  op.defines_itself = true;
  op.extra = &extra;
}

}  // namespace gpubench::model::ptx
