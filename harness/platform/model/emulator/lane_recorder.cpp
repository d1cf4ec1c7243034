#include "harness/platform/model/emulator/lane_recorder.hpp"

namespace gpubench::model {

void LaneRecorder::begin_block(unsigned lanes, std::size_t shared_words, bool traced) {
  is_on_ = traced;
  copy_waits_.assign(lanes, CopyWaits{});
  if (!traced) return;
  checker_.begin_block(lanes, shared_words);
  traces_.resize(lanes);
  for (LaneTrace& trace : traces_) trace.clear();
  chains_.assign(lanes, FmaChain{});
  load_chains_.assign(lanes, LoadChain{});
  products_.assign(lanes, 0);
}

}  // namespace gpubench::model
