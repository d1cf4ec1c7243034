// Axes whose values are types: the bench function is a template, instantiated for each.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/bench/registry.hpp"

namespace gpubench {

// What rows call a type.
template <class T>
inline constexpr const char* type_name = nullptr;
template <>
inline constexpr const char* type_name<float> = "fp32";
template <>
inline constexpr const char* type_name<double> = "fp64";
template <>
inline constexpr const char* type_name<__half> = "fp16";
template <>
inline constexpr const char* type_name<__nv_bfloat16> = "bf16";
template <>
inline constexpr const char* type_name<std::int8_t> = "int8";
template <>
inline constexpr const char* type_name<std::int16_t> = "int16";

// A type under the name that an axis gives it.
template <class T>
struct Named {
  std::string name;
};
template <class T>
Named<T> type(const char* name) {
  return {name};
}

// `Function` is a lambda without captures, to be called for a type T:
// []<class T>(Bench&, Named<T>). (nvcc warns of a T that no parameter has.)
template <class Function>
class TypedRegistration {
 public:
  TypedRegistration(const char* topic, const char* kernel, SourceLine where, Function)
      : registration_(record(topic, kernel, where, nullptr)) {}

  // Types of this suite's: Axis<float, double>("dtype").
  template <class... T>
  Registration* Axis(const std::string& name) {
    static_assert(((type_name<T> != nullptr) && ...), "a type that has no name: type<T>(\"name\")");
    return Axis(name, Named<T>{type_name<T>}...);
  }
  // A concept's own: Axis("layout", type<Plain>("none"), type<Padded>("padded")).
  template <class... T>
  Registration* Axis(const std::string& name, const Named<T>&... types) {
    std::vector<std::pair<std::string, BenchFunction>> functions;
    (add(functions, types), ...);
    return registration_->Functions(name, functions);
  }
  // An axis of words whose place in the name is before that of the types.
  TypedRegistration* Axis(const std::string& name, const std::vector<std::string>& values) {
    registration_->Axis(name, values);
    return this;
  }
  TypedRegistration* operator->() { return this; }

 private:
  // (A function of its own: nvcc expands no pack in a lambda.)
  template <class T>
  static void add(std::vector<std::pair<std::string, BenchFunction>>& functions,
                  const Named<T>& type) {
    functions.emplace_back(type.name, [](Bench& bench) { Function{}(bench, Named<T>{}); });
  }

  Registration* registration_;
};

}  // namespace gpubench

// Registers what stands after the kernel's name, a bench function of a type T:
// GPU_BENCHMARK_OF_TYPE(stream, triad, two_to_one<Triad, T>)->Axis<float, double>("dtype");
#define GPU_BENCHMARK_OF_TYPE(topic, kernel, ...)                                       \
  [[maybe_unused]] static ::gpubench::Registration* const GPUBENCH_JOIN(gpu_benchmark_, \
                                                                        __COUNTER__) =  \
      ::gpubench::TypedRegistration(                                                    \
          #topic, #kernel, GPUBENCH_HERE,                                               \
          []<class T>(::gpubench::Bench& bench, const ::gpubench::Named<T>&) {          \
            __VA_ARGS__(bench);                                                         \
          })
