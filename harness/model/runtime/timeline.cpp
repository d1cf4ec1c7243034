#include "harness/model/runtime/timeline.hpp"

#include <algorithm>

#include "harness/tracks.hpp"

namespace gpubench::model {

const char* engine_name(Engine engine) {
  switch (engine) {
    case Engine::none:
      return "none";
    case Engine::compute:
      return compute_track;
    case Engine::copy_to_device:
      return to_device_track;
    case Engine::copy_to_host:
      return to_host_track;
  }
  return "none";
}

OperationPtr Timeline::add(Work work, int stream, double earliest,
                           const std::vector<OperationPtr>& after) {
  auto operation = std::make_shared<Operation>();
  operation->marker = work.marker;
  operation->early = work.early;
  operation->work = std::move(work);
  operation->stream = stream;
  operation->number = next_number_++;
  operation->ready = earliest;
  for (const OperationPtr& first : after) {
    if (first->finished) {
      come_after(*operation, *first);
    } else {
      first->before.push_back(operation);
      ++operation->waits_for;
    }
  }
  if (operation->waits_for == 0) ready_.push_back(operation);
  return operation;
}

void Timeline::come_after(Operation& later, const Operation& finished) {
  const bool marks = later.marker && !finished.marker;
  const double release = later.early ? finished.early_release : finished.release;
  later.ready = std::max(later.ready, marks ? finished.end : release);
  if (marks) later.held_until = std::max(later.held_until, finished.release);
}

std::vector<Timeline::Running>& Timeline::running(const Work& work) {
  std::array<std::vector<Running>, 3>& engines = running_[work.device];
  if (work.engine == Engine::compute) return engines[0];
  return engines[work.engine == Engine::copy_to_device || one_copy_engine_ ? 1 : 2];
}

// The first moment at which the operation's engine has room for it.
double Timeline::start_of(const Operation& operation) {
  double start = operation.blocked ? std::max(operation.ready, now_) : operation.ready;
  if (operation.work.engine == Engine::none) return start;

  std::vector<Running>& busy = running(operation.work);
  std::sort(busy.begin(), busy.end(),
            [](const Running& a, const Running& b) { return a.end < b.end; });
  double taken = 0;
  for (const Running& other : busy) {
    if (other.end > start) taken += other.share;
  }
  constexpr double rounding = 1e-9;
  for (const Running& other : busy) {
    if (taken + operation.work.share <= 1 + rounding) break;
    if (other.end <= start) continue;
    start = other.end;
    taken -= other.share;
  }
  return start;
}

bool Timeline::step(double until) {
  OperationPtr next;
  double start = 0;
  for (const OperationPtr& operation : ready_) {
    if (operation->work.condition && !operation->work.condition()) {
      operation->blocked = true;
      continue;
    }
    const double candidate = start_of(*operation);
    const auto earlier = [&] {
      if (candidate != start) return candidate < start;
      if (operation->work.priority != next->work.priority) {
        return operation->work.priority < next->work.priority;
      }
      if (operation->ready != next->ready) return operation->ready < next->ready;
      return operation->number < next->number;
    };
    if (next == nullptr || earlier()) {
      next = operation;
      start = candidate;
    }
  }
  if (next == nullptr || start > until) return false;

  std::erase(ready_, next);
  reach(start);
  double seconds = 0;
  try {
    if (next->work.carry_out) seconds = next->work.carry_out();
    if (lasting_ && next->work.engine == Engine::compute) seconds = lasting_(seconds, start);
  } catch (...) {
    finish(next, start, 0);
    throw;
  }
  finish(next, start, seconds);
  return true;
}

void Timeline::finish(const OperationPtr& operation, double start, double seconds) {
  operation->finished = true;
  operation->end = start + seconds;
  const Work& work = operation->work;
  const auto release = [&](double hold, double lead) {
    return std::max(start + std::max(seconds - lead, hold), operation->held_until);
  };
  operation->release = release(work.hold_seconds, work.lead_seconds);
  operation->early_release = work.early_hold_seconds > 0
                                 ? release(work.early_hold_seconds, work.early_lead_seconds)
                                 : operation->release;
  last_end_ = std::max(last_end_, operation->end);
  if (work.engine != Engine::none) {
    std::vector<Running>& busy = running(work);
    std::erase_if(busy, [&](const Running& other) { return other.end <= now_; });
    busy.push_back({operation->end - work.lead_seconds, work.share});
  }
  if (records_.size() == max_records) records_.pop_front();
  records_.push_back(
      {operation->stream, work.engine, work.name, work.bytes, start, operation->end});

  for (const OperationPtr& later : operation->before) {
    come_after(*later, *operation);
    if (--later->waits_for == 0) ready_.push_back(later);
  }
  operation->before.clear();
  operation->work = {};  // lets go of what the effect held
}

OperationPtr Timeline::blocked() const {
  for (const OperationPtr& operation : ready_) {
    if (operation->work.condition && !operation->work.condition()) return operation;
  }
  return nullptr;
}

}  // namespace gpubench::model
