# SPDX-License-Identifier: GPL-3.0-or-later
"""The real SDKs against a real server in every wire format: each thing that can come back has its own state."""

import base64
import html
import json
import re
import socket
import ssl
import sys
import threading
import time

import judge_stub
import pytest
from judge_stub import FULL, MODEL, Answer, JudgeStub, json_answer
from judge_wires import KEYS, WIRES, Messages, Responses
from matchcut.evaluator.judge.prompt import reply_schema
from matchcut.evaluator.judge.providers import (
    FatalError,
    JudgeRequest,
    RecoverableError,
    RemoteProvider,
    StoppedError,
    Tokens,
    open_provider,
)
from matchcut.evaluator.judge.providers.wire import retry_after_seconds
from matchcut.evaluator.judge.reply import ReplyError, read_reply
from matchcut.evaluator.protocol.errors import BadInputError

REQUEST = JudgeRequest("instruction", (b"\xff\xd8jpeg one", b"\xff\xd8jpeg two"), '{"checks":[1,2]}', reply_schema())
KEY = "canary-0c4be91d"
GOOD = json.dumps({"results": [FULL, FULL]})
every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    # nothing here speaks TLS, and reading the certificates for every client would take half of the time
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)


def state(wire, answer, count=2, **settings):
    """(kind of end, reason) of one real request, and what else can be seen of it."""
    with JudgeStub([answer], path=wire.path) as stub:
        provider = wire.open(stub, **settings)
        try:
            reply = provider.ask(REQUEST)
        except (FatalError, RecoverableError) as error:
            assert "\n" not in str(error) and KEY not in str(error)
            kind = f"fatal{' run' if error.whole_run else ''}" if isinstance(error, FatalError) else "recoverable"
            return kind, error.reason, error, stub
        finally:
            assert len(stub.requests) == 1  # no package retries behind our back
    try:
        return "accepted", read_reply(reply, count), reply, stub
    except ReplyError as error:
        return "unusable", error.reason, reply, stub


@every_wire
def test_success_with_its_model_request_id_and_tokens(wire):
    kind, labels, reply, stub = state(wire, wire.text(json.dumps({"results": [FULL, "unsatisfied"]})))
    assert (kind, labels) == ("accepted", [FULL, "unsatisfied"])
    assert (reply.model, reply.request_id) == (judge_stub.MODEL, "req-1")
    assert (reply.tokens.input, reply.tokens.output) == (1200, 34)
    assert reply.usage[wire.output] == 34
    instruction, images, asked = wire.asked(stub.requests[0].body)
    assert instruction == "instruction" and asked == {"checks": [1, 2]}
    assert [base64.b64decode(image, validate=True) for image in images] == list(REQUEST.images)


@pytest.mark.parametrize("wire", [Responses(), Messages()], ids=lambda wire: wire.name)
def test_cached_tokens_are_told_apart(wire):
    assert state(wire, wire.text(GOOD))[2].tokens == Tokens(1200, 34, cached_input=1000)


@every_wire
def test_schema_goes_along_without_a_length(wire):
    sent = json.dumps(state(wire, wire.text(GOOD))[3].requests[0].body)
    assert '"fully_satisfied"' in sent and "minItems" not in sent and "maxItems" not in sent


REPLIES = {
    "refusal": (lambda w: w.refusal("I will not judge this."), "refused"),
    "refusal beside the answer": (lambda w: w.refusal("I will not.", GOOD), "refused"),
    "truncated": (lambda w: w.truncated('{"results": ["fully_sat'), "truncated"),
    "truncated but whole": (lambda w: w.truncated(GOOD), "truncated"),
    "content filter": (lambda w: w.filtered(), "content_filter"),
    "unfinished": (lambda w: w.unfinished(), "unfinished"),
    "N-1": (lambda w: w.text(json.dumps({"results": [FULL]})), "missing_ratings"),
    "N+1": (lambda w: w.text(json.dumps({"results": [FULL] * 3})), "extra_ratings"),
    "2N": (lambda w: w.text(json.dumps({"results": [FULL] * 4})), "extra_ratings"),
    "duplicate": (lambda w: w.text('{"results": ["unsatisfied", "unsatisfied"], ' + GOOD[1:]), "duplicate_keys"),
    "two objects": (lambda w: w.text(GOOD + GOOD), "text_after"),
    "unknown label": (lambda w: w.text(json.dumps({"results": [FULL, "mostly"]})), "invalid_label"),
    "upper case": (lambda w: w.text(json.dumps({"results": [FULL, FULL.upper()]})), "invalid_label"),
    "fenced JSON": (lambda w: w.text(f"```json\n{GOOD}\n```"), "fenced"),
    "prose before JSON": (lambda w: w.text(f"Here you are: {GOOD}"), "text_before"),
    "thoughts in the text": (lambda w: w.text(f"<think>hm</think>{GOOD}"), "thoughts_before"),
    "null": (lambda w: w.text(None), "empty"),
    "JSON null": (lambda w: w.text("null"), "wrong_type"),
    "null item": (lambda w: w.text(json.dumps({"results": [FULL, None]})), "wrong_type"),
    "empty": (lambda w: w.text(""), "empty"),
    "web page as the text": (lambda w: w.text("<html>login</html>"), "html"),
}  # fmt: skip


