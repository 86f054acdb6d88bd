//! The XML form of a host list: `<host><name>a, b</name><timeout>300</timeout></host>` (`HostsFileReader`).
//! May touch: the text of the file.
//! Must not: take a DOCTYPE or any entity but XML's own five (Hadoop's reader is as strict).

use quick_xml::{Reader, events::Event};

/// Elements within elements.
const DEPTH_MAX: usize = 64;

/// Hosts with the seconds that each may take to go, where the list says so.
pub(super) type Entries = Vec<(String, Option<i32>)>;

/// What is open while the document is read.
#[derive(Default)]
struct Open {
    /// Names of the elements, outermost first.
    elements: Vec<String>,
    /// First `<name>` and `<timeout>` of the host that is open.
    name: Option<String>,
    timeout: Option<String>,
    entries: Entries,
}

/// The hosts of a list.
///
/// # Errors
/// What is wrong, with its line.
pub(super) fn read(text: &str) -> Result<Entries, String> {
    let mut reader = Reader::from_str(text);
    let mut open = Open::default();
    let mut seen_root = false;
    loop {
        let event = reader.read_event();
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let fail = |why: String| {
            let before = text.get(..at).unwrap_or(text);
            format!("line {}: {why}", before.split('\n').count())
        };
        match event.map_err(|e| fail(e.to_string()))? {
            Event::Start(e) => {
                if open.elements.len() >= DEPTH_MAX {
                    return Err(fail(format!("elements nested deeper than {DEPTH_MAX}")));
                }
                seen_root = true;
                open.start(e.local_name().into_inner());
            }
            Event::Empty(e) => {
                seen_root = true;
                let name = e.local_name().into_inner().to_owned();
                open.start(&name);
                open.end().map_err(fail)?;
            }
            Event::End(_) => open.end().map_err(fail)?,
            Event::Text(words) => open.words(&words),
            Event::CData(words) => open.words(&words),
            Event::GeneralRef(name) => open.words(&character(&name).map_err(fail)?),
            Event::DocType(_) => return Err(fail("a DOCTYPE is not taken".to_owned())),
            Event::Eof if !open.elements.is_empty() => {
                return Err(fail("an element is not closed".to_owned()));
            }
            Event::Eof if !seen_root => return Err(fail("there is no element".to_owned())),
            Event::Eof => return Ok(open.entries),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// `&name;` in a text.
fn character(name: &str) -> Result<String, String> {
    let one = |c: char| Ok(c.to_string());
    match name {
        "lt" => one('<'),
        "gt" => one('>'),
        "amp" => one('&'),
        "apos" => one('\''),
        "quot" => one('"'),
        _ => Err(format!("the entity &{name}; is not known")),
    }
}

impl Open {
    fn in_host(&self) -> bool {
        self.elements.iter().skip(1).any(|name| name == "host")
    }

    fn start(&mut self, name: &str) {
        let in_host = self.in_host();
        match name {
            "host" if !in_host => (self.name, self.timeout) = (None, None),
            "name" if in_host && self.name.is_none() => self.name = Some(String::new()),
            "timeout" if in_host && self.timeout.is_none() => self.timeout = Some(String::new()),
            _ => {}
        }
        self.elements.push(name.to_owned());
    }

    fn words(&mut self, words: &str) {
        if !self.in_host() {
            return;
        }
        let into = match self.elements.last().map(String::as_str) {
            Some("name") => &mut self.name,
            Some("timeout") => &mut self.timeout,
            _ => return,
        };
        if let Some(into) = into {
            into.push_str(words);
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let closed = self.elements.pop();
        if closed.as_deref() != Some("host") || self.elements.is_empty() || self.in_host() {
            return Ok(());
        }
        let timeout = match self.timeout.take().as_deref().map(str::trim) {
            None => None,
            Some(words) => match words.parse::<i32>() {
                Ok(timeout_s) => Some(timeout_s),
                Err(_) => return Err(format!("<timeout> '{words}', want seconds, or -1 for none")),
            },
        };
        let names = self.name.take().unwrap_or_default();
        let names = names.split([',', '\n']).map(str::trim);
        let names = names.filter(|name| !name.is_empty());
        self.entries
            .extend(names.map(|name| (name.to_owned(), timeout)));
        Ok(())
    }
}
