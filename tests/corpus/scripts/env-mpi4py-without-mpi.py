# /// case
# env = "mid"
# run = "python train.py"
# form = "traceback"
# truth = "mpi4py is installed, an MPI library is not."
# expect = ["env-shared-library-not-found"]
# evidence = "^RuntimeError: cannot load MPI|libmpi.so.12: cannot open shared"
# ///
from mpi4py import MPI

print(MPI.COMM_WORLD.Get_rank())
