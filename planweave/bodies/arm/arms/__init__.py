"""Ways to move an arm: `base.Arm` is what a skill may ask; one file for each kind of controller."""
