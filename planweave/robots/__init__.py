"""One description a robot."""
