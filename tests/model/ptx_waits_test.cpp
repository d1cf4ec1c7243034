// Threads that wait for one another in PTX, at barriers or by words in memory.
#include "tests/model/ptx_fixture.hpp"

namespace gpubench::model::ptx_waits {
namespace {

using PtxWaits = PtxTest;
using PtxWords = std::vector<std::uint32_t>;

const std::vector<ptx::Conduct> conducts{{},
                                         {.late_copies = true},
                                         {.random_order = true, .seed = 1},
                                         {.random_order = true, .seed = 2}};
const std::string number =
    "mov.u32 %r0, %tid.x; mul.wide.u32 %l2, %r0, 4; add.u64 %l1, %out, %l2;\n";

// Lane 0 of a warp waits for what another warp does; its other lanes are at a barrier meanwhile, or
// have ended.
TEST_F(PtxWaits, APartOfAWarpWaitsAtAnMbarrierWhileOthersAreAtABarrier) {
  const std::string begin =
      ".shared .align 8 .b8 gate[8];" + number +
      "setp.ne.u32 %p1, %r0, 0; @%p1 bra ready;"
      "mbarrier.init.shared.b64 [gate], 1; ready: bar.sync 0;"
      "setp.ge.u32 %p2, %r0, 32; @%p2 bra second; setp.ne.u32 %p1, %r0, 0; @%p1 bra others;"
      "again: mbarrier.try_wait.parity.shared.b64 %p3, [gate], 0; @!%p3 bra again;"
      "st.global.u32 [%l1], 1;";
  const std::string arrive =
      "second: setp.ne.u32 %p1, %r0, 32; @%p1 bra met; mbarrier.arrive.shared.b64 _, [gate]; met:";
  const std::string at_barriers =
      begin + "bar.sync 0; ret; others: bar.sync 0; st.global.u32 [%l1], 2; ret;" + arrive +
      "bar.sync 0; st.global.u32 [%l1], 3; ret;";
  const std::string ended =
      begin + "ret; others: st.global.u32 [%l1], 2; ret;" + arrive + "st.global.u32 [%l1], 3; ret;";
  const std::string ends_before_the_barrier =
      begin + "ret; others: bar.sync 0; st.global.u32 [%l1], 2; ret;" + arrive +
      "bar.sync 0; st.global.u32 [%l1], 3; ret;";
  for (const ptx::Conduct& conduct : conducts) {
    for (const std::string& body : {ended, ends_before_the_barrier}) {
      const PtxWords all = run(body, PtxWords(1), 64, {.threads = 64, .conduct = conduct});
      EXPECT_EQ(error, "");
      for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(all[i], i == 0 ? 1 : i < 32 ? 2 : 3) << i;
    }
    // Two instructions are two barriers to a warp.
    run(at_barriers, PtxWords(1), 64, {.threads = 64, .conduct = conduct});
    EXPECT_NE(error.find("barrier that only some lanes of a warp come to"), std::string::npos)
        << error;
  }
}

TEST_F(PtxWaits, AWaitThatNobodyEndsIsNamed) {
  for (const std::string& load : {std::string("ld.acquire.gpu.global.u32 %r1, [%in];"),
                                  std::string("atom.global.cas.b32 %r1, [%in], 1, 0;")}) {
    run("again: nanosleep.u32 20;" + load + "setp.eq.u32 %p1, %r1, 0; @%p1 bra again;", PtxWords(1),
        1, {.threads = 1});
    EXPECT_NE(error.find("the same words loaded again and again"), std::string::npos) << error;
    EXPECT_NE(error.find("at '" + load), std::string::npos) << error;
  }
}

// One that counts its turns ends, however often it looks at the same word.
TEST_F(PtxWaits, ALongLoopIsNoWait) {
  const std::string body =
      "mov.u32 %r2, 0; mov.u32 %r3, 0; again: ld.global.u32 %r1, [%in];"
      "add.u32 %r2, %r2, %r1; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 6000000; @%p1 bra again;"
      "st.global.u32 [%out], %r2;";
  EXPECT_EQ(run(body, PtxWords{3}, 1), PtxWords{18000000});
  EXPECT_EQ(error, "");
}

// The others of its warp are still where it left them.
TEST_F(PtxWaits, ALaneThatCountsIsWaitedForAtABarrier) {
  const std::string body = number +
                           "setp.ne.u32 %p1, %r0, 0; @%p1 bra met; mov.u32 %r2, 0;"
                           "again: ld.global.u32 %r1, [%in]; add.u32 %r2, %r2, 1;"
                           "setp.lt.u32 %p2, %r2, 100000; @%p2 bra again;"
                           "met: bar.sync 0; st.global.u32 [%l1], 7;";
  EXPECT_EQ(run(body, PtxWords(1), 32, {.threads = 32}), PtxWords(32, 7));
  EXPECT_EQ(error, "");
}

TEST_F(PtxWaits, AWaitForAnotherWarpEndsWhenThatHasWorked) {
  const std::string body =
      number +
      "setp.ge.u32 %p1, %r0, 32; @%p1 bra work; again: ld.volatile.global.u32 %r1, [%out+256];"
      "setp.eq.u32 %p2, %r1, 0; @%p2 bra again; st.global.u32 [%l1], %r1; ret;"
      "work: mov.u32 %r3, 0; more: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 6000000;"
      "@%p1 bra more; st.global.u32 [%out+256], 5;";
  const PtxWords all = run(body, PtxWords(1), 65, {.threads = 64});
  EXPECT_EQ(error, "");
  EXPECT_EQ(all[0], 5u);
}

// A lock that lanes of one warp hold one after the other: who has it waits where the loop ends for
// those who spin, as a GPU would not have it wait for ever.
TEST_F(PtxWaits, LanesOfAWarpTakeALockInTurn) {
  const std::string body =
      "again: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again;"
      "ld.volatile.global.u32 %r2, [%out+4]; add.u32 %r2, %r2, 1;"
      "st.volatile.global.u32 [%out+4], %r2; atom.global.exch.b32 %r3, [%out], 0;";
  for (const ptx::Conduct& conduct : conducts) {
    EXPECT_EQ(run(body, PtxWords(1), 2, {.threads = 64, .conduct = conduct}), (PtxWords{0, 64}));
    EXPECT_EQ(error, "");
  }
}

}  // namespace
}  // namespace gpubench::model::ptx_waits
