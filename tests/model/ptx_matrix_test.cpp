// Products of matrices in PTX: wmma on matrices in memory, and mma.sync on the fragments of the PTX
// ISA, "Matrix Fragments for mma.m16n8k8" and so on.
#include <functional>

#include "harness/platform/model/ptx/engine.hpp"
#include "harness/platform/model/ptx/numbers.hpp"
#include "tests/model/ptx_fixture.hpp"

namespace gpubench::model::ptx_matrices {
namespace {

using Bytes = std::vector<std::uint8_t>;

unsigned bytes_of(const std::string& type) {
  return type == "f64"                                      ? 8
         : type == "f32" || type == "tf32" || type == "s32" ? 4
         : type == "f16" || type == "bf16"                  ? 2
                                                            : 1;
}
const ptx::Format& format_of(const std::string& type) {
  return type == "f16"    ? ptx::half
         : type == "bf16" ? ptx::bfloat16
         : type == "e4m3" ? ptx::e4m3
                          : ptx::e5m2;
}
void put(Bytes& to, std::size_t at, const std::string& type, double value) {
  const auto copy = [&](auto number) { std::memcpy(to.data() + at, &number, sizeof number); };
  if (type == "f64") return copy(value);
  if (type == "f32" || type == "tf32") return copy(static_cast<float>(value));
  if (type == "s32") return copy(static_cast<std::int32_t>(value));
  if (type == "s8" || type == "u8") return copy(static_cast<std::uint8_t>(static_cast<int>(value)));
  const std::uint32_t bits = ptx::encode(value, format_of(type), ptx::Rounding::nearest, false);
  std::memcpy(to.data() + at, &bits, bytes_of(type));
}
double get(const Bytes& from, std::size_t at, const std::string& type) {
  const auto read = [&]<class T>(T number) {
    std::memcpy(&number, from.data() + at, sizeof number);
    return static_cast<double>(number);
  };
  if (type == "f64") return read(double{});
  if (type == "f32") return read(float{});
  if (type == "s32") return read(std::int32_t{});
  return ptx::half_to_float(static_cast<std::uint16_t>(read(std::uint16_t{})));
}

// What the matrices hold: exact in all types, and other in each row and column.
double a_at(unsigned i, unsigned k) { return (i * 5 + k * 3) % 7; }
double b_at(unsigned k, unsigned j) { return (k * 2 + j * 3) % 5; }
double c_at(unsigned i, unsigned j) { return (i * 3 + j) % 11; }
double sum_at(unsigned i, unsigned j, unsigned depth) {
  double sum = c_at(i, j);
  for (unsigned k = 0; k < depth; ++k) sum += a_at(i, k) * b_at(k, j);
  return sum;
}

// "{%w4, %w5}"
std::string registers(const std::string& name, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) {
    text += (i > 0 ? ", %" : "%") + name + std::to_string(first + i);
  }
  return text + '}';
}

class PtxMatrices : public PtxTest {
 protected:
  static constexpr std::size_t b_begins = 4096, c_begins = 8192, bytes = 16384;
};

// --- wmma ---

struct Matrix {
  std::string layout, type;
  unsigned rows, columns;
  unsigned stride() const { return ((by_rows() ? columns : rows) + 31) / 16 * 16; }
  bool by_rows() const { return layout == "row"; }
  std::size_t at(unsigned row, unsigned column) const {
    return std::size_t{bytes_of(type)} *
           (by_rows() ? row * stride() + column : column * stride() + row);
  }
  void fill(Bytes& to, std::size_t begin, double (*value)(unsigned, unsigned)) const {
    for (unsigned i = 0; i < rows; ++i) {
      for (unsigned j = 0; j < columns; ++j) put(to, begin + at(i, j), type, value(i, j));
    }
  }
  // "{%w0, %w1}": A and B of halves always have eight.
  std::string registers(unsigned first, bool is_factor) const {
    const unsigned width = type == "f64" ? 8 : 4;
    const unsigned count =
        is_factor && type == "f16" ? 8 : rows * columns / 32 * bytes_of(type) / width;
    return ptx_matrices::registers(width == 8 ? "v" : "w", first, count);
  }
};
struct Wide {
  std::string shape;
  unsigned m, n, k;
  std::string factor, added, sum;  // types
};

std::string access(const char* what, const Wide& w, const Matrix& m, const std::string& space) {
  return std::string("wmma.") + what + ".sync.aligned." + m.layout + '.' + w.shape + space + '.' +
         m.type + ' ';
}

TEST_F(PtxMatrices, WarpsMultiplyWhatTheyLoad) {
  const Wide all[] = {
      {"m16n16k16", 16, 16, 16, "f16", "f32", "f32"},
      {"m16n16k16", 16, 16, 16, "f16", "f16", "f16"},
      {"m8n32k16", 8, 32, 16, "f16", "f32", "f16"},
      {"m32n8k16", 32, 8, 16, "f16", "f16", "f32"},
      {"m16n16k16", 16, 16, 16, "bf16", "f32", "f32"},
      {"m8n32k16", 8, 32, 16, "bf16", "f32", "f32"},
      {"m32n8k16", 32, 8, 16, "bf16", "f32", "f32"},
      {"m16n16k16", 16, 16, 16, "s8", "s32", "s32"},
      {"m8n32k16", 8, 32, 16, "u8", "s32", "s32"},
      {"m32n8k16", 32, 8, 16, "s8", "s32", "s32"},
      {"m16n16k8", 16, 16, 8, "tf32", "f32", "f32"},
      {"m8n8k4", 8, 8, 4, "f64", "f64", "f64"},
  };
  const std::string layouts[][3] = {
      {"row", "col", "row"}, {"row", "row", "col"}, {"col", "row", "row"}, {"col", "col", "col"}};
  for (const Wide& w : all) {
    for (const auto& [of_a, of_b, of_c] : layouts) {
      const Matrix a{of_a, w.factor, w.m, w.k}, b{of_b, w.factor, w.k, w.n},
          c{of_c, w.added, w.m, w.n}, d{of_c, w.sum, w.m, w.n};
      Bytes in(bytes);
      a.fill(in, 0, a_at);
      b.fill(in, b_begins, b_at);
      c.fill(in, c_begins, c_at);
      const auto stride = [](const Matrix& m) { return ", " + std::to_string(m.stride()) + ';'; };
      const std::string types = w.factor == "f16"
                                    ? w.sum + '.' + w.added
                                    : w.sum + '.' + w.factor + '.' + w.factor + '.' + w.added;
      const std::string body =
          ".reg .b32 %w<64>; .reg .b64 %v<64>;" + access("load.a", w, a, ".global") +
          a.registers(0, true) + ", [%in]" + stride(a) + access("load.b", w, b, "") +
          b.registers(16, true) + ", [%in+4096]" + stride(b) + access("load.c", w, c, ".global") +
          c.registers(32, false) + ", [%in+8192]" + stride(c) + "wmma.mma.sync.aligned." + of_a +
          '.' + of_b + '.' + w.shape + '.' + types + ' ' + d.registers(48, false) + ", " +
          a.registers(0, true) + ", " + b.registers(16, true) + ", " + c.registers(32, false) +
          ';' + access("store.d", w, d, ".global") + "[%out], " + d.registers(48, false) +
          stride(d);
      const Bytes out = run(body, in, bytes, {.threads = 32});
      ASSERT_EQ(error, "") << body;
      for (unsigned i = 0; i < w.m; ++i) {
        for (unsigned j = 0; j < w.n; ++j) {
          ASSERT_EQ(get(out, d.at(i, j), w.sum), sum_at(i, j, w.k)) << body << i << ' ' << j;
        }
      }
    }
  }
}

TEST_F(PtxMatrices, WmmaKeepsToItsRules) {
  const std::string load =
      "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " + registers("w", 0, 8);
  const auto fails = [&](const std::string& body, unsigned threads, const std::string& why) {
    run(".reg .b32 %w<64>;" + body, Bytes(4096), 4096, {.threads = threads});
    EXPECT_NE(error.find(why), std::string::npos) << error;
  };
  fails(load + ", [%in+16], 16;", 32, "no multiple of 32");
  fails(load + ", [%in], 18;", 32, "no multiple of 16 bytes");
  fails(load + ", [%in], 16;", 16, "fewer than 32 lanes");
  fails("mov.u32 %w9, %tid.x;" + load + ", [%in], %w9;", 32, "disagree on the stride");
  fails(load + ", [%in], 2000;", 32, "out of bounds");
  const auto refused = [&](const std::string& instruction) {
    EXPECT_NE(refusal(".reg .b32 %w<64>;" + instruction).find("does not know"), std::string::npos);
  };
  refused("wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%w0}, [%in], 32;");
  refused("wmma.load.a.sync.aligned.row.m16n16k8.global.f16 " + registers("w", 0, 8) + ", [%in];");
  refused("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%w0,%w1}, {%w2}, {%w3}, {%w4,%w5};");
  refused("mma.sync.aligned.m16n8k8.row.row.f32.tf32.tf32.f32 " + registers("w", 0, 4) + ',' +
          registers("w", 4, 4) + ',' + registers("w", 8, 2) + ',' + registers("w", 0, 4) + ';');
}

// --- mma.sync, by the ISA's formulas of groupID g and threadID_in_group t ---

struct Place {
  unsigned row, column;
};
using Layout = std::function<Place(unsigned g, unsigned t, unsigned i)>;
struct Fragments {
  std::string shape, a, b, sum;  // types
  unsigned of_a, of_b, of_sum;   // elements of a lane
  unsigned depth;
  Layout place_a, place_b;
  std::string limit{};
};
Place place_of_sum(unsigned g, unsigned t, unsigned i) {
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

Place a_of_4(unsigned g, unsigned t, unsigned i) { return {i == 0 ? g : g + 8, t}; }
Place b_of_4(unsigned g, unsigned t, unsigned) { return {t, g}; }
Place a_of_8(unsigned g, unsigned t, unsigned i) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }
Place b_of_8(unsigned g, unsigned t, unsigned i) { return {t * 2 + i, g}; }
Place a_of_16(unsigned g, unsigned t, unsigned i) {
  return {i < 2 || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Place b_of_16(unsigned g, unsigned t, unsigned i) {
  return {t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
}
Place a_of_16_bytes(unsigned g, unsigned t, unsigned i) {
  return {i < 4 ? g : g + 8, t * 4 + (i & 3)};
}
Place b_of_16_bytes(unsigned g, unsigned t, unsigned i) { return {t * 4 + i, g}; }
Place a_of_32_bytes(unsigned g, unsigned t, unsigned i) {
  return {i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}
Place b_of_32_bytes(unsigned g, unsigned t, unsigned i) {
  return {t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
}

// Lane by lane 64 bytes: of A, 16 bytes on of B, and 32 on of the sums.
Bytes brought_by_lanes(const Fragments& f, std::size_t bytes) {
  Bytes in(bytes);
  const auto bring = [&](unsigned lane, unsigned begin, const std::string& type, unsigned elements,
                         const Layout& place, double (*value)(unsigned, unsigned)) {
    for (unsigned i = 0; i < elements; ++i) {
      const Place p = place(lane / 4, lane % 4, i);
      put(in, lane * 64 + begin + i * bytes_of(type), type, value(p.row, p.column));
    }
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    bring(lane, 0, f.a, f.of_a, f.place_a, a_at);
    bring(lane, 16, f.b, f.of_b, f.place_b, b_at);
    bring(lane, 32, f.sum, f.of_sum, place_of_sum, c_at);
  }
  return in;
}

TEST_F(PtxMatrices, FragmentsAreThoseOfTheIsa) {
  const Fragments all[] = {
      {"m16n8k8", "f16", "f16", "f32", 4, 2, 4, 8, a_of_8, b_of_8},
      {"m16n8k8", "bf16", "bf16", "f32", 4, 2, 4, 8, a_of_8, b_of_8},
      {"m16n8k16", "f16", "f16", "f16", 8, 4, 4, 16, a_of_16, b_of_16},
      {"m16n8k4", "tf32", "tf32", "f32", 2, 1, 4, 4, a_of_4, b_of_4},
      {"m16n8k16", "s8", "u8", "s32", 8, 4, 4, 16, a_of_16_bytes, b_of_16_bytes},
      {"m16n8k32", "u8", "s8", "s32", 16, 8, 4, 32, a_of_32_bytes, b_of_32_bytes, ".satfinite"},
      {"m8n8k16", "s8", "s8", "s32", 4, 4, 2, 16, a_of_16_bytes, b_of_16_bytes},
      {"m16n8k32", "e4m3", "e5m2", "f32", 16, 8, 4, 32, a_of_32_bytes, b_of_32_bytes},
      {"m16n8k16", "e5m2", "e4m3", "f16", 8, 4, 4, 16, a_of_16_bytes, b_of_16_bytes},
  };
  for (const Fragments& f : all) {
    const unsigned a = f.of_a * bytes_of(f.a) / 4, b = f.of_b * bytes_of(f.b) / 4,
                   sums = f.of_sum * bytes_of(f.sum) / 4;
    const std::string product = "mma.sync.aligned." + f.shape + ".row.col" + f.limit + '.' + f.sum +
                                '.' + f.a + '.' + f.b + '.' + f.sum + ' ';
    const std::string body =
        ".reg .b32 %w<16>; mov.u32 %r0, %tid.x; mul.wide.u32 %l1, %r0, 64;"
        "add.u64 %l2, %in, %l1; add.u64 %l3, %out, %l1;"
        "ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%l2];"
        "ld.global.v4.b32 {%w4, %w5, %w6, %w7}, [%l2+16];"
        "ld.global.v4.b32 {%w8, %w9, %w10, %w11}, [%l2+32];"
        "mov.b32 %w12, 0; mov.b32 %w13, 0; mov.b32 %w14, 0; mov.b32 %w15, 0;" +
        product + registers("w", 12, sums) + ", " + registers("w", 0, a) + ", " +
        registers("w", 4, b) + ", " + registers("w", 8, sums) + ';' +
        "st.global.v4.b32 [%l3], {%w12, %w13, %w14, %w15};";
    const Bytes out = run(body, brought_by_lanes(f, bytes), bytes, {.threads = 32});
    ASSERT_EQ(error, "") << product;
    for (unsigned i = 0; i < 32 * f.of_sum; ++i) {
      const unsigned lane = i / f.of_sum, element = i % f.of_sum;
      const Place p = place_of_sum(lane / 4, lane % 4, element);
      ASSERT_EQ(get(out, lane * 64 + element * bytes_of(f.sum), f.sum),
                sum_at(p.row, p.column, f.depth))
          << product << lane << ' ' << element;
    }
  }
}

TEST_F(PtxMatrices, MatricesAreStoredAndTransposed) {
  const std::string body =
      ".shared .align 16 .b8 tile[128]; .reg .b32 %w<4>; mov.u32 %r0, %tid.x;"
      "and.b32 %r1, %r0, 7; mov.u32 %r2, tile; mad.lo.u32 %r2, %r1, 16, %r2;"
      "shl.b32 %r3, %r0, 1; mad.lo.u32 %w0, %r3, 0x10001, 0x10000;"  // 2 lane and 2 lane + 1
      "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%w0}; bar.warp.sync -1;"
      "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%w1}, [%r2];"
      "movmatrix.sync.aligned.m8n8.trans.b16 %w2, %w0;"
      "mul.wide.u32 %l1, %r0, 8; add.u64 %l1, %out, %l1; st.global.v2.b32 [%l1], {%w1, %w2};";
  const auto out = run(body, std::vector<std::uint32_t>(1), 64, {.threads = 32});
  ASSERT_EQ(error, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned first = lane % 4 * 16 + lane / 4;
    EXPECT_EQ(out[2 * lane], first | (first + 8) << 16) << lane;
    EXPECT_EQ(out[2 * lane + 1], first | (first + 8) << 16) << lane;
  }
}

TEST_F(PtxMatrices, SumsOfIntegersWrapAroundOrStop) {
  const auto sum = [&](const std::string& limit) {
    const std::string body =
        ".reg .b32 %w<16>; mov.b32 %w0, 0x01010101; mov.b32 %w1, 2147483640;"
        "mma.sync.aligned.m8n8k16.row.col" +
        limit +
        ".s32.s8.s8.s32 {%w2, %w3}, {%w0}, {%w0}, {%w1, %w1};"
        "st.global.b32 [%out], %w2;";
    return run(body, std::vector<std::int32_t>(1), 1, {.threads = 32})[0];
  };
  EXPECT_EQ(sum(""), std::numeric_limits<std::int32_t>::min() + 8);
  EXPECT_EQ(sum(".satfinite"), std::numeric_limits<std::int32_t>::max());
}

}  // namespace
}  // namespace gpubench::model::ptx_matrices
