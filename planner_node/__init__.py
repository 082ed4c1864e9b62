"""All that talks to a language model. It answers questions; it decides no control flow."""
