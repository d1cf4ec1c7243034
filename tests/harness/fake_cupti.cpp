// A library with CUPTI's entry points and no GPU behind them: fake_cupti_call() makes a call of the
// driver's as a profiler sees it.
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace {

struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  const void* returned;
  const char* symbol;
};
using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

constexpr int unknown = 999, success = 0, multiple_subscribers = 39, driver_api = 1;
int the_subscriber;
Callback callback = nullptr;
void* user = nullptr;
bool enabled = false;
int failing_call = 0, calls = 0;

bool fails_now() { return ++calls == failing_call; }

}  // namespace

extern "C" {

int cuptiSubscribe(void** subscriber, Callback function, void* data) {
  if (fails_now()) return unknown;
  if (callback != nullptr) return multiple_subscribers;
  *subscriber = &the_subscriber;
  callback = function;
  user = data;
  return success;
}

int cuptiEnableDomain(std::uint32_t on, void* subscriber, int domain) {
  if (fails_now()) return unknown;
  enabled = on == 1 && subscriber == &the_subscriber && domain == driver_api;
  return success;
}

int cuptiUnsubscribe(void*) {
  if (fails_now()) return unknown;
  callback = nullptr;
  enabled = false;
  return success;
}

// Makes the call of this number from now on fail; returns how many there were before. Forgets a
// subscriber.
int fake_cupti_fail(int call) {
  callback = nullptr;
  enabled = false;
  failing_call = call;
  return std::exchange(calls, 0);
}

void fake_cupti_call(const char* function, const char* symbol) {
  if (!enabled) return;
  for (const int site : {0, 1}) {  // as it is entered and as it is left
    const CallbackData data{site, function, nullptr, nullptr, symbol};
    callback(user, driver_api, 0, &data);
  }
}

}  // extern "C"
