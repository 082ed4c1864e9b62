"""Models of the real transformers classes, tiny and with random weights, written to a folder as a download would be.

Tokenizers are made from a few words on the spot. Nothing is fetched.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

WORDS = "a an photo of the there is in scene on table seen from above empty background gripper red green blue cube"


def tiny_clip(folder: Path, image_size: int = 32) -> Path:
    """A CLIPModel with its CLIPProcessor."""
    import torch
    from transformers import CLIPConfig, CLIPModel, CLIPProcessor

    torch.manual_seed(0)
    tokenizer = _clip_tokenizer(folder)
    text = {**_tiny(), "max_position_embeddings": 40, "vocab_size": len(tokenizer), **_ends(tokenizer)}
    vision = {**_tiny(), "image_size": image_size, "patch_size": 8}
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)).save_pretrained(folder)
    images = _image_processor("CLIP", size={"shortest_edge": image_size}, crop_size={"height": image_size,
                                                                                      "width": image_size})  # fmt: skip
    CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def tiny_owlv2(folder: Path, image_size: int = 64) -> Path:
    """An Owlv2ForObjectDetection with its Owlv2Processor, whose boxes lie at the corners of its 4 x 4 patches."""
    import torch
    from transformers import Owlv2Config, Owlv2ForObjectDetection, Owlv2Processor

    torch.manual_seed(0)
    tokenizer = _clip_tokenizer(folder, 16)
    text = {**_tiny(), "max_position_embeddings": 16, "vocab_size": len(tokenizer), **_ends(tokenizer)}
    vision = {**_tiny(), "image_size": image_size, "patch_size": 16}
    config = Owlv2Config(text_config=text, vision_config=vision, projection_dim=32)
    model = Owlv2ForObjectDetection(config)
    for number in (model.box_head.dense2.weight, model.box_head.dense2.bias):
        torch.nn.init.zeros_(number)  # every box stays where its patch is
    model.save_pretrained(folder)
    images = _image_processor("Owlv2", size={"height": image_size, "width": image_size})
    Owlv2Processor(images, tokenizer).save_pretrained(folder)
    return folder


def tiny_grounding_dino(folder: Path) -> Path:
    """A GroundingDinoForObjectDetection with its GroundingDinoProcessor."""
    import torch
    from transformers import (
        BertConfig,
        BertTokenizer,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoProcessor,
        SwinConfig,
    )

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    letters = [*string.ascii_lowercase, *(f"##{c}" for c in string.ascii_lowercase)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *WORDS.split(), *letters]
    vocabulary = list(dict.fromkeys(vocabulary))
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizer.from_pretrained(str(folder))
    swin = SwinConfig(image_size=64, window_size=7, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1],
                      out_features=["stage2", "stage3", "stage4"], out_indices=[2, 3, 4])  # fmt: skip
    bert = BertConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=16,
                      vocab_size=len(vocabulary))  # fmt: skip
    config = GroundingDinoConfig(
        backbone_config=swin, text_config=bert, d_model=32, encoder_layers=1, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=12,
        max_text_len=64, num_feature_levels=4, encoder_n_points=2, decoder_n_points=2,
    )  # fmt: skip
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = _image_processor("GroundingDino", size={"shortest_edge": 64, "longest_edge": 96})
    GroundingDinoProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def _tiny() -> dict:
    return {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 1, "num_attention_heads": 2}


def _ends(tokenizer) -> dict:
    return {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id}  # fmt: skip


def _clip_tokenizer(folder: Path, longest: int = 40):
    """Byte-pair encoding without merges: a token for every letter, within and at the end of a word."""
    from transformers import CLIPTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    letters = string.ascii_lowercase + string.digits + "-',."
    tokens = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    return CLIPTokenizer.from_pretrained(str(folder), model_max_length=longest)


def _image_processor(family: str, **options):
    """The image processor that works with PIL where there is one of it beside that of torchvision (transformers 5)."""
    import transformers

    name = f"{family}ImageProcessor"
    pil = hasattr(transformers, f"{name}Pil")
    return getattr(transformers, f"{name}Pil" if pil else name)(**options)