@every_wire
@pytest.mark.parametrize("name", REPLIES)
def test_reply_that_cannot_be_used(wire, name):
    make, reason = REPLIES[name]
    answer = make(wire)
    if answer is None:
        pytest.skip("this service has no such answer")
    kind, found, reply, _ = state(wire, answer)
    assert (kind, found) == ("unusable", reason)
    assert reply.tokens.output == 34  # it has been paid for


NOTHING = judge_stub.Answer(b"", 200, {"content-type": "application/json"})
FAILURES = {
    "HTML with 200": (lambda w: judge_stub.HTML, "recoverable", "html"),
    "broken JSON": (lambda w: judge_stub.BROKEN_JSON, "recoverable", "broken_body"),
    "empty body": (lambda w: NOTHING, "recoverable", "broken_body"),
    "another object": (lambda w: json_answer({"ok": True}), "recoverable", "broken_body"),
    "an array": (lambda w: json_answer([GOOD]), "recoverable", "broken_body"),
    "cut connection": (lambda w: w.text(GOOD, cut=True), "recoverable", "connection"),
    "overload in mid-stream": (lambda w: w.overloaded(), "recoverable", None),
    "sent on to another address": (
        lambda w: w.error(307, location="http://127.0.0.1:9/elsewhere"), "fatal run", "http_307",
    ),
    "400": (lambda w: w.error(400), "fatal", "bad_request"),
    "401": (lambda w: w.error(401, f"wrong key {KEY}"), "fatal run", "unauthorized"),
    "403": (lambda w: w.error(403), "fatal run", "forbidden"),
    "404": (lambda w: w.error(404), "fatal run", "not_found"),
    "408": (lambda w: w.error(408), "recoverable", "http_408"),
    "409": (lambda w: w.error(409), "recoverable", "http_409"),
    "413": (lambda w: w.error(413, code="request_too_large"), "fatal", "too_large"),
    "422": (lambda w: w.error(422), "fatal", "bad_request"),
    "429": (lambda w: w.error(429, code="rate_limit_error"), "recoverable", "rate_limited"),
    "429 with Retry-After": (lambda w: w.error(429, retry_after="7"), "recoverable", "rate_limited"),
    "quota spent": (lambda w: w.error(429, code="insufficient_quota"), "fatal run", "quota_spent"),
    "500": (lambda w: w.error(500), "recoverable", "http_500"),
    "503": (lambda w: w.error(503), "recoverable", "http_503"),
    "529": (lambda w: w.error(529, code="overloaded_error"), "recoverable", "overloaded"),
}  # fmt: skip


@every_wire
@pytest.mark.parametrize("name", FAILURES)
def test_request_without_a_reply(wire, name):
    make, kind, reason = FAILURES[name]
    answer = make(wire)
    if answer is None:
        pytest.skip("this service does not stream")
    reason = reason or ("overloaded" if wire.name == "anthropic" else "server_error")
    found, why, error, _ = state(wire, answer)
    assert (found, why) == (kind, reason)
    if found == "recoverable":
        assert error.retry_after == (7.0 if "Retry-After" in name else None)


@every_wire
def test_slow_answer_is_a_timeout(wire):
    assert state(wire, wire.text(GOOD, delay=2.0), timeout=0.3)[:2] == ("recoverable", "timeout")


@every_wire
def test_slow_drip_is_a_timeout_though_every_byte_comes_in_time(wire):
    answer = wire.text(GOOD)
    slow = judge_stub.Answer(answer.body, 200, answer.headers, drip=0.05)
    started = time.monotonic()
    assert state(wire, slow, timeout=0.6)[:2] == ("recoverable", "timeout")
    assert time.monotonic() - started < 5


