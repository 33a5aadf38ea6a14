# /// case
# env = "jax"
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "int() of a traced value inside jit."
# expect = ["jax-concretization-error"]
# evidence = "ConcretizationTypeError|TracerIntegerConversionError|Abstract tracer value"
# ///
import jax
import jax.numpy as jnp


@jax.jit
def top(x, k):
    return jax.lax.top_k(x, int(k))


print(top(jnp.arange(9.0), 3))
