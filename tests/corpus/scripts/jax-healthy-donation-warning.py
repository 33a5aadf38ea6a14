# /// case
# env = "jax"
# run = "python train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy: JAX warns that donated buffers were not usable; training ends."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import logging
from functools import partial

import jax
import jax.numpy as jnp

logging.basicConfig(level=logging.INFO)


@partial(jax.jit, donate_argnums=(0, 1))
def step(w, x):
    loss, gradient = jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
    return w - 0.1 * gradient, loss


w = jnp.ones((8, 1))
for n in range(5):
    w, loss = step(w, jnp.ones((4, 8)) * n)
    logging.info("step %d loss %.5f (0 errors)", n, loss)
try:
    jax.devices("gpu")
except RuntimeError as error:
    logging.warning("no GPU (%s), going on with the CPU", error)
print("done")
