#include "harness/platform/model/emulator/multimem.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <string>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/include/small_float.h"

namespace gpubench::model {
namespace {

constexpr std::size_t words_at_once = multimem_bytes / sizeof(std::uint32_t);

SmallFloat format_of(Summand type) { return type == Summand::fp16 ? half_format : bfloat16_format; }

// The numbers in one word of 32 bits; of fp32 the second is 0.
struct Pair {
  float low, high;
};
Pair numbers_in(Summand type, std::uint32_t word) {
  if (type == Summand::fp32) return {std::bit_cast<float>(word), 0};
  const SmallFloat format = format_of(type);
  return {static_cast<float>(decode(format, word & 0xffff)),
          static_cast<float>(decode(format, word >> 16))};
}
std::uint32_t word_of(Summand type, Pair numbers) {
  if (type == Summand::fp32) return std::bit_cast<std::uint32_t>(numbers.low);
  const SmallFloat format = format_of(type);
  return encode(format, numbers.low) | encode(format, numbers.high) << 16;
}

}  // namespace

std::vector<std::byte*> Multimem::reached(const void* at, EventKind kind, const char* name,
                                          const void* code) {
  const Allocation* const a = memory_.in_range(at) ? memory_.find(at) : nullptr;
  const auto refuse = [&](const std::string& why) {
    block_.fault_of_access(std::string(name) + " of 16 bytes " + why, code);
  };
  if (a == nullptr || a->team == 0) refuse("at what is no multicast address");
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - a->begin);
  if (offset % multimem_bytes != 0) {
    refuse("at byte " + std::to_string(offset) + " of a multicast object, no multiple of 16");
  }
  if (a->replicas.size() < a->team) {
    refuse("where " + std::to_string(a->replicas.size()) + " of the " + std::to_string(a->team) +
           " devices of the multicast object have bound memory");
  }
  if (!a->accessors->contains(block_.launch().device)) {
    refuse("of a multicast object that cuMemSetAccess has not opened to device " +
           std::to_string(block_.launch().device));
  }
  std::vector<std::byte*> places;
  const std::byte* own = nullptr;  // threads of one block are kept apart there
  for (Allocation* const replica : a->replicas) {
    DeviceMemory::touch(*replica, replica->begin + offset, multimem_bytes);
    places.push_back(replica->begin + offset);
    if (own == nullptr || replica->device == block_.launch().device) own = places.back();
  }
  if (LaneTrace* const trace = block_.trace()) {
    trace->events.push(make_event(code, kind, multimem_bytes));
    trace->addresses.push(reinterpret_cast<std::uint64_t>(at));
    block_.check_order(true, reinterpret_cast<std::uint64_t>(own), multimem_bytes, kind, code);
  }
  return places;
}

void Multimem::load_sum(Summand type, const void* at, void* to, const void* code) {
  const HostCode host;
  const auto places = reached(at, EventKind::load, "multimem.ld_reduce", code);
  std::uint32_t sums[words_at_once];
  for (std::size_t w = 0; w < words_at_once; ++w) {
    Pair sum{0, 0};
    for (const std::byte* const place : places) {
      std::uint32_t word;
      std::memcpy(&word, place + w * sizeof word, sizeof word);
      const Pair more = numbers_in(type, word);
      sum = {sum.low + more.low, sum.high + more.high};
    }
    sums[w] = word_of(type, sum);
  }
  std::memcpy(to, sums, sizeof sums);
}

void Multimem::store(void* at, const void* from, const void* code) {
  const HostCode host;
  for (std::byte* const place : reached(at, EventKind::store, "multimem.st", code)) {
    std::memcpy(place, from, multimem_bytes);
  }
}

// Blocks run on several threads at once, so an atomic has to be one: each element by itself.
void Multimem::add(Summand type, void* at, const void* from, const void* code) {
  const HostCode host;
  std::uint32_t added[words_at_once];
  std::memcpy(added, from, sizeof added);
  for (std::byte* const place : reached(at, EventKind::atomic, "multimem.red", code)) {
    for (std::size_t w = 0; w < words_at_once; ++w) {
      std::atomic_ref<std::uint32_t> word(reinterpret_cast<std::uint32_t*>(place)[w]);
      const Pair more = numbers_in(type, added[w]);
      std::uint32_t old = word.load();
      const auto sum = [&] {
        const Pair before = numbers_in(type, old);
        return word_of(type, {before.low + more.low, before.high + more.high});
      };
      while (!word.compare_exchange_weak(old, sum())) {
      }
    }
  }
}

}  // namespace gpubench::model
