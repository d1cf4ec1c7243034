// What one lane did, as the compiler's instrumentation reported it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace gpubench::model {

enum class EventKind : std::uint8_t {
  block,  // a basic block was entered
  enter,  // a function was entered; the code address is the call's
  leave,  // and left
  load,   // an access; its address stands in LaneTrace::addresses
  store,
  atomic,
  copied_from,  // the two accesses of an asynchronous copy: a load that no register waits for,
  copied_to,    // and a store that needs none
  arithmetic,   // operations of one unit with nothing else between them; the code is the first's
  collective,   // a barrier or a warp exchange, on return from it; the block's barrier has size 1
  special,      // a function of the special-function unit; its size is that of its operations there
};

// Whose memory an access is to; remote: shared memory of another block of the cluster.
enum class Space : std::uint8_t { global, shared, remote };

// Operations that the source spells as a call.
enum class Arithmetic : std::uint8_t {
  fma_fp32,
  fma_fp64,
  fma_fp16x2,
  fma_bf16x2,
  mad_int32,
  add_fp32,   // __fadd_rn, __fmul_rn
  max_fp32,   // fmaxf, fminf
  pack_16x2,  // two fp32 numbers into a pair of 16 bits each
};
inline constexpr unsigned arithmetic_units = 8;
constexpr bool is_multiply_add(Arithmetic unit) { return unit <= Arithmetic::mad_int32; }

// A code event in one word: where in the program, what, and for an access its size [bytes]. Two
// lanes took the same path iff their sequences of words are equal.
using Event = std::uint64_t;

inline Event make_event(const void* code_address, EventKind kind, unsigned access_bytes = 0) {
  return (reinterpret_cast<std::uintptr_t>(code_address) << 16) |
         (static_cast<Event>(access_bytes) << 8) | static_cast<Event>(kind);
}
constexpr EventKind kind_of(Event e) { return static_cast<EventKind>(e & 0xff); }
constexpr unsigned bytes_of(Event e) { return static_cast<unsigned>(e >> 8 & 0xff); }
constexpr std::uint64_t code_address_of(Event e) { return e >> 16; }
constexpr bool is_access(Event e) {
  return kind_of(e) == EventKind::load || kind_of(e) == EventKind::store ||
         kind_of(e) == EventKind::atomic || kind_of(e) == EventKind::copied_from ||
         kind_of(e) == EventKind::copied_to;
}
// The size of an arithmetic event: its unit and how many operations, up to `most_in_a_row`.
inline constexpr unsigned most_in_a_row = 31;
constexpr unsigned arithmetic_size(Arithmetic unit, unsigned operations) {
  return operations << 3 | static_cast<unsigned>(unit);
}
constexpr Arithmetic unit_of(Event e) { return static_cast<Arithmetic>(bytes_of(e) & 7); }
constexpr unsigned operations_of(Event e) { return bytes_of(e) >> 3; }
// What a warp's lanes do together, each of them once a request.
constexpr bool is_request(Event e) { return is_access(e) || kind_of(e) == EventKind::special; }
// What it does to memory, however it gets there.
constexpr EventKind as_plain(EventKind access) {
  return access == EventKind::copied_from ? EventKind::load
         : access == EventKind::copied_to ? EventKind::store
                                          : access;
}
constexpr bool is_block_barrier(Event e) {
  return kind_of(e) == EventKind::collective && bytes_of(e) != 0;
}

// Told of a log that is about to grow beyond `long_log` entries. (vain_wait.cpp)
inline constexpr std::size_t long_log = std::size_t{1} << 16;
void note_long_log();

// Appended to at every instrumented instruction, hence no std::vector: kernels may bring an
// instrumented copy of it along, and memory is kept from one block to the next.
template <class T>
class Log {
 public:
  void clear() { end_ = begin_.get(); }
  void push(T value) {
    if (end_ == limit_) [[unlikely]]
      grow();
    *end_++ = value;
  }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_.get()); }
  const T* data() const { return begin_.get(); }
  T& back() { return end_[-1]; }
  const T& operator[](std::size_t i) const { return begin_[i]; }

 private:
  [[gnu::noinline]] void grow() {
    const std::size_t used = size(), capacity = 2 * used + 256;
    if (used > long_log) note_long_log();
    auto* larger = new T[capacity];
    if (used > 0) std::memcpy(larger, begin_.get(), used * sizeof(T));
    begin_.reset(larger);
    end_ = larger + used;
    limit_ = larger + capacity;
  }

  std::unique_ptr<T[]> begin_;
  T* end_ = nullptr;
  T* limit_ = nullptr;
};

struct LaneTrace {
  Log<Event> events;
  Log<std::uint64_t> addresses;  // one for each access event, in order
  std::uint64_t merged = 0;      // operations that an event before them stands for as well

  void add(Arithmetic unit, const void* code) {
    if (events.size() > 0) {
      const Event last = events.back();
      if (kind_of(last) == EventKind::arithmetic && unit_of(last) == unit &&
          operations_of(last) < most_in_a_row) {
        events.back() += make_event(nullptr, EventKind{}, arithmetic_size(Arithmetic{}, 1));
        ++merged;
        return;
      }
    }
    events.push(make_event(code, EventKind::arithmetic, arithmetic_size(unit, 1)));
  }
  // Many at once, by one call.
  void add(Arithmetic unit, unsigned operations, const void* code) {
    for (; operations > 0; operations -= std::min(operations, most_in_a_row)) {
      const unsigned size = arithmetic_size(unit, std::min(operations, most_in_a_row));
      events.push(make_event(code, EventKind::arithmetic, size));
    }
  }

  void clear() {
    events.clear();
    addresses.clear();
    merged = 0;
  }
};

}  // namespace gpubench::model
