#include "harness/contents/element_check.hpp"

#include <cstdio>

namespace gpubench {

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string number_text(long long number) { return std::to_string(number); }

std::string number_text(unsigned long long number) { return std::to_string(number); }

std::string describe_wrong(std::size_t index, const std::string& got, const std::string& expected) {
  return "element " + std::to_string(index) + " is " + got + ", expected " + expected;
}

std::string describe_written(std::size_t written, std::size_t all) {
  return "the kernel wrote " + std::to_string(written) + " of " + std::to_string(all) + " elements";
}

}  // namespace gpubench
