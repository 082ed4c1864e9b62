"""The planner node: all requests to a language model. It answers requests and decides no control flow."""
