#include "harness/cuda/multicast_memory.hpp"

#include <numeric>

namespace gpubench {

struct MulticastMemory::Driver {
  using Handle = CUmemGenericAllocationHandle;
  using Flags = unsigned long long;

  DriverFunction<CUdevice*, int> device{"cuDeviceGet"};
  DriverFunction<std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags>
      granularity{"cuMemGetAllocationGranularity"};
  DriverFunction<Handle*, std::size_t, const CUmemAllocationProp*, Flags> create{"cuMemCreate"};
  DriverFunction<Handle> release{"cuMemRelease"};
  DriverFunction<CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, Flags> reserve{
      "cuMemAddressReserve"};
  DriverFunction<CUdeviceptr, std::size_t> unreserve{"cuMemAddressFree"};
  DriverFunction<CUdeviceptr, std::size_t, std::size_t, Handle, Flags> map{"cuMemMap"};
  DriverFunction<CUdeviceptr, std::size_t> unmap{"cuMemUnmap"};
  DriverFunction<CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t> set_access{
      "cuMemSetAccess"};
  DriverFunction<std::size_t*, const CUmulticastObjectProp*, CUmulticastGranularity_flags>
      multicast_granularity{"cuMulticastGetGranularity"};
  DriverFunction<Handle*, const CUmulticastObjectProp*> create_multicast{"cuMulticastCreate"};
  DriverFunction<Handle, CUdevice> add_device{"cuMulticastAddDevice"};
  DriverFunction<Handle, std::size_t, Handle, std::size_t, std::size_t, Flags> bind{
      "cuMulticastBindMem"};
  DriverFunction<Handle, CUdevice, std::size_t, std::size_t> unbind{"cuMulticastUnbind"};
};

namespace {

CUmemLocation location_of(int device) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemAllocationProp memory_on(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location_of(device);
  return properties;
}

CUmemAccessDesc access_of(int device) {
  CUmemAccessDesc access{};
  access.location = location_of(device);
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

// Nobody has set up the switches.
std::string not_set_up(const CudaError& error) {
  return std::string("no multicast object here (does the fabric manager run?): ") + error.what();
}

}  // namespace

std::size_t rounded_to_all(std::size_t bytes, const std::vector<std::size_t>& units) {
  const std::size_t unit =
      std::accumulate(units.begin(), units.end(), std::size_t{1},
                      [](std::size_t a, std::size_t b) { return std::lcm(a, b); });
  return (bytes + unit - 1) / unit * unit;
}

std::string MulticastMemory::why_not(const GpuRanks& ranks) {
  if (ranks.local() < 2) return "a multicast object of one GPU reaches no other";
  try {
    const DriverFunction<CUdevice*, int> get("cuDeviceGet");
    const DriverFunction<int*, CUdevice_attribute, CUdevice> attribute("cuDeviceGetAttribute");
    for (int i = 0; i < ranks.local(); ++i) {
      CUdevice device{};
      get(&device, ranks.device(i));
      int supported = 0;
      attribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device);
      if (supported == 0) {
        return "GPU " + std::to_string(ranks.device(i)) +
               " has no multicast: that takes NVLink switches that add, H100 and later";
      }
    }
    const MulticastMemory smallest(ranks, 1);
  } catch (const CudaError& error) {
    if (error.is_unsupported()) {
      return std::string("the driver has no multicast objects (CUDA 12.1 has): ") + error.what();
    }
    // Without its fabric manager, a node calls these arguments invalid, too (NVIDIA/nccl #1672).
    if (error.code() == cudaErrorInvalidValue) return not_set_up(error);
    std::string why = why_not(error);
    if (why.empty()) throw;
    return why;
  }
  return "";
}

std::string MulticastMemory::why_not(const CudaError& error) {
  const bool is_machines =
      error.code() == cudaErrorSystemNotReady || error.code() == cudaErrorIllegalState;
  return is_machines ? not_set_up(error) : "";
}

MulticastMemory::MulticastMemory(const GpuRanks& ranks, std::size_t bytes)
    : driver_(std::make_shared<const Driver>()) {
  CUmulticastObjectProp properties{};
  properties.numDevices = static_cast<unsigned>(ranks.local());
  properties.size = bytes;
  bytes_ = properties.size = rounded_to_all(bytes, units(ranks, properties));
  try {
    driver_->create_multicast(&everywhere_.handle, &properties);
    everywhere_.has_handle = true;
    std::vector<CUmemAccessDesc> of_all;
    for (int i = 0; i < ranks.local(); ++i) {
      Part& part = parts_.emplace_back();
      part.ordinal = ranks.device(i);
      driver_->device(&part.device, part.ordinal);
      driver_->add_device(everywhere_.handle, part.device);
      of_all.push_back(access_of(ranks.device(i)));
    }
    ranks.each([&](int i) { fill(parts_[static_cast<std::size_t>(i)]); });
    map(everywhere_, of_all);
  } catch (...) {
    give_back();
    throw;
  }
}

// What the size must be a multiple of, of each: it lies on every GPU and in the multicast object.
std::vector<std::size_t> MulticastMemory::units(const GpuRanks& ranks,
                                                const CUmulticastObjectProp& properties) const {
  std::vector<std::size_t> all(1);
  driver_->multicast_granularity(all.data(), &properties, CU_MULTICAST_GRANULARITY_RECOMMENDED);
  for (int i = 0; i < ranks.local(); ++i) {
    const CUmemAllocationProp memory = memory_on(ranks.device(i));
    driver_->granularity(&all.emplace_back(), &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  }
  return all;
}

void MulticastMemory::map(Part& part, const std::vector<CUmemAccessDesc>& access) const {
  driver_->reserve(&part.address, bytes_, 0, 0, 0);
  driver_->map(part.address, bytes_, 0, part.handle, 0);
  part.is_mapped = true;
  driver_->set_access(part.address, bytes_, access.data(), access.size());
}

void MulticastMemory::fill(Part& part) const {
  const CUmemAllocationProp properties = memory_on(part.ordinal);
  driver_->create(&part.handle, bytes_, &properties, 0);
  part.has_handle = true;
  map(part, {access_of(part.ordinal)});
  driver_->bind(everywhere_.handle, 0, part.handle, 0, bytes_, 0);
  part.is_bound = true;
}

// Unlike cudaFree, no call below waits for what still works there.
void MulticastMemory::wait_for_all() const noexcept {
  int before = 0;
  static_cast<void>(cudaGetDevice(&before));
  for (const Part& part : parts_) {
    static_cast<void>(cudaSetDevice(part.ordinal));
    static_cast<void>(cudaDeviceSynchronize());
  }
  static_cast<void>(cudaSetDevice(before));
}

void MulticastMemory::give_back(Part& part) const noexcept {
  if (part.is_bound) driver_->unbind.try_to(everywhere_.handle, part.device, 0, bytes_);
  if (part.is_mapped) driver_->unmap.try_to(part.address, bytes_);
  if (part.address != 0) driver_->unreserve.try_to(part.address, bytes_);
  if (part.has_handle) driver_->release.try_to(part.handle);
  part = {};
}

void MulticastMemory::give_back() noexcept {
  wait_for_all();
  for (Part& part : parts_) give_back(part);
  give_back(everywhere_);
  static_cast<void>(cudaGetLastError());  // clears errors of the calls above, which nobody reports
}

}  // namespace gpubench
