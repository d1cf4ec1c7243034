// In CUDA, the built-in variables alone.
#pragma once

#include <cuda_runtime.h>
