// What a GPU and the host's processor answer differently ends the kernel, and so does an index
// beyond an array; all else is computed, and counted as if nothing were checked.
#include "tests/model/checked_arithmetic_kernels.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/model/emulator_fixture.hpp"

namespace gpubench::model {
namespace {

class CheckedArithmeticTest : public EmulatorTest {
 protected:
  template <class From, class To>
  void expect_converted(const std::vector<From>& numbers, const std::vector<To>& expected) {
    std::vector<From> in = numbers;
    in.resize(32);
    To* const out = make<To>(32);
    const AccessCounts loads =
        loads_of([&] { kernels::convert(out, upload(in), static_cast<unsigned>(numbers.size())); });
    EXPECT_EQ(loads.requests, 1);
    EXPECT_EQ(loads.bytes, static_cast<double>(numbers.size() * sizeof(From)));
    EXPECT_EQ(download(out, expected.size()), expected);
  }
  // The last lane alone has a number that To cannot hold.
  template <class From, class To>
  void expect_not_converted(From number) {
    std::vector<From> in(32);
    in[31] = number;
    const std::string fault = fault_of([&] { kernels::convert(make<To>(32), upload(in), 32); });
    EXPECT_NE(
        fault.find("conversion of a float that is NaN or out of the integer's range by thread "
                   "(31,0,0) of block (0,0,0) at checked_arithmetic_kernels.cpp:"),
        std::string::npos)
        << fault;
  }
  template <class T>
  void expect_shifted(T number, int by) {
    T* const out = make<T>(3 * 32);
    const auto* numbers = upload(std::vector<T>(32, number));
    const AccessCounts loads =
        loads_of([&] { kernels::shift(out, numbers, upload(std::vector<int>(32, by))); });
    EXPECT_EQ(loads.requests, 4);
    EXPECT_EQ(download(out, 3), (std::vector<T>{number << by, number >> by, number << by}));
  }
  template <class T>
  void expect_not_shifted(int by) {
    const auto* numbers = upload(std::vector<T>(32, T{1}));
    const std::string fault = fault_of(
        [&] { kernels::shift(make<T>(3 * 32), numbers, upload(std::vector<int>(32, by))); });
    EXPECT_NE(fault.find("shift by " + std::to_string(by) +
                         " bits, out of the integer's range, by thread (0,0,0) of block (0,0,0) at "
                         "checked_arithmetic_kernels.cpp:"),
              std::string::npos)
        << fault;
  }
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
};

TEST_F(CheckedArithmeticTest, FloatsThatAnIntegerCanHoldAreConverted) {
  expect_converted<float, int>({-2147483648.0f, 2147483520.0f, -0.9f},
                               {std::numeric_limits<int>::min(), 2147483520, 0});
  expect_converted<double, int>({-2147483648.9, 2147483647.9},
                                {std::numeric_limits<int>::min(), 2147483647});
  expect_converted<__half, int>({__float2half(-65504.0f), __float2half(2.5f)}, {-65504, 2});
  expect_converted<float, unsigned>({-0.9f, 4294967040.0f}, {0, 4294967040u});
  expect_converted<float, unsigned char>({255.9f, -0.9f}, {255, 0});
  expect_converted<float, long long>({-9223372036854775808.0f, 1e18f},
                                     {std::numeric_limits<long long>::min(), 999999984306749440});
  expect_converted<double, unsigned long long>({18446744073709549568.0}, {18446744073709549568u});
}

TEST_F(CheckedArithmeticTest, AConversionToWhatAnIntegerCannotHoldEndsTheKernel) {
  for (const float number : {2147483648.0f, -2147483904.0f, infinity, -infinity, nan}) {
    expect_not_converted<float, int>(number);
  }
  expect_not_converted<double, int>(2147483648.0);
  expect_not_converted<__half, int>(__float2half(infinity));
  expect_not_converted<float, unsigned>(-1);
  expect_not_converted<float, unsigned char>(256);
  expect_not_converted<float, long long>(9223372036854775808.0f);
  expect_not_converted<double, unsigned long long>(-1);
}

TEST_F(CheckedArithmeticTest, ShiftsWithinAnIntegerAreMade) {
  expect_shifted(-5, 31);
  expect_shifted(-5, 0);
  expect_shifted(5u, 31);
  expect_shifted(-5ll, 63);
}

TEST_F(CheckedArithmeticTest, AShiftByAllBitsOrMoreEndsTheKernel) {
  for (const int by : {32, 33, -1, std::numeric_limits<int>::min()}) {
    expect_not_shifted<int>(by);
    expect_not_shifted<unsigned>(by);
  }
  expect_not_shifted<long long>(64);
}

TEST_F(CheckedArithmeticTest, AFunctionWithoutItsReturnEndsTheKernel) {
  const std::string fault = fault_of([&] { kernels::return_value_of_zero(make<int>(2)); });
  EXPECT_NE(
      fault.find("end of a function that returns a value, reached without a return, by thread "
                 "(1,0,0) of block (0,0,0) at checked_arithmetic_kernels.cpp:"),
      std::string::npos)
      << fault;
}

TEST_F(CheckedArithmeticTest, AnIndexBeyondAnArrayEndsTheKernel) {
  using kernels::Indexed;
  const std::vector<std::pair<Indexed, int>> sizes = {
      {Indexed::shared, 64}, {Indexed::local, 4}, {Indexed::member, 4}};
  for (const auto& [array, size] : sizes) {
    const auto read = [&, array = array](int index) {
      std::vector<int> indices(32);
      indices[9] = index;
      kernels::index(make<float>(32), upload(indices), array);
    };
    read(size - 1);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    for (const int index : {size, size + 1, 50000, -1}) {
      const std::string fault = fault_of([&] { read(index); });
      EXPECT_NE(fault.find("out of bounds: index " + std::to_string(index) +
                           " of an array that is 'float [" + std::to_string(size) +
                           "]', by thread (9,0,0) of block (0,0,0) at "
                           "checked_arithmetic_kernels.cpp:"),
                std::string::npos)
          << fault;
    }
  }
}

TEST_F(CheckedArithmeticTest, StaticSharedMemoryBeyondWhatNvccAllowsFailsTheKernel) {
  unsigned* const out = make<unsigned>(32);
  kernels::fill_static_shared(49152, out);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const std::string fault = fault_of([&] { kernels::fill_static_shared(49156, out); });
  EXPECT_NE(fault.find("static shared variables of 49156 bytes in a block, and nvcc allows 49152"),
            std::string::npos)
      << fault;
}

}  // namespace
}  // namespace gpubench::model
