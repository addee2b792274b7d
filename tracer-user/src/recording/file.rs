//! The files a recording is written to.
//!
//! Owns how they are named, created, replaced and removed. Contents are not its business.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Something a part is written to.
pub(crate) trait Sink: Send {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Drops everything behind the first `len` bytes where that is possible: after a failed
    /// append it takes the torn piece away.
    fn cut(&mut self, len: u64);
}

/// Where the parts of a recording go.
pub(crate) trait Parts: Send {
    /// Opens the next part; `number` counts from 1.
    fn open(&mut self, number: u32) -> io::Result<Box<dyn Sink>>;

    /// Name of a part, for messages.
    fn name(&self, number: u32) -> PathBuf;
}

/// Parts that are files beside each other, or the one file (or pipe) that was named.
#[derive(Debug)]
pub(crate) struct Files {
    path: PathBuf,
    rotate: bool,
    max_files: Option<u32>,
}

impl Files {
    /// With `rotate` each part bears its number in its name, and only the newest `max_files`
    /// are kept.
    pub(crate) fn new(path: &Path, rotate: bool, max_files: Option<u32>) -> Self {
        Self {
            path: path.to_owned(),
            rotate,
            max_files,
        }
    }
}

impl Parts for Files {
    fn open(&mut self, number: u32) -> io::Result<Box<dyn Sink>> {
        if !self.rotate && self.path.as_os_str() == "-" {
            return Ok(Box::new(io::stdout()));
        }
        let sink = create(&self.name(number))?;
        let expired = self.max_files.and_then(|kept| number.checked_sub(kept));
        if let Some(expired) = expired.filter(|number| *number > 0) {
            // Removed already, by hand say, is as good.
            let _ = fs::remove_file(self.name(expired));
        }
        Ok(Box::new(sink))
    }

    fn name(&self, number: u32) -> PathBuf {
        if !self.rotate {
            return self.path.clone();
        }
        let mut name = self.path.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{number:04}"));
        if let Some(extension) = self.path.extension() {
            name.push(".");
            name.push(extension);
        }
        self.path.with_file_name(name)
    }
}

/// Creates a file with mode 0600, in place of a regular file of that name.
///
/// The old file is removed instead of reused: it may have another owner, a wider mode, open
/// readers or hard links. Its place is taken with `O_EXCL`, so a symbolic link that somebody
/// puts there is not followed. A pipe or a device is written to as it is.
fn create(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_symlink() => {
            return Err(io::Error::other(
                "is a symbolic link; name the file itself, or remove the link",
            ));
        }
        Ok(found) if found.is_dir() => {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(found) if found.file_type().is_fifo() || found.file_type().is_char_device() => {
            return OpenOptions::new().write(true).open(path);
        }
        Ok(found) if !found.is_file() => {
            return Err(io::Error::other("is neither a file nor a pipe"));
        }
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

impl Sink for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, len: u64) {
        // A pipe cannot be cut; the reader then sees the torn piece and says so.
        let _ = self.set_len(len);
    }
}

impl Sink for io::Stdout {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)?;
        self.flush()
    }

    fn cut(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_private_and_replaces_an_old_one_without_reusing_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.arrow");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let other_name = dir.path().join("hard link");
        fs::hard_link(&path, &other_name).unwrap();

        create(&path).unwrap().append(b"new").unwrap();

        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(&other_name).unwrap(), b"old");
    }

    #[test]
    fn a_symbolic_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.arrow");
        symlink("/nowhere", &path).unwrap();
        let error = create(&path).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
    }

    #[test]
    fn parts_are_numbered_before_the_extension_and_old_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::new(&dir.path().join("rec.arrow"), true, Some(2));
        for number in 1..=4 {
            files.open(number).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["rec.0003.arrow", "rec.0004.arrow"]);
        assert_eq!(
            Files::new(Path::new("/a/b"), true, None).name(12),
            Path::new("/a/b.0012")
        );
        assert_eq!(
            Files::new(Path::new("/a/b.c"), false, None).name(1),
            Path::new("/a/b.c")
        );
    }
}
