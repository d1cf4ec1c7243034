// Whole kernels in PTX: what is copied, where threads meet, and what stands at a module's scope.
#include <bit>
#include <numeric>

#include "tests/model/ptx_fixture.hpp"

namespace gpubench::model {
namespace {

using PtxKernels = PtxTest;
using PtxWords = std::vector<std::uint32_t>;

// Thread by thread %r0 is its number, and %l0 and %l1 are its words of %in and %out.
const std::string by_thread =
    "mov.u32 %r0, %tid.x; mul.wide.u32 %l2, %r0, 4;"
    "add.u64 %l0, %in, %l2; add.u64 %l1, %out, %l2;\n";
PtxWords words(std::uint32_t count) {
  PtxWords all(count);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

const std::vector<ptx::Conduct> conducts = [] {
  std::vector<ptx::Conduct> all{{}, {.late_copies = true}};
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    all.push_back({.late_copies = true, .random_order = true, .seed = seed});
  }
  return all;
}();

const std::string tile = ".shared .align 16 .b8 tile[512];";

TEST_F(PtxKernels, ACopyIgnoresItsSourceWhereThePredicateSaysSo) {
  const std::string body = tile + by_thread +
                           "mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 4, %r1;"
                           "setp.ge.u32 %p1, %r0, 20;"
                           "cp.async.ca.shared.global [%r1], [%l0], 4, %p1;"
                           "cp.async.commit_group; cp.async.wait_group 0;"
                           "ld.shared.u32 %r2, [%r1]; st.global.u32 [%l1], %r2;";
  const PtxWords all = run(body, words(64), 64, {.threads = 64});
  EXPECT_EQ(error, "");
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(all[i], i < 20 ? i + 1 : 0) << i;
}

TEST_F(PtxKernels, WaitingForAllCopiesNeedsNoGroup) {
  const std::string body = tile + by_thread +
                           "mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 4, %r1;"
                           "cp.async.ca.shared.global [%r1], [%l0], 4; cp.async.wait_all;"
                           "ld.shared.u32 %r2, [%r1]; st.global.u32 [%l1], %r2;";
  for (const ptx::Conduct& conduct : conducts) {
    EXPECT_EQ(run(body, words(64), 64, {.threads = 64, .conduct = conduct}), words(64));
    EXPECT_EQ(error, "");
  }
}

// "if (i >= n) return;" before a barrier: those who go on are the branch's, or the others.
TEST_F(PtxKernels, ABarrierDoesNotWaitForThreadsThatHaveEnded) {
  const std::string meet =
      "mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;"
      "bar.sync 0; ld.shared.u32 %r3, [%r1+156]; st.global.u32 [%l1], %r3;";
  const std::string begin = tile + by_thread + "setp.lt.u32 %p1, %r0, 40;\n";
  for (const std::string& body :
       {begin + "@%p1 bra go_on; ret; go_on: " + meet, begin + "@!%p1 bra end; " + meet + " end:",
        begin + "@!%p1 bra end; " + meet + " end: st.global.u32 [%out+400], %r0;"}) {
    for (const ptx::Conduct& conduct : conducts) {
      const PtxWords all = run(body, words(96), 101, {.threads = 96, .conduct = conduct});
      EXPECT_EQ(error, "");
      for (std::uint32_t i = 0; i < 96; ++i) EXPECT_EQ(all[i], i < 40 ? 39 : 0) << i;
    }
  }
}

TEST_F(PtxKernels, ABarrierThatOthersOfTheWarpMissIsAnError) {
  const std::string body = by_thread +
                           "setp.lt.u32 %p1, %r0, 7; @%p1 bra here;"
                           "bar.sync 1; bra end; here: bar.sync 2; end:";
  for (const ptx::Conduct& conduct : conducts) {
    run(body, words(32), 32, {.threads = 32, .conduct = conduct});
    EXPECT_NE(error.find("barrier that only some lanes of a warp come to"), std::string::npos)
        << error;
  }
}

TEST_F(PtxKernels, BarriersCountVotes) {
  const std::string body = by_thread +
                           "setp.lt.u32 %p1, %r0, 50; bar.red.popc.u32 %r1, 0, %p1;"
                           "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p1;"
                           "selp.b32 %r2, 1000, 0, %p2; selp.b32 %r3, 100, 0, %p3;"
                           "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;"
                           "st.global.u32 [%l1], %r1;";
  for (const ptx::Conduct& conduct : conducts) {
    EXPECT_EQ(run(body, words(96), 96, {.threads = 96, .conduct = conduct}), PtxWords(96, 150));
    EXPECT_EQ(error, "");
  }
}

// As the tiles of a warp do that cooperative_groups makes.
TEST_F(PtxKernels, HalvesOfAWarpNameAMaskEach) {
  const std::string mask =
      by_thread + "setp.lt.u32 %p1, %r0, 16; selp.b32 %r1, 0xffff, 0xffff0000, %p1;";
  const std::string body = mask +
                           "bar.warp.sync %r1; shfl.sync.down.b32 %r2, %r0, 8, 0x101f, %r1;"
                           "redux.sync.add.u32 %r3, %r0, %r1; setp.eq.u32 %p2, %r0, 3;"
                           "vote.sync.any.pred %p3, %p2, %r1; selp.u32 %r4, 1000, 0, %p3;"
                           "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;"
                           "st.global.u32 [%l1], %r2;";
  const PtxWords all = run(body, words(32), 32, {.threads = 32});
  EXPECT_EQ(error, "");
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(all[i], (i % 16 < 8 ? i + 8 : i) + (i < 16 ? 120 + 1000 : 376)) << i;
  }
  EXPECT_EQ(counts.at(WarpOperation::shuffle), 2);
  EXPECT_EQ(counts.at(WarpOperation::warp_barrier), 1);
  // The other half says yes, and lanes cross over by exclusive or.
  const std::string crossing = mask +
                               "redux.sync.add.u32 %r2, %r0, %r1;"
                               "shfl.sync.bfly.b32 %r3, %r0, 8, 31, %r1; setp.eq.u32 %p2, %r0, 20;"
                               "vote.sync.any.pred %p3, %p2, %r1; bar.warp.sync %r1;"
                               "selp.b32 %r4, 1000, 0, %p3; add.u32 %r2, %r2, %r3;"
                               "add.u32 %r2, %r2, %r4; st.global.u32 [%l1], %r2;";
  const PtxWords crossed = run(crossing, words(32), 32, {.threads = 32});
  EXPECT_EQ(error, "");
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(crossed[i], (i < 16 ? 120 : 376 + 1000) + (i ^ 8)) << i;
  }
  run(mask + "setp.eq.u32 %p2, %r0, 3; selp.b32 %r1, 8, %r1, %p2; bar.warp.sync %r1;", words(32),
      32, {.threads = 32});
  EXPECT_NE(error.find("without a lane that its mask names"), std::string::npos) << error;
}

