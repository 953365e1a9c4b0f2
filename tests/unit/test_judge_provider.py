# SPDX-License-Identifier: GPL-3.0-or-later
"""The real openai package against a real server: every wire state has its own recorded reason."""

import base64
import json
import re
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import judge_stub
import pytest
from judge_stub import FULL, JudgeStub, completion, error, labels
from matchcut.evaluator.judge.prompt import reply_schema
from matchcut.evaluator.judge.providers import (
    FatalError,
    JudgeRequest,
    RecoverableError,
    Settings,
    Tokens,
    open_provider,
)
from matchcut.evaluator.judge.providers.openai_chat import OpenAIChat
from matchcut.evaluator.judge.providers.wire import retry_after_seconds
from matchcut.evaluator.judge.reply import ReplyError, read_reply
from matchcut.evaluator.protocol.errors import BadInputError

REQUEST = JudgeRequest("instruction", (b"\xff\xd8jpeg one", b"\xff\xd8jpeg two"), '{"checks":[1,2]}', reply_schema())


def ask(answer, **options):
    """One real request; the labels of two checks, or the error."""
    with JudgeStub([answer]) as stub:
        return read_reply(OpenAIChat(stub.url, "stub", Settings(**options)).ask(REQUEST), 2)


def test_good_reply_with_its_model_request_and_usage():
    with JudgeStub([labels(FULL, "unsatisfied")]) as stub:
        reply = open_provider(stub.spec).ask(REQUEST)
    assert read_reply(reply, 2) == [FULL, "unsatisfied"]
    assert (reply.model, reply.request_id) == (judge_stub.MODEL, "req-1")
    assert reply.usage == {"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234,
        "prompt_tokens_details.cached_tokens": 0,
    }  # fmt: skip
    assert reply.tokens == Tokens(1200, 34)


def test_what_is_sent():
    with JudgeStub([labels(FULL, FULL)]) as stub:
        open_provider(stub.spec).ask(REQUEST)
    (sent,) = stub.requests
    assert sent.body["model"] == "stub"
    system, user = sent.body["messages"]
    assert (system["role"], system["content"]) == ("system", "instruction")
    *images, text = user["content"]
    data = [image["image_url"]["url"].removeprefix("data:image/jpeg;base64,") for image in images]
    assert [base64.b64decode(part, validate=True) for part in data] == list(REQUEST.images)
    assert text == {"type": "text", "text": REQUEST.text}
    form = sent.body["response_format"]
    assert form["type"] == "json_schema" and form["json_schema"]["strict"] is True
    assert "minItems" not in json.dumps(form) and "maxItems" not in json.dumps(form)


def content(text, **options):
    return completion(text, **options)


GOOD = json.dumps({"results": [FULL, FULL]})

