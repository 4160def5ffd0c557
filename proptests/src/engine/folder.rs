//! Cases in files: failures are saved, regressions are read.

use super::{Case, Failure, OwnCase};
use crate::compaction;
use crate::conformance;
use crate::flat::{self, Language};
use crate::script::{ParseError, Script};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A folder of files with cases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Why a case could not be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system said no.
    #[error("{path}: {error}: check that the folder exists and may be read and written")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        #[source]
        error: io::Error,
    },
    /// A file is no script.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::Io { path, error }
}

impl Folder {
    /// The folder at `path`; it need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Save a failure under a new name and note the name in it. Nothing is ever overwritten: the
    /// same case again is found there and left alone, another case gets another name.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn save(&self, failure: &mut Failure) -> Result<(), FolderError> {
        fs::create_dir_all(&self.path).map_err(io_error(&self.path))?;
        for attempt in 0_u32.. {
            let suffix = if attempt == 0 { String::new() } else { format!("-{attempt}") };
            let name = format!("{}{suffix}.{}", failure.stem(), failure.ending());
            let path = self.path.join(name);
            let replay = if failure.own.as_ref().is_none_or(OwnCase::replays) {
                format!("mmspec replay {}", path.display())
            } else {
                conformance::REPLAY.to_owned()
            };
            let text = failure.to_text(&replay);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    file.write_all(text.as_bytes()).map_err(io_error(&path))?;
                    failure.file = Some(path);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if fs::read_to_string(&path).is_ok_and(|old| same_case(&old, &text)) {
                        failure.file = Some(path);
                        return Ok(());
                    }
                }
                Err(error) => return Err(io_error(&path)(error)),
            }
        }
        Ok(())
    }

    /// All scripts of the folder, by name; none if it does not exist.
    ///
    /// # Errors
    /// A file cannot be read or is no script.
    pub fn scripts(&self) -> Result<Vec<(PathBuf, Script)>, FolderError> {
        Ok(self.cases()?.into_iter().map(|(path, case)| (path, case.script)).collect())
    }

    /// All cases of the folder, by name; none if it does not exist.
    ///
    /// # Errors
    /// A file cannot be read or is no script.
    pub fn cases(&self) -> Result<Vec<(PathBuf, Case)>, FolderError> {
        self.parsed("mms", Case::parse)
    }

    /// All cases of compaction in the folder, by name; none if it does not exist.
    ///
    /// # Errors
    /// A file cannot be read or is no case.
    pub fn compactions(&self) -> Result<Vec<(PathBuf, compaction::Case)>, FolderError> {
        self.parsed("mmc", compaction::Case::parse)
    }

    /// All cases of memory cgroups or slabs in the folder, by name; none if it does not exist.
    ///
    /// # Errors
    /// A file cannot be read or is no case.
    pub fn flats<L: Language>(&self) -> Result<Vec<(PathBuf, flat::Case<L>)>, FolderError> {
        self.parsed(L::MAGIC, flat::Case::parse)
    }

    fn parsed<T>(
        &self,
        ending: &str,
        parse: fn(&str, &str) -> Result<T, ParseError>,
    ) -> Result<Vec<(PathBuf, T)>, FolderError> {
        let mut names = Vec::new();
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error(&self.path)(error)),
        };
        for entry in entries {
            let path = entry.map_err(io_error(&self.path))?.path();
            if path.extension().is_some_and(|extension| extension == ending) {
                names.push(path);
            }
        }
        names.sort();
        names
            .into_iter()
            .map(|path| {
                let text = fs::read_to_string(&path).map_err(io_error(&path))?;
                let case = parse(&path.display().to_string(), &text)?;
                Ok((path, case))
            })
            .collect()
    }
}

/// Two files with the same case, whatever their comments say.
fn same_case(one: &str, other: &str) -> bool {
    let case = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    case(one) == case(other)
}
