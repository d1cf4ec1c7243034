// In CUDA, vectors alone.
#pragma once

#include <cuda_runtime.h>