TEST_F(PtxKernels, WhatComesFromALaneThatTakesNoPartIsUndefined) {
  const std::string body = by_thread +
                           "setp.ge.u32 %p1, %r0, 16; @%p1 bra end;"
                           "shfl.sync.down.b32 %r1, %r0, 8, 31, 0xffff;"
                           "setp.ge.u32 %p1, %r0, ";
  const std::string end = "; @%p1 bra end; st.global.u32 [%l1], %r1; end: bar.warp.sync -1;";
  const PtxWords all = run(body + "8" + end, words(32), 8, {.threads = 32});
  EXPECT_EQ(error, "");
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(all[i], i + 8) << i;
  run(body + "9" + end, words(32), 9, {.threads = 32});
  EXPECT_NE(error.find("was never computed"), std::string::npos) << error;
}

TEST_F(PtxKernels, WarpsReduceAndMatch) {
  const std::string body = by_thread +
                           "and.b32 %r1, %r0, 3; redux.sync.add.u32 %r2, %r0, -1;"
                           "sub.s32 %r3, %r1, 2; redux.sync.min.s32 %r4, %r3, -1;"
                           "redux.sync.max.u32 %r5, %r0, -1; redux.sync.xor.b32 %r6, %r1, -1;"
                           "match.any.sync.b32 %r7, %r1, -1;"
                           "add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5; add.u32 %r2, %r2, %r6;"
                           "shf.r.wrap.b32 %r7, %r7, %r7, %r1; sub.u32 %r7, %r7, 0x11111111;"
                           "add.u32 %r2, %r2, %r7; st.global.u32 [%l1], %r2;";
  EXPECT_EQ(run(body, words(32), 32, {.threads = 32}), PtxWords(32, 496 - 2 + 31 + 0));
  EXPECT_EQ(error, "");
  EXPECT_EQ(counts.at(WarpOperation::shuffle), 4);
  EXPECT_EQ(counts.at(WarpOperation::vote), 1);
  EXPECT_NE(refusal("redux.sync.add.b32 %r1, %r2, -1;"), "");
  const std::string all =
      by_thread +
      "match.all.sync.b64 %r1|%p1, 7, -1; selp.u32 %r1, %r1, 5, %p1;"
      "match.all.sync.b32 %r2|%p2, %r0, -1; selp.u32 %r2, 1, 100, %p2;"
      "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, WARP_SZ; st.global.u32 [%l1], %r1;";
  EXPECT_EQ(run(all, words(32), 32, {.threads = 32}), PtxWords(32, ~0u + 100 + 32));
  EXPECT_EQ(error, "");
  EXPECT_NE(refusal("match.some.sync.b32 %r1, %r2, -1;"), "");
}

