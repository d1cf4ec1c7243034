// topology: bytes from one GPU to another. (The kernel that fetches them is copy_words.)
#pragma once

#include <cstddef>
#include <string>

#include "kernels/common/copy_words.cuh"

namespace topology {

using copy_words::word;

// --- what theory says it costs ---

// From one GPU's memory to another's: `link` [bytes/s]; on one GPU every byte is read and written.
constexpr double copy_seconds(double bytes, bool same, double floor, double dram, double link) {
  return floor + (same ? 2 * bytes / dram : bytes / link);
}

// --- whether a measurement and the driver's report go together ---

// `connection` as the driver reports it ("NVLink", "PCIe (...)", "" for nothing); `measured` and
// `pcie`, what a copy over the host's own link reaches [bytes/s]. NVLink has to be faster than
// PCIe, and PCIe no faster than a link to the host by more than a quarter. "" where nobody can say.
inline std::string agreement(const std::string& connection, double measured, double pcie) {
  if (connection == "NVLink") {
    return measured > pcie ? "yes" : "no: the driver reports NVLink, and it is slower than PCIe";
  }
  if (connection.starts_with("PCIe")) {
    return measured < 1.25 * pcie ? "yes"
                                  : "no: the driver reports PCIe, and it is faster than that";
  }
  return "";
}

}  // namespace topology
