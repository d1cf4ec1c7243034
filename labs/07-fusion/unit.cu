// Hands the solution to the checker: the one file that is compiled anew for each check.
#include "labs/07-fusion/given.cuh"
#include LAB_SOLUTION

#include "labs/07-fusion/interface.cuh"

lab::Kernel* const lab::fused = ::fused;
