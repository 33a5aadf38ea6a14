# /// case
# env = "jax"
# environ = {XLA_FLAGS = "--xla_force_host_platform_device_count=4"}
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "The last batch of 10 rows is put on a mesh axis of 4 devices."
# expect = ["jax-sharding-mismatch"]
# evidence = "^jax._src.sharding.IndivisibleError"
# ///
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(jax.devices(), ("data",))
rows = NamedSharding(mesh, P("data"))
for size in (16, 16, 10):
    batch = jax.device_put(jnp.ones((size, 8)), rows)
    print(batch.shape)
