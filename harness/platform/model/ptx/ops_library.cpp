// What becomes of printf and assert: CUDA C++ Programming Guide, "Formatted Output", "Assertion".
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/library_calls.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr LibraryFunction functions[] = {
    {"vprintf", {8, 8}, 4},                // format, arguments
    {"__assertfail", {8, 8, 4, 8, 8}, 0},  // message, file, line, function, bytes of a character
};

// A lane's memory, whatever space its address is in.
template <class T>
T read(Warp& w, unsigned lane, std::uint64_t address) {
  Addresses at{};
  at[lane] = address;
  T value{};
  each_space(Space::generic, Mask{1} << lane, at, [&](Space space, Mask here, const Addresses& in) {
    const View view = w.block.view(space, here, in, sizeof(T), false, w.number, nullptr);
    std::memcpy(&value, view.at(in[lane], lane), sizeof value);
  });
  return value;
}

std::string read_text(Warp& w, unsigned lane, std::uint64_t address) {
  constexpr std::size_t most = 4096;
  std::string text;
  for (char c; text.size() < most && (c = read<char>(w, lane, address)) != 0; ++address) text += c;
  return text;
}

// What a lane prints: nvcc leaves each argument where its size wants it.
class PrintedText {
 public:
  PrintedText(Warp& w, unsigned lane, std::uint64_t arguments)
      : warp_(w), lane_(lane), next_(arguments) {}

  std::string apply(const std::string& format) {
    std::string text;
    for (std::size_t at = 0; at < format.size();) {
      const std::size_t begin = format.find('%', at);
      text += format.substr(at, begin - at);
      if (begin == format.npos) break;
      const std::size_t end = format.find_first_not_of("-+ #0123456789.*hlzjt", begin + 1);
      const bool is_known =
          end != format.npos &&
          std::string_view("diouxXcsfFeEgGaAp").find(format[end]) != std::string_view::npos;
      if (is_known) text += one(format.substr(begin, end + 1 - begin));
      if (!is_known) text += '%';
      at = is_known || (end == begin + 1 && format[end] == '%') ? end + 1 : begin + 1;
    }
    return text;
  }
  std::int32_t arguments() const { return arguments_; }

 private:
  template <class T>
  T take() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = read<T>(warp_, lane_, next_);
    next_ += sizeof(T);
    ++arguments_;
    return value;
  }

  std::string one(std::string specification) {
    for (std::size_t star; (star = specification.find('*')) != specification.npos;) {
      specification.replace(star, 1, std::to_string(take<std::int32_t>()));
    }
    const char conversion = specification.back();
    const bool is_long = specification.find_first_of("lzjt") != specification.npos;
    switch (conversion) {
      case 's':
        return formatted(specification, read_text(warp_, lane_, take<std::uint64_t>()).c_str());
      case 'p':
        return formatted(specification, reinterpret_cast<void*>(take<std::uint64_t>()));
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X':
      case 'c':
        return is_long ? formatted(specification, take<std::int64_t>())
                       : formatted(specification, take<std::int32_t>());
      default:
        return formatted(specification, take<double>());
    }
  }

  template <class T>
  static std::string formatted(const std::string& specification, T value) {
    const int size = std::snprintf(nullptr, 0, specification.c_str(), value);
    std::string text(static_cast<std::size_t>(std::max(size, 0)) + 1, 0);
    std::snprintf(text.data(), text.size(), specification.c_str(), value);
    text.pop_back();
    return text;
  }

  Warp& warp_;
  unsigned lane_;
  std::uint64_t next_;
  std::int32_t arguments_ = 0;
};

void print(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "an address");
  w.require(op.bn, mask, "an address");
  for_lanes(mask, [&](unsigned i) {
    const std::string format = read_text(w, i, w.row<std::uint64_t>(op.a)[i]);
    PrintedText lane(w, i, w.row<std::uint64_t>(op.b)[i]);
    const std::string text = lane.apply(format);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (op.dn != nowhere) w.row<std::int32_t>(op.d)[i] = lane.arguments();
  });
  w.defined(op.dn) |= mask;
}
void build_print(Builder& b) {
  Op& op = b.add(&print);
  op.defines_itself = true;
  Builder::set_destination(op, b.destination(b.operand(0), 4));
  Builder::set_a(op, b.source(b.operand(1), 8));
  Builder::set_b(op, b.source(b.operand(2), 8));
}

void fail_assertion(Warp& w, const Op& op, Mask mask) {
  for (const std::uint32_t number : {op.an, op.bn, op.cn}) w.require(number, mask, "an address");
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  const auto text = [&](std::uint32_t place) {
    return read_text(w, first, w.row<std::uint64_t>(place)[first]);
  };
  throw Fault{"assertion `" + text(op.a) + "` of " + text(op.b) + ':' +
                  std::to_string(w.row<std::uint32_t>(op.c)[first]) + " failed",
              mask};
}
void build_assertion(Builder& b) {
  Op& op = b.add(&fail_assertion);
  op.defines_itself = true;
  Builder::set_a(op, b.source(b.operand(0), 8));
  Builder::set_b(op, b.source(b.operand(1), 8));
  Builder::set_c(op, b.source(b.operand(2), 4));
  for (const std::size_t unused : {3, 4}) b.operand(unused);
}

constexpr Opcode opcodes[] = {{"vprintf", &build_print}, {"__assertfail", &build_assertion}};

}  // namespace

const LibraryFunction* library_function(std::string_view name) {
  for (const LibraryFunction& f : functions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::span<const Opcode> library_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
