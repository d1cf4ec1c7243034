// A library with CUPTI's entry points and no GPU behind them: fake_cupti_call() makes a call of the
// driver's as a profiler sees it.
#include <cstdint>
#include <initializer_list>

namespace {

struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  const void* returned;
  const char* symbol;
};
using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

constexpr int success = 0, multiple_subscribers = 39, driver_api = 1;
int the_subscriber;
Callback callback = nullptr;
void* user = nullptr;
bool enabled = false;

}  // namespace

extern "C" {

int cuptiSubscribe(void** subscriber, Callback function, void* data) {
  if (callback != nullptr) return multiple_subscribers;
  *subscriber = &the_subscriber;
  callback = function;
  user = data;
  return success;
}

int cuptiEnableDomain(std::uint32_t on, void* subscriber, int domain) {
  enabled = on == 1 && subscriber == &the_subscriber && domain == driver_api;
  return success;
}

int cuptiUnsubscribe(void*) {
  callback = nullptr;
  enabled = false;
  return success;
}

void fake_cupti_call(const char* function, const char* symbol) {
  if (!enabled) return;
  for (const int site : {0, 1}) {  // as it is entered and as it is left
    const CallbackData data{site, function, nullptr, nullptr, symbol};
    callback(user, driver_api, 0, &data);
  }
}

}  // extern "C"
