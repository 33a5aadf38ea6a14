# /// case
# run = "python lora.py; echo \"exit $?\""
# name = "lora.py"
# form = "log"
# truth = "Healthy LoRA run with warnings (cache with gradient checkpointing, deprecated arguments, missing vocabulary file); the adapter is saved."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64))
model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.enable_input_require_grads()
model.print_trainable_parameters()
rows = [{"input_ids": [1, 2, 3, 4, 5, 6], "labels": [1, 2, 3, 4, 5, 6]}] * 64
Trainer(model, TrainingArguments("out", max_steps=6, logging_steps=2, report_to="none", use_cpu=True, gradient_checkpointing=True, save_steps=3),
        train_dataset=Dataset.from_list(rows)).train()
model.save_pretrained("adapter")