UNUSABLE = {
    "refusal": (content(None, refusal="I cannot judge this."), "refused"),
    "refusal beside text": (content(GOOD, refusal="I will not."), "refused"),
    "truncated": (content('{"results": ["fully_sat', finish="length"), "truncated"),
    "truncated but whole": (content(GOOD, finish="length"), "truncated"),
    "content filter": (content(None, finish="content_filter"), "content_filter"),
    "tool call": (content(None, finish="tool_calls"), "unfinished"),
    "no finish": (content(GOOD, finish=None), "unfinished"),
    "one too few": (labels(FULL), "missing_ratings"),
    "one too many": (labels(FULL, FULL, FULL), "extra_ratings"),
    "twice as many": (labels(FULL, FULL, FULL, FULL), "extra_ratings"),
    "none": (labels(), "missing_ratings"),
    "unknown label": (labels(FULL, "mostly_satisfied"), "invalid_label"),
    "upper case": (labels(FULL, "FULLY_SATISFIED"), "invalid_label"),
    "space in the label": (labels(FULL, "fully_satisfied "), "invalid_label"),
    "label within a sentence": (labels(FULL, "this is fully_satisfied"), "invalid_label"),
    "number": (labels(FULL, 1), "wrong_type"),
    "null item": (labels(FULL, None), "wrong_type"),
    "nested": (labels([FULL, FULL]), "wrong_type"),
    "fenced": (content(f"```json\n{GOOD}\n```"), "fenced"),
    "prose before": (content(f"Here are the ratings: {GOOD}"), "text_before"),
    "prose after": (content(f"{GOOD}\nI hope this helps."), "text_after"),
    "thoughts before": (content(f"<think>hm</think>{GOOD}"), "thoughts_before"),
    "two objects": (content(GOOD + GOOD), "text_after"),
    "labels without JSON": (content(f"{FULL}\n{FULL}"), "not_json"),
    "NaN": (content('{"results": [NaN, NaN]}'), "not_json"),
    "deeply nested": (content("[" * 100_000), "not_json"),
    "long number": (content('{"results": ' + "1" * 5000 + "}"), "not_json"),
    "web page as the text": (content("<html><body>login</body></html>"), "html"),
    "null": (content(None), "empty"),
    "empty": (content(""), "empty"),
    "spaces": (content(" \n"), "empty"),
    "JSON null": (content("null"), "wrong_type"),
    "bare array": (content(json.dumps([FULL, FULL])), "wrong_type"),
    "results is an object": (content(json.dumps({"results": {"0": FULL, "1": FULL}})), "wrong_type"),
    "results is a string": (content(json.dumps({"results": FULL})), "wrong_type"),
    "extra field": (content(json.dumps({"results": [FULL, FULL], "notes": "x"})), "wrong_fields"),
    "other field": (content(json.dumps({"ratings": [FULL, FULL]})), "wrong_fields"),
    "duplicate keys": (content('{"results": ["unsatisfied", "unsatisfied"], ' + GOOD[1:]), "duplicate_keys"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_reply(name):
    answer, reason = UNUSABLE[name]
    with pytest.raises(ReplyError) as caught:
        ask(answer)
    assert caught.value.reason == reason
    assert "\n" not in str(caught.value)


RECOVERABLE = {
    "cut connection": (labels(FULL, FULL, cut=True), "connection"),
    "HTML with 200": (judge_stub.HTML, "html"),
    "broken JSON": (judge_stub.BROKEN_JSON, "broken_body"),
    "empty body": (judge_stub.Answer(b"", 200, {"content-type": "application/json"}), "broken_body"),
    "JSON string": (judge_stub.json_answer("ok"), "broken_body"),
    "JSON null": (judge_stub.json_answer(None), "broken_body"),
    "no choices": (judge_stub.json_answer({"choices": []}), "broken_body"),
    "choices of another type": (judge_stub.json_answer({"choices": {"0": GOOD}}), "broken_body"),
    "two choices": (judge_stub.json_answer({"choices": [{"message": {}}, {"message": {}}]}), "broken_body"),
    "error with 200": (judge_stub.json_answer({"error": {"message": "overloaded"}}), "broken_body"),
    "content is an array": (completion([{"type": "text", "text": GOOD}]), "broken_body"),
    "429": (error(429), "rate_limited"),
    "408": (error(408), "http_408"),
    "409": (error(409), "http_409"),
    "500": (error(500), "http_500"),
    "503": (error(503), "http_503"),
    "529": (error(529), "overloaded"),
    "503 as a web page": (
        judge_stub.Answer(b"<html>busy</html>", 503, {"content-type": "text/html"}),
        "http_503",
    ),
}


@pytest.mark.parametrize("name", RECOVERABLE)
def test_recoverable(name):
    answer, reason = RECOVERABLE[name]
    with JudgeStub([answer]) as stub, pytest.raises(RecoverableError) as caught:
        OpenAIChat(stub.url, "stub").ask(REQUEST)
    assert caught.value.reason == reason
    assert caught.value.retry_after is None
    assert len(stub.requests) == 1  # the package does not retry behind our back
    assert "\n" not in str(caught.value)


FATAL = {
    "400": (error(400, "too many images"), "bad_request", False),
    "401": (error(401), "unauthorized", True),
    "403": (error(403), "forbidden", True),
    "404": (error(404, "no such model"), "not_found", True),
    "413": (error(413), "too_large", False),
    "422": (error(422), "bad_request", False),
    "418": (error(418), "http_418", True),
    "quota spent": (error(429, "spent", "insufficient_quota"), "quota_spent", True),
}


@pytest.mark.parametrize("name", FATAL)
def test_fatal(name):
    answer, reason, whole_run = FATAL[name]
    with JudgeStub([answer]) as stub, pytest.raises(FatalError) as caught:
        OpenAIChat(stub.url, "stub").ask(REQUEST)
    assert (caught.value.reason, caught.value.whole_run) == (reason, whole_run)
    assert caught.value.request_id == "req-1"
    assert len(stub.requests) == 1


def test_slow_server_is_a_timeout():
    with pytest.raises(RecoverableError) as caught:
        ask(labels(FULL, FULL, delay=2.0), timeout=0.2)
    assert caught.value.reason == "timeout"


def test_no_server_at_all():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(RecoverableError) as caught:
        OpenAIChat(f"http://127.0.0.1:{port}/v1", "stub").ask(REQUEST)
    assert caught.value.reason == "connection"


def test_retry_after_is_read():
    with JudgeStub([error(429, retry_after="7")]) as stub, pytest.raises(RecoverableError) as caught:
        OpenAIChat(stub.url, "stub").ask(REQUEST)
    assert caught.value.retry_after == 7.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("", None), ("12", 12.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("inf", None), ("nan", None)],
)
def test_retry_after_seconds(header, seconds):
    assert retry_after_seconds(header) == seconds


def test_retry_after_as_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 85 < retry_after_seconds(later) <= 90
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_proxy_for_the_outside_does_not_catch_this_machine(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask(labels(FULL, FULL)) == [FULL, FULL]


def test_other_services_settings_are_not_sent(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"secret-of-{name}")
    with JudgeStub([labels(FULL, FULL)]) as stub:
        open_provider(stub.spec).ask(REQUEST)
    assert "secret-of" not in json.dumps(stub.requests[0].headers)


def test_key_is_sent_and_never_repeated(monkeypatch):
    key = "canary-5d1f0c"
    monkeypatch.setenv("MATCHCUT_LOCAL_API_KEY", f"{key}\n")
    with JudgeStub([error(401, f"Incorrect API key provided: {key}")]) as stub, pytest.raises(FatalError) as caught:
        open_provider(stub.spec).ask(REQUEST)
    assert stub.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in str(caught.value)
    assert "[key]" in str(caught.value)
    with JudgeStub([content(f"your key is {key}")]) as stub:
        reply = open_provider(stub.spec).ask(REQUEST)
    assert key not in repr(reply)


def test_key_that_no_request_can_hold(monkeypatch):
    monkeypatch.setenv("MATCHCUT_LOCAL_API_KEY", "schlüssel")
    with pytest.raises(BadInputError, match="MATCHCUT_LOCAL_API_KEY") as caught:
        open_provider("local:http://127.0.0.1:1/v1#m")
    assert "schl" not in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "local",
        "local:",
        "local:127.0.0.1:8000/v1#m",
        "local:http://127.0.0.1:8000/v1",
        "local:http://127.0.0.1:8000/v1#",
        "local:ftp://127.0.0.1/v1#m",
        "local:file:///etc/passwd#m",
        "local:http://#m",
        "local:http://127.0.0.1:99999/v1#m",
        "local:http://[::1/v1#m",
        "elsewhere:model",
    ],
)
def test_spec_of_the_wrong_form_tells_the_right_one(spec):
    with pytest.raises(BadInputError, match=re.escape("local:http://127.0.0.1:8000/v1#MODEL")) as caught:
        open_provider(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("part", ["user:hunter2@127.0.0.1:8000/v1", "hunter2@127.0.0.1/v1", "127.0.0.1/v1?key=hunter2"])
def test_url_with_a_secret_is_refused_without_repeating_it(part):
    with pytest.raises(BadInputError, match="MATCHCUT_LOCAL_API_KEY") as caught:
        open_provider(f"local:http://{part}#m")
    assert "hunter2" not in str(caught.value)


def test_spec_is_taken_apart():
    provider = open_provider("local:http://192.168.7.2:1234/v1#Qwen/Qwen3-VL:8b")
    assert (provider.name, provider.model) == ("local:http://192.168.7.2:1234/v1", "Qwen/Qwen3-VL:8b")