// One warp waits at a barrier at which the others only arrive.
TEST_F(PtxKernels, ArrivalsDoNotWait) {
  // Those that arrive meet the waiting one before it comes there: they would never, if they waited.
  const std::string body = tile + by_thread +
                           "mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1;"
                           "setp.lt.u32 %p1, %r0, 32; @%p1 bra wait;"
                           "st.shared.u32 [%r2], %r0; bar.arrive 1, 96; bar.sync 2, 96; bra end;"
                           "wait: bar.sync 2, 96; bar.sync 1, 96; ld.shared.u32 %r3, [%r1+380];"
                           "st.global.u32 [%l1], %r3; end:";
  for (const ptx::Conduct& conduct : conducts) {
    const PtxWords all = run(body, words(96), 96, {.threads = 96, .conduct = conduct});
    EXPECT_EQ(error, "");
    EXPECT_EQ(all[0], 95u);
  }
}

TEST_F(PtxKernels, AtomicsOnVectorsAndShortWords) {
  const std::string body =
      "mov.b32 %r1, 0f3f800000; mov.b32 %r2, 0f40000000;"
      "atom.global.add.v2.f32 {%r3, %r4}, [%in], {%r1, %r2};"
      "red.global.add.v4.f32 [%in], {%r1, %r1, %r2, %r2};"
      "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%in];"
      "st.global.v4.b32 [%out], {%r5, %r6, %r7, %r8}; st.global.v2.b32 [%out+16], {%r3, %r4};"
      "mov.b16 %h1, 5; mov.b16 %h2, 6; st.global.b16 [%in], %h1;"
      "atom.global.cas.b16 %h3, [%in], %h1, %h2; atom.global.cas.b16 %h4, [%in], %h1, %h1;"
      "cvt.u32.u16 %r1, %h4; st.global.b32 [%out+24], %r1;";
  const std::vector<float> all = run(body, std::vector<float>{10, 20, 30, 40}, 7);
  EXPECT_EQ(error, "");
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 6),
            (std::vector<float>{12, 23, 32, 42, 10, 20}));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(all[6]), 6u);
}

TEST_F(PtxKernels, AtomicsOnNumbersOf16Bits) {
  const std::string body =
      "mov.b32 %r1, 0x40003c00; mov.b16 %h1, 0x3f80; mov.b16 %h2, 0x3c00;"  // 1 and 2; 1; 1
      "atom.global.add.noftz.f16x2 %r2, [%in], %r1; red.global.add.noftz.bf16 [%in+4], %h1;"
      "atom.add.noftz.f16 %h3, [%in+6], %h2; ld.global.v2.b32 {%r3, %r4}, [%in];"
      "st.global.v2.b32 [%out], {%r3, %r4}; st.global.b32 [%out+8], %r2;";
  // 1 and 1, bfloat16 1, half 2048, to which an added 1 is lost.
  EXPECT_EQ(run(body, PtxWords{0x3c003c00, 0x68003f80}, 3),
            (PtxWords{0x42004000, 0x68004000, 0x3c003c00}));
  EXPECT_EQ(error, "");
  EXPECT_NE(refusal("atom.global.add.f16 %h1, [%in], %h2;"), "");
}

