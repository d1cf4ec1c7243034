#include "harness/system/exit_code.hpp"

#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "harness/system/error.hpp"
#include "harness/system/exception_text.hpp"
#include "harness/system/plain_text.hpp"

namespace gpubench {

int exit_code_of(const std::function<int()>& run) {
  try {
    return run();
  } catch (const UsageError& error) {
    std::cerr << "gpubench: " << plain_text(error.what()) << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr
        << "gpubench: not enough memory: the machine has too little left, or the limit of this "
           "program's memory is too small (ulimit -v)\n";
    return 1;
  } catch (const std::system_error& error) {
    std::cerr << "gpubench: " << plain_text(text_of(error));
    if (error.code() == std::errc::resource_unavailable_try_again) {
      std::cerr << ": no further thread or process may be started (ulimit -u, or a container's "
                   "limit of them)";
    }
    std::cerr << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "gpubench: " << plain_text(text_of(error)) << '\n';
    return 1;
  }
}

}  // namespace gpubench
