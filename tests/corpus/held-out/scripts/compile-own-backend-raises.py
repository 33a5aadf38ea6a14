# /// case
# run = "python train.py"
# form = "log"
# truth = "The compile backend itself (an own one) fails on an op that it does not know."
# expect = ["compile-inductor-backend-failed"]
# evidence = "BackendCompilerFailed: backend='lower_to_npu' raised"
# ///
import torch


def lower_to_npu(graph, example_inputs):
    for node in graph.graph.nodes:
        if node.op == "call_function" and "softmax" in str(node.target):
            raise NotImplementedError(f"no lowering for {node.target}")
    return graph.forward


@torch.compile(backend=lower_to_npu)
def attend(q, k, v):
    return torch.softmax(q @ k.T, -1) @ v


attend(torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 8))
