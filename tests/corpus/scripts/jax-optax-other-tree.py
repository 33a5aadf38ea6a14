# /// case
# env = "jax"
# run = "python resume.py"
# name = "resume.py"
# form = "traceback"
# cut = "traceback"
# truth = "The optimizer state was made for another parameter tree (a layer was added)."
# expect = ["jax-optax-state-tree-mismatch"]
# evidence = "symmetric difference|^ValueError"
# ///
import jax.numpy as jnp
import optax

old = {"dense": jnp.ones((4, 4))}
new = {"dense": jnp.ones((4, 4)), "head": jnp.ones((4, 2))}
optimizer = optax.adamw(1e-3)
state = optimizer.init(old)
updates, state = optimizer.update(new, state, new)
