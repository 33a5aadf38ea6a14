# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The hidden state of the RNN is carried over to the next step without detach()."
# expect = ["numerics-backward-second-time"]
# evidence = "Trying to backward through the graph a second time"
# ///
import torch

rnn = torch.nn.GRU(8, 16, batch_first=True)
hidden = torch.zeros(1, 4, 16)
for step in range(10):
    out, hidden = rnn(torch.randn(4, 12, 8), hidden)
    loss = out.square().mean()
    loss.backward()
    print(step, loss.item())
