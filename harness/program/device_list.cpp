#include "harness/program/device_list.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>

#include "harness/platform/platform.hpp"
#include "harness/program/console.hpp"

namespace gpubench {
namespace {

// One line of the table: what the device file knows, "-" where it has nothing.
void list_device(const DeviceSpec& device, const std::string& prefix) {
  const auto roofs = device.data_sheet_roofs();
  const auto peak = [&](std::string_view name, const char* unit) {
    const auto found = std::ranges::find(roofs, name, &Roof::name);
    return found == roofs.end() ? std::string("-") : with_prefix(found->value, unit);
  };
  const auto bytes = device.find("dram_bytes");
  // BF16, or FP16 where a device has only that.
  std::string half = peak("tensor_bf16", "FLOP/s");
  if (half == "-") half = peak("tensor_fp16", "FLOP/s");
  std::cout << "  " << std::left << std::setw(20) << prefix + device.name() << std::setw(30)
            << device.title() << std::right << std::setw(8)
            << (bytes ? with_prefix(*bytes, "B") : "-") << std::setw(11) << peak("dram", "B/s")
            << std::setw(14) << peak("fp32", "FLOP/s") << std::setw(15) << half << '\n';
}

}  // namespace

void list_devices() {
  const auto gpus = list_gpus();
  std::cout << "CUDA devices\n";
  for (const std::string& line : gpus) std::cout << "  " << line << '\n';
  if (gpus.empty()) std::cout << "  none that this program can use\n";
  const auto table = [](const char* title, const std::string& kind, const std::string& prefix) {
    std::cout << std::left << std::setw(52) << title << std::right << std::setw(8) << "memory"
              << std::setw(11) << "bandwidth" << std::setw(14) << "fp32" << std::setw(15)
              << "16-bit tensor" << '\n';
    for (const std::string& name : known_devices()) {
      const DeviceSpec device = device_spec(name);
      if (device.kind() == kind) list_device(device, prefix);
    }
  };
  table("Model devices, at their maximum clock", "gpu", "model:");
  table("Data sheets only, which the model cannot run", "roof", "");
  std::cout << "Your own device file: --device=model:path/to/it.json\n";
}

}  // namespace gpubench
