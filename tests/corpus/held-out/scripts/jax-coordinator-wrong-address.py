# /// case
# env = "jax"
# run = "python train.py"
# form = "log"
# truth = "Process 1 of 2 is given a coordinator address at which nobody listens."
# expect = ["jax-distributed-coordinator-unreachable"]
# evidence = "DEADLINE_EXCEEDED|UNAVAILABLE|Deadline"
# ///
import jax

jax.distributed.initialize("127.0.0.1:12399", num_processes=2, process_id=1, initialization_timeout=20)
print(jax.device_count())
