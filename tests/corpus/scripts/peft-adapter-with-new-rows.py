# /// case
# run = "python infer.py"
# name = "infer.py"
# form = "traceback"
# cut = "traceback"
# truth = "The adapter was trained with two added tokens (102 embedding rows), the base has 100."
# expect = ["peft-adapter-vocab-size-mismatch"]
# also_ok = ["checkpoint-state-dict-size-mismatch"]
# evidence = "size mismatch for base_model.model.model.embed_tokens.*weight"
# ///
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM


def base():
    return LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))


model = base()
model.resize_token_embeddings(102)
get_peft_model(model, LoraConfig(target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"])).save_pretrained("adapter")
PeftModel.from_pretrained(base(), "adapter")
