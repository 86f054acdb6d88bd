"""Hadoop's *-site.xml files: write them, read them, and set keys in somebody else's.

Setting a key keeps the file's own text (comments, includes, order): the text is
what its owner edits later. Hadoop's rules used here: a later property wins over
an earlier one, the first final one wins over everything.
"""

import re
import xml.parsers.expat
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from heddle.errors import Failure

INCLUDE = "{http://www.w3.org/2001/XInclude}include"
INCLUDE_DEPTH_MAX = 16
BLOCK_BEGIN = "<!-- addresses and directories, set by scripts/cluster -->"
BLOCK_END = "<!-- end of what scripts/cluster set -->"
START_TAG = re.compile(rb"<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*(/?)>")


def write(path, properties, purpose):
    """Writes a whole file of name: value; purpose is the comment at its top."""
    text = f"<?xml version=\"1.0\"?>\n<!-- {purpose} -->\n<configuration>\n{_rows(properties, False)}</configuration>\n"
    Path(path).write_text(text, encoding="utf-8")


def _rows(properties, final):
    last = "<final>true</final>" if final else ""
    return "".join(f"  <property><name>{escape(name)}</name><value>{escape(value)}</value>{last}</property>\n"
                   for name, value in properties.items())


def set_first(path, properties, final):
    """Sets keys in front, in a block that the next call replaces; final ones hold against all that follows."""
    path = Path(path)
    text = _utf8(path)
    path.write_bytes(re.sub(re.escape(BLOCK_BEGIN).encode() + b".*?" + re.escape(BLOCK_END).encode() + b"\n?",
                            b"", text, flags=re.DOTALL))
    _insert(path, f"{BLOCK_BEGIN}\n{_rows(properties, final)}{BLOCK_END}\n", at_end=False)


def set_last(path, properties):
    """Sets keys as -D would: over the file's own values, but not over a final one."""
    _insert(path, _rows(properties, False), at_end=True)


def _insert(path, rows, at_end):
    if not rows:
        return
    path = Path(path)
    data = _utf8(path)
    open_at, end_at = _root(path, data)
    tag = START_TAG.match(data, open_at)
    if tag is None:
        raise Failure(f"{path}: the start tag of the root element cannot be understood")
    if tag.group(1):  # <configuration/>
        name = tag.group().split()[0].strip(b"</>")
        head, tail = tag.group()[:-2] + b">\n", b"</" + name + b">"
        data = data[:open_at] + head + rows.encode() + tail + data[tag.end():]
    elif at_end:
        data = data[:end_at] + rows.encode() + data[end_at:]
    else:
        data = data[:tag.end()] + b"\n" + rows.encode() + data[tag.end():]
    path.write_bytes(data)


def _utf8(path):
    """The file in UTF-8 with its declaration made to match."""
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    else:
        declared = re.match(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']", data)
        encoding = declared.group(1).decode() if declared else "utf-8-sig"
        encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: {error}") from None
    text = re.sub(r"^(<\?xml[^>]*?)\s+encoding\s*=\s*[\"'][^\"']*[\"']", r"\1", text, count=1)
    return text.encode()


def _root(path, data):
    """Where the root element's start tag and end tag begin, in bytes."""
    places = {}
    depth = 0
    parser = xml.parsers.expat.ParserCreate("utf-8")

    def start(_name, _attributes):
        nonlocal depth
        if depth == 0:
            places["start"] = parser.CurrentByteIndex
        depth += 1

    def end(_name):
        nonlocal depth
        depth -= 1
        if depth == 0:
            places["end"] = parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        raise Failure(f"{path}: not well-formed XML: {error}") from None
    return places["start"], places["end"]


def read(path):
    """The keys of one file with its includes, as Hadoop reads them; {} if there is no such file."""
    values, final = {}, set()
    for name, value, is_final in _properties(Path(path), 0):
        if name in final or value == "":
            continue
        values[name] = value
        if is_final:
            final.add(name)
    return values


def _properties(path, depth):
    if not path.exists():
        return
    if depth > INCLUDE_DEPTH_MAX:
        raise Failure(f"{path}: includes are nested deeper than {INCLUDE_DEPTH_MAX}")
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise Failure(f"{path}: not well-formed XML: {error}") from None
    for element in root.iter():
        if element.tag == INCLUDE and element.get("href"):
            yield from _properties(path.parent / element.get("href"), depth + 1)
        elif element.tag == "property":
            yield _property(element)


def _property(element):
    """(name, value, final) of a property in either form."""
    found = {key: element.get(key, "") for key in ("name", "value", "final")}
    for child in element:
        if child.tag in found:
            found[child.tag] = "".join(child.itertext())
    return found["name"].strip(), found["value"], found["final"] == "true"
