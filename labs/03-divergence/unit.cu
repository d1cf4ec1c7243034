// Hands the solution to the checker: the one file that is compiled anew for each check.
#include "labs/03-divergence/given.cuh"
#include LAB_SOLUTION

#include "labs/03-divergence/interface.cuh"

lab::Kernel* const lab::mixed = ::mixed;
lab::Kernel* const lab::sparse = ::sparse;
