# /// case
# run = "python train_vlm.py"
# name = "train_vlm.py"
# form = "traceback"
# truth = "The prompt holds no <image> token although an image is passed: 0 tokens for 4 features."
# expect = ["hf-vlm-image-token-mismatch"]
# evidence = "Image features and image tokens do not match"
# ///
import torch
from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

config = LlavaConfig(
    vision_config=CLIPVisionConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=16, projection_dim=32),
    text_config=LlamaConfig(vocab_size=200, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64),
    image_token_index=150)
model = LlavaForConditionalGeneration(config)
ids = torch.randint(0, 100, (1, 12))
model(input_ids=ids, pixel_values=torch.randn(1, 3, 32, 32), attention_mask=torch.ones_like(ids))
