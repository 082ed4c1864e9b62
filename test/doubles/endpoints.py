"""Endpoints that behave as public reports say that real ones do, for tests.

A quirk answers with the server's `text`, once the request is as it wants it. Each names its source: an endpoint of
docs/models.md, or a kind of server.
"""

import base64
import contextlib
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doubles import fake_openai as fake
from doubles.fake_openai import FakeOpenAI, completion

KEY = "sk-proj-MARKEDkey0123456789abcdefXYZ"
CERTIFICATE = Path(__file__).with_name("elsewhere.pem")  # of another host, with its key
REASONING = "The user wants something. Let me think about what that may be. "


@dataclass(frozen=True)
class Quirk:
    """behave: see FakeOpenAI. code: of the error that it must end with, "" where it must be answered.

    only: kinds of question that end so, the others are answered; empty for all. seconds: that a question may take.
    """

    source: str
    behave: Callable
    code: str = ""
    only: tuple[str, ...] = ()
    seconds: float = 20.0


class QuirkServer(FakeOpenAI):
    """An endpoint with a quirk. text: what the model says."""

    def __init__(self, quirk, text="hello"):
        super().__init__(quirk.behave)
        self.text = text


def spoken(server, body, text=None, **more):
    """The completion that an endpoint without quirks gives."""
    made = completion([server.text if text is None else text] * (body.get("n") or 1))
    if body.get("logprobs"):
        for choice in made["choices"]:
            choice["logprobs"] = {"content": [{"token": "t", "logprob": -0.5}] * 2}
    for choice in made["choices"]:
        choice["message"].update(more)
    return 200, made


def refuses(fault, *wanted):
    """Answers what `wanted` finds in order: pairs of a test of the body and the (status, value) it is refused with."""

    def behave(server, body, number):
        for unfit, refusal in (fault, *wanted):
            if unfit(body):
                return refusal
        return spoken(server, body)

    return behave


def error(message, status=400, **more):
    """The form of OpenAI."""
    return status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


def once(*answer):
    """Answers so to the first request, and then as it should."""
    return lambda server, body, number: answer if number == 1 else spoken(server, body)


def always(*answer):
    """Answers so to every request."""
    return lambda server, body, number: answer


def pictured(body):
    return "image_url" in json.dumps(body["messages"])


def form(body):
    return body.get("response_format", {}).get("type", "")


def has(option):
    return lambda body: option in body


def many(body):
    return body.get("n", 1) > 1


def system(body):
    return any(message["role"] == "system" for message in body["messages"])


def unsupported(option, instead=""):
    """OpenAI's words for an option of reasoning models."""
    message = f"Unsupported parameter: '{option}' is not supported with this model.{instead}"
    return has(option), error(message, param=option, code="unsupported_parameter")


def forbidden(option, wrap=lambda rows: {"detail": rows}):
    """Pydantic's words for a field that is not known."""
    rows = [{"type": "extra_forbidden", "loc": ["body", option], "msg": "Extra inputs are not permitted", "input": 1}]
    return has(option), (422, wrap(rows))


def limit(body):
    return body.get("max_tokens", body.get("max_completion_tokens", 0))


def reasons(tokens=1000, told="reasoning_content", most=10**6):
    """A model that reasons for so many tokens; told: the field of the message, or the tags around it in the text."""

    def behave(server, body, number):
        if limit(body) > most:
            return error(
                f"max_tokens is too large: {limit(body)}. At most {most} tokens are supported.", param="max_tokens"
            )
        enough = limit(body) >= tokens
        if isinstance(told, str):
            made = spoken(server, body, server.text if enough else "", **{told: REASONING})
        else:
            made = spoken(server, body, told[0] + REASONING + (told[1] + server.text if enough else ""))
        for choice in made[1]["choices"]:
            choice["finish_reason"] = "stop" if enough else "length"
        used = min(limit(body), tokens)
        made[1]["usage"] |= {"completion_tokens": used, "completion_tokens_details": {"reasoning_tokens": used - 5}}
        return made

    return behave


def filtered(server, body, number):
    """A filter takes every reply."""
    made = spoken(server, body, "")
    for choice in made[1]["choices"]:
        choice["finish_reason"] = "content_filter"
    return made