@every_wire
def test_no_server_at_all(wire):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    class Nobody:
        pass

    nobody = Nobody()
    nobody.url = url
    with pytest.raises(RecoverableError) as caught:
        wire.open(nobody).ask(REQUEST)
    assert caught.value.reason == "connection"


@every_wire
def test_close_ends_a_request_that_waits(wire):
    with JudgeStub([wire.text(GOOD, delay=20)], path=wire.path) as stub:
        provider = wire.open(stub)
        threading.Timer(0.5, provider.close).start()
        started = time.monotonic()
        with pytest.raises(StoppedError):
            provider.ask(REQUEST)
        assert time.monotonic() - started < 5
        with pytest.raises(StoppedError):
            provider.ask(REQUEST)


@every_wire
def test_settings_are_sent(wire):
    body = state(wire, wire.text(GOOD), effort="high", max_output_tokens=777)[3].requests[0].body
    assert 777 in (body.get("max_tokens"), body.get("max_output_tokens"))
    found = body.get("reasoning_effort") or body.get("reasoning", body.get("output_config", {})).get("effort")
    assert found == "high"


def test_responses_are_neither_stored_nor_shortened():
    body = state(Responses(), Responses().text(GOOD))[3].requests[0].body
    assert (body["store"], body["truncation"], body["image"]) == (
        False,
        "disabled",
        {"context_compression": "disabled"},
    )
    assert {part.get("detail") for part in body["input"][0]["content"][:-1]} == {"original"}
    assert body["max_output_tokens"] > 1000


def test_commentary_of_a_response_is_not_read():
    wire = Responses()
    note = {"type": "message", "role": "assistant", "phase": "commentary", "content": [
        {"type": "output_text", "text": "Let me look.", "annotations": []}]}  # fmt: skip
    final = wire.message({"type": "output_text", "text": GOOD, "annotations": []}, phase="final_answer")
    assert state(wire, json_answer(wire.body([note, *final])))[0] == "accepted"


def test_messages_let_no_image_be_made_smaller_and_keep_the_instruction():
    body = state(Messages(), Messages().text(GOOD))[3].requests[0].body
    assert all(part["transformations"] == {"oversized_image": "error"} for part in body["messages"][0]["content"][:-1])
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert body["thinking"] == {"type": "adaptive"} and "temperature" not in body


def test_stream_that_ends_too_early():
    wire = Messages()
    assert state(wire, wire.stream(wire.events(GOOD)[:-1]))[:2] == ("recoverable", "connection")


