// The driver's calls for addresses, memory and multicast objects: what each takes and refuses.
#include "harness/platform/model/runtime/virtual_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gpubench::model {
namespace {

class VirtualMemoryTest : public testing::Test {
 protected:
  static constexpr std::size_t unit = VirtualMemory::granularity;
  static constexpr int devices = 2;

  static CUmemAllocationProp on(int device) {
    return {CU_MEM_ALLOCATION_TYPE_PINNED,
            CU_MEM_HANDLE_TYPE_NONE,
            {CU_MEM_LOCATION_TYPE_DEVICE, device}};
  }
  VirtualMemory::Handle made(int device, std::size_t bytes = unit) {
    VirtualMemory::Handle handle = 0;
    const CUmemAllocationProp properties = on(device);
    EXPECT_EQ(all.create(&handle, bytes, &properties), cudaSuccess);
    return handle;
  }
  VirtualMemory::Handle made_for(unsigned team) {
    VirtualMemory::Handle handle = 0;
    const CUmulticastObjectProp properties{team, unit, 0, 0};
    EXPECT_EQ(all.create_multicast(&handle, &properties), cudaSuccess);
    return handle;
  }
  CUdeviceptr reserved(std::size_t bytes = unit) {
    CUdeviceptr address = 0;
    EXPECT_EQ(all.reserve(&address, bytes), cudaSuccess);
    return address;
  }
  CUdeviceptr mapped(VirtualMemory::Handle handle) {
    const CUdeviceptr address = reserved();
    EXPECT_EQ(all.map(address, unit, 0, handle), cudaSuccess);
    return address;
  }
  const Allocation* found(CUdeviceptr address) const {
    return memory.find(reinterpret_cast<const void*>(address));
  }

