// Calls of functions in PTX, which become part of the kernel, and what stands beside kernels.
#include "tests/model/ptx_fixture.hpp"

namespace gpubench::model::ptx_calls {
namespace {

using PtxCalls = PtxTest;
using PtxWords = std::vector<std::uint32_t>;

// "call" with one argument of 32 bits, from %r1, and a result, into %r2.
std::string call_of(const std::string& function, const std::string& guard = "") {
  return "{ .param .b32 p0; .param .b32 r0; st.param.b32 [p0+0], %r1;" + guard + "call.uni (r0), " +
         function + ", (p0); ld.param.b32 %r2, [r0+0]; }\n";
}
std::string function_of(const std::string& name, const std::string& body) {
  return ".func (.param .b32 result) " + name + "(.param .b32 x) { .reg .b32 %a<4>; .reg .b16 %s;" +
         body + " ret; }\n";
}
const std::string load = "ld.global.u32 %r1, [%in];", store = "st.global.u32 [%out], %r2;";

TEST_F(PtxCalls, AShortArgumentIsReadFromItsWord) {
  const std::string outside =
      function_of("low", "ld.param.s8 %s, [x]; cvt.s32.s16 %a0, %s; st.param.b32 [result+0], %a0;");
  EXPECT_EQ(run(load + call_of("low") + store, PtxWords{0x12345680}, 1, {.outside = outside}),
            PtxWords{0xffffff80});
  EXPECT_EQ(error, "");
}

TEST_F(PtxCalls, StructuresAreReadInOtherPiecesThanTheyWereWritten) {
  const std::string outside =
      ".func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 x[16]) { .reg .b32 %a<4>;"
      ".reg .b64 %b; ld.param.v2.b32 {%a0, %a1}, [x]; ld.param.b64 %b, [x+8];"
      "st.param.b64 [result], %b; st.param.v2.b32 [result+8], {%a0, %a1}; ret; }\n";
  const std::string body =
      "ld.global.b64 %l1, [%in]; ld.global.v2.b32 {%r3, %r4}, [%in+8];"
      "{ .param .align 8 .b8 p0[16]; .param .align 8 .b8 r0[16];"
      "st.param.b64 [p0], %l1; st.param.b32 [p0+8], %r3; st.param.b32 [p0+12], %r4;"
      "call.uni (r0), swap, (p0); ld.param.v4.b32 {%r5, %r6, %r7, %r8}, [r0]; }"
      "st.global.v4.b32 [%out], {%r5, %r6, %r7, %r8};";
  EXPECT_EQ(run(body, PtxWords{1, 2, 3, 4}, 4, {.outside = outside}), (PtxWords{3, 4, 1, 2}));
  EXPECT_EQ(error, "");
}

TEST_F(PtxCalls, AGuardedCallIsForTheLanesThatItNames) {
  const std::string outside = function_of(
      "more", "ld.param.b32 %a0, [x]; add.u32 %a1, %a0, 100; st.param.b32 [result], %a1;");
  const std::string body =
      "mov.u32 %r1, %tid.x; mul.wide.u32 %l1, %r1, 4; add.u64 %l1, %out, %l1; setp.lt.u32 %p1, "
      "%r1, 2; {.param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r1; st.param.b32 [r0], 7;"
      "@!%p1 call.uni (r0), more, (p0); ld.param.b32 %r2, [r0]; } st.global.u32 [%l1], %r2;";
  EXPECT_EQ(run(body, PtxWords(1), 4, {.threads = 4, .outside = outside}),
            (PtxWords{7, 7, 102, 103}));
  EXPECT_EQ(error, "");
}

TEST_F(PtxCalls, WhatCannotBeReadIsRefusedOnlyWhereItIsUsed) {
  const std::string outside =
      ".func (.param .texref result) wide(.param .b32 x) { ret; }\n"
      ".func .attribute(.unified(1, 2)) (.param .b32 result) odd(.param .b32 x) { ret; }\n" +
      function_of("broken", ".weird 1;") + function_of("outer", call_of("broken")) +
      ".shared .texref pictures;\n.shared .align 4 .b8 enormous[1000000000000];\n"
      ".global .attribute(.managed) .align 4 .u32 shared_with_host;\n"
      ".visible .entry other(.param .texref x) { ret; }\n" +
      function_of("fine", "ld.param.b32 %a0, [x]; st.param.b32 [result], %a0;");
  EXPECT_EQ(run(load + call_of("fine") + store, PtxWords{5}, 1, {.outside = outside}), PtxWords{5});
  EXPECT_EQ(error, "");
  const auto expect = [&](const std::string& body, const std::string& words) {
    EXPECT_NE(refusal(body, outside).find(words), std::string::npos) << error;
  };
  expect(call_of("wide"), "calls wide, which cannot be read: ");
  expect(call_of("odd"), "calls odd, which cannot be read: ");
  expect(call_of("broken"), "calls broken, which cannot be read: ");
  expect(call_of("outer"), "calls broken, which cannot be read: ");
  expect("mov.u32 %r1, pictures;", "'pictures', which is declared as .texref");
  expect("mov.u32 %r1, enormous;", "'enormous', which is larger than");
  expect("ld.global.u32 %r1, [shared_with_host];",
         "'shared_with_host', which is declared as .attribute(.managed)");
  ptx::Library library;
  library.add(module_of("", outside), "a test's PTX");
  try {
    library.find("other", {9, 0}, 0);
    ADD_FAILURE() << "a parameter of no type that it knows was read";
  } catch (const ptx::PtxError& refused) {
    EXPECT_NE(std::string(refused.what()).find("cannot run other"), std::string::npos)
        << refused.what();
  }
}

// "text" as nvcc has it: bytes, and a zero.
std::string text_of(const std::string& name, const std::string& text) {
  std::string bytes;
  for (const char c : text) bytes += std::to_string(c) + ", ";
  return ".global .align 1 .b8 " + name + '[' + std::to_string(text.size() + 1) + "] = {" + bytes +
         "0};\n";
}

TEST_F(PtxCalls, ThreadsPrint) {
  const std::string outside =
      text_of("$str", "%d %5.2f|%s|%llx 100%% %-3c.\n") + text_of("$str$1", "there");
  const std::string body =
      ".local .align 8 .b8 depot[40]; mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 1; @%p1 bra end;"
      "mov.u64 %l1, depot; cvta.local.u64 %l2, %l1; st.local.u32 [%l1], %r1;"
      "mov.u64 %l3, 4609434218613702656; st.local.u64 [%l1+8], %l3;"
      "mov.u64 %l4, $str$1; cvta.global.u64 %l4, %l4; st.local.u64 [%l1+16], %l4;"
      "mov.u64 %l5, 0x123456789a; st.local.u64 [%l1+24], %l5; mov.u32 %r3, 65;"
      "st.local.u32 [%l1+32], %r3; mov.u64 %l6, $str; cvta.global.u64 %l6, %l6;"
      "{ .param .b64 p0; st.param.b64 [p0+0], %l6; .param .b64 p1; st.param.b64 [p1+0], %l2;"
      ".param .b32 r0; call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r2, [r0+0]; }"
      "st.global.u32 [%out], %r2; end:";
  testing::internal::CaptureStdout();
  const PtxWords all = run(body, PtxWords(1), 1, {.threads = 4, .outside = outside});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "0  1.50|there|123456789a 100% A  .\n1  1.50|there|123456789a 100% A  .\n");
  EXPECT_EQ(error, "");
  EXPECT_EQ(all, PtxWords{5});
}

TEST_F(PtxCalls, AnAssertionThatFailsIsAFault) {
  const std::string outside =
      text_of("$str", "x < 100") + text_of("$str$1", "here.cu") + text_of("$str$2", "void f()");
  const std::string body =
      "ld.global.u32 %r1, [%in]; setp.lt.u32 %p1, %r1, 100; @%p1 bra fine;"
      "mov.u64 %l1, $str; cvta.global.u64 %l1, %l1; mov.u64 %l2, $str$1; cvta.global.u64 %l2, %l2;"
      "mov.u64 %l3, $str$2; cvta.global.u64 %l3, %l3;"
      "{ .param .b64 p0; st.param.b64 [p0], %l1; .param .b64 p1; st.param.b64 [p1], %l2;"
      ".param .b32 p2; st.param.b32 [p2], 21; .param .b64 p3; st.param.b64 [p3], %l3;"
      ".param .b64 p4; st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4); }"
      "fine: st.global.u32 [%out], 1;";
  EXPECT_EQ(run(body, PtxWords{99}, 1, {.outside = outside}), PtxWords{1});
  EXPECT_EQ(error, "");
  run(body, PtxWords{100}, 1, {.outside = outside});
  EXPECT_NE(error.find("assertion `x < 100` of here.cu:21 failed"), std::string::npos) << error;
}

TEST_F(PtxCalls, RecursionAndPointersAreRefusedByName) {
  const std::string outside = function_of("even",
                                          ".param .b32 q; .param .b32 s;"
                                          "call.uni (s), odd, (q);") +
                              function_of("odd",
                                          ".param .b32 q; .param .b32 s;"
                                          "call.uni (s), even, (q);") +
                              function_of("fine", "");
  const auto expect = [&](const std::string& body, const std::string& words) {
    EXPECT_NE(refusal(body, outside).find(words), std::string::npos) << error;
  };
  expect(call_of("even"), "calls even, which calls itself");
  expect(call_of("nobody"), "calls nobody, which its PTX does not define");
  expect("{ .param .b32 r0; call.uni (r0), fine; }", "calls fine with another number of arguments");
  expect("mov.u64 %l1, fine;", "takes the address of the function fine");
  expect("{ .param .b32 r0; call.uni (r0), %l1, (r0), prototype; }", "calls through a pointer");
}

}  // namespace
}  // namespace gpubench::model::ptx_calls
