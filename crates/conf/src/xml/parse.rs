//! One XML document to properties, with the state machine of Hadoop's `Configuration.Parser`.
//! May touch: the text of the document; asks the loader for includes.
//! Must not: be stricter or laxer than Hadoop's reader (woodstox), except that nothing external is read.

use std::{path::Path, sync::Arc};

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{
    IncludeError, Loader, Property,
    decode::line_at,
    doctype::{self, Entities},
};
use crate::error::{Origin, XmlError};

/// Elements within elements.
const DEPTH_MAX: usize = 256;
/// Entities within entities.
const ENTITY_DEPTH_MAX: usize = 16;
/// Text that entities of one document may expand to.
const ENTITY_BYTES_MAX: usize = 1024 * 1024;

pub(crate) struct Parser<'l> {
    loader: &'l mut Loader,
    path: &'l Path,
    file: Arc<str>,
    line: u32,
    xml11: bool,
    entities: Entities,
    entity_bytes: usize,
    entity_stack: Vec<String>,
    /// Open elements.
    depth: usize,
    /// Declared prefixes with the depth of their element.
    prefixes: Vec<(usize, String)>,
    seen_root: bool,
    seen_doctype: bool,
    state: State,
    properties: Vec<Property>,
}

/// What Hadoop's parser keeps between events.
#[derive(Default)]
struct State {
    token: String,
    parse_token: bool,
    name: Option<String>,
    value: Option<String>,
    is_final: bool,
    property_line: u32,
    include: Option<String>,
    fallback_allowed: bool,
    fallback_entered: bool,
}

type Attribute = (String, String);

impl<'l> Parser<'l> {
    pub(crate) fn new(loader: &'l mut Loader, path: &'l Path, file: Arc<str>) -> Self {
        Self {
            loader,
            path,
            file,
            line: 1,
            xml11: false,
            entities: Entities::new(),
            entity_bytes: 0,
            entity_stack: Vec::new(),
            depth: 0,
            prefixes: Vec::new(),
            seen_root: false,
            seen_doctype: false,
            state: State::default(),
            properties: Vec::new(),
        }
    }

    pub(crate) fn run(mut self, document: &str) -> Result<Vec<Property>, XmlError> {
        self.walk(document)?;
        if self.seen_root {
            Ok(self.properties)
        } else {
            Err(self.fail("Unexpected EOF in prolog: the file holds no element; write <configuration></configuration>"))
        }
    }

    fn fail(&self, text: impl Into<String>) -> XmlError {
        XmlError {
            file: Arc::clone(&self.file),
            line: self.line,
            text: text.into(),
        }
    }

    /// All events of the document, or of the text of one entity.
    fn walk(&mut self, text: &str) -> Result<(), XmlError> {
        let in_entity = !self.entity_stack.is_empty();
        let depth_before = self.depth;
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_comments = true;
        let mut counted = 0;
        loop {
            let at = position(reader.buffer_position());
            if !in_entity {
                self.line += line_at(&text.as_bytes()[counted..], at - counted) - 1;
                counted = at;
            }
            let event = reader.read_event().map_err(|e| {
                let mut error = self.fail(e.to_string());
                if !in_entity {
                    error.line = line_at(text.as_bytes(), position(reader.error_position()));
                }
                error
            })?;
            match event {
                Event::Start(e) => self.start(&e)?,
                Event::Empty(e) => {
                    self.start(&e)?;
                    self.end(&e)?;
                }
                Event::End(e) => self.end(&e)?,
                Event::Eof if self.depth == depth_before => return Ok(()),
                Event::Eof => {
                    return Err(self.fail("Unexpected EOF: an element is not closed"));
                }
                Event::Decl(d) if at == 0 && !in_entity => {
                    let version = d.version().ok();
                    self.xml11 = version.as_deref() == Some("1.1");
                    if !self.xml11 && version.as_deref() != Some("1.0") {
                        return Err(self.fail(
                            "Invalid XML pseudo-attribute 'version' value; expected \"1.0\" or \"1.1\"",
                        ));
                    }
                }
                other => self.other(&other)?,
            }
        }
    }

