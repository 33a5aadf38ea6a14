# /// case
# env = "jax"
# run = "python restore.py"
# name = "restore.py"
# form = "log"
# truth = "The restore target has a parameter 'head' that the checkpoint lacks."
# expect = ["jax-orbax-restore-structure-mismatch"]
# evidence = "tree structures do not match|structure|not match|missing"
# ///
import os

import jax.numpy as jnp
import orbax.checkpoint as ocp

path = os.path.abspath("ckpt")
saver = ocp.StandardCheckpointer()
saver.save(path, {"dense": jnp.ones((4, 4))})
saver.wait_until_finished()
print(saver.restore(path, {"dense": jnp.zeros((4, 4)), "head": jnp.zeros((4, 2))}))