  DeviceMemory memory{8 * unit, devices};
  const DeviceSpec spec = device_spec("h200-sxm");
  VirtualMemory all{memory, spec, devices};
};

TEST_F(VirtualMemoryTest, MemoryIsTakenUntilNothingNamesIt) {
  const auto handle = made(1, 3 * unit);
  EXPECT_EQ(memory.free_bytes(1), 5 * unit);
  EXPECT_EQ(memory.free_bytes(0), 8 * unit);
  const CUdeviceptr address = reserved(3 * unit);
  EXPECT_EQ(found(address), nullptr);
  ASSERT_EQ(all.map(address, 3 * unit, 0, handle), cudaSuccess);
  EXPECT_EQ(found(address)->device, 1);
  EXPECT_EQ(all.release(handle), cudaSuccess);
  EXPECT_EQ(memory.free_bytes(1), 5 * unit) << "it is still mapped";
  EXPECT_EQ(all.unreserve(address, 3 * unit), cudaErrorInvalidValue) << "likewise";
  EXPECT_EQ(all.unmap(address, 3 * unit), cudaSuccess);
  EXPECT_EQ(memory.free_bytes(1), 8 * unit);
  EXPECT_EQ(found(address), nullptr);
  EXPECT_EQ(all.unreserve(address, 3 * unit), cudaSuccess);
  EXPECT_EQ(all.unreserve(address, 3 * unit), cudaErrorInvalidValue);
  EXPECT_EQ(all.release(handle), cudaErrorInvalidValue);
}

TEST_F(VirtualMemoryTest, AddressesAreGivenBack) {
  const CUdeviceptr first = reserved();
  EXPECT_EQ(all.unreserve(first, unit), cudaSuccess);
  EXPECT_EQ(reserved(), first);
}

TEST_F(VirtualMemoryTest, WhatIsWrongWithMemoryIsAnError) {
  VirtualMemory::Handle handle = 0;
  CUmemAllocationProp properties = on(0);
  EXPECT_EQ(all.create(&handle, unit + 1, &properties), cudaErrorInvalidValue);
  EXPECT_EQ(all.create(&handle, 0, &properties), cudaErrorInvalidValue);
  EXPECT_EQ(all.create(&handle, 9 * unit, &properties), cudaErrorMemoryAllocation);
  properties = on(devices);
  EXPECT_EQ(all.create(&handle, unit, &properties), cudaErrorInvalidDevice);
  CUdeviceptr address = 0;
  EXPECT_EQ(all.reserve(&address, 1), cudaErrorInvalidValue);
}

TEST_F(VirtualMemoryTest, WhatIsWrongWithAMappingIsAnError) {
  const auto handle = made(0);
  const CUdeviceptr address = reserved(), other = reserved();
  EXPECT_EQ(all.map(address, 2 * unit, 0, handle), cudaErrorInvalidValue);
  EXPECT_EQ(all.map(address, unit, 0, handle + 1), cudaErrorInvalidValue);
  EXPECT_EQ(all.unmap(address, unit), cudaErrorInvalidValue);
  ASSERT_EQ(all.map(address, unit, 0, handle), cudaSuccess);
  EXPECT_EQ(all.map(address, unit, 0, made(1)), cudaErrorInvalidValue) << "something is there";
  EXPECT_EQ(all.map(other, unit, 0, handle), cudaErrorNotSupported) << "by the model";
}

TEST_F(VirtualMemoryTest, AccessIsForThoseNamed) {
  const CUdeviceptr address = mapped(made(0));
  EXPECT_NE(found(address)->why_not(0), "") << "not even its own device";
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(all.set_access(address, unit, &access, 1), cudaSuccess);
  EXPECT_EQ(found(address)->why_not(0), "");
  EXPECT_NE(found(address)->why_not(1), "");
  access.location.id = devices;
  EXPECT_EQ(all.set_access(address, unit, &access, 1), cudaErrorInvalidValue);
  EXPECT_EQ(all.set_access(reserved(), unit, &access, 1), cudaErrorInvalidValue);
}

TEST_F(VirtualMemoryTest, AMulticastObjectReachesWhatIsBound) {
  const auto team = made_for(2);
  const VirtualMemory::Handle parts[] = {made(0), made(1)};
  EXPECT_EQ(all.bind(team, 0, parts[0], 0, unit), cudaErrorInvalidValue) << "no device is added";
  EXPECT_EQ(all.map(reserved(), unit, 0, team), cudaErrorInvalidValue) << "likewise";
  EXPECT_EQ(all.add_device(team, 0), cudaSuccess);
  EXPECT_EQ(all.add_device(team, 0), cudaErrorInvalidValue) << "twice";
  EXPECT_EQ(all.add_device(team, devices), cudaErrorInvalidDevice);
  EXPECT_EQ(all.add_device(team, 1), cudaSuccess);
  const CUdeviceptr address = mapped(team);
  EXPECT_EQ(all.bind(team, 0, parts[0], 0, unit), cudaErrorNotSupported) << "not mapped: the model";
  const CUdeviceptr own[] = {mapped(parts[0]), mapped(parts[1])};
  EXPECT_EQ(all.bind(team, 0, parts[1], 0, unit), cudaSuccess);
  EXPECT_EQ(found(address)->replicas.size(), 1U);
  EXPECT_EQ(all.bind(team, 0, parts[0], 0, unit), cudaSuccess);
  const std::vector<Allocation*> both{memory.find(reinterpret_cast<void*>(own[0])),
                                      memory.find(reinterpret_cast<void*>(own[1]))};
  EXPECT_EQ(found(address)->replicas, both) << "in the order of the devices";
  EXPECT_EQ(all.bind(team, 0, made(1), 0, unit), cudaErrorNotSupported) << "not mapped";
  EXPECT_EQ(all.unmap(own[0], unit), cudaErrorNotSupported) << "still bound: the model";
  EXPECT_EQ(all.unbind(team, 0, 0, unit), cudaSuccess);
  EXPECT_EQ(all.unbind(team, 0, 0, unit), cudaErrorInvalidValue);
  EXPECT_EQ(found(address)->replicas.size(), 1U);
  EXPECT_EQ(all.unmap(own[0], unit), cudaSuccess);
}

TEST_F(VirtualMemoryTest, ADeviceWithoutSuchSwitchesHasNoMulticast) {
  const CUmulticastObjectProp properties{2, unit, 0, 0};
  VirtualMemory::Handle handle = 0;
  VirtualMemory older(memory, device_spec("a100-80-sxm"), 2), alone(memory, spec, 1);
  for (VirtualMemory* const without : {&older, &alone}) {
    EXPECT_FALSE(without->has_multicast());
    EXPECT_EQ(without->create_multicast(&handle, &properties), cudaErrorNotSupported);
  }
  EXPECT_TRUE(all.has_multicast());
}

TEST_F(VirtualMemoryTest, NothingIsLeftBehind) {
  const void* const first = memory.allocate(1);
  {
    VirtualMemory some(memory, spec, devices);
    CUdeviceptr address = 0;
    VirtualMemory::Handle handle = 0;
    const CUmemAllocationProp properties = on(0);
    ASSERT_EQ(some.create(&handle, unit, &properties), cudaSuccess);
    ASSERT_EQ(some.reserve(&address, unit), cudaSuccess);
    ASSERT_EQ(some.map(address, unit, 0, handle), cudaSuccess);
  }
  memory.release(const_cast<void*>(first));
  EXPECT_EQ(memory.free_bytes(0), 8 * unit);
  EXPECT_EQ(memory.allocate(1), first);
}

}  // namespace
}  // namespace gpubench::model