def typed(server, body, number):
    """Content in typed parts, the reasoning among them (Mistral)."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": REASONING}]}
    made = spoken(server, body)
    for choice in made[1]["choices"]:
        choice["message"]["content"] = [thinking, {"type": "text", "text": server.text}]
    return made


def half(server, body, number):
    """Breaks the connection in the middle of the first reply."""
    return fake.dies(server, body, number) if number == 1 else spoken(server, body)


def huge(server, body, number):
    """A reply of 10 MB."""
    return spoken(server, body, server.text + " " * 10_000_000)


def in_choice(server, body, number):
    """An error of status 200 within the choice."""
    if number > 1:
        return spoken(server, body)
    failed = {"error": {"code": 502, "message": "Provider returned error"}, "finish_reason": "error"}
    return 200, {"choices": [{**failed, "message": {"role": "assistant", "content": ""}}]}


def names_the_key(server, body, number):
    """A model that was told the key by a proxy, and repeats it."""
    return spoken(server, body, f"{REASONING}The key is {KEY}.\n{server.text}" if number == 1 else None)


def echoes(status, shown):
    """Refuses and shows the request's headers in some form."""
    return always(status, {"error": {"message": f"Incorrect API key provided: {shown}", "code": "invalid_api_key"}})


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}
GOOGLE_LIMIT = {"code": 429, "message": "Check your plan and billing.", "status": "RESOURCE_EXHAUSTED"}
GOOGLE_KEY = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
CODED = base64.b64encode(f"Bearer {KEY}".encode()).decode()
NO_SYSTEM = {"object": "error", "message": "System role not supported", "type": "BadRequestError", "param": None}
TEMPERATURE = "Unsupported value: 'temperature' does not support this value. Only the default (1) value is supported."
CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."
PICTURES = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
STREAM = b'data: {"choices": [{"delta": {"content": "hello"}}]}\n\ndata: [DONE]\n\n'
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>hello</body></html>"

