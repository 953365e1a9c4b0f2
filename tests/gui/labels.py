# SPDX-License-Identifier: GPL-3.0-or-later
"""What panels draw, recorded beside the real layout, and whether every text has the width that it needs.

`Recorder(panels)` puts a layout between each panel's `draw` and Blender's that passes everything on and keeps a tree of
it. `faults` gives that tree widths as Blender's layout engine does (rows share, columns get all, `split` by its factor,
`use_property_split` 40 % for the label) and measures each text with the interface's font.
"""

import blf
import bpy

UNIT, TEXT_PAD, LABEL_SHARE, ROW_GAP = 20.0, 8.0, 0.4, 2.0
"""Pixels at scale 1: a button's height, which an icon takes; what a text needs beside itself; between two in a row."""
EDGES = 50.0
"""Pixels at scale 1 that the tabs at the sidebar's side and a panel's edges take of the region's width."""
CONTAINERS = {"row", "column", "column_flow", "grid_flow", "box", "split"}


class Node:
    """A container with its children, or an item with its texts."""

    def __init__(self, kind, **facts):
        self.kind, self.children, self.facts = kind, [], facts


class Layout:
    """A UILayout that notes what is drawn into it."""

    def __init__(self, real, node, recorder):
        object.__setattr__(self, "_parts", (real, node, recorder))

    def __setattr__(self, name, value):
        setattr(self._parts[0], name, value)

    def __getattr__(self, name):
        real, node, recorder = self._parts
        found = getattr(real, name)
        if not callable(found):
            return found

        def call(*arguments, **options):
            arguments = tuple(one._parts[0] if isinstance(one, Layout) else one for one in arguments)
            if name in CONTAINERS:
                child = Node(name, split=real.use_property_split, **options)
                node.children.append(child)
                return Layout(found(*arguments, **options), child, recorder)
            if name in {"panel", "panel_prop"}:
                header, body = found(*arguments, **options)
                parts = []
                for one in (header, body):
                    child = Node("row" if one is header else "column", split=real.use_property_split)
                    node.children.append(child)
                    parts.append(Layout(one, child, recorder) if one is not None else None)
                return tuple(parts)
            result = found(*arguments, **options)
            recorder.note(node, name, arguments, options, real.use_property_split)
            return result

        return call


class Recorder:
    """Draws of the given panel classes from now on, the latest tree of each by the panel's class name."""

    def __init__(self, panels):
        self.trees, self.operators, self.properties = {}, set(), {}
        for cls in panels:
            for name in ("draw", "draw_header"):
                if hasattr(cls, name):
                    setattr(cls, name, self._recorded(cls, getattr(cls, name), name))

    def _recorded(self, cls, draw, name):
        recorder = self

        class Panel:
            """Stands in for the panel: everything of it but its layout."""

            def __init__(self, panel, layout):
                self._panel, self.layout = panel, layout

            def __getattr__(self, attribute):
                found = getattr(type(self._panel), attribute, None)
                return found.__get__(self) if hasattr(found, "__get__") else getattr(self._panel, attribute)

        named = type(cls.__name__, (Panel,), {})

        def drawn(panel, context):
            tree = Node("column", split=False)
            draw(named(panel, Layout(panel.layout, tree, recorder)), context)
            if name == "draw":
                recorder.trees[cls.__name__] = tree

        return drawn

    def note(self, node, name, arguments, options, split):
        """Keep an item: the texts that it shows."""
        icon = options.get("icon", "NONE") != "NONE" or bool(options.get("icon_value"))
        text = options.get("text")
        if name in {"label", "progress"}:
            self._add(node, text or "", icon)
        elif name in {"operator", "operator_menu_enum", "operator_menu_hold", "operator_enum"}:
            idname = options.get("operator", arguments[0] if arguments else "")
            self.operators.add(idname)
            group, _, short = idname.partition(".")
            shown = text if text is not None else getattr(getattr(bpy.ops, group), short).get_rna_type().name
            self._add(node, shown, icon, extra=UNIT if name == "operator_menu_enum" else 0)
        elif name in {"menu", "popover"}:
            self._add(node, text if text is not None else arguments[0], icon, extra=UNIT)
        elif name == "prop_enum":
            owner, prop, value = arguments[:3]
            item = owner.bl_rna.properties[prop].enum_items[value]
            self.properties[owner.bl_rna.identifier, prop] = item.description
            self._add(node, item.name if text is None else text, icon or item.icon != "NONE")
        elif name in {"prop", "prop_menu_enum", "prop_search"}:
            self._property(node, arguments, options, split, icon)

    def _property(self, node, arguments, options, split, icon):
        owner = options.get("data", arguments[0] if arguments else None)
        name = options.get("property", arguments[1] if len(arguments) > 1 else "")
        rna = owner.bl_rna.properties[name]
        self.properties[owner.bl_rna.identifier, name] = rna.description
        label = options.get("text", rna.name)
        if options.get("icon_only"):
            return self._add(node, "", True)
        if rna.type == "BOOLEAN":
            return self._add(node, label, True, share=1 - LABEL_SHARE if split and label else 1.0)
        if rna.type == "ENUM" and options.get("expand"):
            row = Node("even", split=False, share=1 - LABEL_SHARE if split and label else 1.0)
            node.children.append(row)
            for item in rna.enum_items:
                self._add(row, item.name, item.icon != "NONE")
            return None
        value = ""
        if rna.type == "ENUM" and not rna.is_enum_flag:
            value = next((item.name for item in rna.enum_items if item.identifier == getattr(owner, name)), "")
        elif rna.type in {"INT", "FLOAT"} and not rna.is_array:
            value = f"{getattr(owner, name):g}"
        elif rna.type == "STRING" and not getattr(owner, name):
            value = options.get("placeholder", "")
        if split and label:
            node.children.append(Node("item", text=label, icon=False, extra=0, share=LABEL_SHARE))
            node.children[-1].facts["value"] = (value, UNIT if rna.type == "ENUM" else 0)
        elif rna.type in {"INT", "FLOAT"}:
            self._add(node, f"{label}{value}", icon, extra=UNIT)
        else:
            self._add(node, value, icon, extra=UNIT if rna.type == "ENUM" else 0)
        return None

    def _add(self, node, text, icon, extra=0.0, share=1.0):
        node.children.append(Node("item", text=text, icon=icon, extra=extra, share=share))


