// The types that instructions name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpubench::model::ptx {

enum class Type : std::uint8_t {
  pred,
  b8,
  u8,
  s8,
  b16,
  u16,
  s16,
  b32,
  u32,
  s32,
  b64,
  u64,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
};

std::optional<Type> type_named(std::string_view name);
unsigned bytes_of(Type type);  // a lane; of a predicate, a mask of all lanes, 0
bool is_signed(Type type);     // integers
bool is_float(Type type);
inline bool is_integer(Type type) { return type >= Type::b8 && type <= Type::s64; }
// u8 for b8 and so on: what the bits are to an operation that only knows widths.
Type as_unsigned(Type type);

}  // namespace gpubench::model::ptx
