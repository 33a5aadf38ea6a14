# /// case
# env = "old"
# run = "python train_lora.py"
# name = "train_lora.py"
# form = "log"
# truth = "LoRA with the Trainer's gradient_checkpointing (re-entrant) without enable_input_require_grads."
# expect = ["peft-grad-checkpoint-inputs-no-grad"]
# also_ok = ["numerics-element0-no-grad"]
# evidence = "element 0 of tensors does not require grad"
# ///
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64))
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"]))
model.print_trainable_parameters()
rows = [{"input_ids": [1, 2, 3, 4, 5, 6], "labels": [1, 2, 3, 4, 5, 6]}] * 32
Trainer(model, TrainingArguments("out", max_steps=4, logging_steps=1, report_to="none", use_cpu=True, gradient_checkpointing=True),
        train_dataset=Dataset.from_list(rows)).train()
