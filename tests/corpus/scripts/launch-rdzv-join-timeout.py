# /// case
# run = "torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint localhost:29400 --rdzv-id job7 --rdzv-conf join_timeout=30 train.py"
# form = "log"
# truth = "The second node never joins the rendezvous."
# expect = ["torchrun-rdzv-timeout"]
# evidence = "^torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"
# ///
print("never reached")
