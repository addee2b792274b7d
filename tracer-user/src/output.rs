//! Files that are written whole or not at all.
//!
//! A result goes to a temporary file beside its target, onto the disk, and then takes the
//! target's name: whoever looks sees the old file or the new one. A device node, socket or
//! directory is never replaced, and nothing is ever written onto a disk.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Why a file was not written. Nothing is left behind, and a file of that name is untouched.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path names something that is no file.
    #[error("cannot write {path}: it is a {what}; name a file")]
    NoFile {
        /// Path as given.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The system refused.
    #[error("cannot write {path}: {source}{hint}; nothing was written")]
    Io {
        /// Path as given.
        path: PathBuf,
        /// What to do, if the cause tells.
        hint: &'static str,
        /// Cause.
        source: io::Error,
    },
}

/// Where the bytes really go.
enum Way {
    /// Through a temporary file that takes this name.
    Replace(PathBuf),
    /// Into what is there: a pipe or a character device, `/dev/stdout` among them.
    Through,
}

/// Writes `bytes` to `path`, whole or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    replace_file(path, |file| file.write_all(bytes))
}

/// Lets `write` fill a new file that takes the name `path` when all of it is on the disk.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), OutputError> {
    match way(path)? {
        Way::Through => {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(failed(path))?;
            write(&mut file).map_err(failed(path))
        }
        Way::Replace(target) => {
            let folder = folder(&target);
            let mut file = temporary(&target).map_err(failed(path))?;
            write(file.as_file_mut()).map_err(failed(path))?;
            file.as_file().sync_all().map_err(failed(path))?;
            file.persist(&target)
                .map_err(|error| failed(path)(error.error))?;
            // The new name itself reaches the disk with its folder. Some file systems cannot
            // do this for folders; the file is complete either way.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
            Ok(())
        }
    }
}

/// Says now what would keep [`replace_file`] from working later: asked before a capture, so
/// that its result is not lost for want of a folder.
pub fn check(path: &Path) -> Result<(), OutputError> {
    match way(path)? {
        Way::Through => Ok(()),
        Way::Replace(target) => temporary(&target).map(drop).map_err(failed(path)),
    }
}

fn way(path: &Path) -> Result<Way, OutputError> {
    let no_file = |what| OutputError::NoFile {
        path: path.to_owned(),
        what,
    };
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A name that ends in / can only be a folder's.
            if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                return Err(no_file("folder"));
            }
            return Ok(Way::Replace(path.to_owned()));
        }
        Err(error) => return Err(failed(path)(error)),
    };
    if kind.is_dir() {
        return Err(no_file("folder"));
    } else if kind.is_block_device() {
        return Err(no_file("disk"));
    } else if kind.is_socket() {
        return Err(no_file("socket"));
    }
    // /dev/stdout may lead to a file that a shell holds open: replacing it would cut it off.
    let of_process = path.starts_with("/dev") || path.starts_with("/proc");
    if of_process || !kind.is_file() {
        return Ok(Way::Through);
    }
    // What a link points to is replaced, the link stays.
    fs::canonicalize(path)
        .map(Way::Replace)
        .map_err(failed(path))
}

fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new()
        .prefix(".zvoltrace-")
        // The umask takes its part of this, as for any new file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(target))?;
    if let Ok(existing) = fs::metadata(target) {
        file.as_file().set_permissions(existing.permissions())?;
    }
    Ok(file)
}

fn folder(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> OutputError {
    move |source| {
        let hint = match source.kind() {
            io::ErrorKind::NotFound => " (make the folder first)",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                " (free some space, or name a file elsewhere)"
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                " (name a file where you may write)"
            }
            _ => "",
        };
        OutputError::Io {
            path: path.to_owned(),
            hint,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_and_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        check(&path).unwrap();
        assert_eq!(names(folder.path()), [""; 0], "a check leaves nothing");
        write_file(&path, b"one").unwrap();
        write_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["report"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        write_file(&path, b"old").unwrap();
        let error = replace_file(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("report") && text.contains("free some space"),
            "{text}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["report"]);
    }

    #[test]
    fn a_link_stays_and_a_mode_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, b"old").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        write_file(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }

    #[test]
    fn a_folder_is_not_replaced_and_a_missing_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = check(folder.path()).unwrap_err().to_string();
        assert!(text.contains("is a folder"), "{text}");
        let missing = folder.path().join("no/report");
        let text = check(&missing).unwrap_err().to_string();
        assert!(
            text.contains("no/report") && text.contains("make the folder"),
            "{text}"
        );
        assert!(check(Path::new("new/")).is_err());
    }

    #[test]
    fn character_devices_are_written_through_and_stay() {
        use std::os::unix::fs::FileTypeExt;
        check(Path::new("/dev/null")).unwrap();
        write_file(Path::new("/dev/null"), b"gone").unwrap();
        assert!(
            fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device()
        );
        let error = write_file(Path::new("/dev/full"), b"no")
            .unwrap_err()
            .to_string();
        assert!(error.contains("free some space"), "{error}");
    }
}
