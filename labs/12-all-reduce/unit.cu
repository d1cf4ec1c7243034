// Hands the solution to the checker: the one file that is compiled anew for each check.
#include "labs/12-all-reduce/given.cuh"
#include LAB_SOLUTION

#include "labs/12-all-reduce/interface.cuh"

lab::AllReduce* const lab::all_reduce = ::all_reduce;
lab::TrainStep* const lab::train_step = ::train_step;
