//! Files that the user names.

use anyhow::Context;
use mmspec_proptests::script::Script;
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

/// A script.
pub(crate) fn script(path: &Path) -> anyhow::Result<Script> {
    let name =
        if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    Ok(Script::parse(&name, &text(path)?)?)
}
