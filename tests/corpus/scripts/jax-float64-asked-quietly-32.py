# /// case
# env = "jax"
# run = "python solve.py"
# name = "solve.py"
# form = "log"
# truth = "float64 is asked for without enabling x64: truncated to float32 with a warning."
# expect = ["jax-x64-truncation"]
# also_ok = ["NONE"]
# evidence = "will be truncated to dtype float32"
# ///
import jax.numpy as jnp

x = jnp.linspace(0, 1, 5, dtype=jnp.float64) + 1e-12
residual = jnp.asarray(1e-17, dtype="float64") + x[0]
print("residual", residual, x.dtype)
