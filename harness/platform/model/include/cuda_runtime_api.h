// In CUDA, the runtime's calls alone.
#pragma once

#include <cuda_runtime.h>
