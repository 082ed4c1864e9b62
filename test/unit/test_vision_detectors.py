"""ViLD, OWLv2 and Grounding DINO with the real transformers classes on tiny models with random weights."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'planweave[vision]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install 'planweave[vision]'")

import torch
from codes import raises_code
from doubles.table_view import table_view
from doubles.tiny_models import tiny_clip, tiny_grounding_dino, tiny_owlv2
from PIL import Image

from planweave.perception.calibration import load_extrinsics
from planweave.perception.detection import View
from planweave.perception.detectors import make_detector
from planweave.perception.detectors.grounding_dino import nearest_name
from planweave.perception.detectors.vild import BACKGROUND, PROMPTS, crops
from planweave.perception.pipeline import Pipeline
from planweave.perception.region_head import load_region_head
from planweave.simulation.scene import load_scene

NAMES = ("red cube", "wooden salad bowl", "blorptangle")
MAKERS = {"vild": tiny_clip, "owlv2": tiny_owlv2, "grounding_dino": tiny_grounding_dino}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def shot():
    return table_view(load_scene("blocks"), seed=5)


@pytest.fixture(scope="module")
def view(shot):
    scene = pipeline(None).run(shot.rgb, shot.depth, shot.intrinsics, shot.robot)
    return View(shot.rgb, scene.measured, NAMES, scene.view.pixel)


def pipeline(detector):
    extrinsics = load_extrinsics()
    return Pipeline(extrinsics, detector=detector) if detector else Pipeline(extrinsics)


@pytest.mark.gl
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_whole_frame_through_each_detector(name, folders, shot):
    said = []
    detector = make_detector(name, str(folders[name]), min_score=0.0, say=said.append)
    run = pipeline(detector).run
    plain = pipeline(None).run(shot.rgb, shot.depth, shot.intrinsics, shot.robot)
    scene = run(shot.rgb, shot.depth, shot.intrinsics, shot.robot, names=NAMES)
    assert len(scene.detections) == len(plain.detections) == 8
    allowed = {("cube", "red"), ("wooden_salad_bowl", ""), ("blorptangle", "")}
    renamed = [d for d, p in zip(scene.detections, plain.detections) if d.class_name != p.class_name]
    assert {d.class_name for d in renamed} <= {c for c, _ in allowed}
    assert [d.position[:2] for d in scene.detections] == [d.position[:2] for d in plain.detections]
    assert said == [], "nothing is fetched for a model in a folder"
    assert run(shot.rgb, shot.depth, shot.intrinsics, shot.robot).detections == plain.detections


@pytest.mark.gl
def test_vild_scores_are_those_of_clip_on_the_crops(folders, view):
    from transformers import CLIPModel, CLIPProcessor

    detector = make_detector("vild", str(folders["vild"]), min_score=0.0)
    model = CLIPModel.from_pretrained(folders["vild"]).eval()
    processor = CLIPProcessor.from_pretrained(folders["vild"])

    def unit(t):
        return t / t.norm(dim=-1, keepdim=True)

    def features(output):
        return getattr(output, "pooler_output", output)

    with torch.inference_mode():
        texts = []
        for lines in (*([p.format(article="a", name=n) for p in PROMPTS] for n in NAMES), BACKGROUND):
            inputs = processor(text=list(lines), return_tensors="pt", padding=True, truncation=True)
            texts.append(unit(unit(features(model.get_text_features(**inputs))).mean(0)))
        pair = crops(view.rgb, view.measured[2][1])
        inputs = processor(images=[Image.fromarray(c) for c in pair], return_tensors="pt")
        image = unit(unit(features(model.get_image_features(**inputs))).mean(0))
    expected = (torch.stack(texts) @ image / 0.01).softmax(0).numpy()
    pairs = [crops(view.rgb, view.measured[k][1]) for k in (0, 2, 1)]
    images, rows = detector._embed_images(pairs), detector._embed_names(NAMES)
    own = images[1] @ rows.T / 0.01
    own = np.exp(own - own.max()) / np.exp(own - own.max()).sum()
    assert own == pytest.approx(expected, abs=1e-3)
    head, known = load_region_head().score([view.measured[2][1]], view.pixel, NAMES)
    assert known.tolist() == [True, True, False] and 0 < head.sum() <= 1 + 1e-5 and head[0, 2] == 0


@pytest.mark.gl
def test_owlv2_boxes_are_in_pixels_of_the_image(folders, view):
    detector = make_detector("owlv2", str(folders["owlv2"]), min_score=0.0)
    boxes, labels, scores = detector.find(view)
    assert boxes.shape == (16, 4) and len(labels) == 16 and set(labels) <= {0, 1, 2}
    assert ((scores > 0) & (scores < 1)).all()
    # The image is padded to a square of its longer side, to which boxes are relative.
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    assert sorted(set(np.round(middles[:, 0]))) == pytest.approx([160, 320, 480, 640], abs=1)
    assert sorted(set(np.round(middles[:, 1]))) == pytest.approx([160, 320, 480, 640], abs=1)
    assert boxes[:, 2] - boxes[:, 0] == pytest.approx(160, abs=1)


@pytest.mark.gl
def test_grounding_dino_reads_all_names_in_parts(folders, view):
    detector = make_detector("grounding_dino", str(folders["grounding_dino"]), min_score=0.0)
    many = View(view.rgb, view.measured, tuple(f"{a}{b} cube" for a in "pqrstu" for b in "aeiou"), view.pixel)
    boxes, labels, scores = detector.find(many)
    assert boxes.shape == (len(labels), 4) == (len(scores), 4)
    assert all(0 <= k < 30 for k in labels)
    assert len(detector(many)) == len(view.measured)


def test_words_that_lit_up_are_given_to_the_nearest_name():
    names = ("red cube", "blue bowl")
    assert nearest_name("red cube", names) == 0 and nearest_name("blue bowl red", names) == 1
    assert nearest_name("", names) is None and nearest_name("zebra", names) is None


@pytest.mark.gl
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_folder_without_weights_says_what_is_missing_once(name, folders, view, tmp_path):
    (tmp_path / "config.json").write_text((folders[name] / "config.json").read_text())
    detector = make_detector(name, str(tmp_path))
    for _ in range(2):
        with raises_code("configuration", "model.safetensors", "pytorch_model.bin"):
            detector(view)


@pytest.mark.gl
def test_no_network_says_how_much_was_to_come_and_how_to_get_it(view, monkeypatch, tmp_path):
    import huggingface_hub

    def refuse(*args, **keywords):
        raise ConnectionError("no network in tests")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)
    monkeypatch.setattr("planweave.perception.detectors.weights._is_cached", lambda options: False)
    from transformers import CLIPModel

    monkeypatch.setattr(CLIPModel, "from_pretrained", refuse)
    said = []
    detector = make_detector("vild", "openai/clip-vit-base-patch32", say=said.append)
    assert said == [], "nothing is loaded before the first frame"
    with raises_code("configuration", "no network in tests", "HF_HOME"):
        detector(view)
    assert said == ["openai/clip-vit-base-patch32: about 605 MB will be downloaded from huggingface.co, once"]
    with raises_code("configuration"):
        make_detector("vild", "./nowhere")(view)
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    with raises_code("configuration"):
        make_detector("vild", str(tmp_path))(view)


def test_the_size_is_the_hubs_where_it_answers(monkeypatch):
    import huggingface_hub

    from planweave.perception.detectors.options import Options
    from planweave.perception.detectors.weights import _is_cached, _size

    files = {"model.safetensors": 11_000_000, "pytorch_model.bin": 12_000_000, "readme.md": 5}
    info = SimpleNamespace(siblings=[SimpleNamespace(rfilename=name, size=size) for name, size in files.items()])
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *a, **k: info)
    assert _size(Options("someone/clip")) == "11 MB"
    assert not _is_cached(Options("someone/clip-that-is-nowhere"))


def test_the_region_head_in_numpy_is_the_network_that_is_trained():
    from training.region_head.train import Network

    head = load_region_head()
    rng = np.random.default_rng(0)
    pictures = rng.uniform(0, 1, (5, 6, 32, 32)).astype(np.float32)
    numbers = rng.normal(size=(5, 19)).astype(np.float32)
    parts = [head.read(p) for p in ("red cube", "small green cylinder", "mug")]
    network = Network(head.weights["mean"], head.weights["deviation"], 96).eval()
    network.load_state_dict({name: torch.tensor(value) for name, value in head.weights.items()})
    said = [torch.tensor(np.array([getattr(p, what) for p in parts], np.float32))
            for what in ("noun", "shade", "has_shade", "size")]  # fmt: skip
    with torch.inference_mode():
        expected = network.logits(torch.tensor(pictures), torch.tensor(numbers), *said).numpy()
    trusting = [replace(p, trust=1.0) for p in parts]
    assert head.logits(pictures, numbers, trusting) == pytest.approx(expected, abs=1e-3)
