#include "harness/platform/model/runtime/order.hpp"

#include <algorithm>

#include "harness/platform/model/runtime/device_fault.hpp"

namespace gpubench::model {
namespace {

// Branches of a graph, at most, that chains are told apart by.
constexpr Chain most_branches = Chain{1} << 20;

const char* verb(Touch how) {
  return how == Touch::read ? "reads" : how == Touch::write ? "writes" : "changes atomically";
}

std::string named(const std::string& name, int stream) {
  return "'" + name + "' in " +
         (stream == 0 ? "the legacy default stream" : "stream " + std::to_string(stream));
}

}  // namespace

Chain chain_of(int device, int stream, std::int64_t branch) {
  const Chain of_stream = stream == 0 ? -1 - device : stream;
  return of_stream * most_branches + branch % most_branches;
}

std::uint64_t Clock::of(Chain chain) const {
  const auto found =
      std::ranges::lower_bound(entries_, chain, {}, &std::pair<Chain, std::uint64_t>::first);
  return found != entries_.end() && found->first == chain ? found->second : 0;
}

void Clock::learn(Chain chain, std::uint64_t number) {
  const auto found =
      std::ranges::lower_bound(entries_, chain, {}, &std::pair<Chain, std::uint64_t>::first);
  if (found != entries_.end() && found->first == chain) {
    found->second = std::max(found->second, number);
  } else {
    entries_.insert(found, {chain, number});
  }
}

void Clock::learn(const Clock& other) {
  for (const auto& [chain, number] : other.entries_) learn(chain, number);
}

void Clock::forget_up_to(std::uint64_t number) {
  std::erase_if(entries_, [=](const auto& entry) { return entry.second <= number; });
}

void InOrder::come_after(const InOrder& earlier) {
  for (const auto& [other, newest] : earlier.before.entries()) {
    if (!host->knows(other, newest)) before.learn(other, newest);
  }
  if (!host->knows(earlier.chain, earlier.number)) before.learn(earlier.chain, earlier.number);
}

InOrder Order::issue(Chain chain) {
  const std::uint64_t number = ++issued_;
  Open& open = open_.try_emplace(chain, Open{number, number}).first->second;
  open.last = number;
  return {chain, number, {}, host_};
}

void Order::know(Chain chain, std::uint64_t number) {
  const auto open = open_.find(chain);
  if (open == open_.end() || number < open->second.first) return;
  if (number >= open->second.last) {
    open_.erase(open);
  } else {
    open->second.first = number + 1;
  }
}

void Order::host_learns(const InOrder& ended) {
  if (host_->knows(ended.chain, ended.number)) return;
  auto knowledge = std::make_shared<HostKnowledge>(*host_);
  knowledge->beyond.learn(ended.before);
  knowledge->beyond.learn(ended.chain, ended.number);
  for (const auto& [chain, number] : ended.before.entries()) know(chain, number);
  know(ended.chain, ended.number);
  // An operation also comes after what the host knew when it was issued, which the host still does.
  std::uint64_t all = issued_;
  for (const auto& [chain, open] : open_) all = std::min(all, open.first - 1);
  knowledge->all_up_to = std::max(knowledge->all_up_to, all);
  knowledge->beyond.forget_up_to(knowledge->all_up_to);
  host_ = std::move(knowledge);
}

void Order::host_learns_all() {
  open_.clear();
  host_ = std::make_shared<const HostKnowledge>(HostKnowledge{issued_, {}});
}

void Order::nothing_pending() {
  for (auto& [chain, done] : done_) {
    while (!done.empty() && host_->knows(chain, done.front().number)) done.pop_front();
  }
  std::erase_if(done_, [](const auto& of_chain) { return of_chain.second.empty(); });
}

void Order::carried_out(const InOrder& place, const std::string& name, int stream,
                        const Touches& touches) {
  if (touches.empty()) return;
  for (const auto& [chain, done] : done_) {
    if (chain == place.chain) continue;
    for (auto other = done.rbegin(); other != done.rend(); ++other) {
      if (place.comes_after(chain, other->number)) break;
      const auto found = conflict(other->touches, touches);
      if (!found) continue;
      throw DeviceFault("race: " + named(other->name, other->stream) + " " +
                        verb(found->first->how) + " " + describe(*found->first, found->bytes) +
                        " and " + named(name, stream) + " " + verb(found->second->how) +
                        " them, and nothing orders the two: let one stream wait for an event of "
                        "the other, or the host for the first");
    }
  }
  std::deque<Done>& mine = done_[place.chain];
  if (mine.size() == most_done) mine.pop_front();
  mine.push_back({place.number, name, stream, touches});
}

}  // namespace gpubench::model
