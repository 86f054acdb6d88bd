//! localizer.
