#include "harness/system/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace gpubench {

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The wrong way round: to read from it or to print on it still fails.
    const int flags = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    // The lowest that is free is this one: those below it are open by now.
    if (open("/dev/null", flags) != stream) _exit(1);
  }
}

bool is_standard_output_closed() { return (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY; }

}  // namespace gpubench
