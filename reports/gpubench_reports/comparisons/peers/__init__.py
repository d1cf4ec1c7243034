"""Other programs in the same hour on the same GPU: what they find over what we find.

Sources are the user's: a folder that holds BabelStream, gpu-benches, mixbench, nvbandwidth, nvbench
and nccl-tests as their repositories are. Nothing is downloaded.
"""
