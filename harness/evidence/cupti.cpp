#include "harness/evidence/cupti.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace gpubench {
namespace {

constexpr int kCuptiSuccess = 0;  // CUPTI_SUCCESS
constexpr int kDriverApi = 1;     // CUPTI_CB_DOMAIN_DRIVER_API
constexpr int kEnter = 0;         // CUPTI_API_ENTER

// The beginning of CUpti_CallbackData.
struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  const void* returned;
  const char* symbol;  // of a launch: its kernel
};

using Subscriber = struct OpaqueCuptiSubscriber*;
using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

// Set by the one call of launched_kernels() under way. A callback that could not be taken back
// must find nothing to write to.
std::vector<std::string>* noted = nullptr;

void note_launch(void*, int, std::uint32_t, const void* data) {
  if (noted == nullptr) return;
  const auto& call = *static_cast<const CallbackData*>(data);
  const bool launch = std::string_view(call.function).starts_with("cuLaunch");
  if (launch && call.site == kEnter && call.symbol != nullptr) {
    noted->emplace_back(call.symbol);
  }
}

}  // namespace

std::vector<std::string> launched_kernels(const std::function<void()>& run,
                                          const std::string& library) {
  std::vector<std::string> names;
  // Never unloaded: the driver may hold on to what it has been given of it.
  void* const cupti = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (cupti == nullptr) return names;
  const auto subscribe =
      reinterpret_cast<int (*)(Subscriber*, Callback, void*)>(dlsym(cupti, "cuptiSubscribe"));
  const auto enable =
      reinterpret_cast<int (*)(std::uint32_t, Subscriber, int)>(dlsym(cupti, "cuptiEnableDomain"));
  const auto unsubscribe = reinterpret_cast<int (*)(Subscriber)>(dlsym(cupti, "cuptiUnsubscribe"));
  Subscriber subscriber = nullptr;
  if (subscribe == nullptr || enable == nullptr || unsubscribe == nullptr ||
      subscribe(&subscriber, note_launch, nullptr) != kCuptiSuccess) {
    return names;
  }
  noted = &names;
  const auto leave = [&](Subscriber s) {
    noted = nullptr;
    unsubscribe(s);
  };
  const std::unique_ptr<OpaqueCuptiSubscriber, decltype(leave)> subscribed(subscriber, leave);
  // Where the driver's calls cannot be listened to, nobody can say; the run is not needed.
  if (enable(1, subscriber, kDriverApi) == kCuptiSuccess) run();
  return names;
}

}  // namespace gpubench
