// The link between host and device, as laws speak of it.
#pragma once

namespace host_link {

// What lies between the host's memory and the device's [bytes/s and seconds].
struct Link {
  double to_device_rate, to_host_rate;
  double latency;   // of a copy
  double blocking;  // what a copy adds that blocks the host: its way there, and waking up
  double call;      // what a call costs the host
  bool one_engine;  // for both directions

  double to_device(double amount) const { return latency + amount / to_device_rate; }
  double to_host(double amount) const { return latency + amount / to_host_rate; }
};

// From the figures of a device file, whatever type holds them.
template <class Device>
Link link_of(const Device& device, bool pinned) {
  return {device[pinned ? "pcie_h2d_bytes_per_second" : "pageable_bytes_per_second"],
          device[pinned ? "pcie_d2h_bytes_per_second" : "pageable_bytes_per_second"],
          device["pcie_latency_seconds"],
          device["launch_latency_seconds"] + device["sync_host_seconds"],
          device["launch_host_seconds"],
          device["copy_engines"] < 2};
}

}  // namespace host_link
