// flow_source FIRST COUNT: writes a file with the kernels of so many programs.
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/model/flow/program.hpp"

namespace gpubench::flow {
namespace {

std::string number(unsigned n) { return std::to_string(n) + 'u'; }

std::string value(const Statement& s) { return s.is_alike ? "alike" : "a"; }

std::string condition(const Statement& s) {
  return "holds(" + value(s) + ", " + number(s.site) + ", " + number(s.amount) + ")";
}

// What a loop counts its trips with.
std::string counter(const Statement& s) { return "k" + std::to_string(s.site); }

std::string goes_on(const Statement& s) {
  return "goes_on(a, ++" + counter(s) + ", " + number(s.site) + ", " + number(s.amount) + ")";
}

// `r` is a random number. Words of which each thread has its own lie in rows of all threads', or in
// columns.
std::string access(const Statement& s) {
  const std::string own =
      s.is_row ? "r % words_of_site * threads + t" : "t * words_of_site + r % words_of_site";
  const std::string tile = (s.is_row ? "rows[" : "columns[") + own + "]";
  switch (s.kind) {
    case Kind::load:
      return s.is_row ? "a += in[r % 8 * threads + t]" : "a += in[r % input_words]";
    case Kind::store:
      return "out[" + number(s.site) + " * words_of_site * threads + " + own + "] = a";
    case Kind::atomic:
      return "atomicAdd(&bin[r % bins], " + number(s.site) + ")";
    case Kind::shared_load:
      return "a += " + tile;
    case Kind::shared_store:
      return tile + " = a";
    default:
      return "atomicAdd(&tally[r % bins], " + number(s.site) + ")";
  }
}

class Writer {
 public:
  void write(const Program& program) {
    line("__global__ void program_" + std::to_string(program.seed) +
         "([[maybe_unused]] unsigned* out, [[maybe_unused]] const unsigned* in,");
    line("    [[maybe_unused]] unsigned* bin, [[maybe_unused]] unsigned alike) {");
    line("  __shared__ unsigned rows[words_of_site * threads], columns[words_of_site * threads];");
    line("  __shared__ unsigned tally[bins];");
    line("  const unsigned t = threadIdx.x;");
    line("  unsigned a = mixed(t, alike), r = 0;");
    line("  prepare(rows, columns, tally);");
    write(program.body);
    line("  out[t] = a + r;");
    line("}");
  }

 private:
  void line(const std::string& text) { std::cout << std::string(2 * depth_, ' ') << text << '\n'; }
  void block(const std::string& before, const List& list, const std::string& after = "}") {
    line(before + " {");
    write(list);
    line(after);
  }

  void write(const List& list) {
    ++depth_;
    for (const Statement& s : list) write(s);
    --depth_;
  }

  void write(const Statement& s) {
    switch (s.kind) {
      case Kind::branch:
        block("if (" + condition(s) + ")", s.body, s.otherwise.empty() ? "}" : "} else {");
        if (!s.otherwise.empty()) write(s.otherwise), line("}");
        break;
      case Kind::choice:
        write_switch(s);
        break;
      case Kind::counted:
      case Kind::tests_first:
      case Kind::tests_last:
      case Kind::tests_within:
        write_loop(s);
        break;
      case Kind::leave:
        line("break;");
        break;
      case Kind::next:
        line("continue;");
        break;
      case Kind::finish:
        line("out[t] = a + r;");
        [[fallthrough]];
      case Kind::end:
        line("return;");
        break;
      case Kind::barrier:
        line("__syncthreads();");
        break;
      default:
        line("r = mixed(a++, " + number(s.site) + ");");
        line(access(s) + ";");
        line("KEEP_APART(\"" + std::to_string(s.site) + "\");");
        break;
    }
  }

  void write_switch(const Statement& s) {
    line("switch (mixed(" + value(s) + ", " + number(s.site) + ") % " +
         number(static_cast<unsigned>(s.cases.size())) + ") {");
    for (std::size_t i = 0; i < s.cases.size(); ++i) {
      block(i + 1 < s.cases.size() ? "case " + std::to_string(i) + ":" : "default:", s.cases[i],
            "} break;");
    }
    line("}");
  }

  void write_loop(const Statement& s) {
    const std::string k = counter(s);
    if (s.kind != Kind::counted) line("unsigned " + k + " = 0;");
    line("#pragma unroll 1");
    if (s.kind == Kind::counted) {
      const std::string trips = "n" + std::to_string(s.site);
      block("for (unsigned " + k + " = 0, " + trips + " = mixed(" + value(s) + ", " +
                number(s.site) + ") % " + number(s.amount) + "; " + k + " < " + trips + "; ++" + k +
                ")",
            s.body);
    } else if (s.kind == Kind::tests_first) {
      block("while (" + goes_on(s) + ")", s.body);
    } else if (s.kind == Kind::tests_last) {
      block("do", s.body, "} while (" + goes_on(s) + ");");
    } else {
      block("for (;;)", s.body, "  if (!" + goes_on(s) + ") break;");
      write(s.otherwise);
      line("}");
    }
  }

  unsigned depth_ = 0;
};

void write_file(unsigned first, unsigned count) {
  std::cout << R"(// Written by flow_source.
#include "tests/model/flow/arithmetic.hpp"
#include "tests/model/flow/kernels.hpp"
#include "tests/model/flow/program.hpp"

// These tests are about where lanes meet: nvcc must neither merge what two branches have alike nor
// leave out stores that nobody reads.
#ifdef __CUDACC__
#define KEEP_APART(site) asm volatile("// " site ::: "memory")
#define SHOW(array) asm volatile("// %0" ::"l"(array) : "memory")
#else
#define KEEP_APART(site)
#define SHOW(array)
#endif

namespace gpubench::flow {
namespace {

__device__ inline void prepare(unsigned* rows, unsigned* columns, unsigned* tally) {
  const unsigned t = threadIdx.x;
  SHOW(rows);
  SHOW(columns);
  SHOW(tally);
#pragma unroll
  for (unsigned i = 0; i < words_of_site; ++i) {
    rows[i * threads + t] = i;
    KEEP_APART("a row");
    columns[i * threads + t] = i;
    KEEP_APART("a column");
  }
  if (t < bins) tally[t] = 0;
  __syncthreads();
}

}  // namespace

)";
  for (unsigned i = 0; i < count; ++i) Writer().write(make_program(first + i));
  std::cout << "\nnamespace {\nconst bool added = [] {\n";
  for (unsigned i = first; i < first + count; ++i) {
    std::cout << "  compiled().push_back({" << i << ", program_" << i << "});\n";
  }
  std::cout << "  return true;\n}();\n}  // namespace\n\n}  // namespace gpubench::flow\n";
}

}  // namespace
}  // namespace gpubench::flow

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "flow_source: takes the first program's number and how many to write\n";
    return 2;
  }
  gpubench::flow::write_file(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)),
                             static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)));
}
