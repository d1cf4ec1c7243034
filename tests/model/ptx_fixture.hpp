// Kernels written in PTX, on the engine that runs it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "harness/platform/model/ptx/engine.hpp"
#include "tests/model/emulator_fixture.hpp"

namespace gpubench::model {

class PtxTest : public EmulatorTest {
 protected:
  struct Launch {
    unsigned threads = 1;
    ptx::Conduct conduct{};
    std::string outside{};  // what stands at the module's scope
  };

  // A module whose kernel "k" has this body, and registers %in and %out that hold its arguments.
  static std::string module_of(const std::string& body, const std::string& outside) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n" + outside +
           "\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
           ".reg .b64 %in, %out; .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>;"
           " .reg .b64 %l<16>;\n"
           "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n" +
           body + "\nret;\n}\n";
  }

  // What the kernel leaves at %out; `error` holds why it failed, or nothing.
  template <class T>
  std::vector<T> run(const std::string& body, const std::vector<T>& in, std::size_t out,
                     const Launch& how) {
    ptx::Library library;
    library.add(module_of(body, how.outside), "a test's PTX");
    Emulator here(spec, memory, {.threads = 1});
    here.use_engine(ptx::make_engine(library, {9, 0}, how.conduct));
    T* const results = upload(std::vector<T>(out));
    const std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(upload(in)),
                                       reinterpret_cast<std::uint64_t>(results)};
    KernelLaunch launch;
    launch.name = "k";
    launch.block = dim3(how.threads);
    launch.argument_words = arguments;
    error = here.execute(launch).error;
    if (!here.runs().empty()) counts = here.runs()[0].profile.counts;
    return download(results, out);
  }
  template <class T>
  std::vector<T> run(const std::string& body, const std::vector<T>& in, std::size_t out) {
    return run(body, in, out, Launch());
  }

  // %x of one thread, behind an instruction that reads %a, %b, ... of the operands' widths.
  template <class D, class... S>
  D evaluate(const std::string& instruction, S... operands) {
    const auto bits = [](std::size_t bytes) { return ".b" + std::to_string(8 * bytes); };
    std::vector<std::uint64_t> in;
    std::string body = ".reg " + bits(sizeof(D)) + " %x;\n";
    const auto add = [&](auto operand) {
      const std::string name = std::string("%") + static_cast<char>('a' + in.size());
      const std::string width = bits(sizeof operand);
      body += ".reg " + width + ' ' + name + ";\nld.global" + width + ' ' + name + ", [%in+" +
              std::to_string(8 * in.size()) + "];\n";
      std::memcpy(&in.emplace_back(0), &operand, sizeof operand);
    };
    (add(operands), ...);
    in.resize(in.size() + 1);
    const auto out =
        run(body + instruction + "\nst.global" + bits(sizeof(D)) + " [%out], %x;", in, 1);
    EXPECT_EQ(error, "") << instruction;
    D result;
    std::memcpy(&result, out.data(), sizeof result);
    return result;
  }

  // Why a kernel of these statements cannot run: one line.
  std::string refusal(const std::string& body, const std::string& outside = "") {
    run(body, std::vector<std::uint64_t>(1), 1, {.outside = outside});
    EXPECT_NE(error, "") << body;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    return error;
  }

  std::string error;
  Counts counts;  // of the last that ran
};

}  // namespace gpubench::model