TEST_F(PtxKernels, AFunctionHasSharedVariables) {
  const std::string outside =
      ".func (.param .b32 result) twice(.param .b32 x) { .reg .b32 %a<4>;"
      ".shared .align 4 .b8 kept[4]; ld.param.b32 %a0, [x]; st.shared.u32 [kept], %a0;"
      "ld.shared.u32 %a1, [kept]; add.u32 %a2, %a1, %a1; st.param.b32 [result], %a2; ret; }";
  const std::string call =
      "{ .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r1;"
      "call.uni (r0), twice, (p0); ld.param.b32 %r1, [r0]; }";
  const std::string body = "ld.global.u32 %r1, [%in];" + call + call + "st.global.u32 [%out], %r1;";
  EXPECT_EQ(run(body, PtxWords{5}, 1, {.outside = outside}), PtxWords{20});
  EXPECT_EQ(error, "");
}

const std::string at_module_scope =
    ".const .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3};\n"
    ".global .align 4 .u32 primes[3] = {2, 3, 5};\n"
    ".global .align 8 .u64 names[2] = {generic(primes), primes};\n"
    ".visible .global .align 4 .u32 counter;\n"
    ".extern .global .align 4 .u32 elsewhere;\n"
    ".global .texref image;\n"
    ".global .align 8 .u64 pointers[1] = {twice};\n"
    ".extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b) ;\n"
    ".alias what, ever;\n"
    ".visible .entry other() { .reg .b32 %r<2>; prototype_1: .callprototype (.param .b32 _) _ ();"
    " .branchtargets here; here: ret; }\n";

TEST_F(PtxKernels, TablesOfTheModuleAreRead) {
  const std::string body =
      "ld.const.u32 %r1, [table+8];"
      "mov.u64 %l1, primes; ld.global.nc.u32 %r2, [%l1+4];"
      "cvta.global.u64 %l2, %l1; ld.u32 %r3, [%l2+8];"
      "ld.global.u64 %l3, [names]; ld.u32 %r4, [%l3]; ld.const.u32 %r5, [table+12];"
      "ld.global.u32 %r6, [%in]; ld.global.u32 %r7, [counter];"
      "add.u32 %r1, %r1, %r5; add.u32 %r6, %r6, %r7;"
      "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.u32 [%out+16], %r6;";
  EXPECT_EQ(run(body, PtxWords{7}, 5, {.outside = at_module_scope}), (PtxWords{3, 3, 5, 2, 7}));
  EXPECT_EQ(error, "");
}

TEST_F(PtxKernels, WhatAModuleHasBesideIsRefusedOnlyWhereItIsUsed) {
  const auto refused = [&](const std::string& body) { return refusal(body, at_module_scope); };
  const auto expect = [](const std::string& why, const std::string& words) {
    EXPECT_NE(why.find(words), std::string::npos) << why;
  };
  expect(refused("st.global.u32 [counter], 1;"), "the PTX engine only reads");
  expect(refused("atom.global.add.u32 %r1, [counter], 1;"), "the PTX engine only reads");
  expect(refused("ld.global.u32 %r1, [primes+12];"), "beyond the end");
  expect(refused("ld.global.u32 %r1, [elsewhere];"), "'elsewhere', which is declared elsewhere");
  expect(refused("mov.u64 %l1, image;"), "'image', which is declared as .texref");
  expect(refused("mov.u64 %l1, pointers;"), "'pointers', which holds the address of twice");
  expect(refused("mov.u64 %l1, nobody;"), "names 'nobody', which nothing declares");
  const std::string pool = ".global .align 1 .b8 pool[1000000000000000000];";
  EXPECT_EQ(run("st.global.u32 [%out], 1;", PtxWords(1), 1, {.outside = pool}), PtxWords{1});
  expect(refusal("mov.u64 %l1, pool;", pool), "'pool', which is larger than the 16 MiB");
  expect(refused("call.uni malloc, (%l1);"), "calls malloc, which its PTX does not define");
  expect(refused("call.uni %l1, (%l2), prototype_2;"), "calls through a pointer");
}

TEST_F(PtxKernels, AnUnknownStatementInAnotherKernelIsThatOnes) {
  ptx::Library library;
  library.add(module_of("", at_module_scope), "a test's PTX");
  EXPECT_NO_THROW(library.find("k", {9, 0}, 0));
  try {
    library.find("other", {9, 0}, 0);
    ADD_FAILURE() << "a directive that nobody knows was read";
  } catch (const ptx::PtxError& refused) {
    EXPECT_NE(std::string(refused.what()).find("'.branchtargets'"), std::string::npos)
        << refused.what();
  }
}

}  // namespace
}  // namespace gpubench::model
