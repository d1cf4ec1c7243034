// What one lane did, as the compiler's instrumentation reported it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::model {

enum class EventKind : std::uint8_t {
  block,       // a basic block was entered
  enter,       // a function was entered; the code address is the call's
  leave,       // and left
  load,        // an access; its address stands in LaneTrace::addresses
  store,
  atomic,
  collective,  // a barrier or a warp exchange, on return from it
};

// A code event in one word: where in the program, what, and for an access its size [bytes]. Two
// lanes took the same path iff their sequences of words are equal.
using Event = std::uint64_t;

constexpr Event make_event(const void* code_address, EventKind kind, unsigned access_bytes = 0) {
  return (reinterpret_cast<std::uintptr_t>(code_address) << 16) |
         (static_cast<Event>(access_bytes) << 8) | static_cast<Event>(kind);
}
constexpr EventKind kind_of(Event e) { return static_cast<EventKind>(e & 0xff); }
constexpr unsigned bytes_of(Event e) { return static_cast<unsigned>(e >> 8 & 0xff); }
constexpr std::uint64_t code_address_of(Event e) { return e >> 16; }
constexpr bool is_access(Event e) {
  return kind_of(e) == EventKind::load || kind_of(e) == EventKind::store ||
         kind_of(e) == EventKind::atomic;
}

// Appended to at every instrumented instruction, hence no std::vector: the cursor lives in
// registers and memory is kept from one block to the next.
template <class T>
class Log {
 public:
  void clear() { size_ = 0; }
  void push(T value) {
    if (size_ == storage_.size()) [[unlikely]] storage_.resize(storage_.size() * 2 + 256);
    storage_[size_++] = value;
  }
  std::size_t size() const { return size_; }
  const T* data() const { return storage_.data(); }
  const T& operator[](std::size_t i) const { return storage_[i]; }

 private:
  std::vector<T> storage_;
  std::size_t size_ = 0;
};

struct LaneTrace {
  Log<Event> events;
  Log<std::uint64_t> addresses;  // one for each access event, in order

  void clear() {
    events.clear();
    addresses.clear();
  }
};

}  // namespace gpubench::model