def test_message_that_did_not_stream():
    message = {
        "id": "m", "type": "message", "model": "x", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": GOOD}], "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    assert state(Messages(), json_answer(message))[0] == "accepted"


@every_wire
def test_key_goes_into_the_header_alone_and_comes_back_nowhere(wire):
    kind, _, reply, stub = state(wire, wire.text(f"your key is {KEY}"))
    assert kind == "unusable" and KEY not in repr(reply) and "[key]" in repr(reply)
    (sent,) = stub.requests
    holders = [name for name, value in sent.headers.items() if KEY in value]
    assert holders in (["authorization"], ["x-api-key"])
    assert KEY not in json.dumps(sent.body)


@every_wire
def test_preflight_names_a_model_that_is_not_offered(wire):
    for models, word in ((("stub",), ""), (("models/stub",), ""), (("other",), "other")):
        with JudgeStub(path=wire.path, models=models) as stub:
            provider = wire.open(stub)
            assert isinstance(provider, RemoteProvider)
            found = provider.check()
            assert (word in found) if word else found == ""
            assert len(stub.looks) == 1 and stub.requests == []


@every_wire
def test_preflight_without_a_list_of_models_leaves_it_to_the_first_request(wire):
    class Bare(JudgeStub):
        def look(self, path):
            return judge_stub.HTML

    with Bare(path=wire.path) as stub:
        assert wire.open(stub).check() == ""


@every_wire
def test_preflight_with_a_wrong_key(wire):
    class Shut(JudgeStub):
        def look(self, path):
            return wire.error(401, f"bad key {KEY}")

    with Shut(path=wire.path) as stub, pytest.raises(FatalError) as caught:
        wire.open(stub).check()
    assert caught.value.reason == "unauthorized" and KEY not in str(caught.value)


@pytest.mark.parametrize("wire", WIRES[1:], ids=lambda wire: wire.name)
def test_preflight_without_a_key(wire, monkeypatch):
    monkeypatch.delenv(wire.key)
    monkeypatch.setattr("matchcut.evaluator.judge.providers.keys._from_keyring", lambda _: "")
    with JudgeStub(path=wire.path) as stub:
        provider = wire.open(stub)
        assert wire.key in provider.missing
        with pytest.raises(FatalError) as caught:
            provider.check()
        assert caught.value.reason == "unauthorized" and wire.key in str(caught.value)
        assert stub.looks == stub.requests == []


@every_wire
def test_size_on_the_wire_is_known_beforehand(wire):
    request = JudgeRequest("instruction" * 50, (b"x" * 30_000,) * 50, '{"checks":[1]}' * 100, reply_schema())
    with JudgeStub([wire.text(GOOD)], path=wire.path) as stub:
        provider = wire.open(stub)
        provider.ask(request)
        sent = int(stub.requests[0].headers["content-length"])
    assert abs(provider.request_bytes(request) - sent) < 0.01 * sent


@pytest.mark.parametrize("spec", ["openai:", "anthropic:", "gemini:", "openai", "openai:two words"])
def test_spec_without_a_model(spec):
    with pytest.raises(BadInputError, match="MODEL"):
        open_provider(spec)


def escaped(text):
    """As a server may write it in JSON, where it stands in no byte as it is."""
    return "".join(f"\\u{ord(one):04x}" for one in text)


@every_wire
@pytest.mark.parametrize("key", ["canary/with+slash", "canary\"quote\\back'"])
def test_key_is_masked_however_it_is_echoed(wire, key, monkeypatch):
    monkeypatch.setenv(wire.key, key)
    body = wire.text(f"marked {MODEL} echo").body.replace(MODEL.encode(), escaped(key).encode())
    answers = [
        Answer(body, 200, wire.text("x").headers),
        wire.error(400, f"bad key {key}"),
        wire.error(400, json.dumps({"key": key})),
        Answer(f"<html>{html.escape(key)}".encode(), 200, {"content-type": "text/html"}),
    ]
    shown = [key, json.dumps(key)[1:-1], repr(key)[1:-1], html.escape(key)]
    with JudgeStub(answers, path=wire.path) as stub:
        provider = wire.open(stub)
        for _ in answers:
            try:
                said = repr(provider.ask(REQUEST))
            except (FatalError, RecoverableError) as error:
                said = str(error)
            assert "[key]" in said and not any(form in said for form in shown)


@every_wire
def test_what_only_fills_the_place_of_a_key_is_not_looked_for(wire, monkeypatch):
    monkeypatch.setenv(wire.key, "e")
    assert state(wire, wire.text(GOOD))[:2] == ("accepted", [FULL, FULL])


@every_wire
def test_numbers_and_texts_that_no_record_can_hold(wire):
    body = wire.text(GOOD).body
    for count in (b"-1200", b"1" + b"0" * 400):
        odd = re.sub(rb"\b1?200\b", count, body)
        *_, reply, _ = state(wire, Answer(odd, 200, wire.text(GOOD).headers))
        assert 0 <= reply.tokens.total < 10_000 and all(0 <= n < 10_000 for n in reply.usage.values())
    *_, reply, _ = state(wire, Answer(body.replace(MODEL.encode(), b"\\ud800"), 200, wire.text(GOOD).headers))
    assert reply.model == "\ufffd"
    *_, failure, _ = state(wire, wire.error(400, "\ud800 \x1b[2J"))
    assert str(failure).encode() and str(failure).isprintable()
    deep = Answer(b'{"a":' * 900 + b"1" + b"}" * 900, 200, {"content-type": "application/json"})
    assert state(wire, deep)[:2] == ("recoverable", "broken_body")


def test_a_wait_that_is_no_date():
    for header in ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", "Mon, 01 Jan 99999 00:00:00 GMT", "nan", "1e999"):
        assert retry_after_seconds(header) is None


@pytest.mark.parametrize("proxy", ["foo://user:canary-pw@host", "socks5://127.0.0.1:9"])
def test_proxy_of_the_environment_that_cannot_be_used(proxy, monkeypatch):
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(BadInputError, match="ALL_PROXY") as caught:
        open_provider("openai:m")
    assert "canary" not in str(caught.value)
