"""The words of the region head's training and, apart from them, the words and things it is judged on.

What is held out is written down here and nowhere else: train.py never draws it, figures.py draws nothing else.
"""

from __future__ import annotations

from PIL import ImageColor

from planweave.perception.colours import colour_word

Rgb = tuple[int, int, int]

# Names of shades beside those of CSS; the values are ours.
_MORE_SHADES: dict[str, Rgb] = {
    "scarlet": (205, 32, 18), "ruby": (155, 17, 60), "rose": (235, 90, 140), "burgundy": (110, 10, 35),
    "amber": (240, 170, 10), "mustard": (205, 165, 40), "emerald": (20, 150, 90),
    "jade": (0, 160, 105), "mint": (150, 225, 175), "cobalt": (10, 70, 170), "sapphire": (20, 60, 150),
    "charcoal": (50, 55, 60), "cream": (250, 240, 205), "peach": (250, 190, 150), "lilac": (195, 160, 205),
    "mauve": (180, 130, 165), "rust": (165, 65, 20), "apricot": (245, 170, 95), "cyan": (10, 200, 210),
    "blush": (225, 140, 140),
}  # fmt: skip
_PARTS = (
    "dark", "light", "medium", "pale", "deep", "hot", "dim", "blanched", "burly", "cadet", "corn", "flower",
    "dodger", "fire", "floral", "forest", "ghost", "golden", "rod", "indian", "lawn", "midnight", "misty", "navajo",
    "old", "lace", "papaya", "whip", "powder", "rebecca", "rosy", "royal", "saddle", "sandy", "sea", "shell", "sky",
    "slate", "spring", "steel", "antique", "alice", "white", "smoke", "lemon", "chiffon", "green", "yellow", "blue",
    "red", "gray", "pink", "violet", "orange", "orchid", "olive", "drab", "cream", "rose", "mint", "puff", "peach",
    "aquamarine",
)  # fmt: skip
_NO_COLOURS = ("alice blue", "moccasin", "bisque", "papayawhip", "peru", "rebecca purple", "old lace",
               "navajo white", "blanchedalmond", "gainsboro", "burly wood", "honeydew", "linen")  # fmt: skip

HELD_SHADES = (
    "crimson", "scarlet", "maroon", "navy", "cobalt", "teal", "emerald", "amber", "mustard", "lilac", "indigo",
    "magenta", "salmon", "chocolate", "charcoal", "ivory", "turquoise", "rust", "mint", "khaki", "burgundy", "peach",
)  # fmt: skip
"""Shades whose names the training never says."""

NOUNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # thing: (words of the training, words held out)
    "cube": (("cube", "block"), ("dice",)),
    "cylinder": (("cylinder", "can"), ("tin", "canister")),
    "ball": (("ball", "sphere"), ("globe", "orb")),
    "cone": (("cone",), ()),
    "ring": (("ring", "donut"), ("doughnut", "hoop", "bagel")),
    "cup": (("cup", "beaker"), ("tumbler", "goblet")),
    "bowl": (("bowl",), ("basin",)),
    "plate": (("plate", "saucer"), ("dish", "platter")),
    "bottle": (("bottle", "flask"), ("vial",)),
    "tray": (("tray",), ()),
    "box": (("box", "crate"), ("carton", "bin")),
    "brick": (("brick", "bar"), ("slab", "ingot")),
    "star": (("star",), ()),
    "hexagon": (("hexagon", "nut"), ()),
    "wedge": (("wedge", "triangle"), ("ramp",)),
    "cross": (("cross", "plus"), ()),
    "disc": (("disc", "coin", "puck"), ("disk", "medal")),
    "egg": (("egg",), ()),
    "banana": (("banana",), ()),
    "pear": (("pear",), ()),
    "apple": (("apple",), ()),
    "orange": (("orange",), ("tangerine",)),
    "strawberry": (("strawberry",), ("berry",)),
}
HELD_THINGS: dict[str, tuple[str, ...]] = {
    "mug": ("mug",),
    "bucket": ("bucket",),
    "jar": ("jar",),
    "pillar": ("pillar", "tower"),
    "pyramid": ("pyramid",),
    "lemon": ("lemon",),
}
"""Things that the training never renders, and their words, which it never says."""
FRUIT = ("banana", "pear", "apple", "orange", "strawberry", "lemon")


def split_shade(name: str) -> str:
    """A CSS name as words: darkseagreen is "dark sea green"."""
    for part in sorted(_PARTS, key=len, reverse=True):
        if name.startswith(part) and name != part:
            rest = split_shade(name[len(part) :])
            if all(word in _PARTS or word in ImageColor.colormap for word in rest.split()):
                return f"{part} {rest}"
    return name


def all_shades() -> dict[str, Rgb]:
    """Every shade by name: CSS and some more."""
    shades: dict[str, Rgb] = {}
    for name in ImageColor.colormap:
        words = split_shade(name.replace("grey", "gray"))
        if words not in _NO_COLOURS and name not in _NO_COLOURS and words not in ("aqua", "fuchsia"):
            red, green, blue = ImageColor.getrgb(name)[:3]
            shades[words] = (red, green, blue)
    return shades | _MORE_SHADES


def train_shades() -> dict[str, Rgb]:
    """The shades of the training: none whose name has a held-out word."""
    return {name: rgb for name, rgb in all_shades().items() if not set(name.split()) & set(HELD_SHADES)}


def is_held_pair(shade: Rgb, thing: str) -> bool:
    """Whether things of this kind in colours that look like this are never rendered in the training.

    About one pair of colour and kind in six; fruit keeps its natural colours.
    """
    if thing in FRUIT or thing not in NOUNS:
        return False
    colours = ("red", "orange", "yellow", "green", "aqua", "blue", "purple", "pink", "brown", "white", "gray", "black")
    return (2 * colours.index(colour_word(*shade)) + 5 * list(NOUNS).index(thing)) % 6 == 0
