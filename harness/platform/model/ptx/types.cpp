#include "harness/platform/model/ptx/types.hpp"

#include <array>

namespace gpubench::model::ptx {
namespace {

struct Description {
  std::string_view name;
  Type type;
  unsigned bytes;
};
// In the order of the enumeration.
constexpr std::array descriptions{
    Description{"pred", Type::pred, 0},     Description{"b8", Type::b8, 1},
    Description{"u8", Type::u8, 1},         Description{"s8", Type::s8, 1},
    Description{"b16", Type::b16, 2},       Description{"u16", Type::u16, 2},
    Description{"s16", Type::s16, 2},       Description{"b32", Type::b32, 4},
    Description{"u32", Type::u32, 4},       Description{"s32", Type::s32, 4},
    Description{"b64", Type::b64, 8},       Description{"u64", Type::u64, 8},
    Description{"s64", Type::s64, 8},       Description{"f16", Type::f16, 2},
    Description{"f16x2", Type::f16x2, 4},   Description{"bf16", Type::bf16, 2},
    Description{"bf16x2", Type::bf16x2, 4}, Description{"tf32", Type::tf32, 4},
    Description{"f32", Type::f32, 4},       Description{"f64", Type::f64, 8},
    Description{"e4m3", Type::e4m3, 1},     Description{"e5m2", Type::e5m2, 1},
    Description{"e4m3x2", Type::e4m3x2, 2}, Description{"e5m2x2", Type::e5m2x2, 2},
};

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (const Description& d : descriptions) {
    if (d.name == name) return d.type;
  }
  return std::nullopt;
}

unsigned bytes_of(Type type) { return descriptions[static_cast<std::size_t>(type)].bytes; }

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

bool is_float(Type type) { return type >= Type::f16; }

Type as_unsigned(Type type) {
  switch (bytes_of(type)) {
    case 1:
      return Type::u8;
    case 2:
      return Type::u16;
    case 4:
      return Type::u32;
    default:
      return Type::u64;
  }
}

}  // namespace gpubench::model::ptx
