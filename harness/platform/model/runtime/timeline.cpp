#include "harness/platform/model/runtime/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/records/tracks.hpp"

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
                           const std::vector<OperationPtr>& after, std::int64_t branch) {
  auto operation = std::make_shared<Operation>();
  operation->marker = work.marker;
  operation->early = work.early;
  operation->place = order_.issue(chain_of(work.device, stream, branch));
  operation->work = std::move(work);
  operation->stream = stream;
  operation->branch = branch;
  operation->ready = earliest;
  for (const OperationPtr& first : after) {
    if (first->finished) {
      come_after(*operation, *first);
    } else {
      first->before.push_back(operation);
      ++operation->waits_for;
    }
  }
  if (operation->work.late) late_.push_back(operation);
  if (operation->waits_for == 0) ready_.push_back(operation);
  return operation;
}

OperationPtr Timeline::add_to_queue(int queue, Work work, int stream, double earliest,
                                    const std::vector<OperationPtr>& after) {
  const bool late = work.late;
  OperationPtr operation = add(std::move(work), stream, earliest, after);
  if (late) return operation;  // it is as if it were put into the queue when it is needed
  OperationPtr& last = last_in_queue_[queue];
  operation->queued_behind = std::exchange(last, operation);
  return operation;
}

void Timeline::come_after(Operation& later, const Operation& finished) {
  later.place.come_after(finished.place);
  const bool marks = later.marker && !finished.marker;
  // The next kernel is fetched while this one ends; a copy engine and an event wait for the end.
  const bool copies =
      later.work.engine == Engine::copy_to_device || later.work.engine == Engine::copy_to_host;
  const double release = later.early ? finished.early_release : finished.release;
  later.ready = std::max(later.ready, marks    ? finished.end
                                      : copies ? std::max(finished.end, release)
                                               : release);
  if (marks) later.held_until = std::max(later.held_until, finished.release);
}

std::vector<Timeline::Running>& Timeline::running(const Work& work) {
  std::array<std::vector<Running>, 3>& engines = running_[work.device];
  if (work.engine == Engine::compute) return engines[0];
  return engines[work.engine == Engine::copy_to_device || one_copy_engine_ ? 1 : 2];
}

