//! Files that the user names.

use anyhow::Context;
use mmspec_proptests::script::Script;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// The text of a file; `-` is standard input.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("standard input can't be read")?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
        .with_context(|| format!("{} can't be read: give an existing text file", path.display()))
}

/// The name of a file in errors.
pub(crate) fn name(path: &Path) -> Cow<'_, str> {
    if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() }
}

/// A script.
pub(crate) fn script(path: &Path) -> anyhow::Result<Script> {
    Ok(Script::parse(&name(path), &text(path)?)?)
}
