// What an exception says of itself.
#pragma once

#include <exception>
#include <string>

namespace gpubench {

// what() of an own concept's exception may be null, of which no text can be made.
inline std::string text_of(const std::exception& error) {
  const char* const text = error.what();
  return text == nullptr ? "an exception that says nothing" : text;
}

}  // namespace gpubench