def faults(recorder, region):
    """Texts of the recorded panels that do not fit into the region: (panel, text, needed, given) in pixels."""
    preferences = bpy.context.preferences
    scale = preferences.system.ui_scale
    found = []
    blf.size(0, preferences.ui_styles[0].widget.points * scale)
    for panel, tree in recorder.trees.items():
        _check(tree, region.width - EDGES * scale, scale, lambda *fault, panel=panel: found.append((panel, *fault)))
    return found


def _text(text, icon, extra, scale):
    """Width of a button or label with this text."""
    if not text:
        return UNIT * scale
    shown = bpy.app.translations.pgettext_iface(text)
    return blf.dimensions(0, shown)[0] + scale * (TEXT_PAD + extra + (UNIT if icon else 0))


def _need(node, scale):
    if node.kind == "item":
        own = _text(node.facts["text"], node.facts["icon"], node.facts["extra"], scale)
        return own / node.facts["share"]
    needs = [_need(child, scale) for child in node.children]
    if not needs:
        return 0.0
    if node.kind in {"row", "grid_flow", "column_flow", "even"}:
        return sum(needs) + ROW_GAP * scale * (len(needs) - 1)
    return sum(needs) if node.kind == "split" else max(needs)


def _check(node, width, scale, report):
    if node.kind == "item":
        _check_item(node, width, scale, report)
        return
    if node.kind == "box":
        width -= 0.7 * UNIT * scale
    width *= node.facts.get("share", 1.0)
    if node.facts.get("heading") and node.facts["split"]:
        heading = _text(node.facts["heading"], False, 0, scale)
        if heading > LABEL_SHARE * width + 1:
            report(node.facts["heading"], heading, LABEL_SHARE * width)
        width *= 1 - LABEL_SHARE
    widths = [width] * len(node.children)
    columns = len(node.children) if node.kind == "even" else node.facts.get("columns", 0)
    if columns > 0:
        widths = [width / columns] * len(node.children)
    elif node.kind in {"row", "grid_flow"} and node.children:
        needs = [_need(child, scale) for child in node.children]
        free = width - ROW_GAP * scale * (len(needs) - 1)
        widths = [need * free / max(1.0, sum(needs)) for need in needs]
    elif node.kind == "split" and node.children:
        count, first = len(node.children), node.facts.get("factor") or 1 / len(node.children)
        rest = (1 - first) / max(1, count - 1)
        widths = [width * (first if number == 0 else rest) for number in range(count)]
    for child, given in zip(node.children, widths, strict=True):
        _check(child, given, scale, report)


def _check_item(node, width, scale, report):
    given = width * node.facts["share"]
    needed = _text(node.facts["text"], node.facts["icon"], node.facts["extra"], scale)
    if node.facts["text"] and needed > given + 1:
        report(node.facts["text"], needed, given)
    value, extra = node.facts.get("value", ("", 0))
    needed = _text(value, False, extra, scale)
    if value and needed > width * (1 - LABEL_SHARE) + 1:
        report(value, needed, width * (1 - LABEL_SHARE))