// The first moment at which the operation's engine has room for it.
double Timeline::start_of(const Operation& operation) {
  double start = operation.ready;
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

Timeline::Next Timeline::next() {
  Next next;
  for (const OperationPtr& operation : ready_) {
    if (operation->work.condition && !operation->work.condition()) {
      operation->blocked = true;
      continue;
    }
    if (std::exchange(operation->blocked, false)) {
      operation->ready = std::max(operation->ready, now_);
    }
    if (operation->work.late && !operation->needed) continue;
    if (operation->queued_behind != nullptr) {
      if (!operation->queued_behind->started && operation->queued_behind != endless_) continue;
      operation->ready = std::max(operation->ready, operation->queued_behind->start);
      operation->queued_behind = nullptr;
    }
    const double candidate = start_of(*operation);
    const auto earlier = [&] {
      if (candidate != next.start) return candidate < next.start;
      if (operation->work.priority != next.operation->work.priority) {
        return operation->work.priority < next.operation->work.priority;
      }
      if (operation->ready != next.operation->ready) {
        return operation->ready < next.operation->ready;
      }
      return operation->place.number < next.operation->place.number;
    };
    if (next.operation == nullptr || earlier()) next = {operation, candidate};
  }
  return next;
}

bool Timeline::step(double until) {
  if (!late_.empty()) look_at_late();
  const auto [operation, start] = next();
  const double change = contention_.next().time;
  if (std::isfinite(change) && change <= until && (operation == nullptr || change <= start)) {
    let_contention_change();
    return true;
  }
  if (operation == nullptr || start > until || std::isinf(start)) return false;

  std::erase(ready_, operation);
  if (operation->work.late) std::erase(late_, operation);
  reach(start);
  operation->start = start;
  double seconds = 0;
  try {
    if (operation->work.carry_out) seconds = operation->work.carry_out();
    if (lasting_ && operation->work.engine == Engine::compute && std::isfinite(seconds)) {
      seconds = lasting_(seconds, start);
    }
    if (operation->work.on_order) operation->work.on_order(operation->place);
    if (operation->work.touches != nullptr) {
      order_.carried_out(operation->place, operation->work.name, operation->stream,
                         *operation->work.touches);
    }
  } catch (...) {
    finish(operation, start, 0);
    throw;
  }
  if (std::isinf(seconds)) {
    endless_ = operation;
    if (operation->work.engine != Engine::none) {
      running(operation->work).push_back({seconds, operation->work.share});
    }
  } else if (operation->work.claim != nullptr) {
    contend(operation, start, seconds);
  } else {
    finish(operation, start, seconds);
  }
  return true;
}

void Timeline::let_contention_change() {
  const Contention::Change change = contention_.next();
  reach(change.time);
  contention_.make(change);
  if (const OperationPtr& ended = change.operation; ended != nullptr) {
    if (ended->work.engine != Engine::none) {
      std::erase_if(running(ended->work),
                    [&](const Running& busy) { return busy.contended == ended.get(); });
    }
    finish(ended, ended->start, change.time - ended->start + ended->work.lead_seconds);
  }
  update_ends();
}

// During its lead an operation has given back what it claims.
void Timeline::contend(const OperationPtr& operation, double start, double seconds) {
  operation->started = true;
  const double claims = std::max(seconds - operation->work.lead_seconds, 0.0);
  if (operation->work.engine != Engine::none) {
    running(operation->work).push_back({start + claims, operation->work.share, operation.get()});
  }
  contention_.begin(operation, *operation->work.claim, start, claims);
  update_ends();
}

void Timeline::update_ends() {
  contention_.each_end([this](const Operation& operation, double end) {
    if (operation.work.engine == Engine::none) return;
    for (Running& busy : running(operation.work)) {
      if (busy.contended == &operation) busy.end = end;
    }
  });
}

void Timeline::need(const std::vector<OperationPtr>& operations, double time) {
  for (const OperationPtr& late : late_) {
    std::set<const Operation*> seen;
    std::vector<const Operation*> rest{late.get()};  // of what comes after it
    while (!rest.empty() && !late->needed) {
      const Operation* const each = rest.back();
      rest.pop_back();
      late->needed =
          std::ranges::any_of(operations, [=](const auto& o) { return o.get() == each; });
      for (const OperationPtr& later : each->before) {
        if (seen.insert(later.get()).second) rest.push_back(later.get());
      }
    }
    if (late->needed) late->ready = std::max(late->ready, time);
  }
}

// Whether it leads, by late operations alone, to one that could start if it were not for them.
bool Timeline::is_wanted(const Operation& late) {
  return std::ranges::any_of(late.before, [](const OperationPtr& later) {
    return later->waits_for == 1 && (!later->work.late || is_wanted(*later));
  });
}

void Timeline::look_at_late() {
  for (const OperationPtr& late : late_) {
    if (late->needed || late->waits_for > 0 || !is_wanted(*late)) continue;
    late->needed = true;
    for (const OperationPtr& later : late->before)
      late->ready = std::max(late->ready, later->ready);
  }
}

void Timeline::host_may_have_written(double time) {
  for (const OperationPtr& operation : ready_) {
    if (!operation->blocked || !operation->work.condition()) continue;
    operation->blocked = false;
    operation->ready = std::max(operation->ready, time);
  }
}

void Timeline::finish(const OperationPtr& operation, double start, double seconds) {
  operation->started = operation->finished = true;
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
    std::erase_if(busy, [&](const Running& other) {
      return other.contended == nullptr && other.end <= now_;
    });
    busy.push_back({operation->end - work.lead_seconds, work.share});
  }
  if (records_.size() == max_records) records_.pop_front();
  // As long as it has its engine: the lead is the next one's, and bars of a stream do not overlap.
  records_.push_back({operation->stream, work.engine, work.name, work.bytes, start,
                      operation->end - work.lead_seconds});

  for (const OperationPtr& later : operation->before) {
    come_after(*later, *operation);
    if (--later->waits_for == 0) ready_.push_back(later);
  }
  operation->before.clear();
  operation->work = {};  // lets go of what the effect held
}

void Timeline::restart() {
  last_end_ = now_ = 0;
  last_in_queue_.clear();
  running_.clear();
  records_.clear();
}

OperationPtr Timeline::blocked() const {
  for (const OperationPtr& operation : ready_) {
    if (operation->work.condition && !operation->work.condition()) return operation;
  }
  return nullptr;
}

}  // namespace gpubench::model
