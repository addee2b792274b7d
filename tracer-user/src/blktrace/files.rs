//! Which files a trace consists of, from what a user names.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where the records of a trace stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traces {
    /// Standard input.
    Stdin,
    /// Files, one a CPU or already merged.
    Files(Vec<PathBuf>),
}

/// What [`find`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What to read.
    pub traces: Traces,
    /// Per-CPU files of the same trace that were not named and are not read.
    pub left_out: Vec<PathBuf>,
}

/// Why no file was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Neither a file, a directory nor a base name.
    #[error("{0}: no such file or directory, and there is no {0}.blktrace.0 either")]
    Missing(PathBuf),
    /// A directory without traces.
    #[error("{0}: no file in it is called NAME.blktrace.N; name the files themselves")]
    NoTraces(PathBuf),
    /// More files than a machine has CPUs.
    #[error("{count} trace files are more than the {MAX_FILES} that are merged at once")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// `-` together with files.
    #[error("standard input (-) cannot be merged with files; name one or the other")]
    StdinAndFiles,
    /// No name at all.
    #[error("no trace named; give a directory, a base name, files, or - for standard input")]
    Nothing,
    /// The operating system failed.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Most files of one trace: half of the largest `NR_CPUS`, each with a descriptor and a buffer.
const MAX_FILES: usize = 4096;

/// Finds the files behind names: a directory (every `*.blktrace.N` in it), a base name (`zd0`
/// for `zd0.blktrace.0`, `zd0.blktrace.1`...), files, or `-` for standard input.
///
/// # Errors
/// When a name leads to nothing.
pub fn find(names: &[PathBuf]) -> Result<Found, FindError> {
    let stdin = names.iter().filter(|name| name.as_os_str() == "-").count();
    match (stdin, names.len()) {
        (0, 0) => return Err(FindError::Nothing),
        (1, 1) => {
            return Ok(Found {
                traces: Traces::Stdin,
                left_out: Vec::new(),
            });
        }
        (0, _) => {}
        _ => return Err(FindError::StdinAndFiles),
    }
    let mut files = Vec::new();
    for name in names {
        if name.is_dir() {
            let inside = per_cpu_files(name, None)?;
            if inside.is_empty() {
                return Err(FindError::NoTraces(name.clone()));
            }
            files.extend(inside);
        } else if name.exists() {
            files.push(name.clone());
        } else {
            let base = name.file_name().and_then(|base| base.to_str());
            let siblings = match base {
                Some(base) => per_cpu_files(parent(name), Some(base))?,
                None => Vec::new(),
            };
            if siblings.is_empty() {
                return Err(FindError::Missing(name.clone()));
            }
            files.extend(siblings);
        }
    }
    files.sort();
    files.dedup();
    if files.len() > MAX_FILES {
        return Err(FindError::TooMany { count: files.len() });
    }
    let left_out = left_out(&files);
    Ok(Found {
        traces: Traces::Files(files),
        left_out,
    })
}

/// The per-CPU files that lie beside the named ones and belong to the same traces.
fn left_out(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut bases: Vec<(&Path, &str)> = files
        .iter()
        .filter_map(|file| Some((parent(file), split_name(file.file_name()?.to_str()?)?)))
        .collect();
    bases.sort_unstable();
    bases.dedup();
    let beside = bases
        .iter()
        .filter_map(|(folder, base)| per_cpu_files(folder, Some(base)).ok());
    // An empty file, of a CPU without I/O, leaves out nothing.
    let holds_records = |file: &PathBuf| fs::metadata(file).is_ok_and(|file| file.len() > 0);
    beside
        .flatten()
        .filter(|file| !files.contains(file))
        .filter(holds_records)
        .collect()
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// `zd0` of `zd0.blktrace.3`.
fn split_name(name: &str) -> Option<&str> {
    let (base, cpu) = name.rsplit_once(".blktrace.")?;
    (!cpu.is_empty() && cpu.bytes().all(|digit| digit.is_ascii_digit())).then_some(base)
}

fn per_cpu_files(folder: &Path, base: Option<&str>) -> Result<Vec<PathBuf>, FindError> {
    let failed = |source| FindError::Io {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(found) = name.to_str().and_then(split_name) else {
            continue;
        };
        if base.is_none_or(|base| base == found) {
            // Relative names stay as short as they were given.
            let path = if folder == Path::new(".") {
                PathBuf::from(name)
            } else {
                entry.path()
            };
            files.push(path);
        }
    }
    Ok(files)
}
