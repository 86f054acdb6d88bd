//! Tests of the XML reader.
//! May touch: xml.
//! Must not: sleep.
