# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text that an artist reads is in the catalogue of every language: labels, tooltips, choices, texts of panels."""

import ast
import json
import re
import string
from pathlib import Path

import bpy
import matchcut
import pytest
from matchcut.addon import registration, translations

ROOT = Path(registration.__file__).resolve().parent
SHOWN = {
    "paragraph", "fact", "empty_state", "translated", "pgettext", "pgettext_iface", "pgettext_tip", "pgettext_rpt",
    "pgettext_n",
    "poll_message_set", "report",
}  # fmt: skip
"""Functions whose arguments an artist reads, beside the layout's own `text=`."""
OPTIONS = {"text", "heading", "placeholder"}


@pytest.fixture
def registered():
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    yield
    matchcut.unregister()


def of_classes():
    """Labels and tooltips of panels, operators, properties and their choices."""
    found = set()
    for cls in registration.CLASSES:
        if issubclass(cls, (bpy.types.Panel, bpy.types.Operator, bpy.types.Menu)):
            found.add(cls.bl_label)
            found.add(getattr(cls, "bl_description", ""))
        rna = getattr(cls, "bl_rna", None)
        if issubclass(cls, bpy.types.Operator):  # the class tells of Blender's own properties alone
            rna = getattr(bpy.ops.matchcut, cls.bl_idname.partition(".")[2]).get_rna_type()
        for prop in rna.properties if rna is not None else ():
            if prop.identifier not in getattr(cls, "__annotations__", {}) or not prop.description:
                continue
            if prop.identifier == "name":  # every group has one, with Blender's own tooltip
                continue
            found |= {prop.name, prop.description}
            if prop.type == "ENUM":
                found |= {text for item in prop.enum_items for text in (item.name, item.description)}
    return found


def called(node):
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def constants(node):
    """Strings that an expression can be."""
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    if isinstance(node, ast.BoolOp):
        return [one for value in node.values for one in constants(value)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def shown_in(source):
    """Texts that a module shows, and those that it puts together without the catalogue, with their lines."""
    texts, composed = set(), []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        shown = [option.value for option in node.keywords if option.arg in OPTIONS]
        if called(node) in SHOWN:
            shown += node.args
        for one in shown:
            texts |= set(constants(one))
            parts = (
                [part.value for part in one.values if isinstance(part, ast.Constant)]
                if isinstance(one, ast.JoinedStr)
                else []
            )
            if any(re.search(r"[A-Za-z]{2}", part) for part in parts):
                composed.append((node.lineno, ast.unparse(one)))
    return texts, composed


def modules():
    return [path for name in ("sidebar", "bridge") for path in (ROOT / name).rglob("*.py")] + sorted(ROOT.glob("pref*"))


def is_words(text):
    """Whether a text is to be translated: no icon's name, no path, no number, no format alone."""
    return bool(re.search(r"[A-Za-z]{2}", re.sub(r"\{\w*\}", "", text))) and not re.fullmatch(
        r"[A-Z][A-Z0-9_]*|//\S*|https?://\S*|ms|fps|SGC|matchcut\.\w+|\w+\.\w+_\w+", text
    )


def all_texts():
    sources = [
        one.read_text(encoding="utf-8")
        for path in modules()
        for one in ([path] if path.is_file() else path.rglob("*.py"))
    ]
    return {text for text in of_classes().union(*(shown_in(source)[0] for source in sources)) if is_words(text)}


def languages():
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))["texts"] for path in translations.FOLDER.glob("*.json")
    }


def fields(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_every_text_is_in_the_catalogue_of_every_language(registered):
    texts = all_texts()
    assert len(texts) > 100 and {"Score Against Reference", "Setting", "Proxy"} <= texts
    assert set(languages()) == {"de"}
    for language, catalogue in languages().items():
        missing = dict.fromkeys(sorted(texts - set(catalogue)), "")
        assert not missing, f"{language}.json lacks:\n{json.dumps(missing, indent=2, ensure_ascii=False)}"
        unused = sorted(set(catalogue) - texts)
        assert not unused, f"{language}.json has texts that are shown no more: {unused}"


def test_translations_are_whole():
    for catalogue in languages().values():
        for text, shown in catalogue.items():
            assert shown.strip(), text
            assert fields(shown) == fields(text), text
            assert shown.endswith(".") == text.endswith("."), text
            assert shown[0].isupper() or not shown[0].isalpha() or not text[0].isupper(), text


def test_texts_that_are_put_together_pass_through_the_catalogue():
    composed = []
    for path in modules():
        for one in [path] if path.is_file() else path.rglob("*.py"):
            for line, text in shown_in(one.read_text(encoding="utf-8"))[1]:
                composed.append(f"{one.relative_to(ROOT)}:{line}: {text}")
    assert composed == [], "\n".join(composed)


def test_the_extraction_finds_what_is_shown():
    source = """
layout.label(text="One")
row.prop(state, "path", text="Two" if wide else "Three", placeholder="Four")
paragraph(layout, context, "Five.", "INFO")
fact(layout, context, "Six", f"{count} frames of it")
cls.poll_message_set("Seven")
layout.operator("matchcut.score", icon="X")
paragraph(layout, context, translated("Eight {0}").format(1))
"""
    texts, composed = shown_in(source)
    assert {one for one in texts if is_words(one)} == {
        "One",
        "Two",
        "Three",
        "Four",
        "Five.",
        "Six",
        "Seven",
        "Eight {0}",
    }
    assert composed == [(5, "f'{count} frames of it'")]


def test_blender_is_told_of_the_catalogue(registered):
    ((language, texts),) = translations.catalogue().items()
    assert language == "de"
    contexts = {context for context, _ in texts}
    assert len(contexts) == 2 and "Operator" in contexts
