# /// case
# env = "jax"
# run = "python train.py"
# form = "log"
# truth = "The second layer's matrix has 64 rows, its input 128 columns."
# expect = ["jax-shape-mismatch"]
# evidence = "dot_general requires contracting dimensions to have the same shape"
# ///
import jax
import jax.numpy as jnp

w1, w2 = jnp.ones((32, 128)), jnp.ones((64, 10))


@jax.jit
def forward(x):
    return jax.nn.relu(x @ w1) @ w2


print("devices:", jax.devices())
print(forward(jnp.ones((4, 32))).shape)
