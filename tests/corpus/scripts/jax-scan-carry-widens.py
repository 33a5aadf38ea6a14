# /// case
# env = "jax"
# run = "python rnn.py"
# name = "rnn.py"
# form = "traceback"
# cut = "traceback"
# truth = "The scan body returns a float32 carry while it began as bfloat16."
# expect = ["jax-scan-carry-type-mismatch"]
# evidence = "scan body function carry input and carry output must have equal types"
# ///
import jax
import jax.numpy as jnp

weights = jnp.ones((8, 8), jnp.float32)


def cell(carry, x):
    carry = jnp.tanh(carry @ weights + x)
    return carry, carry.sum()


carry, out = jax.lax.scan(cell, jnp.zeros((8,), jnp.bfloat16), jnp.ones((20, 8)))