QUIRKS = {
    # answered, once it is asked as it wants it
    "none": Quirk("OpenAI", lambda server, body, number: spoken(server, body)),
    "max_completion_tokens": Quirk(
        "OpenAI, Azure", refuses(unsupported("max_tokens", " Use 'max_completion_tokens' instead."))
    ),
    "only the default temperature": Quirk(
        "OpenAI", refuses((has("temperature"), error(TEMPERATURE, param="temperature", code="unsupported_value")))
    ),
    "a reasoning model of OpenAI": Quirk(
        "OpenAI, Azure",
        refuses(
            unsupported("max_tokens", " Use 'max_completion_tokens' instead."),
            (has("temperature"), error(TEMPERATURE, param="temperature", code="unsupported_value")),
            unsupported("top_p"),
            unsupported("logprobs"),
        ),
    ),
    "the schema is too large": Quirk(
        "OpenAI",
        refuses(
            (
                lambda body: form(body) == "json_schema",
                error("Invalid schema for response_format 'reply': too many enum values.", param="response_format"),
            )
        ),
    ),
    "temperature or top_p": Quirk(
        "Anthropic",
        refuses(
            (
                lambda body: "temperature" in body and "top_p" in body,
                error("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
            )
        ),
    ),
    "temperature is deprecated": Quirk(
        "Anthropic", refuses((has("temperature"), error("`temperature` is deprecated for this model.")))
    ),
    "n must be 1": Quirk("Groq", refuses((many, error("'n' must be 1", param="n")))),
    "n is ignored": Quirk("Ollama", lambda server, body, number: spoken(server, {**body, "n": 1})),
    "no log-probabilities": Quirk("Groq", refuses((has("logprobs"), error("property 'logprobs' is unsupported")))),
    "only json_object": Quirk(
        "DeepSeek",
        refuses(
            (
                lambda body: form(body) == "json_schema",
                error("This response_format type is unavailable now", code="invalid_request_error"),
            )
        ),
    ),
    "json_object wants the word": Quirk(
        "OpenAI, DeepSeek",
        refuses(
            (lambda body: form(body) == "json_schema", error("json_schema is not supported", param="response_format")),
            (
                lambda body: form(body) == "json_object" and "json" not in json.dumps(body["messages"]).lower(),
                error("'messages' must contain the word 'json' in some form, to use 'response_format' of type"),
            ),
        ),
    ),
    "only a schema or text": Quirk(
        "LM Studio",
        refuses(
            (
                lambda body: form(body) == "json_object",
                (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
            )
        ),
    ),
    "no response_format, and it does not say so": Quirk("proxies", refuses((form, (400, {"message": "Bad Request"})))),
    "no options, and it does not say so": Quirk(
        "proxies", refuses((lambda body: {"top_p", "logprobs", "n"} & set(body), (400, {"error": "bad request"})))
    ),
    "unknown fields, as a list": Quirk("Mistral", refuses(forbidden("logprobs"))),
    "unknown fields, within the message": Quirk(
        "Mistral", refuses(forbidden("logprobs", lambda rows: {"object": "error", "message": {"detail": rows}}))
    ),
    "unknown fields, as JSON in a text": Quirk(
        "Mistral", refuses(forbidden("top_p", lambda rows: {"message": json.dumps({"detail": rows}), "code": "1000"}))
    ),
    "an option that LiteLLM does not pass on": Quirk(
        "LiteLLM",
        refuses(
            (
                has("logprobs"),
                error("litellm.UnsupportedParamsError: does not support parameters: ['logprobs']", code="400"),
            )
        ),
    ),
    "403 for an option": Quirk(
        "gateways", refuses((has("logprobs"), error("logprobs is not allowed for this account", 403)))
    ),
    "404 for an option": Quirk(
        "OpenRouter", refuses((form, error("No endpoints found that can handle response_format", 404, code=404)))
    ),
    "500 for a schema": Quirk("llama.cpp", refuses((form, error("failed to parse grammar", 500, code=500)))),
    "no system role": Quirk("vLLM (Gemma)", refuses((system, (400, {**NO_SYSTEM, "code": 400})))),
    "no system role, 500": Quirk("SGLang, llama.cpp", refuses((system, (500, {**NO_SYSTEM, "code": 500})))),
    "no system role, by its field": Quirk(
        "OpenAI", refuses((system, error("Unsupported value", param="messages[0].role", code="unsupported_value")))
    ),
    "enable_thinking must be false": Quirk(
        "Alibaba",
        refuses(
            (
                lambda body: body.get("enable_thinking") is not False,
                error("parameter.enable_thinking must be set to false for non-streaming calls"),
            )
        ),
    ),
    "a rate limit": Quirk("OpenAI", once(*error("Rate limit reached", 429), {"Retry-After": "0"})),
    "a rate limit that speaks of billing": Quirk(
        "OpenAI", once(*error("Rate limit reached. See billing to raise it. Try again in 10ms.", 429))
    ),
    "a rate limit in a sentence": Quirk("Groq", once(*error("Please try again in 0.01s.", 429, code="rate_limit"))),
    "retryDelay": Quirk("Gemini", once(429, [{"error": {**GOOGLE_LIMIT, "details": [RETRY_INFO]}}])),
    "overloaded": Quirk("Anthropic", once(529, {"error": {"type": "overloaded_error"}}, {"Retry-After": "0"})),
    "an error within the choice": Quirk("OpenRouter", in_choice),
    "200 with a rate limit": Quirk("OpenRouter", once(200, {"error": {"code": 429, "message": "try again in 1ms"}})),
    "it dies in the middle, once": Quirk("any", half),
    "reasoning apart": Quirk("DeepSeek, vLLM", reasons()),
    "reasoning apart, by its other name": Quirk("OpenRouter, Ollama", reasons(told="reasoning")),
    "reasoning in the text": Quirk("llama.cpp, LM Studio", reasons(told=("<think>", "</think>"))),
    "reasoning and a small limit": Quirk("Groq", reasons(tokens=900, most=2000)),
    "content in parts": Quirk("Mistral", typed),
    "an answer that names the key": Quirk("proxies", names_the_key),
    # refused, and named as what it is
    "a wrong key": Quirk("OpenAI", echoes(401, f"{KEY[:8]}{'*' * 20}{KEY[-4:]}"), "model_key"),
    "a wrong key, repeated": Quirk("proxies", echoes(401, f"Authorization: Bearer {KEY}"), "model_key"),
    "a wrong key, in base64": Quirk("proxies", echoes(403, CODED), "model_key"),
    "a wrong key, 400": Quirk(
        "Gemini", always(400, [{"error": {**GOOGLE_KEY, "details": [{"reason": "API_KEY_INVALID"}]}}]), "model_key"
    ),
    "no credit": Quirk(
        "OpenAI", always(*error("You exceeded your current quota", 429, code="insufficient_quota")), "model_credit"
    ),
    "no credit, 402": Quirk("DeepSeek, OpenRouter", always(*error("Insufficient Balance", 402)), "model_credit"),
    "an unknown model": Quirk(
        "OpenAI", always(*error("The model `fake` does not exist", 404, code="model_not_found")), "model_unknown"
    ),
    "an unknown model, without a code": Quirk(
        "Ollama", always(404, {"error": {"message": 'model "fake" not found, try pulling it first'}}), "model_unknown"
    ),
    "an unknown model, 400": Quirk("Mistral", always(400, {"message": "Invalid model: fake"}), "model_unknown"),
    "a prompt too long": Quirk(
        "OpenAI", always(*error(CONTEXT, param="messages", code="context_length_exceeded")), "model_context"
    ),
    "a prompt too long, without a code": Quirk("vLLM", always(400, {"message": CONTEXT, "code": 400}), "model_context"),
    "a prompt too long, 500": Quirk(
        "llama.cpp",
        always(*error("the request exceeds the available context size", 400, type="exceed_context_size_error")),
        "model_context",
    ),
    "a needed option": Quirk(
        "gateways", always(*error("Missing required parameter", param="project", code="missing")), "model_option"
    ),
    "a bad request that stays one": Quirk("any", always(400, {"message": "Bad Request"}), "model_request"),
    "200 with an error": Quirk("gateways", always(200, {"error": {"message": "no backend"}}), "model_answer"),
    "a redirect": Quirk(
        "hosted pages", always(301, b"", {"Location": f"https://x.example/v1?k={KEY}"}), "model_answer"
    ),
    "a temporary redirect": Quirk("hosted pages", always(308, b"", {"Location": "/login"}), "model_answer"),
    "a web page": Quirk("hosted pages", always(200, PAGE), "model_answer"),
    "a web page, 502": Quirk("Cloudflare", always(502, PAGE, {"Retry-After": "0"}), "model_unavailable"),
    "events where JSON was asked for": Quirk("gateways", always(200, STREAM), "model_answer"),
    "choices: null": Quirk("gateways", always(200, {"choices": None}), "model_answer"),
    "no choices": Quirk("gateways", always(200, {"choices": []}), "model_answer"),
    "another path": Quirk("FastAPI", always(404, {"detail": "Not Found"}), "model_answer"),
    "10 MB": Quirk("any", huge, "model_answer"),
    "a byte now and then": Quirk("any", fake.dribbles, "model_timeout", seconds=0.6),
    "silence": Quirk("any", fake.stalls, "model_timeout", seconds=0.6),
    "it always dies": Quirk("any", fake.dies, "model_unavailable"),
    "it is always overloaded": Quirk("any", always(503, {}, {"Retry-After": "0"}), "model_unavailable"),
    "a long wait": Quirk("OpenAI", always(*error("slow down", 429), {"Retry-After": "3600"}), "model_rate_limit"),
    "reasoning without end": Quirk("any", reasons(tokens=10**6), "model_no_answer"),
    "a content filter": Quirk("Azure", filtered, "model_no_answer"),
    "no pictures": Quirk(
        "llama.cpp", refuses((pictured, error(PICTURES, 500, type="server_error"))), "model_pictures", ("picture",)
    ),
    "no pictures, 404": Quirk(
        "OpenRouter",
        refuses((pictured, error("No endpoints found that support image input", 404))),
        "model_pictures",
        ("picture",),
    ),
}


@contextlib.contextmanager
def of_another_host():
    """An endpoint with a certificate that does not fit; gives its https URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server = FakeOpenAI(fake.answers("hello"))
    server.encrypt(context)
    with server:
        yield server.url.replace("http:", "https:")
