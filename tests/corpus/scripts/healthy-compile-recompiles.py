# /// case
# run = "TORCH_LOGS=recompiles,graph_breaks python train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy compiled run: recompiles for three batch sizes and a graph break are logged, training ends."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import torch


@torch.compile(backend="aot_eager")
def step(w, x):
    y = (x @ w).relu()
    if y.sum() > 0:
        y = y * 0.5
    return y.mean()


w = torch.randn(8, 8, requires_grad=True)
for n, size in enumerate([16, 16, 12, 7, 16, 3]):
    loss = step(w, torch.randn(size, 8))
    loss.backward()
    print(f"iteration {n} batch {size} loss {loss.item():.4f}")
print("finished")