    fn other(&mut self, event: &Event<'_>) -> Result<(), XmlError> {
        match event {
            Event::Text(t) => {
                if self.depth == 0 && !t.chars().all(is_space) {
                    return Err(self.fail("text outside the root element"));
                }
                if t.contains("]]>") {
                    return Err(self.fail("']]>' not allowed in textual content"));
                }
                self.characters(t);
            }
            Event::CData(t) => {
                self.inside()?;
                self.characters(t);
            }
            Event::GeneralRef(name) => {
                self.inside()?;
                self.reference(name)?;
            }
            Event::Decl(_) => {
                return Err(self.fail(
                    "Illegal processing instruction target (\"xml\"): the XML declaration must be the very first characters of the file",
                ));
            }
            Event::PI(pi) if pi.target().eq_ignore_ascii_case("xml") => {
                return Err(self.fail("processing instructions named xml are reserved"));
            }
            Event::DocType(d) => {
                if self.seen_root || self.seen_doctype || !self.entity_stack.is_empty() {
                    return Err(self.fail("DOCTYPE must come once, before the root element"));
                }
                self.seen_doctype = true;
                self.entities = doctype::entities(d).map_err(|text| self.fail(text))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn inside(&self) -> Result<(), XmlError> {
        if self.depth == 0 {
            return Err(self.fail("text outside the root element"));
        }
        Ok(())
    }

    fn characters(&mut self, text: &str) {
        if self.state.parse_token {
            self.state.token.push_str(text);
        }
    }

    /// `&name;` in content: a character, or the text of an entity, which may hold markup.
    fn reference(&mut self, name: &str) -> Result<(), XmlError> {
        if let Some(c) = self.simple_reference(name)? {
            self.characters(c.encode_utf8(&mut [0; 4]));
            return Ok(());
        }
        let text = self.enter_entity(name)?;
        self.walk(&text)?;
        self.entity_stack.pop();
        Ok(())
    }

    fn simple_reference(&self, name: &str) -> Result<Option<char>, XmlError> {
        if let Some(number) = name.strip_prefix('#') {
            return doctype::character(number, self.xml11)
                .map(Some)
                .map_err(|text| self.fail(text));
        }
        Ok(Some(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "apos" => '\'',
            "quot" => '"',
            _ => return Ok(None),
        }))
    }

    fn enter_entity(&mut self, name: &str) -> Result<String, XmlError> {
        let Some(text) = self.entities.get(name).cloned() else {
            return Err(self.fail(format!("Undeclared general entity \"{name}\"")));
        };
        self.entity_bytes += text.len();
        if self.entity_bytes > ENTITY_BYTES_MAX {
            return Err(self.fail(format!(
                "entities expand to more than {ENTITY_BYTES_MAX} bytes"
            )));
        }
        if self.entity_stack.iter().any(|open| open == name)
            || self.entity_stack.len() >= ENTITY_DEPTH_MAX
        {
            return Err(self.fail(format!(
                "entity \"{name}\" holds itself or is nested too deeply"
            )));
        }
        self.entity_stack.push(name.to_owned());
        Ok(text)
    }

    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), XmlError> {
        if self.depth == 0 && self.seen_root {
            return Err(self.fail("a second root element"));
        }
        self.seen_root = true;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.fail(format!("elements nested deeper than {DEPTH_MAX}")));
        }
        let attributes = self.attributes(element)?;
        match element.local_name().into_inner() {
            "property" => self.start_property(attributes),
            "name" | "value" | "final" | "source" | "tag" => {
                self.state.parse_token = true;
                self.state.token.clear();
            }
            "include" => self.start_include(attributes)?,
            "fallback" => self.state.fallback_entered = true,
            _ => {}
        }
        Ok(())
    }

    fn start_property(&mut self, attributes: Vec<Attribute>) {
        let state = &mut self.state;
        state.name = None;
        state.value = None;
        state.is_final = false;
        state.property_line = self.line;
        for (name, value) in attributes {
            match name.as_str() {
                "name" => state.name = Some(value),
                "value" => state.value = Some(value),
                "final" => state.is_final = value == "true",
                _ => {}
            }
        }
    }

    fn start_include(&mut self, attributes: Vec<Attribute>) -> Result<(), XmlError> {
        let href = attributes.into_iter().rfind(|(name, _)| name == "href");
        self.state.include = href.map(|(_, value)| value);
        let Some(href) = &self.state.include else {
            return Ok(());
        };
        match self.loader.include(href, self.path) {
            Ok(Some(properties)) => self.properties.extend(properties),
            Ok(None) => self.state.fallback_allowed = true,
            Err(IncludeError::Here(text)) => return Err(self.fail(text)),
            Err(IncludeError::There(mut error)) => {
                error.text = format!("{} (included by {}:{})", error.text, self.file, self.line);
                return Err(error);
            }
        }
        Ok(())
    }

    fn end(&mut self, element: &str) -> Result<(), XmlError> {
        let depth = self.depth;
        self.prefixes.retain(|(declared, _)| *declared < depth);
        self.depth = depth.saturating_sub(1);
        let name = element
            .split(|c: char| is_space(c) || c == '/')
            .next()
            .unwrap_or_default();
        let local = name.rsplit_once(':').map_or(name, |(_, local)| local);
        let state = &mut self.state;
        match local {
            "name" if !state.token.is_empty() => {
                state.name = Some(crate::values::java_trim(&state.token).to_owned());
            }
            "value" if !state.token.is_empty() => state.value = Some(state.token.clone()),
            "final" => state.is_final = state.token == "true",
            "include" => {
                if state.fallback_allowed && !state.fallback_entered {
                    let href = state.include.clone().unwrap_or_default();
                    return Err(self.fail(format!(
                        "Fetch fail on include for '{href}' with no fallback while loading '{}'",
                        self.file
                    )));
                }
                state.fallback_allowed = false;
                state.fallback_entered = false;
            }
            "property" => self.end_property(),
            _ => {}
        }
        Ok(())
    }

    fn end_property(&mut self) {
        let state = &self.state;
        // a fallback that is not needed is read over
        if !state.fallback_allowed && state.fallback_entered {
            return;
        }
        let Some(name) = state.name.clone() else {
            return;
        };
        self.properties.push(Property {
            name,
            value: state.value.clone(),
            is_final: state.is_final,
            origin: Origin {
                file: Arc::clone(&self.file),
                line: state.property_line,
            },
        });
    }

    /// Attributes by local name with their values normalised; checks names and prefixes.
    fn attributes(&mut self, element: &BytesStart<'_>) -> Result<Vec<Attribute>, XmlError> {
        let mut qualified = Vec::new();
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|e| self.fail(e.to_string()))?;
            let name = attribute.key.into_inner();
            let value = self.attribute_value(&attribute.value)?;
            if let Some(prefix) = name.strip_prefix("xmlns:") {
                self.prefixes.push((self.depth, prefix.to_owned()));
            }
            qualified.push((name.to_owned(), value));
        }
        self.check_name(element.name().into_inner())?;
        let mut attributes = Vec::with_capacity(qualified.len());
        for (name, value) in qualified {
            self.check_name(&name)?;
            let local = name.rsplit_once(':').map_or(&*name, |(_, local)| local);
            attributes.push((local.to_owned(), value));
        }
        Ok(attributes)
    }

    fn check_name(&self, name: &str) -> Result<(), XmlError> {
        let start = |c: char| c.is_alphabetic() || c == '_' || !c.is_ascii();
        let part_ok = |part: &str| {
            part.starts_with(start)
                && part
                    .chars()
                    .all(|c| start(c) || c.is_ascii_digit() || matches!(c, '-' | '.'))
        };
        if !name.split(':').all(part_ok) || name.matches(':').count() > 1 {
            return Err(self.fail(format!("'{name}' is no XML name")));
        }
        match name.split_once(':') {
            Some((prefix, _))
                if !matches!(prefix, "xml" | "xmlns")
                    && !self.prefixes.iter().any(|(_, p)| p == prefix) =>
            {
                Err(self.fail(format!("Undeclared namespace prefix \"{prefix}\"")))
            }
            _ => Ok(()),
        }
    }

    /// Blanks become spaces, references their text, which may hold no `<`.
    fn attribute_value(&mut self, raw: &str) -> Result<String, XmlError> {
        if raw.contains('<') {
            return Err(self.fail("'<' in an attribute value; write &lt;"));
        }
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((before, reference)) = rest.split_once('&') {
            push_spaced(&mut out, before);
            let (name, after) = reference
                .split_once(';')
                .ok_or_else(|| self.fail("'&' without a name and ';' in an attribute value"))?;
            if let Some(c) = self.simple_reference(name)? {
                out.push(c);
            } else {
                let text = self.enter_entity(name)?;
                let expanded = self.attribute_value(&text)?;
                self.entity_stack.pop();
                out.push_str(&expanded);
            }
            rest = after;
        }
        push_spaced(&mut out, rest);
        Ok(out)
    }
}

fn push_spaced(out: &mut String, text: &str) {
    out.extend(text.chars().map(|c| if is_space(c) { ' ' } else { c }));
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
